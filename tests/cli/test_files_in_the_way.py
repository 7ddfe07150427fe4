"""Unwritable destinations: one line, exit status 2, nothing lost and nothing half written."""

import os
from pathlib import Path

import pytest

import krohn
from krohn.cli.app import run

# Commands that write a file; {} stands for where it goes.
WRITERS = [
    "zoo C2 --svg {}.svg",
    "decompose C2 --svg {}.svg",
    "analyze C2 --svg {}.svg",
    "decompose C2 --plain --svg {}.svg",
    "sample C2 --length 3 --count 2 --out {}.npz",
    "sample C2 --length 3 --count 2 --out {}.jsonl",
    "explain net --out {}.json",
    "explain net 0 1 --out {}.svg",
    "verify net --out {}.json",
    "extract net --length 2 --out {}.json",
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a compiled network in it, in which the command runs."""
    krohn.save(krohn.compile("C2", length=3, unproved=True), tmp_path / "net")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listing(place: Path) -> dict[str, bytes | None]:
    result = sorted(place.rglob("*"))
    return {str(path.relative_to(place)): path.read_bytes() if path.is_file() else None for path in result}


def refused(capsys: pytest.CaptureFixture[str], words: list[str]) -> str:
    assert run(words) == 2, words
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ")
    assert "internal error" not in last
    return last


@pytest.mark.parametrize("line", WRITERS)
def test_a_directory_a_file_as_folder_and_no_permission_are_refused(
    line: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = line.partition("{}")[2]
    (place / f"folder{suffix}").mkdir()
    (place / "file").write_text("mine")
    before = listing(place)
    for target in ("folder", "file/inside", "/proc/none/x"):
        refused(capsys, line.format(target).split())
        assert listing(place) == before


@pytest.mark.parametrize("line", WRITERS)
def test_folders_are_made_and_the_same_command_writes_the_same_bytes(
    line: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = line.partition("{}")[2]
    written = []
    for folder in ("one/new", "two"):
        assert run(line.format(f"{folder}/it").split()) == 0
        written.append((place / folder / f"it{suffix}").read_bytes())
        assert [path.name for path in (place / folder).iterdir()] == [f"it{suffix}"]
    assert written[0] == written[1] != b""
    capsys.readouterr()


def test_a_page_makes_no_folder_and_the_same_command_writes_the_same_bytes(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explore", "C2", "-T", "3", "--out", "new/page.html"]) == 2
    assert "the folder of --out must exist; there is no new" in capsys.readouterr().err
    assert not (place / "new").exists()
    written = []
    for name in ("one.html", "two.html"):
        assert run(["explore", "C2", "-T", "3", "--out", name]) == 0
        written.append((place / name).read_bytes())
    assert written[0] == written[1] != b""
    capsys.readouterr()


@pytest.mark.parametrize("architecture", ["transformer", "lstm"])
def test_a_network_is_not_written_over_a_file(
    architecture: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "file").write_text("mine")
    length = ["--length", "3"] if architecture == "transformer" else []
    words = ["compile", "C2", *length, "--architecture", architecture, "--out"]
    for target in ("file", "file/inside"):
        refused(capsys, [*words, target])
    assert (place / "file").read_text() == "mine"


@pytest.mark.parametrize("option", ["--length 4", "--method scan", "--effort 2", "--dtype float64"])
def test_options_of_transformers_are_refused_for_recurrent_networks(
    option: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, ["compile", "C2", "--architecture", "gru", *option.split()])
    assert message.startswith(f"error: {option.split()[0]} is for Transformers")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compile C2", "choose it with --length"),
        ("circuit C2", "choose it with --length"),
        ("verify net --renamed", "--renamed needs --automaton"),
        ("verify net --out net.v", "with --kernel"),
        ("compile C2 --length 4 --out=", "a path must have a name"),
        ("verify none", "must exist"),
        ("run none", "must exist"),
        ("explain none", "must exist"),
        ("explain net 0 zebra", "zebra"),
        ("explain net 0 1 0 1", "3"),
        ("explain net --out word.svg", "need a word to show"),
        ("explain net --out word.pdf", "pdf"),
        ("extract none --length 3", "must be the directory of a network"),
        ("understand none", "none"),
        ("understand net --out page.pdf", "page.pdf"),
        ("export none --to hf --out there", "none"),
        ("export net --to zebra --out there", "'zebra' is not one of"),
        ("card nothing", "or PKG:FACTORY of your own; got 'nothing'"),
        ("card json:nothing", "there is no nothing"),
        ("card no_such_package:make", "must load; ModuleNotFoundError"),
        ("sample --length 3 --count 1 --out x.npz", "Missing argument"),
        ("results export --out x.jsonl --experiment zebra", "zebra"),
        ("results export --out x.jsonl --scale zebra", "zebra"),
        ("results list --store none", "none"),
        ("results show aa --store none", "none"),
        ("reproduce zebra", "zebra"),
        ("reproduce depth --scale huge", "huge"),
        ("reproduce depth --engine steam", "steam"),
        ("reproduce depth --show --only C2", "--show prints what is stored"),
        ("train", "give one of an automaton SPEC, --config FILE"),
        ("train C2 --config net/krohn.json", "give one of an automaton SPEC, --config FILE"),
        ("train --config net/krohn.json", "task"),
        ("train --config net/krohn.json --lr 1", "--config holds the whole run; leave out --lr"),
        ("train C2 --provable", "needs a directory: give --out"),
        ("explore C2 --results net --out x.html", "none in net"),
        ("explore zebra --out x.html", "zebra"),
        ("barrington x --automaton S4", "solvable"),
        ("atlas --states 8 --letters 6", "8 states and 6 letters have"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do_and_leaves_no_file(
    words: str, message: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = listing(place)
    assert message in refused(capsys, words.split())
    assert listing(place) == before


def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, closed = tmp_path / "network", tmp_path / "closed"
    assert run(["compile", "C2", "--length", "4", "--unproved", "--out", str(network)]) == 0
    closed.mkdir()
    allowed = os.access
    # The tests may run as a user who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed and allowed(path, mode))
    monkeypatch.setattr(
        "krohn.construct.compiling.find_accepted", lambda request: pytest.fail("it was compiled")
    )
    monkeypatch.setattr("krohn.proving.kinds.Compiled.verify", lambda *given: pytest.fail("it was proved"))
    capsys.readouterr()
    for command in (
        ["compile", "C2", "--length", "4", "--out", str(closed / "x" / "y")],
        ["verify", str(network), "--out", str(closed / "c.json")],
        ["zoo", "C2", "--svg", str(closed / "x.svg")],
        ["sample", "C2", "--length", "4", "--count", "1", "--out", str(closed / "x.npz")],
        ["suite", "locks", "--count", "1", "--seed", "1", "--out", str(closed / "locks")],
        ["compile", "C2", "--length", "4", "--out", str(network / "krohn.json" / "x")],
    ):
        assert run(command) == 2, command
        assert "must be a folder that can be written to" in capsys.readouterr().err
    assert not any(closed.iterdir())

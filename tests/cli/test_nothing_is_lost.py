"""What krohn did not write stays as it is: in the way of --out, behind a link, beside an export."""

import json
import shutil
from pathlib import Path

import pytest

import krohn
from krohn.cli.app import run

WRITERS = [
    "zoo C2 --out {}.json",
    "zoo C2 --out {}.jff",
    "zoo C2 --svg {}.svg",
    "analyze C2 --svg {}.svg",
    "decompose C2 --svg {}.svg",
    "decompose C2 --svg {}.svg",
    "sample C2 --length 3 --count 2 --out {}.npz",
    "sample C2 --length 3 --count 2 --out {}.jsonl",
    "sample C2 --length 3 --count 2 --out {}.parquet",
    "explore C2 -T 3 --out {}.html",
    "explain net --out {}.json",
    "explain net 0 1 --out {}.svg",
    "verify net --out {}.json",
    "extract net --length 2 --out {}.json",
    "results export --store store --out {}.jsonl",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a network, its export and a store of results."""
    folder = tmp_path_factory.mktemp("made")
    network = krohn.compile("C2", length=3, unproved=True)
    krohn.save(network, folder / "net")
    krohn.export(network, "hf", folder / "export", proof=False)
    (folder / "store").mkdir()
    shutil.copy(Path(__file__).parents[2] / "results" / "curves-small.jsonl", folder / "store")
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", WRITERS)
def test_a_foreign_file_is_kept_through_a_link_too_and_an_own_one_is_replaced(
    line: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suffix = line.partition("{}")[2]
    foreign = place / f"mine{suffix}"
    foreign.write_bytes(b"PK\x03\x04 the only copy of something else\n")
    (place / f"link{suffix}").symlink_to(foreign)
    for name in ("mine", "link"):
        assert run(line.format(name).split()) == 2, line
        assert "krohn did not write it" in capsys.readouterr().err
        assert foreign.read_bytes() == b"PK\x03\x04 the only copy of something else\n"
    for _ in range(2):
        assert run(line.format("own").split()) == 0, capsys.readouterr().err
    assert (place / f"own{suffix}").stat().st_size


def test_no_output_replaces_a_part_of_another_network(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(place / "net", place / "other")
    (place / "link.json").symlink_to("other/krohn.json")
    before = {path: path.read_bytes() for path in (place / "other").iterdir()}
    lines = [
        "verify net --out other/model.safetensors",
        "verify net --out other/krohn.json",
        "verify net --out link.json",
        "zoo C2 --out other/krohn.json",
        "zoo C2 --out export/automaton.json",
        "extract net --length 2 --out link.json",
    ]
    for line in lines:
        assert run(line.split()) == 2, line
        assert capsys.readouterr().err.startswith("error: ")
    assert {path: path.read_bytes() for path in (place / "other").iterdir()} == before


def test_exporting_again_keeps_what_the_first_export_did_not_write(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "export" / "model.onnx").write_bytes(b"mine")
    assert run(["export", "net", "--to", "hf", "--no-proof", "--out", "export"]) == 0
    assert (place / "export" / "model.onnx").read_bytes() == b"mine"
    capsys.readouterr()
    pytest.importorskip("onnx")
    assert run(["export", "net", "--to", "onnx", "--no-proof", "--out", "export"]) == 2
    assert "has no model.onnx, but there is one" in capsys.readouterr().err
    (place / "export" / "model.onnx").unlink()
    assert run(["export", "net", "--to", "onnx", "--no-proof", "--out", "export"]) == 0
    assert not (place / "export" / "config.json").exists()  # of the first export, which is replaced


def test_a_folder_with_an_automaton_of_krohns_is_no_export(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "README.md").write_text("mine")
    assert run(["zoo", "C2", "--out", "mine/automaton.json"]) == 0
    assert run(["export", "net", "--to", "hf", "--no-proof", "--out", "mine"]) == 2
    assert (place / "mine" / "README.md").read_text() == "mine"
    assert "krohn did not write" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a<bos>b", "x<pad>", "<unk><unk>"])
def test_letters_that_contain_a_special_token_are_not_exported(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"p": {name: "q", "b": "p"}, "q": {name: "p", "b": "q"}}
    about = {"krohn": 1, "letters": [name, "b"], "states": ["p", "q"], "start": "p", "next": rows}
    (place / "named.json").write_text(json.dumps(about))
    assert run(["compile", "./named.json", "--length", "3", "--out", "named"]) == 0
    assert run(["export", "named", "--to", "hf", "--no-proof", "--out", "there"]) == 2
    assert "must not contain a special token" in capsys.readouterr().err
    assert not (place / "there").exists()


@pytest.mark.parametrize("name", ["\u2800", "\u3164\u3164", "\u115f"])
def test_names_that_look_empty_are_refused(
    name: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"p": {name: "p"}}
    about = {"krohn": 1, "letters": [name], "states": ["p"], "start": "p", "next": rows}
    (place / "named.json").write_text(json.dumps(about))
    assert run(["zoo", "./named.json"]) == 2
    assert "a letter name must be" in capsys.readouterr().err


def test_dropout_in_a_configuration_is_named(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((place / "export" / "config.json").read_text())
    (place / "export" / "config.json").write_text(json.dumps({**config, "resid_pdrop": 0.1}))
    assert run(["verify", "export"]) == 2
    assert "resid_pdrop 0, for dropout is random; it has 0.1" in capsys.readouterr().err


def test_a_pattern_is_no_html_in_the_page_of_an_export(place: Path) -> None:
    pattern = "regex:<img>|(ab)*"
    network = krohn.compile(pattern, length=3, unproved=True, effort=0.01)
    krohn.export(network, "hf", place / "there", proof=False, unchecked=True)
    page = (place / "there" / "README.md").read_text()
    assert "<img>" not in page
    assert "&lt;img&gt;" in page


def test_a_file_whose_name_is_no_text(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zoo", "C2", "--out", "named.json"]) == 0
    shutil.copy(place / "named.json", place / "\udcff.json")
    assert run(["explore", "./\udcff.json", "-T", "3", "--out", "page.html"]) in (0, 2)
    assert "internal error" not in capsys.readouterr().err

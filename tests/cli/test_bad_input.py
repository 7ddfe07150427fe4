"""Bad input ends in one line ``error: …`` and exit status 2, never in a traceback."""

import io
import json
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from every import every
from krohn.automata.zoo import zoo_names
from krohn.cli.app import run

EXAMPLE = {
    "krohn": 1,
    "letters": ["a", "b"],
    "states": ["p", "q"],
    "start": "p",
    "next": {"p": {"a": "q", "b": "p"}, "q": {"a": "p", "b": "q"}},
    "observe": {"p": 0, "q": 1},
}
SAMPLE = ("--length", "5", "--count", "5", "--out", "never-written.npz")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    status = run(arguments)
    captured = capsys.readouterr()
    assert status == 2, arguments
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    return captured.err


@every(
    ("spec", "complaint"),
    [
        ("C0", "C0"),
        ("D7", "even"),
        ("Dyck0,2", "n ≥ 1"),
        ("S40", "at most 500,000 states"),
        ("C99999999999", "has 99,999,999,999"),
        ("Dyck999999999999,1", "more than a trillion"),
        ("C２", "must be named"),
        ("Nonsense", "must be named"),
        ("", "must be named"),
        ("regex:(a", "a pattern must be one of Python's re"),
        ("regex:", "letters"),
        ("none.json", "must exist; it does not"),
        ("/", "directory"),
        ("a/b", "must exist; it does not"),
        ("nul\0.json", "null byte"),
        ("\udcff", "must be named"),
        ("S5:(0 9)", "distinct points"),
        ("C2@first", "observations of C2"),
    ],
)
@every("command", ["zoo", "simulate", "sample"])
def test_bad_specs_are_refused_by_every_command(
    command: str, spec: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    extra = SAMPLE if command == "sample" else ()
    assert complaint in refused(capsys, command, spec, *extra)


@every(
    ("arguments", "complaint"),
    [
        (("--length", "0"), "length must lie in 1–1,000,000; got 0"),
        (("--length", "-3"), "length must lie in 1–1,000,000; got -3"),
        (("--length", "two"), "not a whole number"),
        (("--length", "9" * 30), "length must lie"),
        (("--count", "0"), "at least 1"),
        (("--count", "-1"), "at least 1"),
        (("--seed", "-1"), "seed must be"),
        (("--out", "x.csv"), "must end in one of"),
        (("--out", "."), "must end in one of"),
        (("--out", "/proc/none/x.npz"), "/proc/none"),
        (("--distribution", "bernoulli:2"), "probability"),
        (("--distribution", "zipf"), "must be one of"),
        (("--nonsense",), "--nonsense"),
    ],
)
def test_bad_options_of_sample_are_refused(
    arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert complaint in refused(capsys, "sample", "Parity", *SAMPLE, *arguments)
    assert not Path("never-written.npz").exists()


def test_a_foreign_letter_is_named_with_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a b\na b c a\n"))
    message = refused(capsys, "simulate", "abab")
    assert "line 2: every letter must be one of a b; letter 3 is 'c'" in message


def test_a_byte_order_mark_is_no_letter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\ufeffab\nab\n"))
    assert run(["simulate", "abab"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_a_folder_in_the_place_of_an_automaton_is_called_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "'net' is a folder" in refused(capsys, "analyze", "net")


def test_bytes_that_are_no_text_are_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a b\n\xff\xfe\n"), encoding="utf-8"))
    assert "UTF-8" in refused(capsys, "simulate", "abab")


def test_a_line_that_is_too_long_is_refused_before_it_is_read_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(io.StringIO):
        taken = 0

        def readline(self, size: int | None = -1, /) -> str:
            assert size is not None
            assert size > 0
            self.taken += size
            return "a" * size

    endless = Endless()
    monkeypatch.setattr(sys, "stdin", endless)
    assert "line 1: a word must have at most 16,777,216 characters" in refused(capsys, "simulate", "abab")
    assert endless.taken < 1 << 25


def test_a_place_that_cannot_be_used_is_named_in_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for message in (
        refused(capsys, "zoo", "C2", "--svg", "/proc/none/x.svg"),
        refused(capsys, "compile", "C2", "--length", "4", "--unproved", "--out", str(loop)),
    ):
        assert "must be a place that can be used" in message
        assert "Errno" not in message


def test_an_automaton_is_replaced_by_another_one_alone(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    own, network = tmp_path / "own.json", str(tmp_path / "network")
    own.write_text(json.dumps(EXAMPLE))
    assert run(["compile", "C2", "--length", "4", "--out", network]) == 0
    capsys.readouterr()
    for command in ("verify", network, "--out"), ("explain", network, "0", "--out"):
        assert "own.json is an automaton, so it is kept" in refused(capsys, *command, str(own))
    assert json.loads(own.read_text()) == EXAMPLE
    assert run(["zoo", "C2", "--out", str(own)]) == 0


def test_observations_must_exist_to_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "observation map" in refused(capsys, "simulate", "abab", "--observe")


def test_a_100_mb_file_is_refused_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as stream:
        stream.truncate(100_000_000)
    assert "at most 32,000,000 bytes" in refused(capsys, "zoo", str(path))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
MALFORMED = st.one_of(
    JSON.map(lambda value: json.dumps(value).encode()),
    st.builds(
        lambda key, value: json.dumps({**EXAMPLE, key: value}).encode(),
        st.sampled_from(sorted(EXAMPLE)),
        JSON,
    ),
    st.builds(
        lambda at, byte: json.dumps(EXAMPLE).encode()[:at] + byte + json.dumps(EXAMPLE).encode()[at + 1 :],
        st.integers(0, 200),
        st.binary(max_size=3),
    ),
    st.binary(max_size=50),
)


def answered_or_refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
    status = run(arguments)
    captured = capsys.readouterr()
    assert status in (0, 2)
    if status == 2:
        assert captured.err.startswith("error: ")
        assert captured.err.count("\n") == 1


FIXTURES = [HealthCheck.function_scoped_fixture]


@settings(suppress_health_check=FIXTURES, deadline=None)
@given(content=MALFORMED)
def test_no_file_makes_a_traceback(
    content: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "given.json"
    path.write_bytes(content)
    answered_or_refused(capsys, "zoo", str(path))


NAMES = st.sampled_from(
    ["C", "D", "S", "A", "Dyck", "Grid", "Memory", "Counter", "T", "PermReset", "Add", "regex:"]
)
SPECS = st.one_of(
    st.text(max_size=12),
    st.builds(lambda name, rest: name + rest, NAMES, st.text("0123456789,:x@()ab*|[ ]{}", max_size=6)),
    st.builds(
        lambda name, at, text: name[:at] + text + name[at:],
        st.sampled_from(zoo_names()),
        st.integers(0, 8),
        st.text(max_size=3),
    ),
)


@settings(suppress_health_check=FIXTURES, deadline=None)
@given(spec=SPECS)
def test_no_spec_makes_a_traceback(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    answered_or_refused(capsys, "zoo", "--", spec)


@settings(suppress_health_check=FIXTURES, deadline=None, max_examples=50)
@given(text=st.text(max_size=20))
def test_no_word_makes_a_traceback(
    text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    answered_or_refused(capsys, "simulate", "abab")

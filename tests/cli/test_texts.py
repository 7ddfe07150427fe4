"""Text output against the JSON of the same command: tables, notes and verdicts."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krohn
from krohn import for_commands
from krohn.base.notebook import table
from krohn.check.ground import Verdict
from krohn.check.recurrent.boxes import Boxes
from krohn.cli import demo, words_on_stdin
from krohn.cli.app import run
from krohn.cli.output import MAX_ERROR, emit, error_line
from krohn.construct.compile_report import merge_texts, number_text, shorten
from krohn.lab.experiments.store import Store
from krohn.lab.provable.trained import BoxProof
from krohn.network.meaning import WIDTH
from krohn.network.meaning_view import first_items, item_lines
from krohn.paper.gate_circuit import ALL_WORDS, LONG_WORDS, words_to_compare
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.recurrent_network import save as save_recurrent
from krohn.recurrent.recurrent_weights import WEIGHTS
from lab.experiments.made_up_records import member, record


def output_of(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert run(words) == status, words
    return capsys.readouterr().out


def both(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, dict[str, Any]]:
    return output_of(capsys, *words), json.loads(output_of(capsys, *words, "--json"))


@pytest.fixture
def net(tmp_path: Path) -> str:
    krohn.save(krohn.compile("D6", length=40, unproved=True), tmp_path / "net")
    return str(tmp_path / "net")


def test_tables_align_numbers_to_the_right_and_text_to_the_left() -> None:
    result = table(("name", "count"), [("a", 5), ("longer", 123)])
    assert result.splitlines() == ["name    count", "------  -----", "a           5", "longer    123"]
    assert table(("only",), []).splitlines() == ["only", "----"]
    mixed = table(("x", "y"), [(1, "a"), ("b", 2)])
    assert mixed.splitlines()[2:] == ["1  a", "b  2"]


@pytest.mark.parametrize("length", [10, 292, 293, 294, 5_000])
def test_an_error_line_keeps_its_beginning_and_its_end(length: int) -> None:
    message = "".join(chr(97 + i % 26) for i in range(length))
    line = error_line(f"{message}\n\t end")
    assert len(line) <= MAX_ERROR - len("error: ")
    assert line.startswith(message[:10])
    assert line.endswith(" end")
    assert (" … " in line) == (length + 4 > MAX_ERROR - len("error: "))
    assert error_line("a\x07b\u202e") == "a\\x07b\\u202e"


def test_json_is_plain_ascii_for_a_terminal_that_knows_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, wanted in (("ascii", '{"a": "\\u03c0"}\n'), ("utf-8", '{"a": "π"}\n')):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        emit({"a": "π"}, as_json=True, text=str)
        stream.seek(0)
        assert stream.read() == wanted
    with pytest.raises(ValueError, match="not JSON compliant"):
        emit({"a": float("nan")}, as_json=True, text=str)


def test_the_table_of_an_automaton_can_be_read_back(capsys: pytest.CaptureFixture[str]) -> None:
    automaton = krohn.zoo("Dyck2,2")
    text, payload = both(capsys, "zoo", "Dyck2,2")
    title, _, header, _, *rows = text.splitlines()
    assert title == f"Dyck2,2: {automaton.num_states} states, 4 letters, start empty"
    assert header.split() == ["state", *automaton.letter_names]
    names = list(automaton.state_names)
    result = {row.split()[0]: [names.index(cell) for cell in row.split()[1:]] for row in rows}
    assert result == dict(zip(names, automaton.table.tolist(), strict=True))
    assert payload["table"] == automaton.table.tolist()


def test_words_in_many_small_batches_get_the_same_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, net: str
) -> None:
    automaton = krohn.zoo("D6")
    rng = np.random.default_rng(1)
    words = [rng.integers(automaton.num_letters, size=n).tolist() for n in (3, 0, 1, 3, 5, 3, 1, 40, 3)]
    text = "".join(" ".join(automaton.letter_names[x] for x in word) + "\n" for word in words)
    wanted = [" ".join(automaton.state_names[q] for q in automaton.run(word)) for word in words]
    monkeypatch.setattr(words_on_stdin, "_LINES", 2)
    monkeypatch.setattr(words_on_stdin, "_MAX_LETTERS", 20)
    monkeypatch.setattr(for_commands, "BATCH_LETTERS", 4)
    for command in (["run", net], ["simulate", "D6"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        assert output_of(capsys, *command).split("\n") == [*wanted, ""]
    monkeypatch.setattr(sys, "stdin", io.StringIO(text + "drive\nzebra\n"))
    assert run(["simulate", "D6"]) == 2
    assert "line 11: every letter must be one of toggle drive; letter 1 is 'zebra'" in capsys.readouterr().err


@pytest.mark.parametrize("architecture", ["lstm", "deltaproduct"])
def test_a_recurrent_network_reads_words_of_every_length(
    architecture: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    automaton = krohn.zoo("S3")
    save_recurrent(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), tmp_path)
    words = [np.random.default_rng(n).integers(automaton.num_letters, size=n).tolist() for n in (1, 90, 300)]
    text = "\n".join(" ".join(automaton.letter_names[x] for x in word) for word in words)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    result = [line.split() for line in output_of(capsys, "run", str(tmp_path)).splitlines()]
    assert result == [[automaton.state_names[q] for q in automaton.run(word)] for word in words]


def test_a_long_word_is_explained_in_blocks_as_wide_as_a_terminal(
    capsys: pytest.CaptureFixture[str], net: str
) -> None:
    word = ["drive", "toggle", "drive"] * 12
    text, payload = both(capsys, "explain", net, *word)
    blocks = [block.splitlines() for block in text.rstrip("\n").split("\n\n")]
    assert len(blocks) > 1
    assert max(map(len, text.splitlines())) <= WIDTH
    for row, key in ((0, "position"), (1, "letter"), (-1, "state")):
        shown = " ".join(block[row].removeprefix(key) for block in blocks).split()
        cells = [place[key] for place in payload["positions"]]
        wanted = [str(cell) for cell in cells if cell is not None]
        assert [cell for cell in shown if cell != "⊥"] == wanted
    text, about = both(capsys, "explain", net)
    assert all(f"\nblock {layer}" in text for layer in range(1, about["layers"] + 1))


def test_long_lists_and_long_texts_are_shortened_or_wrapped() -> None:
    assert first_items([str(n) for n in range(13)]) == [str(n) for n in range(13)]
    assert first_items([str(n) for n in range(14)]) == [*map(str, range(12)), "… 2 more (--json has all)"]
    lines = list(item_lines("a name that is too long", " ".join(["word"] * 40)))
    assert lines[0] == "  a name that is too long"
    assert all(line.startswith(" " * 12) and len(line) <= WIDTH for line in lines[1:])
    assert " ".join(" ".join(lines[1:]).split()) == " ".join(["word"] * 40)
    assert list(item_lines("short", "")) == ["  short"]


def test_heads_are_merged_and_numbers_written_as_people_do() -> None:
    assert merge_texts(["place 1 mod 9", "place 2 mod 9", "place 3 mod 9"]) == "3 × place 1…3 mod 9"
    assert merge_texts(["alone 7"]) == "alone 7"
    assert len(shorten("x" * 91)) == 90
    assert shorten("x" * 90) == "x" * 90
    shown = [number_text(value) for value in (1234567, 2.0, 0.123456, 10**20, "> 1e77", 1e300)]
    assert shown == ["1,234,567", "2", "0.1235", "1" + "0" * 20, "> 1e77", "1e+300"]


def test_the_words_of_a_circuit_are_all_short_ones_and_some_long_ones(net: str) -> None:
    network = krohn.load(net)
    result = words_to_compare(network, 14, 0)
    short = max(n for n in range(1, 15) if network.automaton.num_letters**n <= ALL_WORDS)
    beginnings = {tuple(word[:short]) for word in result.tolist()}
    assert len(beginnings) == network.automaton.num_letters**short
    assert len({tuple(word) for word in result.tolist()}) == len(result)  # each once
    more = len(result) - network.automaton.num_letters**short
    assert LONG_WORDS // 2 < more <= LONG_WORDS
    assert not np.array_equal(result[-more:], words_to_compare(network, 14, 1)[-more:])
    assert words_to_compare(network, 1, 0).shape[1] == 1


def filled(path: Path, **changes: Any) -> str:
    with Store(path) as store:
        store.put(
            [record("aa", 0, **changes), record("aa", 1), record("ab", 0, status="partial")], [member("aa")]
        )
    return str(path)


def test_stored_runs_are_listed_shown_and_exported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    place = ["--store", filled(tmp_path / "one")]
    text, listed = both(capsys, "results", "list", *place)
    assert (listed["records"], [row["run"] for row in listed["runs"]]) == (3, ["aa"])
    assert text.splitlines()[2].split() == ["depth", "smoke", "aa", "1,", "C2", "2/2", "51.00%"]
    text, shown = both(capsys, "results", "show", "ab", *place)
    assert [row["status"] for row in shown["replicates"]] == ["partial"]
    assert "partial" in text
    assert "50.00%" in text
    files = [tmp_path / f"{n}.jsonl" for n in range(2)]
    for file in files:
        assert (
            output_of(capsys, "results", "export", "--out", str(file), *place)
            == f"3 records written to {file}\n"
        )
    assert files[0].read_bytes() == files[1].read_bytes()
    assert run(["results", "export", "--out", str(tmp_path / "x.jsonl"), "--scale", "paper", *place]) == 2
    assert "has none of paper" in capsys.readouterr().err
    again = both(capsys, "results", "list", "--store", str(files[0]))[1]
    assert (again["records"], again["runs"]) == (listed["records"], listed["runs"])


def test_the_demo_fits_on_a_screen_and_begins_with_weights_proof_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert demo.main() == 0
    lines = capsys.readouterr().out.splitlines()
    typed = [line.split()[2] for line in lines if line.startswith("$ krohn ")]
    assert typed == ["compile", "verify", "explore"]
    assert any(line.startswith("certified: S4, every word of length ≤ 100, float32") for line in lines)
    assert len(lines) <= 45


def test_the_demo_writes_where_it_says_and_stops_at_the_first_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    steps = (("A table", "zoo C2"), ("A page", "explore C2 -T 3 --out demo/explore.html"))
    monkeypatch.setattr(demo, "STEPS", steps)
    assert demo.main() == 0
    text = capsys.readouterr().out
    assert "1. A table\n$ krohn zoo C2\nC2: 2 states" in text
    assert (tmp_path / "demo" / "explore.html").resolve().as_uri() in text
    monkeypatch.setattr(demo, "STEPS", (("Nonsense", "zoo Zebra"), *steps))
    assert demo.main() == 2
    assert "2. A table" not in capsys.readouterr().out


def test_a_proof_by_boxes_is_printed_with_its_numbers_or_its_failure() -> None:
    sides, none = np.zeros((3, 1)), np.zeros(3, dtype=np.int64)
    boxes = Boxes(none, np.zeros((1, 2), dtype=np.int64), sides, sides + 0.5)
    text = BoxProof(boxes, Verdict(True, 1.25, "")).text("C3")
    assert text.startswith("certified: C3, words of every length, float32")
    assert "3 boxes closed under 2 steps; logit margin 1.25, widest side 0.5" in text
    failed = BoxProof(boxes, Verdict(False, 0.0, "a box grew"))
    assert failed.text("C3") == "not proved for words of every length: a box grew"


@pytest.mark.parametrize(("name", "counts"), [("abab", "1 layer (2 blocks)"), ("C3", "1 layer (1 block)")])
def test_explain_counts_layers_as_compile_does(
    name: str, counts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", name, "--length", "8", "--out", str(tmp_path / "net"), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert run(["explain", str(tmp_path / "net")]) == 0
    text = capsys.readouterr().out
    assert counts in text.splitlines()[0]
    assert counts.startswith(f"{made['depth']} layer")
    assert f"({made['blocks']} block" in counts
    assert len(re.findall(r"(?m)^block \d+$", text)) == made["blocks"]

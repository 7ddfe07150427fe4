"""``krohn explain``: meanings and values against the program and plain simulation."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet
import pytest

import krohn
from krohn.cli.app import run
from krohn.network.compiled import save
from krohn.network.meaning import meaning
from krohn.network.plain_words import register_words
from krohn.network.program import interpret_registers

CASES = [
    ("D6", {}),
    ("Grid4", {}),
    ("Dyck4,2", {}),
    ("FlipFlop", {}),
    ("A5", {}),
]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_registers_heads_and_states_of_a_word_are_those_of_the_program(
    name: str, options: dict[str, str]
) -> None:
    automaton = krohn.zoo(name)
    network = krohn.compile(automaton, length=9, unproved=True, **options)
    word = np.random.default_rng(3).integers(automaton.num_letters, size=9)
    payload = krohn.explain(network, word.tolist()).to_json()
    program, places = network.program, payload["positions"]
    assert program is not None
    wanted = interpret_registers(program, word[None])
    assert {entry["name"] for entry in payload["registers"]} == set(wanted)
    assert len(places) == network.transformer.num_padding + 9
    for place in places:
        for register, value in place["registers"].items():
            held = wanted[register][0, place["position"]]
            modulus = (
                program.register[register].high + 1 if program.register[register].kind == "circle" else 0
            )
            assert value == pytest.approx(held % modulus if modulus else held, abs=1e-5)
        assert set(place["registers"]) == set(wanted)
        for head in place["heads"]:
            assert sum(weight for _, weight in head["weights"]) == pytest.approx(1, abs=1e-3)
            assert all(to <= place["position"] for to, _ in head["weights"])
    states = [place["state"] for place in places[-9:]]
    assert states == [automaton.state_names[state] for state in automaton.run(word.tolist())]
    assert [place["letter"] for place in places[-9:]] == [automaton.letter_names[letter] for letter in word]
    assert all(place["letter"] is place["state"] is None for place in places[:-9])


def test_meaning_has_codes_edges_and_words() -> None:
    about = meaning(krohn.compile(krohn.zoo("D6"), length=8))
    registers = {entry["name"]: entry for entry in about["registers"]}
    steps = "level 0 section 2 step mod 3"
    assert registers["level 0 section 1 step mod 2"]["letters"] == {"toggle": 1, "drive": 0}
    assert registers["level 0 section 1 count mod 2"]["states"] == {
        "0": ["0,0", "0,1", "0,2"],
        "1": ["1,0", "1,1", "1,2"],
    }
    assert (registers[steps]["layer"], registers[steps]["written_by"]) == (2, "map")
    assert {"from": steps, "to": f"sum of {steps}", "layer": 3, "by": "head", "role": "value"} in about[
        "edges"
    ]
    first = about["heads"][0]
    assert (first["layer"], first["head"], first["operations"][0]["operation"]) == (1, 1, "PrefixSum")
    assert first["text"].startswith("prefix sum of ")
    assert about["readout"]["codes"]["1,2"] == [1, 2]
    dyck = meaning(krohn.compile(krohn.zoo("Dyck4,2"), length=8, unproved=True))
    assert any("where key = query +1 mod 5" in head["text"] for head in dyck["heads"])
    where = {(edge["from"], edge["to"]) for edge in dyck["edges"] if edge["role"] == "where"}
    assert {("key", "removed"), ("query", "removed")} <= where


def test_registers_written_by_positions_are_marked_so() -> None:
    network = krohn.compile(krohn.zoo("abab"), length=8, unproved=True)
    assert network.program is not None
    assert network.program.places, "this network is the example of registers by position"
    registers = {entry["name"]: entry for entry in meaning(network)["registers"]}
    for place in network.program.places:
        entry = registers[place.register]
        assert (entry["layer"], entry["written_by"]) == (0, "position")
        assert (entry["early"], entry["cycle"]) == (list(place.early), list(place.cycle))


def test_every_edge_goes_from_a_register_to_one_that_is_written_later() -> None:
    about = meaning(krohn.compile(krohn.zoo("Dyck4,2"), length=8, unproved=True))
    layer = {entry["name"]: entry["layer"] for entry in about["registers"]}
    for edge in about["edges"]:
        before, after = layer[edge["from"]], layer[edge["to"]]
        assert before < after if edge["by"] == "head" else before <= after
        assert edge["layer"] == after


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("nets")
    save(krohn.compile(krohn.zoo("D6"), length=8, unproved=True), base / "d6")
    save(krohn.compile(krohn.zoo("D6"), length=8, method="paper", unproved=True), base / "paper")
    return base


def test_the_command_prints_tables_that_fit_a_terminal(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", str(folder / "d6")]) == 0
    text = capsys.readouterr().out
    assert "head 1    counts how often toggle has come\n" in text
    assert "map       how often toggle has come, mod 2\n" in text
    about = krohn.explain(folder / "d6")
    described = {entry["name"]: entry["words"] for entry in about.to_json()["registers"]}
    assert described == register_words(krohn.load(folder / "d6"))  # as the page says
    assert "toggle 1, drive 0" in text
    assert run(["explain", str(folder / "d6"), *["toggle", "drive"] * 4]) == 0
    table = capsys.readouterr().out
    assert "state " in table
    assert table.count("position ") == 2  # too wide for one table
    assert run(["explain", str(folder / "paper"), "toggle drive"]) == 0
    paper = capsys.readouterr().out
    assert all(len(line) <= 98 for line in (text + table + paper).splitlines())


def test_the_table_lists_the_positions_that_a_sum_adds_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For words of 500 letters each letter has the weight 1/512 and the prompt nearly all of it."""
    save(krohn.compile("C3", length=500, unproved=True), tmp_path)
    assert run(["explain", str(tmp_path), "1 0 1 1"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "head 1 looks at" in line]
    assert line.split()[-5:] == ["0", "0–1", "0–2", "0–3", "0–4"]


def test_every_form_of_file_has_the_word(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("json", "parquet", "svg"):
        out = str(tmp_path / f"word.{suffix}")
        assert run(["explain", str(folder / "d6"), "toggle drive drive", "--json", "--out", out]) == 0
    payload = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"krohn": 1, **payload} == json.loads((tmp_path / "word.json").read_text())
    rows = pyarrow.parquet.read_table(tmp_path / "word.parquet").to_pylist()
    for place in payload["positions"]:
        here = [row for row in rows if row["position"] == place["position"]]
        result = {row["name"]: row["value"] for row in here if row["kind"] == "register"}
        assert result == place["registers"]
        weights = [
            (row["layer"], row["head"], row["to"], row["value"]) for row in here if row["kind"] == "head"
        ]
        assert weights == [
            (h["layer"], h["head"], to, weight) for h in place["heads"] for to, weight in h["weights"]
        ]
        assert [row["text"] for row in here if row["kind"] == "output"] == [
            state for state in [place["state"]] if state is not None
        ]
    ElementTree.parse(tmp_path / "word.svg")
    assert run(["explain", str(folder / "d6"), "--out", str(tmp_path / "net.json")]) == 0
    about = json.loads((tmp_path / "net.json").read_text())
    assert (len(about["registers"]), len(about["heads"]), len(about["maps"])) == (7, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["toggle", "x"], "every letter must be one of toggle drive"),
        (["toggle"] * 9, "at most 8 letters; got 9"),
        (["--out", "a.txt"], "must end in one of .parquet, .json, .svg"),
        (["--out", "a.svg"], "need a word to show"),
    ],
)
def test_bad_input_gets_one_line(
    arguments: list[str], match: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", str(folder / "d6"), *arguments]) == 2
    error = capsys.readouterr().err
    assert match in error
    assert error.count("\n") == 1

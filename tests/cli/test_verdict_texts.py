"""Verdicts and tables as people read them: verify, analyze, circuit, barrington, reproduce."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import krohn
from krohn.cli.app import run
from krohn.cli.train_options import number_or_none
from krohn.construct.analyzing import holonomy_levels
from krohn.errors import InvalidInput
from krohn.lab.experiments.reproduction import split_names
from krohn.lab.experiments.result_table import columns_of, depth_table
from krohn.lab.training.settings import without_effect, written_down
from krohn.paper.barrington import parse_assignment


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that is right, and one whose outputs are exchanged."""
    folder = tmp_path_factory.mktemp("nets")
    right = krohn.compile("D6", length=8)
    krohn.save(right, folder / "right")
    matrices = right.transformer
    swapped = np.roll(matrices.readout, 1, axis=1), np.roll(matrices.readout_bias, 1)
    broken = replace(matrices, readout=swapped[0], readout_bias=swapped[1])
    krohn.save(replace(right, transformer=broken), folder / "wrong")
    return folder


def asked(capsys: pytest.CaptureFixture[str], status: int, *words: str) -> tuple[str, dict[str, Any]]:
    """Text and JSON of a command, which must have the same exit status."""
    assert run(words) == status, words
    text = capsys.readouterr().out
    assert run([*words, "--json"]) == status
    return text, json.loads(capsys.readouterr().out)


def test_a_certificate_says_what_it_covers(nets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, payload = asked(capsys, 0, "verify", str(nets / "right"), "--dtype", "float32", "--length", "5")
    assert text.startswith("certified: D6, every word of length ≤ 5, float32\n")
    assert f"logit margin {payload['margin']:.4g} after all errors" in text
    assert f"{len(payload['checks'])} checks" in text
    argument, _ = asked(capsys, 0, "verify", str(nets / "right"), "--explain")
    assert len(argument) > 2 * len(text)


def test_verify_asks_about_the_type_that_the_network_was_proved_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """compile says float32, and so does verify; a network that was proved in nothing is asked in float64."""
    network = krohn.compile("D6", length=8)
    assert (network.proved, krohn.verify(network).dtype) == ("float32", "float32")
    network.save(tmp_path / "net")
    assert asked(capsys, 0, "verify", str(tmp_path / "net"))[1]["dtype"] == "float32"
    assert krohn.verify(network, "float64").dtype == "float64"
    assert krohn.verify(krohn.compile("D6", length=8, unproved=True)).dtype == "float64"


def test_one_wrong_letter_is_not_blamed_on_rounding() -> None:
    """A logit of D6 that is moved: no wider type helps, and none is advised."""
    right = krohn.compile("D6", length=8)
    bias = right.transformer.readout_bias.copy()
    lead = krohn.verify(right, "float64").margin
    bias[3] += 1.5 * lead
    broken = replace(right, transformer=replace(right.transformer, readout_bias=bias))
    found = krohn.verify(broken, "bfloat16")
    assert found.counterexample is not None
    assert "wider dtype" not in found.reason
    assert "the weights are at fault, not rounding" in found.reason


def test_a_word_that_is_wrong_by_rounding_alone_keeps_the_advice() -> None:
    network = krohn.compile("C3", 16, method="cascade", unproved=True)
    found = krohn.verify(network, "bfloat16")
    assert found.counterexample is None or "weights are at fault, not" not in found.reason
    assert "use a wider dtype or a shorter length" in found.reason


def test_a_wrong_network_is_reported_with_a_counterexample(
    nets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, payload = asked(capsys, 1, "verify", str(nets / "wrong"))
    assert text.startswith("not certified: ")
    result = payload["counterexample"]
    letters, automaton = result["letters"], krohn.zoo("D6")
    assert result["expected"] == automaton.state_names[automaton.run(letters)[-1]] != result["got"]
    assert f"counterexample: {' '.join(letters)} → {result['got']}, must be {result['expected']}" in text
    assert "wrong" in text.splitlines()[-1]
    network = krohn.load(nets / "wrong")
    assert automaton.state_names[network.run([letters])[0, -1]] == result["got"]


def test_a_network_of_another_automaton_is_not_certified(
    nets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, payload = asked(capsys, 1, "verify", str(nets / "right"), "--automaton", "C6")
    assert payload["certified"] is False
    assert len(text.splitlines()) == 1
    text, payload = asked(capsys, 0, "verify", str(nets / "right"), "--automaton", "D6")
    assert payload["certified"] is True
    table = "table:" + ".".join("".join(map(str, row)) for row in krohn.zoo("D6").table.tolist())
    text, _ = asked(capsys, 1, "verify", str(nets / "right"), "--automaton", table)
    assert "--renamed" in text
    asked(capsys, 0, "verify", str(nets / "right"), "--automaton", table, "--renamed")


def test_a_certificate_is_proved_again_and_one_that_claims_more_is_not(
    nets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "certificate.json"
    asked(capsys, 0, "verify", str(nets / "right"), "--length", "4", "--out", str(file))
    again = ("verify", str(nets / "right"), "--recheck", str(file))
    text, payload = asked(capsys, 1, *again)
    assert "about words of at most 4 letters; 8 were asked for" in text
    assert "no words were run and no proof was sought" in text
    assert "no counterexample found" not in text
    text, payload = asked(capsys, 0, *again, "--length", "4")
    assert payload["claim"] == json.loads(file.read_text())["claim"]
    certificate = json.loads(file.read_text())
    certificate["claim"]["lengths"] = {"up_to": 9}
    file.write_text(json.dumps(certificate))
    text, payload = asked(capsys, 1, "verify", str(nets / "right"), "--recheck", str(file))
    assert payload["reason"] == "the length must lie in 1..8"
    assert payload["reason"] in text


@pytest.mark.parametrize(
    ("spec", "levels", "note"), [("S4", 1, 0), ("C1", 0, 0), ("T3", 2, 0), ("Grid2500", None, 1)]
)
def test_levels_are_counted_where_they_can_be(spec: str, levels: int | None, note: int) -> None:
    automaton, permutes = krohn.zoo(spec), spec in ("S4", "C1")
    known = {"automaton": automaton, "num_states": automaton.num_states, "is_group": permutes}
    analysis = replace(krohn.analyze("C2"), **known)
    result, notes = holonomy_levels(analysis)
    assert (result, len(notes)) == (levels, note)


def test_an_analysis_is_read_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    text, payload = asked(capsys, 0, "analyze", "FlipFlop", "--verbose")
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if line and " " in line)
    assert lines["complexity"] == payload["complexity"]
    assert lines["levels"] == str(payload["levels"])
    assert lines["reason"] == payload["reason"]
    for row in payload["architectures"]:
        assert any(line.startswith(row["name"]) for line in text.splitlines())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x=1,y=0", {"x": True, "y": False}),
        (" x=1  y=0 ", {"x": True, "y": False}),
        ("", {}),
        ("x=1,", {"x": True}),
    ],
)
def test_assignments_are_read_with_commas_or_blanks(text: str, values: dict[str, bool]) -> None:
    assert parse_assignment(text) == values


@pytest.mark.parametrize("text", ["x", "x=2", "=1", "x=1=0", "x=true"])
def test_an_invalid_assignment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="must read x=1,y=0"):
        parse_assignment(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("C2,Dyck4,2", ("C2", "Dyck4,2")),
        ("Dyck4, 2,C2", ("Dyck4,2", "C2")),
        ("Dyck4,2,Dyck4,8", ("Dyck4,2", "Dyck4,8")),
        ("zebra,C2", ("zebra", "C2")),
        ("C2", ("C2",)),
    ],
)
def test_names_with_commas_are_kept_whole(text: str, names: tuple[str, ...]) -> None:
    assert split_names(text, {"C2", "Dyck4,2", "Dyck4,8"}) == names


def test_the_table_by_depth_has_a_row_for_each_task_and_bold_from_99_per_cent() -> None:
    rows = [
        {
            "task": task,
            "depth": depth,
            "max_accuracy": best,
            "word_accuracy": words,
            "reached": 1,
            "replicates": 3,
        }
        for task, depth, best, words in (("C2", 1, 0.5, None), ("C2", 4, 1.0, 1.0), ("S5", 4, 0.989, 0.25))
    ]
    rows.append({**rows[0], "sheet": "curriculum"})
    common = {"partial": 0, "halved": 0}
    header, cells = depth_table([common | row for row in rows], bold=True)
    assert header == ["task", "L = 1", "L = 4"]
    assert [row[0] for row in cells] == ["C2", "S5", "C2, curriculum"]
    assert cells[0][1:] == ["50.0 (1/3)", "**100** / 100 (1/3)"]
    assert cells[1][1:] == ["", "98.9 / 25.0 (1/3)"]
    assert depth_table([common | row for row in rows], bold=False)[1][0][2] == "100 / 100 (1/3)"
    names, shown = columns_of([{"task": "C2", "max_accuracy": 0.5, "standard_error": 0.1}])
    assert (names, shown) == (["task", "max accuracy"], [["C2", "50.00%"]])


def test_what_was_typed_is_written_to_its_place_and_nothing_else() -> None:
    plain = written_down("C2", {"length": 9, "lr": (0.1,), "steps": 5, "model": "lstm", "hidden": 3})
    assert plain["task"] == {"spec": "C2", "length": 9}
    assert plain["model"] == {"kind": "lstm", "hidden": 3}
    assert plain["optimizer"] == {"lr": (0.1,)}
    assert plain["steps"] == 5
    assert written_down("C2", {}) == {"task": {"spec": "C2"}, "model": {"kind": "gpt"}}
    assert written_down("C2", {"clip": "none"})["optimizer"] == {"clip": None}
    sections = {"evaluation": {"every": 3}, "optimizer": {"lr": 1}, "teach": "none", "curriculum": True}
    plain = written_down("C2", sections | {"teach_until": 4, "halving_least": 2, "curriculum_start": 3})
    assert plain == written_down("C2", {}) | {
        "evaluation": {"every": 3},
        "optimizer": {"lr": 1},
        "curriculum": {"start": 3},
    }


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"floor": 0.1}, "--floor needs --schedule cosine or plateau"),
        ({"patience": 3, "schedule": "cosine"}, "--patience needs --schedule plateau"),
        ({"context": 4}, "--context needs --positions learned"),
        ({"halving": 10_000}, "--halving must come before the last step, or --stop-at be given"),
    ],
)
def test_an_option_without_effect_is_named_with_what_it_needs(options: dict[str, Any], reason: str) -> None:
    assert reason in without_effect(options)
    assert without_effect({}) == []


def test_a_number_or_none_is_one_of_them() -> None:
    assert (number_or_none("0.5"), number_or_none("none")) == (0.5, "none")
    with pytest.raises(click.BadParameter, match="neither a number nor none"):
        number_or_none("zebra")

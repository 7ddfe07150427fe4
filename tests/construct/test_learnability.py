import json
from pathlib import Path
from random import Random

import pytest

import krohn
from krohn.cli.app import run
from krohn.construct.learnability import (
    CLASSES,
    LENGTH,
    POSITIONS,
    chosen_networks,
    is_one_way,
    keeps,
    networks,
    sensitivity,
)
from krohn.errors import UnknownName


def test_every_automaton_has_a_row_for_each_kind_of_positions() -> None:
    rows = networks()
    names = [row["automaton"] for row in rows]
    assert len(rows) == 2 * len(set(names)) > 5000
    assert {row["class"] for row in rows} <= {*CLASSES, "undecided"}
    assert all(row["learned"] == (row["accuracy"] >= 0.99) for row in rows)
    assert {row["positions"] for row in rows} == set(POSITIONS)


def test_analyze_counts_the_rows_of_its_class_and_sensitivity() -> None:
    known = krohn.analyze("Grid9").to_json()["learned"]
    low, high = known["sensitivity"]
    alike = [
        row for row in networks()
        if row["class"] == "aperiodic" and low <= row["sensitivity"] < high
    ]  # fmt: skip
    assert low <= sensitivity(krohn.parse_spec("Grid9")) < high
    assert known["of"] == len(alike) // 2
    assert known["learned"] == sum(row["learned"] for row in alike if row["positions"] == "sinusoidal")
    assert known["without_positions"]["longer"] == sum(
        keeps(row) for row in alike if row["positions"] == "none"
    )
    assert "4 layers on words of 32 letters" in known["by"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ([[0, 1], [1, 1]], "one-way"),
        ("Grid4", "aperiodic"),
        ("abab", "length decides"),
        ([[1, 2], [2, 0], [0, 1]], "abelian groups"),
        ("S3:adjacent", "G0 abelian"),
        ("S3", "solvable groups"),
    ],
)
def test_classes_follow_the_algebra(given: str | list[list[int]], name: str) -> None:
    assert krohn.analyze(krohn.automaton(given)).to_json()["learned"]["class"] == name


def test_automata_larger_than_those_of_the_atlas_have_no_sentence() -> None:
    report = krohn.analyze("C40")
    assert report.to_json()["learned"] is None
    assert "automata like this" not in report.text()


def test_sensitivity_is_the_share_of_words_that_a_letter_changes() -> None:
    """Against words drawn in another way; 2,000 words have a standard error of .011."""
    automaton, dice, changed = krohn.parse_spec("Grid9"), Random(4), 0
    for _ in range(4000):
        word = [dice.randrange(2) for _ in range(LENGTH)]
        other, place = list(word), dice.randrange(LENGTH)
        other[place] = 1 - word[place]
        changed += automaton.run(word)[-1] != automaton.run(other)[-1]
    assert sensitivity(automaton) == pytest.approx(changed / 4000, abs=0.05)
    assert sensitivity(krohn.parse_spec("C2")) == 1.0
    assert is_one_way(krohn.automaton([[0, 1], [1, 1]]))
    assert not is_one_way(krohn.parse_spec("Grid3"))


def test_the_command_filters_rows_with_the_promised_keys(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(["atlas", "--class", "one-way", "--positions", "none", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["table"]
    assert len(rows) == len(chosen_networks("one-way", positions="none"))
    keys = {"automaton", "class", "sensitivity", "positions", "learned", "words_read", "longer"}
    assert all(keys <= set(row) and row["class"] == "one-way" for row in rows)
    out = tmp_path / "rows.csv"
    assert run(["atlas", "--kind", "groups", "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == 1 + len(chosen_networks(kind="groups"))


def test_what_the_atlas_does_not_have_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownName, match="class must be one of"):
        krohn.atlas(class_="easy")
    assert run(["atlas", "--states", "2"]) == 2
    assert "only one of them" in capsys.readouterr().err
    assert run(["atlas", "--states", "2", "--letters", "2", "--class", "aperiodic"]) == 2
    assert run(["atlas", "--sample", "2"]) == 2

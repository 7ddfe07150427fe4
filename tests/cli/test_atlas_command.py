"""``krohn atlas``: the promised keys, a table for people, refusals."""

import json

import pytest

from krohn.cli.app import run


def test_the_list_has_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["atlas", "--states", "2", "--letters", "2", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["automata"]
    assert len(entries) == 7
    assert all(entry["depth"] == 1 and entry["optimal"] == (entry["lower"] == 1) for entry in entries)
    lower = {str(entry["table"]): entry["lower"] for entry in entries}
    # The state is the last letter, the parity of the place, or 1: position and letter say it all.
    assert {table for table, bound in lower.items() if bound == 0} == {
        "[[0, 1], [0, 1]]",
        "[[1, 1], [0, 0]]",
        "[[1, 1], [1, 1]]",
    }
    assert all("lower_beyond" in entry for entry in entries)
    assert [[0, 1], [1, 0]] in [entry["table"] for entry in entries]


def test_a_sample_is_printed_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["atlas", "--states", "3", "--letters", "2", "--sample", "2", "--effort", "0.1"]) == 0
    assert "next states" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [["--states", "7", "--letters", "3"], ["--states", "1", "--letters", "2"]]
)
def test_bad_sizes_are_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["atlas", *options]) == 2
    assert "error:" in capsys.readouterr().err

"""The page of hard inputs shows what commands print today."""

import bench_answers
import pytest

from krohn.cli.app import run


def test_sizes_proof_and_bounds_are_found_in_what_compile_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "C2", "--length", "8"]) == 0
    shown = bench_answers.shown_result(capsys.readouterr().out)
    assert shown.startswith("layers 1, blocks 1, parameters ")
    assert "proved: right on every word of up to 8 letters in float32, depth: 1 layer" in shown


def test_of_other_commands_the_first_line_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["decompose", "Grid4"]) == 0
    assert bench_answers.shown_result(capsys.readouterr().out).startswith("Grid4: a cascade of 1 level")

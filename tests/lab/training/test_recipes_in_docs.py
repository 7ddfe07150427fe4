"""The commands in docs/recipes.md are the runs whose results the tables there and elsewhere show."""

import re
from pathlib import Path

from krohn.cli import train
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import Scale
from krohn.lab.training import typed_run
from krohn.lab.training.config import RunConfig
from lab.experiments.made_up_records import read_results

ROOT = Path(__file__).parents[3]
SECTION = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^krohn train (.*)$", SECTION, re.MULTILINE)


def run_of(arguments: list[str]) -> RunConfig:
    context = train.command.make_context("train", arguments)
    return typed_run.run_of(context.params["spec"], context.params)


def test_the_commands_are_cells_of_the_maps() -> None:
    by_muon, by_adamw, of_d8 = (run_of(command.split()) for command in COMMANDS)
    planned = EXPERIMENTS["depth"].plan(Scale.SMALL)
    for config, label in (
        (by_muon, {"task": "S5", "depth": 8, "sheet": "Muon"}),
        (by_adamw, {"task": "C2", "depth": 2, "sheet": "whole words"}),
    ):
        assert [run.config for run in planned if run.label == label] == [config]
    _, members = read_results(ROOT / "results" / "depth-small.jsonl")
    of_its_own = [member.run_id for member in members if member.label.get("words") == "whole"]
    assert of_its_own == [of_d8.run_id]

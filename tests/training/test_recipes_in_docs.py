"""The commands in docs/training.md are the runs whose results the tables there and elsewhere show."""

import re
from pathlib import Path

from krohn.cli import train
from krohn.experiments.all_experiments import EXPERIMENTS
from krohn.experiments.scale import Scale
from krohn.training.config import RunConfig

ROOT = Path(__file__).parents[2]
SECTION = (ROOT / "docs" / "training.md").read_text(encoding="utf-8").partition("## Recipes at T = 100")[2]
COMMANDS = re.findall(r"^krohn train (.*)$", SECTION, re.MULTILINE)


def run_of(arguments: list[str]) -> RunConfig:
    context = train.command.make_context("train", arguments)
    return train.run_of(context.params["spec"], context.params)


def test_the_commands_are_cells_of_the_maps() -> None:
    one_recipe, of_d8 = (run_of(command.split()) for command in COMMANDS)
    planned = {name: EXPERIMENTS[name].plan(Scale.SMALL) for name in ("uniform", "depth")}
    wanted = {"task": "C2", "depth": 2, "sheet": "whole words"}
    assert [run.config for run in planned["uniform"] if run.label == wanted] == [one_recipe]
    wanted = {"task": "D8", "depth": 8, "words": "whole"}
    assert [run.config for run in planned["depth"] if run.label == wanted] == [of_d8]

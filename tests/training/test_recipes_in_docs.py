"""The commands in docs/training.md are the runs whose results stand beside them."""

import json
import re
import statistics
from pathlib import Path

import pytest

from krohn.cli import train
from krohn.experiments.text_form import parse_text
from krohn.training.config import RunConfig

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| (\S+) \| `krohn train (.*?)` \| ([\d.]+)% \| ([\d.]+)% \| ([\d,]+) \| (\d+) s \|$", re.MULTILINE
)
ROWS = ROW.findall((ROOT / "docs" / "training.md").read_text(encoding="utf-8"))


def run_of(arguments: list[str]) -> RunConfig:
    context = train.command.make_context("train", arguments)
    return train.run_of(context.params["spec"], context.params)


def test_the_table_is_found() -> None:
    cyclic = [f"C{order}" for order in range(4, 9)]
    rest = ["C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5"]
    assert [row[0] for row in ROWS] == ["Dyck4,2", *cyclic, *rest]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[2]}")
def test_a_recipe_is_a_published_run_with_these_numbers(row: tuple[str, ...]) -> None:
    task, command, best, median, sequences, seconds = row
    run = run_of(command.split())
    records, _ = parse_text(ROOT / "results" / "depth-small.jsonl")
    own = [record for record in records if record.run_id == run.run_id]
    assert own, "the command must be a run whose results are published"
    assert own[0].config == json.loads(run.to_json())
    accuracy = sorted(record.metrics["accuracy"] for record in own)
    assert (len(own), run.task.spec) == (run.replicates, task)
    assert f"{accuracy[-1]:.2%}" == f"{best}%"
    assert f"{statistics.median(accuracy):.2%}" == f"{median}%"
    assert f"{max(record.sequences for record in own):,}" == sequences
    assert f"{own[0].metrics['seconds']:.0f}" == seconds

"""Does accuracy suffer if AdamW's moments are stored in bf16? Paired with the published float32 runs.

    python research/half_moments.py [--tasks D8 Grid9] [--out FILE.jsonl]    # a GPU, half a minute a task

The runs are those of `krohn reproduce stability` with nothing changed (EMA .9). After every step both
moments are rounded to bf16, which is what storing them in two bytes does. Replicates of the same number start
from the same weights and read the same words. Without a published run the one in float32 is made as well.
"""

import argparse
import json
from pathlib import Path
from unittest.mock import patch

from torch import Tensor

from krohn.lab.experiments.engines import Job
from krohn.lab.experiments.experiment import PlannedRun
from krohn.lab.experiments.names import Scale, parse_scale
from krohn.lab.experiments.recipes import stability
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.single_run import work
from krohn.lab.experiments.store import parse_text
from krohn.lab.experiments.summary import mean_and_error
from krohn.lab.training.optimizers import AdamW

RESULTS = Path(__file__).parents[1] / "results"
_step = AdamW.step


def step_and_round(self: AdamW, loss: Tensor, *, average: bool) -> None:
    """A step of AdamW, after which both moments are rounded to bf16."""
    _step(self, loss, average=average)
    for moment in (self.state.first, self.state.second):
        moment.copy_(moment.bfloat16())


def records_of(run: PlannedRun, device: str | None) -> dict[int, Record]:
    records = work(Job(run=run, directory=None, device=device, deadline=None))
    return {record.replicate: record for record in records}


def published(run: PlannedRun) -> dict[int, Record]:
    records, _ = parse_text(RESULTS / f"stability-{Scale.SMALL}.jsonl")
    return {record.replicate: record for record in records if record.run_id == run.config.run_id}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", default=["D8", "Q8", "Grid9"], choices=stability.TASKS)
    parser.add_argument("--scale", type=parse_scale, default=Scale.SMALL)
    parser.add_argument("--device")
    parser.add_argument("--out", type=Path, help="a line of JSON for each task")
    options = parser.parse_args()
    wanted = [{"task": task, "factor": "EMA", "value": 0.9} for task in options.tasks]
    for run in [run for run in stability.plan(options.scale) if run.label in wanted]:
        full = published(run) or records_of(run, options.device)
        with patch.object(AdamW, "step", step_and_round):
            half = records_of(run, options.device)
        gains = [100 * (half[number].accuracy - full[number].accuracy) for number in full]
        mean, error = mean_and_error(gains)
        row = {
            "task": run.label["task"],
            "words": half[0].sequences,
            "float32": [full[number].accuracy for number in full],
            "bf16": [half[number].accuracy for number in full],
            "points": f"{mean:+.2f} ± {error:.2f}",
            "better": sum(gain > 0 for gain in gains),
        }
        print({key: value for key, value in row.items() if not isinstance(value, list)}, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()

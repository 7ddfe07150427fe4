"""Small networks taught by doubling: for each task two replicates, in float32, each in a folder of its own.

Run: python research/taught_tier.py OUT [TASK …]        # one GPU, about ten seconds a task

Every block has a variable that is known beforehand: the product of the last 2^l letters. A folder is read
like a run's: `config.json`, `weights.safetensors` with the one replicate, `hints.safetensors`, `result.json`.
"""

import argparse
import time
from pathlib import Path

from krohn.base.files import write_json
from krohn.lab.training.directory import CONFIG, HINTS, RESULT, write_tensors, write_weights
from krohn.lab.training.loop import TrainResult, train

TASKS = ("C3", "D6", "D8", "Q8", "A4", "S4", "A5", "S5", "Grid9", "Grid4", "C2xC2", "Dyck4,2")
REPLICATES = 2


def taught(task: str) -> TrainResult:
    """Words of 16 letters, four blocks of width 128."""
    return train(
        task,
        length=16,
        layers=4,
        dim=128,
        heads=4,
        mlp=128,
        embedding_std=0.3,
        optimizer={
            "method": "muon",
            "lr": [2e-3],
            "betas": [0.95, 0.98],
            "batch": 128,
            "schedule": "cosine",
            "warmup": 100,
        },
        evaluation={"every": 250, "sequences": 2048, "stop_at": 0.99999},
        teach={"hints": "doubling"},
        replicates=REPLICATES,
        steps=4000,
        precision="fp32",
    )


def keep(result: TrainResult, out: Path) -> None:
    for number, entry in enumerate(result.replicates):
        folder = out / f"{result.config.task.spec.lower().replace(',', '-')}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / CONFIG, result.config.to_dict())
        write_weights(folder, {name: value[number : number + 1] for name, value in result.weights.items()})
        hints = {name: value[number : number + 1] for name, value in result.hints.items()}
        write_tensors(folder / HINTS, hints)
        summary = {"run": result.config.run_id, "replicate": number, "replicates": [entry], "finished": True}
        write_json(folder / RESULT, summary)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("tasks", nargs="*", default=TASKS)
    options = parser.parse_args()
    for task in options.tasks:
        began = time.time()
        result = taught(task)
        keep(result, options.out)
        for entry in result.replicates:
            hints = [f"{hint['accuracy']:.4f}" for hint in entry["hints"]]
            test = entry["test"]
            print(
                f"{task}: letters {test['accuracy']:.5f}, words {test['sequence_accuracy']:.4f}, "
                f"hints {hints}, at step {entry['step']}, {time.time() - began:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()

"""A training step with hints beside a step without, one after the other in one process.

    python benchmarks/bench_hints.py [--out FILE.json] [TASK …]        # one GPU, about ten seconds a task

The limit first. For R·N rows a block of width d = 512 multiplies 6·512² numbers a row, a hint with C classes
512·C: with 120 classes a 25th. Its LayerNorm reads and writes the stream once more in each direction.
"""

import argparse
import json
from pathlib import Path

import torch
from bench_training import seconds_per_step

from krohn.automata.zoo import parse_spec
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.depth import BY_MUON
from krohn.lab.experiments.settings import plan_run
from krohn.lab.tasks.batches import Task
from krohn.lab.training.device import choose_device, choose_precision
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper
from krohn.lab.training.teaching import Teaching


def milliseconds(spec: str, hints: str) -> float:
    """One step of the map's recipe with 7 layers and six replicates."""
    device = choose_device(None)
    config = plan_run(Scale.SMALL, {}, spec=spec, length=100, layers=7, teach=hints, **BY_MUON).config
    task = Task(config.task, parse_spec(spec), device)
    network = config.model.build(task.vocabulary, task.classes)
    teaching = None if config.teach is None else Teaching(config, task, network)
    layout = network.layout if teaching is None else teaching.layout
    state = TrainState.start(config, layout, device, choose_precision(config, device))
    stepper = Stepper(config, network, task, state, teaching=teaching)
    result = 1e3 * min(seconds_per_step(stepper, 128, average=False) for _ in range(3))
    del stepper, state
    torch.cuda.empty_cache()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tasks", nargs="*", default=["S5", "D6", "Grid9", "Dyck4,2"])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    for spec in options.tasks:
        without, with_hints = milliseconds(spec, "none"), milliseconds(spec, "doubling")
        rows.append(
            {"task": spec, "without_ms": without, "with_ms": with_hints, "ratio": with_hints / without}
        )
        print(
            f"{spec}: {without:.2f} ms, with hints {with_hints:.2f} ms, {with_hints / without:.3f}",
            flush=True,
        )
    if options.out:
        options.out.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()

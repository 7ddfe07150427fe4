"""Runs a queue of cells on a GPU that is available for minutes: in order, saving each result at once.

Run: python research/device_queue.py QUEUE --seconds 560 --out FOLDER [--scale small] [--replicates 5]

QUEUE is a file with one line for each group of cells: the experiment and parts of the label, for example

    depth task=D8|A5; depth=8; sheet=Muon
    taught task=C2|C3; layers=7; length=100; hints=doubling; replicates=1

The second makes networks only: with fewer replicates a run is another than the planned one and fills no cell.

Processes with the same FOLDER and different --name share a queue: each cell is taken by one of them. Cells
that FOLDER/NAME or the files after --known hold with test words are not run again. A cell of the map
is skipped once two shallower ones of its row are solved by most survivors, though not by Muon with 7 layers,
as the taught have, or more than a depth known to pass; one of another length once a shallower one is solved.
A cell that would not end before the deadline, by the pace of those before it and if it reads --share of its
words, lets a cheaper one go first. What solves a cell is kept: the best replicate, and with --replicates 5
up to four others beside it.
"""

import argparse
import re
import shutil
import time
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import torch

from krohn.base.files import write_json
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.code_version import code_version
from krohn.lab.experiments.engines import Job
from krohn.lab.experiments.experiment import PlannedRun
from krohn.lab.experiments.names import Scale, parse_scale
from krohn.lab.experiments.recipes.depth import DOUBLING_DEPTH, GROWTH, MUON, passing_depth
from krohn.lab.experiments.single_run import work
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.summary import SOLVED
from krohn.lab.experiments.sweep import is_done
from krohn.lab.training.config import RunConfig
from krohn.lab.training.directory import CONFIG, HINTS, RESULT, write_tensors, write_weights
from krohn.lab.training.loop import TrainResult

KEPT = ("depth", "taught")
LEAST_SECONDS = 45.0  # for a cell that may be stopped early
START_SECONDS = 12.0  # to draw weights, to compile kernels and to record graphs


@dataclass
class Pace:
    """Seconds for each layer and billion of letters, as measured so far; a guess before the first run."""

    seconds: float = 45.0
    share: float = 1.0

    def of(self, run: PlannedRun) -> float:
        return START_SECONDS + self.seconds * self.share * work_of(run)

    def learn(self, run: PlannedRun, letters: float, seconds: float) -> None:
        if letters > 0 and seconds > 2 * START_SECONDS:
            self.seconds = 0.5 * (self.seconds + (seconds - START_SECONDS) / letters)


def work_of(run: PlannedRun) -> float:
    """Work of a whole run, in billions of letters times layers, successive halving included."""
    config = run.config
    layers = getattr(config.model, "layers", 1) * (getattr(config.model, "dim", 512) / 512)
    steps, alive, total = 0, config.replicates, 0
    every = config.steps if config.halving is None else config.halving.every
    while steps < config.steps:
        length = min(every, config.steps - steps)
        total += length * alive
        steps += length
        if config.halving is not None:
            alive = max(config.halving.least, (alive + 1) // 2)
    return total * config.optimizer.batch * config.task.num_tokens * layers / 1e9


def chosen(line: str, scale: Scale) -> list[tuple[str, PlannedRun]]:
    """The planned runs that a line names, in the order of their plan."""
    name, _, rest = line.partition(" ")
    wanted = {}
    for part in rest.split(";"):
        key, _, value = part.strip().partition("=")
        wanted[key] = value
    replicates = wanted.pop("replicates", None)
    runs = [
        run
        for run in EXPERIMENTS[name].plan(scale)
        if all(str(run.label.get(key)) in value.split("|") for key, value in wanted.items() if key)
    ]
    assert runs, f"no run of {name} has {wanted}"
    order = {value: place for value in wanted.values() for place, value in enumerate(value.split("|"))}
    runs.sort(key=lambda run: [order.get(str(value), 0) for value in run.label.values()])
    if replicates is not None:
        runs = [replace(run, config=with_fewer(run.config, int(replicates))) for run in runs]
    return [(name, run) for run in runs]


def with_fewer(config: RunConfig, replicates: int) -> RunConfig:
    """The run with its first replicates only, which keep their words, first weights and learning rates."""
    optimizer = replace(config.optimizer, lr=config.optimizer.lr[:replicates])
    return replace(config, replicates=replicates, optimizer=optimizer)


def solved(store: Store, run: PlannedRun) -> bool:
    """Whether most replicates that were trained to the end have 99% of the letters of the test set right."""
    records = store.of_run(run.config.run_id)
    ended = [record for record in records if record.metrics["ended"] != "given up"]
    return bool(ended) and 2 * sum(record.accuracy >= SOLVED for record in ended) > len(ended)


@cache
def depth_plan(scale: Scale) -> list[PlannedRun]:
    """All cells of the depth map."""
    return EXPERIMENTS["depth"].plan(scale)


def row_is_finished(store: Store, run: PlannedRun, scale: Scale) -> bool:
    """Whether two shallower cells of the same row and sheet, adjacent in the map, are solved."""
    if "sheet" not in run.label:
        return False
    row = [
        other
        for other in depth_plan(scale)
        if (other.label["task"], other.label["sheet"]) == (run.label["task"], run.label["sheet"])
    ]
    known = [solved(store, other) for other in row if other.label["depth"] < run.label["depth"]]
    if run.label["sheet"] in GROWTH:
        return any(known)
    if run.label["sheet"] == MUON and (
        run.label["depth"] == DOUBLING_DEPTH or run.label["depth"] > passing_depth(run.label["task"])
    ):
        return False
    return any(one and other for one, other in pairwise(known))


def folder(name: str, run: PlannedRun) -> str:
    """Where the best replicate is kept: for example ``depth-c2-2-layers-muon``."""
    label = dict(run.label)
    task, layers = label.pop("task"), label.pop("depth", None) or label.pop("layers")
    words = [name, str(task), f"{layers}-layers", *map(str, label.values())]
    return re.sub("[^a-z0-9]+", "-", "-".join(words).lower())


# Trained networks kept beside the results: small run directories of one replicate, in bf16.
#
# Such a directory is read like any other run's (``krohn verify``, ``krohn export``, …): ``config.json`` is
# the run, ``weights.safetensors`` holds the one replicate that was kept, ``result.json`` what it reached.


def keep(result: TrainResult, folder: Path, most: int = 1) -> Path:
    """Writes the best replicate on the validation set, and beside it others that solve the task there.

    The best goes to ``folder``, another such as replicate 3 to ``folder`` with the suffix ``-replicate-3``;
    at most ``most`` replicates in all.
    """
    accuracy = [entry["accuracy"] for entry in result.replicates]
    first, *rest = sorted(range(len(accuracy)), key=lambda number: -accuracy[number])
    _keep_one(result, folder, first)
    for number in [number for number in rest if accuracy[number] >= SOLVED][: most - 1]:
        _keep_one(result, folder.with_name(f"{folder.name}-replicate-{number}"), number)
    return folder


def _keep_one(result: TrainResult, folder: Path, number: int) -> None:
    weights = {
        name: value[number : number + 1].to(torch.bfloat16).cpu() for name, value in result.weights.items()
    }
    entry = result.replicates[number]
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CONFIG, result.config.to_dict())
    write_weights(folder, weights)
    hints = {name: value[number : number + 1].to(torch.bfloat16) for name, value in result.hints.items()}
    if hints:
        write_tensors(folder / HINTS, hints)
    write_json(
        folder / RESULT,
        {
            "run": result.config.run_id,
            "replicate": number,
            "replicates": [entry],
            "finished": result.finished,
        },
    )


def take(run: PlannedRun, out: Path) -> bool:
    """Whether this process is the first that wants the cell, of all that share the folder."""
    (out / "taken").mkdir(exist_ok=True)
    try:
        (out / "taken" / run.config.run_id).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def make(name: str, run: PlannedRun, options: argparse.Namespace, store: Store, deadline: float) -> float:
    """Runs a cell, stores its records and prints a line; returns the billions of letters it read."""
    best = options.out / "networks" / folder(name, run) if name in KEPT else None
    after = None if best is None else partial(keep, folder=best, most=options.replicates)
    job = Job(run=run, directory=None, device=options.device, deadline=deadline, after=after)
    began = time.time()
    records = work(job)
    planned = any(run.config.run_id == other.config.run_id for other in EXPERIMENTS[name].plan(options.scale))
    store.put(records, [run.member(name, options.scale)] if planned else [])
    seconds = time.time() - began
    seen = sum(record.sequences for record in records)
    chosen_one = max(records, key=lambda record: record.metrics["accuracy"])
    if best is not None and chosen_one.accuracy < SOLVED:
        for path in best.parent.glob(f"{best.name}*"):
            shutil.rmtree(path)
    words = ", ".join(f"{key} {value}" for key, value in run.label.items())
    print(
        f"{name}: {words}: {records[0].status}, test {chosen_one.accuracy:.4f}, "
        f"words {chosen_one.metrics['test']['sequence_accuracy']:.4f}, "
        f"{max(record.sequences for record in records):,} words, {seconds:.1f} s",
        flush=True,
    )
    layers = getattr(run.config.model, "layers", 1) * (getattr(run.config.model, "dim", 512) / 512)
    return seen * run.config.task.num_tokens * layers / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queue", type=Path)
    parser.add_argument("--seconds", type=float, default=570.0)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", type=parse_scale, default=Scale.SMALL)
    parser.add_argument("--device")
    parser.add_argument("--name", help="of this process's store, instead of the queue's")
    parser.add_argument("--share", type=float, default=1.0, help="of its words that a cell should take")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="text files with earlier results")
    parser.add_argument(
        "--replicates", type=int, default=1, help="how many replicates that solve a cell to keep"
    )
    parser.add_argument(
        "--priority",
        type=int,
        default=0,
        help="of this process's work among those that share a GPU through MPS, 0 to 5; higher goes first",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="start runs that may not finish in time; their results are marked partial",
    )
    options = parser.parse_args()
    code_version()  # of the sources that run; those on disk may be newer when the first record is written
    if options.priority:  # a network alone has small kernels, which would wait behind those of many
        torch.cuda.set_stream(torch.cuda.Stream(priority=-options.priority))
    deadline = time.time() + options.seconds
    lines = [line for line in options.queue.read_text().splitlines() if line.strip() and line[0] != "#"]
    waiting = [result for line in lines for result in chosen(line, options.scale)]
    options.out.mkdir(parents=True, exist_ok=True)
    pace = Pace(share=options.share)
    with Store(options.out / f"{options.name or options.queue.stem}") as store:
        for file in filter(Path.is_file, options.known):
            with Store(file, writable=False) as known:
                store.put(known.records(), known.members())
        while waiting:
            waiting = [
                (name, run)
                for name, run in waiting
                if not is_done(store, run) and not row_is_finished(store, run, options.scale)
            ]
            left = deadline - time.time()
            fitting = [result for result in waiting if pace.of(result[1]) < left]
            if not fitting and not (options.partial and waiting and left > LEAST_SECONDS):
                break
            name, run = first = (fitting or waiting)[0]
            waiting.remove(first)
            if not take(run, options.out):
                continue
            began = time.time()
            try:
                letters = make(name, run, options, store, deadline)
            except Exception as error:  # one cell that fails must not cost the others
                print(f"{name} {dict(run.label)}: failed, {type(error).__name__}: {error}", flush=True)
                continue
            pace.learn(run, letters, time.time() - began)
    print(
        f"{len(waiting)} cells left, {deadline - time.time():.0f} s left, {pace.seconds:.1f} s a unit",
        flush=True,
    )


if __name__ == "__main__":
    main()

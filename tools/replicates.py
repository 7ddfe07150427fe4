"""What trained replicates do: every measurement of a network in one JSON file, and the tables made of them.

    python tools/replicates.py measure FOLDER … --out DIR [--device cuda] [--jobs N] [--small]
    python tools/replicates.py gather DIR

A FOLDER is a run directory with the weights of one replicate (`krohn understand` opens it). ``measure``
patches prefixes, follows letters from four places, swaps subspaces (random, linear, learned) of 1, 8 and 32
positions, and runs words beyond the trained length. ``gather`` merges DIR into
results/understand/replicates.jsonl.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from understand_tables import STORE, rounded

from krohn.study.beyond import LENGTHS, beyond
from krohn.study.carrying import follow_letter
from krohn.study.learned import state_moved
from krohn.study.prefixes import patch_prefixes
from krohn.study.subject import Subject, subject_of_run
from krohn.training.directory import read_config

RECORDS = STORE / "replicates.jsonl"
POSITIONS = (1, 8, 32)


def measure(folder: Path, out: Path, device: str, small: bool) -> str:
    """One network; a file that is there already is not made again."""
    target = out / f"{folder.name}.json"
    if target.exists():
        return f"{folder.name}: there already"
    began, length = perf_counter(), read_config(folder).task.length
    whole = subject_of_run(folder, round(LENGTHS[-1] * length))
    opened = perf_counter() - began
    subject = whole.until(length).to(device)
    report = patch_prefixes(subject, pairs=16 if small else 64)
    places = [1 + part * length // 4 for part in range(4)]
    row = {
        "name": folder.name,
        "run": about(folder),
        **report.to_json(),
        "letter_paths": [
            follow_letter(subject, place, pairs=8 if small else 32).to_json() for place in places
        ],
        "subspaces": [one.to_json() for one in moved(subject, small)],
        **beyond(whole.to(device), length).to_json(),
        "device": device,
        "seconds": [opened, perf_counter() - began],
    }
    out.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rounded(row), ensure_ascii=False))
    return f"{folder.name}: {report.verdict} ({row['seconds'][1]:.0f} s)"


def moved(subject: Subject, small: bool) -> list[Any]:
    blocks = len(subject.stages.blocks)
    layers = sorted({blocks // 2, blocks - 2, blocks - 1} - {0})
    effort: dict[str, int] = {"pairs": 32, "steps": 3} if small else {}
    cells = product(layers[-1:] if small else layers, POSITIONS)
    return [state_moved(subject, layer, positions=positions, **effort) for layer, positions in cells]


def about(folder: Path) -> dict[str, Any]:
    """Run and replicate, and its accuracy on the test words, as the folder's own result has them."""
    result = json.loads((folder / "result.json").read_text())
    own = max(result["replicates"], key=lambda one: one["accuracy"])
    return {
        "id": result["run"],
        "replicate": result["replicate"],
        "learning_rate": own["learning_rate"],
        **{key: own["test"][key] for key in ("accuracy", "sequence_accuracy")},
    }


def measure_all(folders: list[Path], out: Path, device: str, jobs: int, small: bool) -> None:
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        tasks = {pool.submit(measure, folder, out, device, small): folder.name for folder in folders}
        for task in as_completed(tasks):
            error = task.exception()
            print(f"{tasks[task]} failed: {error!r}" if error else task.result(), flush=True)


def gather(folder: Path) -> None:
    rows = {row["name"]: row for row in rows_of(RECORDS)} if RECORDS.exists() else {}
    for path in sorted(folder.glob("*.json")):
        row = json.loads(path.read_text())
        rows[row["name"]] = row
    RECORDS.write_text("".join(json.dumps(rows[name], ensure_ascii=False) + "\n" for name in sorted(rows)))


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["measure", "gather"])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--small", action="store_true", help="few words and steps, to try it out")
    given = parser.parse_args()
    if given.what == "measure":
        measure_all(given.folders, given.out, given.device, given.jobs, given.small)
    else:
        gather(given.folders[0])

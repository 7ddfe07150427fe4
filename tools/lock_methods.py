"""Ways to find planted words, on locks of three grades of disguise: the table of docs/suite.md.

    python tools/lock_methods.py run --count 15 --seed 1 --out results/understand/locks.jsonl
    python tools/lock_methods.py write results/understand/locks.jsonl docs/suite.md

``run`` builds and proves locks, in a temporary folder unless one is named, and appends one JSON line for
each method and lock; lines that are there already are kept. ``write`` puts the table into the page.
"""

import argparse
import json
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import torch

from krohn.lab.suite.disguise import DISGUISES
from krohn.lab.suite.lock_methods import METHODS, OUTSIDE, Target
from krohn.lab.suite.locks import BOUND, KEY, Lock, build_locks, key_folder, tasks_of

BEGIN, END = "<!-- suite-locks -->", "<!-- end -->"


def measured(count: int, seed: int, out: Path, jobs: int, folder: Path) -> None:
    if not folder.exists():
        build_locks(folder, count, seed, jobs=jobs)
    known = {(row["name"], row["seed"], row["method"]) for row in rows_of(out)}
    key = json.loads((key_folder(folder) / KEY).read_text())["locks"]
    wanted = [
        (folder, number, seed, task["tokens"], key[task["name"]]["proof"], method)
        for number, task in enumerate(tasks_of(folder)[:count])
        for method in METHODS
        if (task["name"], seed, method) not in known
    ]
    with ProcessPoolExecutor(jobs) as pool, out.open("a") as file:
        for done in as_completed(pool.submit(tried, *one) for one in wanted):
            file.write(json.dumps(done.result()) + "\n")
            file.flush()


def tried(folder: Path, number: int, seed: int, tokens: dict, proof: str, method: str) -> dict[str, object]:
    """One method on one lock."""
    torch.set_num_threads(1)
    lock = Lock.draw(number, seed)
    labels = lock.automaton if method in OUTSIDE else None
    target = Target.read(folder / lock.name, tokens, labels)
    started = time.process_time()
    found = METHODS[method](target, number)
    seconds = round(time.process_time() - started, 1)
    about = {"name": lock.name, "seed": seed, "grade": lock.grade, "proof": proof}
    return {**about, "method": method, "found": found == lock.word, "seconds": seconds}


def rows_of(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def table(rows: list[dict[str, object]]) -> str:
    lines = [
        f"| method | {' | '.join(f'{grade}: found' for grade in DISGUISES)} | processor seconds, mean |",
        f"| --- |{' --- |' * (len(DISGUISES) + 1)}",
    ]
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        cells = []
        for grade in DISGUISES:
            some = [row for row in own if row["grade"] == grade]
            cells.append(f"{sum(bool(row['found']) for row in some)} of {len(some)}")
        seconds = sum(float(str(row["seconds"])) for row in own) / max(1, len(own))
        lines.append(f"| {method} | {' | '.join(cells)} | {seconds:.0f} |")
    cells = [f"at most {BOUND:.2%}"] * len(DISGUISES)
    lines.append(f"| any method from outside, a million queries | {' | '.join(cells)} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("--count", type=int, default=15)
    run.add_argument("--seed", type=int, default=1)
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--jobs", type=int, default=1, help="processes at a time")
    run.add_argument("--locks", type=Path, help="folder of the locks: built if it is not there")
    write = commands.add_parser("write")
    write.add_argument("rows", type=Path)
    write.add_argument("page", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.command == "run":
        with tempfile.TemporaryDirectory() as place:
            folder = given.locks or Path(place) / "locks"
            measured(given.count, given.seed, given.out, given.jobs, folder)
        return
    before, _, rest = given.page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    given.page.write_text(f"{before}{BEGIN}\n{table(rows_of(given.rows))}\n{END}{after}")


if __name__ == "__main__":
    main()

"""Machines that nobody here wrote: read, named, compiled and proved, a row for each.

    python benchmarks/bench_corpora.py DIR [--length 64] [--jobs N] --out F.jsonl
    python benchmarks/bench_corpora.py DIR --every 20 --target observation --out F.jsonl
    python benchmarks/bench_corpora.py DIR --seed 1 --out F.jsonl
    python benchmarks/bench_corpora.py --table F.jsonl

DIR is a folder with files in any format that krohn reads; a file ``*.re`` has a pattern on each line. Each
machine is compiled in a process of its own, on one core, in at most ``--seconds``; rows that F.jsonl has are
not measured again. ``--seed`` draws the order, so that the rows of a run that was stopped are a fair sample.
A table for each folder is printed at the end. ``class`` is the smallest named class of ``krohn analyze``;
``refusal`` is why there is no row, or no proof.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from tqdm import tqdm

import krohn
from krohn.automata.files import FILES

KEYS = (
    "machine",
    "target",
    "states",
    "letters",
    "class",
    "layers",
    "blocks",
    "method",
    "parameters",
    "proved",
)
KEYS += ("seconds", "megabytes", "refusal")
MATCH = {"full": "regex:{}", "search": "regex:/{}/"}


def machines(folder: Path, match: str) -> Iterator[tuple[str, str]]:
    """Names of machines with the texts that krohn reads; patterns that ``re`` refuses are none."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".re":
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                text = line if line.startswith("/") and line.rpartition("/")[0] else MATCH[match].format(line)
                yield f"{name}:{number}", text if text.startswith("regex:") else f"regex:{text}"
        elif path.is_file() and (path.suffix in FILES or not path.suffix or path.suffix[1:].isdigit()):
            yield name, str(path.resolve())


def measured(spec: str, length: int, target: str) -> dict[str, Any]:
    """The row of one machine, in this process."""
    row: dict[str, Any] = dict.fromkeys(KEYS)
    row["target"] = target
    begin = time.process_time()
    try:
        automaton = krohn.parse_spec(spec)
        row |= {"states": automaton.num_states, "letters": automaton.num_letters}
        try:
            classes = krohn.analyze(automaton).to_json()["classes"]
            row["class"] = classes[0]["name"] if classes else None
        except krohn.KrohnError as error:
            row["refusal"] = f"analyze: {error}"
        row["analyze_seconds"] = round(time.process_time() - begin, 2)
        network = krohn.compile(automaton, length, target=target)
        about = krohn.report(network).to_json()
        row |= {key: about.get(key) for key in ("blocks", "method", "proved")}
        row |= {"layers": about.get("depth"), "parameters": about.get("num_parameters")}
    except krohn.KrohnError as error:
        row["refusal"] = str(error)
    row["seconds"] = round(time.process_time() - begin, 2)
    row["megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
    return row


def in_a_process(name: str, spec: str, given: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own, on one core and for a limited time."""
    alone = {
        **os.environ,
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    }
    command = [
        sys.executable,
        __file__,
        "--one",
        spec,
        "--length",
        str(given.length),
        "--target",
        given.target,
    ]
    row: dict[str, Any] = {**dict.fromkeys(KEYS), "target": given.target}
    try:
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=given.seconds)
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        row = json.loads(done.stdout) if done.returncode == 0 else {**row, "refusal": f"failed: {last[:200]}"}
    except subprocess.TimeoutExpired:
        row["refusal"] = f"timed out after {given.seconds} s"
    return {**row, "machine": name}


def run(given: argparse.Namespace) -> None:
    """Measures what the file of rows has not yet."""
    rows = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(row["machine"], row["target"]) for row in map(json.loads, rows)}
    wanted = list(machines(given.folder, given.match))[given.offset :: given.every]
    if given.seed is not None:
        random.Random(given.seed).shuffle(wanted)
    left = [(name, spec) for name, spec in wanted if (name, given.target) not in done]
    with ThreadPoolExecutor(given.jobs) as pool, open(given.out, "a") as stream:
        waiting = [pool.submit(in_a_process, name, spec, given) for name, spec in left]
        for each in tqdm(as_completed(waiting), total=len(waiting), disable=not sys.stderr.isatty()):
            stream.write(json.dumps(each.result(), ensure_ascii=False) + "\n")
            stream.flush()


def table(path: Path) -> str:
    """A row for each folder and target: how many are read, proved in each type, and what they take."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in map(json.loads, path.read_text().splitlines()):
        corpus = row["machine"].rpartition("/")[0] or row["machine"].rpartition(":")[0] or "."
        groups.setdefault((corpus, row["target"]), []).append(row)
    lines = [
        "| corpus | target | machines | read | float32 | float64 | neither | median s | slowest s | most MB |"
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (corpus, target), rows in sorted(groups.items()):
        read = [row for row in rows if row["states"] is not None]
        types = [sum(row["proved"] == kind for row in read) for kind in ("float32", "float64")]
        seconds = [row["seconds"] for row in read if row["seconds"] is not None] or [0]
        most = max((row["megabytes"] or 0 for row in rows), default=0)
        spread = f"{statistics.median(seconds):.1f} | {max(seconds):.1f}"
        counts = f"{len(rows)} | {len(read)} | {types[0]} | {types[1]} | {len(read) - sum(types)}"
        lines.append(f"| {corpus} | {target} | {counts} | {spread} | {most} |")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--target", choices=["state", "observation"], default="state")
    parser.add_argument("--match", choices=["full", "search"], default="full")
    parser.add_argument("--every", type=int, default=1, help="every n-th machine")
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--seed", type=int, help="draw the order")
    parser.add_argument("--seconds", type=float, default=600.0, help="most for a machine")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help="print the tables of a file of rows, measure nothing")
    given = parser.parse_args(words)
    if given.one is not None:
        print(json.dumps(measured(given.one, given.length, given.target), ensure_ascii=False))
        return
    if given.table is None and (given.folder is None or given.out is None or not given.folder.is_dir()):
        parser.error("give a folder and --out F.jsonl, or --table F.jsonl")
    if given.table is None:
        run(given)
    print(table(given.table or given.out))


if __name__ == "__main__":
    main()

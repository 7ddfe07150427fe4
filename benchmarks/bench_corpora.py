"""Machines that nobody here wrote: read, named, compiled and proved, a row for each.

    python benchmarks/bench_corpora.py DIR [--length 64] [--jobs N] --out F.jsonl
    python benchmarks/bench_corpora.py DIR --every 20 --target observation --out F.jsonl
    python benchmarks/bench_corpora.py DIR --target both --seed 1 --minutes 8 --out F.jsonl
    python benchmarks/bench_corpora.py --table F.jsonl

DIR is a folder with files in any format that krohn reads; a file ``*.re`` has a pattern on each line. Each
machine is compiled in a process of its own, on one core, in at most ``--seconds`` a target; rows that
F.jsonl has are not measured again. ``--seed`` draws the order, so that the rows of a run that was stopped
(by ``--minutes``, say) are a fair sample. A table for each folder is printed at the end. ``class`` is the
smallest named class of ``krohn analyze``, ``analyze_seconds`` what that took with the reading, ``seconds``
the same with the network and its proof; ``refusal`` is why there is no row, or no proof.
"""

import argparse
import json
import math
import multiprocessing
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tqdm import tqdm

import krohn
from krohn.automata.files import FILES
from krohn.automata.regular import is_delimited

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # before numpy is imported by a process
PROCESSES = multiprocessing.get_context("forkserver")
"""A server that has imported krohn forks a process for each machine."""
Row = dict[str, Any]

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
    """Names of machines with the texts that krohn reads."""
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.suffix == ".re":
            for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
                if line:
                    text = f"regex:{line}" if is_delimited(line) else MATCH[match].format(line)
                    yield f"{name}:{number}", text
        elif path.is_file() and (path.suffix in FILES or not path.suffix or path.suffix[1:].isdigit()):
            yield name, str(path.resolve())


def measured(spec: str, length: int, targets: Sequence[str], named: bool, rows: Connection) -> None:
    """Sends the row of one machine for each target; ``named``: with its class."""
    row: dict[str, Any] = dict.fromkeys(KEYS)
    begin, automaton = time.process_time(), None
    try:
        automaton = krohn.parse_spec(spec)
        row |= {"states": automaton.num_states, "letters": automaton.num_letters}
        if named:
            classes = krohn.analyze(automaton).to_json()["classes"]
            row["class"] = classes[0]["name"] if classes else None
    except krohn.KrohnError as error:
        row["refusal"] = f"analyze: {error}" if automaton else str(error)
    row["analyze_seconds"] = round(time.process_time() - begin, 2)
    for target in targets:
        start = time.process_time()
        about: dict[str, Any] = {}
        try:
            if automaton is not None:
                about = krohn.report(krohn.compile(automaton, length, target=target)).to_json()
        except krohn.KrohnError as error:
            about = {"refusal": str(error)}
        one = row | {key: about.get(key) for key in ("blocks", "method", "proved")} | {"target": target}
        one |= {"layers": about.get("depth"), "parameters": about.get("num_parameters")}
        one["refusal"] = about.get("refusal", row["refusal"])
        one["seconds"] = round(row["analyze_seconds"] + time.process_time() - start, 2)
        one["megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000)
        rows.send(one)


def in_a_process(name: str, spec: str, targets: Sequence[str], given: argparse.Namespace) -> list[Row]:
    """The same in a process of its own, each target for a limited time; what is not begun in time is left."""
    result: list[Row] = []
    if time.monotonic() > given.until:
        return result
    receive, send = PROCESSES.Pipe(duplex=False)
    process = PROCESSES.Process(target=measured, args=(spec, given.length, targets, given.classes, send))
    process.start()
    send.close()
    for target in targets:
        row: Row = {**dict.fromkeys(KEYS), "target": target}
        try:
            left = given.until - time.monotonic()
            if receive.poll(min(given.seconds, max(left, 0))):
                row = receive.recv()
            elif left <= given.seconds:  # the whole run has ended, not this machine
                break
            else:
                row["refusal"] = f"timed out after {given.seconds} s"
        except EOFError:
            process.join()
            row["refusal"] = f"failed: exit status {process.exitcode}"
        result.append({**row, "machine": name})
        if row["seconds"] is None:
            break
    process.kill()
    process.join()
    rest = targets[len(result) :] if result and result[-1]["seconds"] is None else ()
    return result + (in_a_process(name, spec, rest, given) if rest else [])


def run(given: argparse.Namespace) -> None:
    """Measures what the file of rows has not yet."""
    rows = given.out.read_text().splitlines() if given.out.exists() else []
    done = {(row["machine"], row["target"]) for row in map(json.loads, rows)}
    wanted = list(machines(given.folder, given.match))[given.offset :: given.every]
    if given.seed is not None:
        random.Random(given.seed).shuffle(wanted)
    targets = ("state", "observation") if given.target == "both" else (given.target,)
    PROCESSES.set_forkserver_preload(["krohn.construct.compiling", "krohn.construct.analyzing"])
    with ThreadPoolExecutor(given.jobs) as pool, open(given.out, "a") as stream:
        waiting = []
        for name, spec in wanted:
            left = [target for target in targets if (name, target) not in done]
            if left:
                waiting.append(pool.submit(in_a_process, name, spec, left, given))
        for each in tqdm(as_completed(waiting), total=len(waiting), disable=not sys.stderr.isatty()):
            for row in each.result():
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
            stream.flush()


def table(path: Path) -> str:
    """A row for each folder and target: how many are read, proved in each type, and what they take."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in map(json.loads, path.read_text().splitlines()):
        corpus = row["machine"].rpartition("/")[0] or row["machine"].rpartition(":")[0] or "."
        groups.setdefault((corpus, row["target"]), []).append(row)
    head = ["corpus", "target", "machines", "read", "float32", "float64", "neither"]
    head += ["median s", "slowest s", "most MB", "≤ 200 states proved", "scans", "analyze over 5 s"]
    lines = [f"| {' | '.join(head)} |", "| --- " * len(head) + "|"]
    for (corpus, target), rows in sorted(groups.items()):
        read = [row for row in rows if row["states"] is not None]
        types = [sum(row["proved"] == kind for row in read) for kind in ("float32", "float64")]
        seconds = [row["seconds"] for row in read if row["seconds"] is not None] or [0]
        most = max((row["megabytes"] or 0 for row in rows), default=0)
        spread = f"{statistics.median(seconds):.1f} | {max(seconds):.1f}"
        counts = f"{len(rows)} | {len(read)} | {types[0]} | {types[1]} | {len(read) - sum(types)}"
        few = [row["proved"] is not None for row in read if row["states"] <= 200]
        scans = sum(row["method"] == "scan" for row in read)
        slow = sum((row.get("analyze_seconds") or 0) > 5 for row in read)
        more = f"{sum(few)} of {len(few)} | {scans} | {slow}"
        lines.append(f"| {corpus} | {target} | {counts} | {spread} | {most} | {more} |")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--target", choices=["state", "observation", "both"], default="state")
    parser.add_argument("--match", choices=["full", "search"], default="full")
    parser.add_argument("--every", type=int, default=1, help="every n-th machine")
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--seed", type=int, help="draw the order")
    parser.add_argument("--seconds", type=float, default=600.0, help="most for a machine and target")
    parser.add_argument("--minutes", type=float, default=math.inf, help="most for all that is measured now")
    parser.add_argument("--no-classes", dest="classes", action="store_false", help="leave ``class`` out")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print the tables of a file of rows, measure nothing")
    given = parser.parse_args(words)
    given.until = time.monotonic() + 60 * given.minutes
    if given.table is None and (given.folder is None or given.out is None or not given.folder.is_dir()):
        parser.error("give a folder and --out F.jsonl, or --table F.jsonl")
    if given.table is None:
        run(given)
    print(table(given.table or given.out))


if __name__ == "__main__":
    main()

"""Which networks Coq's checker covers, and how fast the program made of it is beside Coq.

    python benchmarks/bench_kernel.py --coverage zoo benchmarks/everyday [DIR …] [--length 64] --out F.jsonl
    python benchmarks/bench_kernel.py --table F.jsonl
    python benchmarks/bench_kernel.py --speed

*Coverage*: each machine is compiled as ``krohn compile`` does by default and judged by krohn-kernel, in a
process of its own of at most ``--seconds``; ``zoo`` stands for all of `krohn zoo`, a folder is read as
``bench_corpora.py`` reads it, ``--every`` takes every n-th of its machines. Rows that F.jsonl has are not
measured again. *Speed*: one network of each kind, processor seconds of the program and of coqc on the same
certificate. The limit: the program takes at most a fifth of Coq's time for every kind.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from bench_corpora import machines

import krohn

SPEED = 5.0
"""So many times faster the program must be."""
KINDS = (
    ("C2", None, 100),
    ("FlipFlop", None, 100),
    ("S4", None, 100),
    ("A5", None, 4),
    ("Grid4", None, 16),
    ("S3", "deltaproduct", None),
    ("C2", "rankone", None),
    ("Grid4", "diagonal", None),
    ("C3", "diagonal", None),
    ("results/networks/c2-lstm-proved", "lstm", None),
)
"""Heads that count, copy, look back, match; recurrent networks, the fourth in one order; a trained LSTM."""


def measured(spec: str, length: int) -> dict[str, Any]:
    """The row of one machine, in this process."""
    row: dict[str, Any] = dict.fromkeys(("states", "letters", "heads", "covered", "certified", "refusal"))
    try:
        automaton = krohn.parse_spec(spec)
        row |= {"states": automaton.num_states, "letters": automaton.num_letters}
        network = krohn.compile(automaton, length)
        program = network.program
        layers = () if program is None else program.layers
        row["heads"] = sorted({type(head).__name__ for layer in layers for head in layer.attention})
        kernel = krohn.verify(network, kernel=True).to_json()
        row |= {"covered": True, "certified": kernel["certified"], "refusal": kernel["kernel"]["reason"]}
        row |= {key: kernel["kernel"][key] for key in ("by", "processor_seconds", "megabytes")}
    except krohn.KrohnError as error:
        row |= {"covered": False, "refusal": str(error)}
    return row


def in_a_process(spec: str, given: argparse.Namespace) -> dict[str, Any]:
    """The same in a process of its own, on one core and for a limited time."""
    alone = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [sys.executable, __file__, "--one", spec, "--length", str(given.length)]
    try:
        done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=given.seconds)
    except subprocess.TimeoutExpired:
        return {"covered": False, "refusal": f"timed out after {given.seconds:.0f} s"}
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return json.loads(done.stdout) if done.returncode == 0 else {"covered": False, "refusal": last[:200]}


def cover(given: argparse.Namespace) -> None:
    """Measures what the file of rows has not yet."""
    rows = map(json.loads, given.out.read_text().splitlines() if given.out.exists() else [])
    done = {(row["group"], row["machine"]) for row in rows}
    for group in given.coverage:
        listed = (
            [(name, name) for name in krohn.zoo()] if group == "zoo" else list(machines(Path(group), "full"))
        )
        chosen = listed if group in ("zoo", "benchmarks/everyday") else listed[:: given.every]
        for name, spec in chosen:
            if (group, name) not in done:
                row = {"group": group, "machine": name} | in_a_process(spec, given)
                with given.out.open("a") as stream:
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def table(path: Path) -> str:
    """A row for each group, then why networks are not covered."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    lines = [
        "| machines | of | covered | certified | slowest, s | most MB |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for group in dict.fromkeys(row["group"] for row in rows):
        ours = [row for row in rows if row["group"] == group]
        covered = [row for row in ours if row["covered"]]
        most = [max((row[key] for row in covered), default=0) for key in ("processor_seconds", "megabytes")]
        right = sum(bool(row["certified"]) for row in covered)
        lines.append(
            f"| {Path(group).name} | {len(ours)} | {len(covered)} | {right} | {most[0]} | {most[1]} |"
        )
    reasons = Counter(row["refusal"] for row in rows if not row.get("certified"))
    return "\n".join([*lines, "", *(f"{count} × {reason}" for reason, count in reasons.most_common())])


def speed() -> bool:
    """Whether the program is fast enough for every kind; prints a row for each."""
    print("| network | krohn-kernel, s | MB | coqc, s | MB | times faster |")
    print("| --- | --- | --- | --- | --- | --- |")
    enough = True
    for name, architecture, length in KINDS:
        with tempfile.TemporaryDirectory() as made:
            folder = name if "/" in name else made
            if folder == made:
                options = {"length": length} if architecture is None else {"architecture": architecture}
                krohn.compile(name, **options).save(made)
            program, coq = (
                krohn.verify(folder, kernel=True, coqc=by_coq).more["kernel"] for by_coq in (False, True)
            )
        assert (program["by"], program["accepted"]) == ("krohn-kernel", coq["accepted"]), (
            "make kernel-checker"
        )
        times = coq["processor_seconds"] / max(program["processor_seconds"], 0.01)
        enough &= times >= SPEED
        cells = [f"{each['processor_seconds']:.2f} | {each['megabytes']}" for each in (program, coq)]
        print(f"| {name} {architecture or f'T = {length}'} | {' | '.join(cells)} | {times:.0f} |", flush=True)
    return enough


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--coverage", nargs="+", help="zoo, and folders of machines")
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--every", type=int, default=1, help="every n-th machine of folders")
    parser.add_argument("--seconds", type=float, default=90.0, help="most for a machine")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path, help="print the table of a file of rows, measure nothing")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one is not None:
        print(json.dumps(measured(given.one, given.length), ensure_ascii=False))
    elif given.speed:
        return int(not speed())
    elif given.table or (given.coverage and given.out):
        if given.table is None:
            cover(given)
        print(table(given.table or given.out))
    else:
        parser.error("give --coverage and --out, --table, or --speed")
    return 0


if __name__ == "__main__":
    sys.exit(main())

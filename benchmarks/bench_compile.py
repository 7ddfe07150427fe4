"""How long compiling takes and how large the result is, beside the paper's own constructions.

Limit: a network must at least be written, 8 bytes per parameter; memory bandwidth is far above what is seen
here, so the time is the search for a plan and the tables. Peers: Theorem 1 (scan) and Theorem 2 (paper) as
printed and corrected, built in the same run. Run: python benchmarks/bench_compile.py [--length 128] [NAME …]
With --certify: processor seconds to compile each, for its proof, and for ``krohn verify`` as it comes, which
also runs all short words. With --against SRC the package in that folder, an older one say, does the same in
turns, and ratios are shown; each figure is the least of --repeats.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise

import krohn
from krohn.errors import KrohnError
from krohn.network.compiled import CompiledNetwork

NAMES = ("C2", "C8", "D8", "S4", "S5", "Grid9", "Grid3x4", "Dyck4,2", "abab", "T3", "Add", "Rubik")


def timed(build: Callable[[], CompiledNetwork]) -> tuple[float, CompiledNetwork | None]:
    start = time.perf_counter()
    try:
        network = build()
    except KrohnError:
        return time.perf_counter() - start, None
    return time.perf_counter() - start, network


def row(name: str, length: int) -> str:
    automaton = krohn.zoo(name)
    cells = []
    for method in ("auto", "scan", "paper"):
        if method != "auto" and automaton.num_states > 30:
            cells.append(f"{'–':>22}")
            continue
        seconds, network = timed(lambda method=method: krohn.compile(automaton, length, method=method))
        if network is None:
            cells.append(f"{'refused':>22}")
            continue
        cells.append(f"{seconds:7.2f} s {network.transformer.num_parameters:>10,} p")
    return f"{name:10} " + "  ".join(cells)


ZOO = (
    *(
        "C2",
        "C3",
        "C5",
        "C6",
        "C2xC2",
        "C2xC2xC2",
        "D6",
        "D8",
        "Q8",
        "A4",
        "S4",
        "A5",
        "S5",
        "FlipFlop",
        "abab",
    ),
    *("Add", "Grid4", "Grid9", "Grid3x4", "Dyck4,2", "T3"),
)


def seconds_of(name: str, length: int, repeats: int) -> dict[str, float]:
    """Processor seconds of each step, the least of some repeats, and the number of layers."""
    spent = dict.fromkeys(("compile", "proof", "verify"), float("inf"))
    for _ in range(repeats):
        moments = [time.process_time()]
        network = krohn.compile(name, length)
        moments.append(time.process_time())
        for words in (False, True):
            assert krohn.verify(network, second_opinion=words).certified, name
            moments.append(time.process_time())
        taken = [after - before for before, after in pairwise(moments)]
        spent = {step: min(old, new) for (step, old), new in zip(spent.items(), taken, strict=True)}
    return {**spent, "layers": network.transformer.depth}


def certified(names: Sequence[str], length: int, repeats: int, against: str | None) -> None:
    """Every automaton, compiled alternately by this package and the other one."""
    workers = [_worker(source, length, repeats) for source in (None, against) if source is None or against]
    total: list[dict[str, float]] = [{} for _ in workers]
    for name in names:
        lines = []
        for worker, sums in zip(workers, total, strict=True):
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdin.write(name + "\n")
            worker.stdin.flush()
            lines.append(json.loads(worker.stdout.readline()))
            sums.update({step: sums.get(step, 0) + seconds for step, seconds in lines[-1].items()})
        print(_line(name, lines), flush=True)
    print(_line("in all", total), flush=True)


def _worker(source: str | None, length: int, repeats: int) -> "subprocess.Popen[str]":
    """Another process of this script, with the package of the given folder."""
    path = {} if source is None else {"PYTHONPATH": source}
    command = [sys.executable, __file__, "--worker", "--length", str(length), "--repeats", str(repeats)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env={**os.environ, **path}, stdin=pipe, stdout=pipe, text=True)


def _line(name: str, timings: Sequence[dict[str, float]]) -> str:
    """A row of a table: seconds here, seconds there, and the quotient."""
    cells = [name, " / ".join(f"{each['layers']:.0f}" for each in timings)]
    for step in ("compile", "proof", "verify"):
        seconds = [each[step] for each in timings]
        cells += [
            " / ".join(f"{one:.2f}" for one in seconds),
            *(f"{seconds[0] / one:.2f}" for one in seconds[1:]),
        ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--against", metavar="SRC")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.worker:
        seconds_of("C2", 8, 1)  # exclude one-time imports
        for name in sys.stdin:
            print(json.dumps(seconds_of(name.strip(), options.length, options.repeats)), flush=True)
        return
    if options.certify:
        certified(options.names or ZOO, options.length, options.repeats, options.against)
        return
    print(f"length {options.length}; seconds to compile, parameters")
    print(f"{'':10} {'auto':>22}  {'scan (Theorem 1)':>22}  {'paper (Theorem 2)':>22}")
    for name in options.names or NAMES:
        print(row(name, options.length), flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

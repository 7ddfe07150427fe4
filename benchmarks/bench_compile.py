"""How long compiling takes and how large the result is, beside the paper's own constructions.

Limit: a network must at least be written, 8 bytes per parameter; memory bandwidth is far above what is seen
here, so the time is the search for a plan and the tables. Peers: Theorem 1 (scan) and Theorem 2 (paper) as
printed and corrected, built in the same run. Run: python benchmarks/bench_compile.py [--length 128] [NAME …]
With --certify: processor seconds to compile and to certify each of them, and in all.
"""

import argparse
import resource
import time
from collections.abc import Callable, Sequence

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


def certified(names: Sequence[str], length: int) -> None:
    """Processor seconds of both steps."""
    spent = [0.0, 0.0]
    for name in names:
        begun = time.process_time()
        network = krohn.compile(name, length)
        built = time.process_time()
        proved = krohn.verify(network, second_opinion=False).certified
        done = time.process_time()
        spent = [spent[0] + built - begun, spent[1] + done - built]
        verdict = "certified" if proved else "refused"
        print(
            f"{name:10} compile {built - begun:6.2f} s  certify {done - built:6.2f} s  {verdict}", flush=True
        )
    print(f"{len(names)} automata: compile {spent[0]:.1f} s, certify {spent[1]:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if options.certify:
        certified(options.names or ZOO, options.length)
        return
    print(f"length {options.length}; seconds to compile, parameters")
    print(f"{'':10} {'auto':>22}  {'scan (Theorem 1)':>22}  {'paper (Theorem 2)':>22}")
    for name in options.names or NAMES:
        print(row(name, options.length), flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

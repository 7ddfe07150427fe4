"""Does every command answer? Hard inputs with the seconds of processor time and the peak memory they take.

Limit: each must end with a result or with one line that names the limit and the option, within 10 seconds
and 2 GB on a quiet machine. Run: python benchmarks/bench_answers.py [--only WORD]
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SECONDS, MEGABYTES, GIVEN_UP = 10.0, 2048, 120


def automaton(letters: list[list[int]], start: int = 0) -> str:
    """A file of the automaton whose letters are maps of its states."""
    states = [str(q) for q in range(len(letters[0]))]
    names = [f"l{a}" for a in range(len(letters))]
    table = {q: {names[a]: str(letter[int(q)]) for a, letter in enumerate(letters)} for q in states}
    return json.dumps({"krohn": 1, "letters": names, "states": states, "start": str(start), "next": table})


def r_trivial(states: int, letters: int, seed: int) -> str:
    """Letters only lead on: every state is left for good once it is left."""
    dice = random.Random(seed)
    return automaton([[dice.randint(q, states - 1) for q in range(states)] for _ in range(letters)])


def many_sinks(states: int, sinks: int, seed: int) -> str:
    """Random moves among the states that are no sinks."""
    dice = random.Random(seed)
    live = states - sinks
    return automaton([[dice.randrange(states) if q < live else q for q in range(states)] for _ in range(3)])


def flip_flops(count: int) -> str:
    """Bits side by side, each set and cleared by two letters of its own."""
    size = range(2**count)
    set_bits = [[q | 1 << bit for q in size] for bit in range(count)]
    cleared = [[q & ~(1 << bit) for q in size] for bit in range(count)]
    return automaton(set_bits + cleared)


def uniform(states: int, letters: int, seed: int) -> str:
    """Every letter a random map."""
    dice = random.Random(seed)
    return automaton([[dice.randrange(states) for _ in range(states)] for _ in range(letters)])


def commands(folder: Path) -> list[tuple[str, list[str]]]:
    """A title and the arguments of each command; automata without a name are written to the folder."""

    def written(name: str, text: str) -> str:
        path = folder / f"{name}.json"
        path.write_text(text)
        return str(path)

    rows = [(f"compile {spec}", ["compile", spec, "-T", "100"]) for spec in COMPILED]
    rows += [(f"decompose {spec}", ["decompose", spec]) for spec in ("Dyck2,20", "Dyck4,2", "Grid200")]
    rows += [
        (f"compile C2 --length {length}", ["compile", "C2", "--length", str(length)])
        for length in (10**9, 10**20 - 1)
    ]
    made = {
        "R-trivial 20": r_trivial(20, 3, 0),
        "R-trivial 100": r_trivial(100, 3, 1),
        "30 states 18 sinks": many_sinks(30, 18, 2),
        "nine flip-flops": flip_flops(9),
    }
    for name, text in made.items():
        path = written(name, text)
        rows += [
            (f"compile {name}", ["compile", path, "-T", "100"]),
            (f"decompose {name}", ["decompose", path]),
        ]
    rows += [
        (f"analyze uniform 40 states, seed {seed}", ["analyze", written(f"u{seed}", uniform(40, 2, seed))])
        for seed in range(6)
    ]
    return rows


COMPILED = (
    "regex:[0-9][0-9]-(0[1-9]|1[0-2])",
    "Grid200",
    "Grid500",
    "Dyck8,5",
    "Dyck2,20",
    "Grid9x9",
    "C2xDyck4,2",
    "C2xGrid9",
)


def measured(arguments: list[str]) -> tuple[float, float, float, int, str]:
    """Processor seconds, wall seconds, peak megabytes, exit status, and the result or the error in a line."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen([sys.executable, "-m", "krohn", *arguments], stdout=out, stderr=err)
        guard = threading.Timer(GIVEN_UP, child.kill)
        guard.start()
        _, status, usage = os.wait4(child.pid, 0)
        guard.cancel()
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read().strip().splitlines()
    code = os.waitstatus_to_exitcode(status)
    told = " ".join(line for line in errors if "given up" in line)
    shown = _result(text) if code == 0 else (errors or ["no answer"])[-1]
    wall = time.perf_counter() - start
    return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, code, f"{shown} {told}".strip()


def _result(text: str) -> str:
    """The depth and size of a network, or the first line of anything else."""
    found = [
        " ".join(line.split()[:2]) for line in text.splitlines() if line.startswith(("depth", "num_param"))
    ]
    return ", ".join(found) or text.splitlines()[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only commands whose title has this word")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for title, arguments in commands(Path(folder)):
            if options.only not in title:
                continue
            used, wall, peak, status, text = measured(arguments)
            good = used <= SECONDS and peak <= MEGABYTES and status in (0, 2)
            failed += not good
            line = f"{title:42} {used:6.1f} s ({wall:5.1f}) {peak:6.0f} MB  {status}  {text[:150]}"
            print(line + ("" if good else "  TOO SLOW OR WRONG"), flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

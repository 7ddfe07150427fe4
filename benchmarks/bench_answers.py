"""Hard inputs for every command, with processor time and peak memory.

Limit: each must end with a result or with one line that names the limit and the option, within 10 seconds
of processor time and 2 GB. A command that takes six times as long is ended: by processor time, so a busy
machine changes nothing.

Run: python benchmarks/bench_answers.py [--only WORD] [--out results/tables/answers.md]
"""

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SECONDS, MEGABYTES, GIVEN_UP = 10.0, 2048, 60
PAGE = """# Does every command answer?

Written by `python benchmarks/bench_answers.py --out results/tables/answers.md`: hard inputs, the processor
time and peak memory they take (on two cores with other work beside it), and what they answer: a result (exit
status 0) or one line that names the limit and the option (exit status 2). The aim is 10 seconds and 2 GB;
what takes longer is in **bold**, and ended after a minute. Automata without a name are made by the script.

| command | seconds | MB | exit | answer |
| --- | --- | --- | --- | --- |
"""


def automaton(letters: list[list[int]], start: int = 0) -> str:
    """A file of the automaton whose letters are maps of its states."""
    states = [str(q) for q in range(len(letters[0]))]
    names = [f"l{a}" for a in range(len(letters))]
    table = {q: {names[a]: str(letter[int(q)]) for a, letter in enumerate(letters)} for q in states}
    return json.dumps({"krohn": 1, "letters": names, "states": states, "start": str(start), "next": table})


def r_trivial(states: int, letters: int, seed: int) -> str:
    """R-trivial: a state that is left is never reached again."""
    dice = random.Random(seed)
    return automaton([[dice.randint(q, states - 1) for q in range(states)] for _ in range(letters)])


def many_sinks(states: int, sinks: int, seed: int) -> str:
    """Random moves among the states that are not sinks."""
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
    rows += [
        (f"compile {spec} --target observation", ["compile", spec, "-T", "100", "--target", "observation"])
        for spec in ("regex:(a|b)*a(a|b){11}", "Grid9@boundary")
    ]
    rows += [
        (f"compile {spec} --objective blocks", ["compile", spec, "-T", "100", "--objective", "blocks"])
        for spec in ("C2", "S4", "Grid9", "Dyck4,2")
    ]
    formula = ["barrington", "(a and b) or not c", "--automaton", "S5", "--run"]
    rows += [("barrington '(a and b) or not c' --automaton S5 --run", formula)]
    rows += [(f"decompose {spec}", ["decompose", spec]) for spec in ("Dyck2,20", "Dyck4,2", "Grid200")]
    rows += [
        (f"compile C2 --length {length}", ["compile", "C2", "--length", str(length)])
        for length in (10**9, 10**20 - 1)
    ]
    automata = {
        "R-trivial 20": r_trivial(20, 3, 0),
        "R-trivial 100": r_trivial(100, 3, 1),
        "30 states 18 sinks": many_sinks(30, 18, 2),
        "nine flip-flops": flip_flops(9),
    }
    for name, text in automata.items():
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
    "abab",
    "Grid3",
    "D8",
    "regex:[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "regex:[a-z]([a-z]|[0-9])*",
    "regex:[+-]?[0-9]*[.][0-9]+(e[+-]?[0-9]+)?",
    "regex:/[*](o|/|[*]+o)*[*]+/",
    "regex:(a|b)*a(a|b){6}",
    "regex:(a|b)*a(a|b){11}",
    "regex:(a|b)*a(a|b){13}",
)


def measured(arguments: list[str]) -> tuple[float, float, int, str]:
    """Processor seconds, peak megabytes, exit status, and the result or the error in a line."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen([sys.executable, "-m", "krohn", *arguments], stdout=out, stderr=err)
        resource.prlimit(child.pid, resource.RLIMIT_CPU, (GIVEN_UP, GIVEN_UP))
        _, status, usage = os.wait4(child.pid, 0)
        out.seek(0)
        err.seek(0)
        text, errors = out.read(), err.read().strip().splitlines()
    code = os.waitstatus_to_exitcode(status)
    note = " ".join(line for line in errors if "given up" in line)
    shown = shown_result(text) if code == 0 else (errors or ["no answer"])[-1]
    shown = f"ended after {GIVEN_UP} seconds" if code < 0 else shown
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, code, f"{shown} {note}".strip()


def shown_result(text: str) -> str:
    """What is printed of layers, blocks, parameters, proof and bounds on the depth; else the first line."""
    sizes = re.findall(
        r"^(layers|blocks|parameters)\b[^\d\n]*?(?:GPT-2)? +([\d,]+)", text, flags=re.MULTILINE
    )
    parts = [f"{name} {number}" for name, number in sizes]
    lines = text.splitlines()
    parts += [line for line in lines if line.startswith(("proved: ", "depth", "all three agree"))]
    return ", ".join(parts) or lines[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only commands whose title has this word")
    parser.add_argument("--out", type=Path, help="write the table to this page")
    options = parser.parse_args()
    failed, page = 0, PAGE
    with tempfile.TemporaryDirectory() as folder:
        for title, arguments in commands(Path(folder)):
            if options.only not in title:
                continue
            used, peak, status, text = measured(arguments)
            good = used <= SECONDS and peak <= MEGABYTES and status in (0, 2)
            failed += not good
            line = f"{title:42} {used:6.1f} s {peak:6.0f} MB  {status}  {text}"
            print(line + ("" if good else "  TOO SLOW OR WRONG"), flush=True)
            seconds = f"{used:.1f}" if used <= SECONDS else f"**{used:.1f}**"
            cells = (f"`{title}`", seconds, f"{peak:.0f}", str(status), text)
            page += f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
    if options.out is not None:
        options.out.write_text(page)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

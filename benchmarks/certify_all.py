"""Completeness of the certificate: what the compiler builds, certified or not, with the largest length.

    python benchmarks/certify_all.py [--quick] [--out docs/certified.md]

The limit is 100 %: every automaton, every method, float64 and float32. Networks are compiled for the dtype
they are certified in. ``largest`` is found by compiling for longer and longer words up to --reach.
"""

import argparse
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import krohn
from krohn.certify.arithmetic import arithmetic
from krohn.certify.verification import attempt
from krohn.errors import KrohnError

ZOO = (
    *(
        "C2",
        "C3",
        "C4",
        "C5",
        "C6",
        "C7",
        "C8",
        "C2xC2",
        "C2xC2xC2",
        "D6",
        "D8",
        "Q8",
        "A4",
        "S4",
        "A5",
        "S5",
    ),
    *(
        "Grid4",
        "Grid9",
        "Grid9:noop",
        "Grid3x4",
        "Dyck4,2",
        "Dyck4,8",
        "FlipFlop",
        "Memory3",
        "abab",
        "Parity",
        "Add",
    ),
    *("Counter5", "T3"),
)
LENGTHS = (1, 2, 7, 64, 100, 128)
METHODS = ("auto", "cascade", "scan", "paper", "grid")
DTYPES = ("float64", "float32")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="lengths 7 and 128 only, few random automata")
    parser.add_argument("--reach", type=int, default=1024, help="largest length to try")
    parser.add_argument("--only", nargs="*", help="these automata only")
    parser.add_argument("--parts", nargs="*", default=["zoo", "random", "largest"])
    parser.add_argument("--dtypes", nargs="*", default=list(DTYPES), help="of the table of largest lengths")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lengths = (7, 128) if options.quick else LENGTHS
    parts = {}
    if "zoo" in options.parts:
        parts["zoo"] = zoo_table(options.only or ZOO, lengths)
    if "random" in options.parts:
        parts["random"] = random_table(20 if options.quick else 200, 10 if options.quick else 50)
    if "largest" in options.parts:
        parts["largest"] = largest_table(options.only or ZOO, options.reach, options.dtypes)
    print("\n\n".join(parts.values()))
    if options.out:
        command = "python benchmarks/certify_all.py " + " ".join(sys.argv[1:])
        options.out.write_text(page(options.out, parts, command), encoding="utf-8")
    return 0


def page(path: Path, parts: dict[str, str], command: str) -> str:
    """The page with the parts that were run replaced, each with its command; the others stay."""
    text = path.read_text(encoding="utf-8") if path.exists() else "# What is certified\n"
    for name, table in parts.items():
        block = f"<!-- {name} -->\n{table}\n\nWritten by `{command}`.\n<!-- end -->"
        found = re.search(rf"<!-- {name} -->.*?<!-- end -->", text, flags=re.DOTALL)
        text = text.replace(found.group(), block) if found else f"{text}\n{block}\n"
    return text


def certified(spec: str, method: str, length: int, dtype: str) -> tuple[str, float]:
    """yes, no (with the reason on stderr) or the builder's refusal; and the seconds of the proof."""
    automaton = krohn.zoo(spec)
    try:
        network = krohn.compile(automaton, length, method=method, dtype=dtype)
    except KrohnError as error:
        return f"not built: {error}"[:60], 0.0
    start = time.perf_counter()
    refusal = attempt(network.transformer, automaton, length, arithmetic(dtype))[1]
    seconds = time.perf_counter() - start
    if refusal is not None:
        print(f"{spec} {method} {length} {dtype}: {refusal}", file=sys.stderr, flush=True)
    return ("yes" if refusal is None else "no"), seconds


def zoo_table(specs: tuple[str, ...], lengths: tuple[int, ...]) -> str:
    lines = [
        f"## Lengths {', '.join(map(str, lengths))}",
        "",
        "| automaton | method | float64 | float32 | slowest proof (s) |",
        "|---|---|---|---|---:|",
    ]
    for spec in specs:
        for method in METHODS:
            cells, slowest = [], 0.0
            for dtype in DTYPES:
                outcomes = [certified(spec, method, length, dtype) for length in lengths]
                slowest = max([slowest, *(seconds for _, seconds in outcomes)])
                cells.append(_cell([word for word, _ in outcomes], lengths))
            if any(cell != "not built" for cell in cells):
                lines.append(f"| {spec} | {method} | {cells[0]} | {cells[1]} | {slowest:.2f} |")
                print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def _cell(outcomes: list[str], lengths: tuple[int, ...]) -> str:
    built = [(length, word) for length, word in zip(lengths, outcomes, strict=True) if word in ("yes", "no")]
    if not built:
        return "not built"
    failed = [str(length) for length, word in built if word == "no"]
    missing = [str(length) for length in lengths if length not in dict(built)]
    text = "all" if not failed else f"not {', '.join(failed)}"
    return text + (f" (not built: {', '.join(missing)})" if missing else "")


def random_table(automata: int, patterns: int) -> str:
    lines = [
        "## Random automata and regular expressions",
        "",
        "| family | float64 | float32 |",
        "|---|---:|---:|",
    ]
    for name, family in (("random, 3–8 states", _random(automata)), ("regex", _regexes(patterns))):
        machines = list(family)
        counts = {dtype: [0, 0] for dtype in DTYPES}
        for automaton in machines:
            for dtype in DTYPES:
                try:
                    network = krohn.compile(automaton, 32, dtype=dtype)
                except KrohnError as error:
                    print(f"{name}: {error}", file=sys.stderr)
                    continue
                refusal = attempt(network.transformer, automaton, 32, arithmetic(dtype))[1]
                counts[dtype][0] += refusal is None
                counts[dtype][1] += 1
                if refusal is not None:
                    print(
                        f"{name} {automaton.table.tolist()} {dtype}: {refusal}", file=sys.stderr, flush=True
                    )
        shown = [f"{good} of {all_}" for good, all_ in counts.values()]
        lines.append(f"| {name} (T = 32, {len(machines)}) | {shown[0]} | {shown[1]} |")
    return "\n".join(lines)


def _random(count: int) -> Iterator[krohn.Semiautomaton]:
    dice = np.random.default_rng(0)
    for _ in range(count):
        states, letters = int(dice.integers(3, 9)), int(dice.integers(2, 4))
        yield krohn.Semiautomaton(table=dice.integers(states, size=(states, letters)).astype(np.int32))


def _regexes(count: int) -> Iterator[krohn.Semiautomaton]:
    dice = np.random.default_rng(1)
    for _ in range(count):
        yield krohn.from_regex(_pattern(dice, 3))


def _pattern(dice: np.random.Generator, depth: int) -> str:
    if depth == 0:
        return str(dice.choice(["a", "b"]))
    left, right = _pattern(dice, depth - 1), _pattern(dice, depth - 1)
    return [f"({left}|{right})", f"{left}{right}", f"({left})*{right}"][int(dice.integers(3))]


def largest_table(specs: tuple[str, ...], reach: int, dtypes: list[str]) -> str:
    """Doubling, then halving the gap: the largest length that compiles and certifies."""
    lines = [
        f"## Largest certified length (method auto, tried up to {reach})",
        "",
        f"| automaton | {' | '.join(dtypes)} |",
        "|---|" + "---:|" * len(dtypes),
    ]
    for spec in specs:
        found = [_largest(spec, dtype, reach) for dtype in dtypes]
        shown = [f"≥ {length}" if length >= reach else str(length) for length in found]
        lines.append(f"| {spec} | {' | '.join(shown)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def _largest(spec: str, dtype: str, reach: int) -> int:
    low, high = 0, 1
    while high <= reach and certified(spec, "auto", high, dtype)[0] == "yes":
        low, high = high, high * 2
    high = min(high, reach + 1)
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        if certified(spec, "auto", middle, dtype)[0] == "yes":
            low = middle
        else:
            high = middle
    return low


if __name__ == "__main__":
    sys.exit(main())

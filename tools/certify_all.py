"""Completeness of the certificate: is every compiled network certified, and up to which length?

    python tools/certify_all.py [--parts zoo large options …] [--jobs 16] [--log FILE] [--out PAGE]

The target is 100 %: every automaton, every method, float64 and float32. Every length is a network of its own,
compiled for that length and for the dtype it is certified in; a certificate at T covers all words up to T
letters. Each part is a table on the page and is rewritten after every row. ``--log`` gets a line
for each proof, and a later run skips the proofs in it.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial, wraps
from multiprocessing import Pool
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

import krohn
from krohn.automata.zoo import zoo_names
from krohn.errors import KrohnError
from krohn.proving.compiled import arithmetic, attempt

LARGE = ("PermReset5",)
"""Networks of a hundred million weights, which get a table of their own."""
ZOO = tuple(dict.fromkeys(name for name in (*zoo_names(), "Grid3x4") if name not in LARGE))
LENGTHS = (1, 2, 7, 64, 100, 128)
METHODS = ("auto", "cascade", "scan", "paper", "grid")
DTYPES = ("float64", "float32")
HALVES = ("bfloat16", "float16")
FEW = ("C2", "C3", "C6", "S4", "FlipFlop", "Memory3", "abab", "Grid4", "Add", "S5")
LONG = 1024
PAPER = (
    *("C2", "C3", "C4", "C5", "C6", "C7", "C8", "C2xC2", "C2xC2xC2"),
    *("D6", "D8", "Q8", "A4", "S4", "A5", "S5"),
    *("Grid4", "Grid9", "Dyck4,2"),
)
"""The 19 automata of the paper's experiments."""
FORMS = ("C6", "D8", "S4", "abab", "Grid4", "FlipFlop")
REGEXES = (
    "regex:(a|b)*a(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)",
    "regex:[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]",
    "regex:[a-c_][a-c_0-3]*",
)
Case = tuple[str, int, str, dict[str, Any]]
"""Automaton, length, dtype and options."""
AT_128: tuple[Case, ...] = tuple((spec, 128, "float32", {}) for spec in PAPER)
FURTHER: tuple[Case, ...] = (
    *((spec, 2048, "float32", {}) for spec in ("abab", "C2", "D8")),
    ("S4", 1000, "float32", {}),
    *(
        (spec, 32, dtype, {"method": method})
        for method in ("cascade", "scan", "paper", "grid")
        for spec in FORMS
        for dtype in DTYPES
    ),
    *((spec, 32, "float32", {}) for spec in REGEXES),
    *((spec, length, dtype, {}) for dtype in HALVES for spec in FEW for length in (16, 32)),
)
OPTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("Grid9", {"method": "grid", "variant": v}) for v in ("mod", "mod_sum")),
    *(
        ("Grid4", {"method": "grid", "variant": v})
        for v in ("log_depth", "max_pool", "constant_depth", "count")
    ),
    *((s, {"method": "grid", "activation": "sin"}) for s in ("Grid4", "Grid9")),
    *(("D6", {"method": "scan", "gadget": g}) for g in ("direct", "plateau", "hat")),
    ("D6", {"method": "scan"}),
    ("T3", {"method": "paper"}),
    *((s, {"method": "paper", "activation": "sin"}) for s in ("C6", "D6", "S4", "abab")),
    *(
        (spec, {"objective": objective})
        for spec in ("C6", "S4", "abab", "Grid9", "Dyck4,2")
        for objective in ("depth", "parameters", "width")
    ),
)

Line = Callable[[str], None]
P, R = ParamSpec("P"), TypeVar("R")
KNOWN: dict[str, Any] = {}
LOG: list[Path] = []


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """The same function, whose answers are kept in the log."""

    @wraps(function)
    def asked(*args: P.args, **options: P.kwargs) -> R:
        key = json.dumps([function.__name__, args, options], default=lambda one: one.table.tolist())
        if key not in KNOWN:
            KNOWN[key] = function(*args, **options)
            for path in LOG:
                with path.open("a", encoding="utf-8") as log:
                    log.write(json.dumps([key, KNOWN[key]]) + "\n")
        answer: R = KNOWN[key]
        return answer

    return asked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="*", default=["zoo"], choices=list(PARTS))
    parser.add_argument("--only", nargs="*", help="these automata only (zoo, long, largest, half)")
    parser.add_argument("--reach", type=int, default=256, help="largest length to try")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes, one row each")
    parser.add_argument("--log", type=Path, help="append a line per proof; proofs already in it are skipped")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.log:
        LOG.append(options.log)
        if options.log.exists():
            KNOWN.update(json.loads(line) for line in options.log.read_text(encoding="utf-8").splitlines())
    for name in options.parts:
        lines: list[str] = []

        def write(line: str, name: str = name, lines: list[str] = lines) -> None:
            lines.append(line)
            print(line, flush=True)
            if options.out:
                options.out.write_text(page(options.out, name, "\n".join(lines)), encoding="utf-8")

        PARTS[name](options, write)
    return 0


def page(path: Path, name: str, table: str) -> str:
    """The text of the page with this part, and the command that writes it, replaced."""
    command = f"python tools/certify_all.py --parts {name} --out results/tables/certified.md"
    text = path.read_text(encoding="utf-8") if path.exists() else "# What is certified\n"
    block = f"<!-- {name} -->\n{table}\n\nWritten by `{command}`.\n<!-- end -->"
    match = re.search(rf"<!-- {name} -->.*?<!-- end -->", text, flags=re.DOTALL)
    return text.replace(match.group(), block) if match else f"{text}\n{block}\n"


@remembered
def certified(
    spec: str, length: int, dtype: str, *, default: bool = False, **options: Any
) -> tuple[str, float]:
    """yes, no (with the reason on stderr) or "not built"; and the CPU seconds of the proof.

    At the longest length the network's description is proved and compared too; short words are not run.
    """
    automaton = krohn.zoo(spec)
    try:
        network = krohn.compile(automaton, length, dtype=None if default else dtype, **options)
    except KrohnError as error:
        print(f"not built: {spec} {options} {length} {dtype}: {error}"[:300], file=sys.stderr, flush=True)
        return "not built", 0.0
    start = time.process_time()
    if length < LENGTHS[-1]:
        reason = str(attempt(network.transformer, automaton, length, arithmetic(dtype))[1] or "")
    else:
        reason = krohn.verify(network, dtype, second_opinion=False, largest=False).reason
    seconds = time.process_time() - start
    if reason:
        print(f"refused: {spec} {options} {length} {dtype}: {reason}", file=sys.stderr, flush=True)
    return ("no" if reason else "yes"), seconds


def row(spec: str, lengths: tuple[int, ...], **options: Any) -> tuple[list[str], float]:
    """One cell for every dtype, and the slowest proof."""
    cells, slowest = [], 0.0
    for dtype in DTYPES:
        outcomes = [certified(spec, length, dtype, **options) for length in lengths]
        slowest = max([slowest, *(seconds for _, seconds in outcomes)])
        cells.append(_cell([word for word, _ in outcomes], lengths))
    return cells, slowest


def _cell(outcomes: list[str], lengths: tuple[int, ...]) -> str:
    built = [(length, word) for length, word in zip(lengths, outcomes, strict=True) if word in ("yes", "no")]
    if not built:
        return "not built"
    failed = [str(length) for length, word in built if word == "no"]
    missing = [str(length) for length in lengths if length not in dict(built)]
    text = "all" if not failed else f"not {', '.join(failed)}"
    return text + (f" (not built: {', '.join(missing)})" if missing else "")


def written(
    make: Callable[[Any], str], cases: Iterable[Any], options: argparse.Namespace, write: Line
) -> None:
    """Writes a line for each case, in order; no line where nothing was built."""
    if options.jobs == 1:
        for line in filter(None, map(make, cases)):
            write(line)
        return
    with Pool(options.jobs) as pool:
        for line in filter(None, pool.imap(make, list(cases))):
            write(line)


def chosen_of(specs: Iterable[str], options: argparse.Namespace) -> tuple[str, ...]:
    """The automata given by ``--only``, or all."""
    return tuple(options.only or specs)


Chosen = tuple[str, dict[str, Any]]


def options_line(chosen: Chosen, lengths: tuple[int, ...]) -> str:
    """An automaton with options at several lengths, in both dtypes."""
    spec, settings = chosen
    cells, slowest = row(spec, lengths, **settings)
    if all(cell == "not built" for cell in cells):
        return ""
    words = ", ".join(map(str, settings.values()))
    return f"| {spec} | {words} | {cells[0]} | {cells[1]} | {slowest:.2f} |"


def zoo_part(options: argparse.Namespace, write: Line) -> None:
    write(f"## Lengths {', '.join(map(str, LENGTHS))}\n")
    write("| automaton | method | float64 | float32 | slowest proof (CPU s) |\n|---|---|---|---|---:|")
    cases = [(spec, {"method": method}) for spec in chosen_of(ZOO, options) for method in METHODS]
    written(partial(options_line, lengths=LENGTHS), cases, options, write)


def large_part(options: argparse.Namespace, write: Line) -> None:
    write(f"## Networks of a hundred million weights, lengths {', '.join(map(str, LENGTHS))}\n")
    write("| automaton | method | float64 | float32 | slowest proof (CPU s) |\n|---|---|---|---|---:|")
    cases = [(spec, {"method": "auto"}) for spec in chosen_of(LARGE, options)]
    written(partial(options_line, lengths=LENGTHS), cases, options, write)


def options_part(options: argparse.Namespace, write: Line) -> None:
    lengths = (7, 64, 128)
    write(f"## Options of the compiler, lengths {', '.join(map(str, lengths))}\n")
    write("| automaton | options | float64 | float32 | slowest proof (CPU s) |\n|---|---|---|---|---:|")
    cases = [case for case in OPTIONS if not options.only or case[0] in options.only]
    written(partial(options_line, lengths=lengths), cases, options, write)


def random_part(options: argparse.Namespace, write: Line) -> None:
    write("## Random automata and regular expressions, T = 32\n")
    write("| family | float64 | float32 |\n|---|---:|---:|")
    families = (("random, 3–8 states, 2–3 letters", _random(200)), ("regular expression", _regexes(50)))
    with Pool(options.jobs) as pool:
        for name, family in families:
            answers = pool.map(_both, list(family), chunksize=4)
            counts = [sum(column) for column in zip(*answers, strict=True)]
            write(f"| {name} | " + " | ".join(f"{good} of {len(answers)}" for good in counts) + " |")


@remembered
def _both(automaton: krohn.Semiautomaton) -> list[bool]:
    """Whether the automaton is certified at T = 32, in each dtype."""
    outcomes = []
    for dtype in DTYPES:
        network = krohn.compile(automaton, 32, dtype=dtype)  # type: ignore[arg-type]
        refusal = attempt(network.transformer, automaton, 32, arithmetic(dtype))[1]
        if refusal is not None:
            print(f"refused: {automaton.table.tolist()} {dtype}: {refusal}", file=sys.stderr, flush=True)
        outcomes.append(refusal is None)
    return outcomes


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


def long_part(options: argparse.Namespace, write: Line) -> None:
    write(f"## T = {LONG} in float64: the solvable zoo, as `krohn compile` builds it by default\n")
    write("| automaton | certified | proof (CPU s) |\n|---|---|---:|")
    written(_long_line, chosen_of(ZOO, options), options, write)


@remembered
def _long_line(spec: str) -> str:
    if not krohn.analyze(krohn.zoo(spec)).is_solvable:
        return ""
    word, seconds = certified(spec, LONG, "float64", default=True)
    return f"| {spec} | {word} | {seconds:.2f} |"


def largest_part(options: argparse.Namespace, write: Line) -> None:
    _largest_table(chosen_of(ZOO, options), options, DTYPES, write)


def half_part(options: argparse.Namespace, write: Line) -> None:
    _largest_table(chosen_of(FEW, options), options, HALVES, write)


def _largest_table(
    specs: tuple[str, ...], options: argparse.Namespace, dtypes: tuple[str, ...], write: Line
) -> None:
    reach = options.reach
    write(f"## Length up to which doubling from 1 is certified, in {' and '.join(dtypes)} (up to {reach})\n")
    write(f"| automaton | {' | '.join(dtypes)} |\n|---|" + "---:|" * len(dtypes))
    written(partial(_largest_line, reach=reach, dtypes=dtypes), specs, options, write)


def _largest_line(spec: str, reach: int, dtypes: tuple[str, ...]) -> str:
    largest = [_largest(spec, dtype, reach) for dtype in dtypes]
    shown = [f"≥ {length}" if length >= reach else str(length) for length in largest]
    return f"| {spec} | {' | '.join(shown)} |"


@remembered
def _largest(spec: str, dtype: str, reach: int) -> int:
    """Doubles the length while it is certified, then bisects; blind beyond the first refusal."""
    low, high = 0, 1
    while high <= reach and certified(spec, high, dtype)[0] == "yes":
        low, high = high, high * 2
    high = min(high, reach + 1)
    while high - low > max(1, low // 16):
        middle = (low + high) // 2
        if certified(spec, middle, dtype)[0] == "yes":
            low = middle
        else:
            high = middle
    return low


def paper_part(options: argparse.Namespace, write: Line) -> None:
    write("## The 19 automata of the paper at T = 128 in float32, by the small checker alone\n")
    _by_checker(AT_128, options, write)


def further_part(options: argparse.Namespace, write: Line) -> None:
    write("## Long words, the paper's constructions, patterns and half types, by the small checker alone\n")
    _by_checker(FURTHER, options, write)


def _by_checker(cases: tuple[Case, ...], options: argparse.Namespace, write: Line) -> None:
    write("| automaton | T | dtype | options | blocks | small checker | CPU s | refusal |")
    write("|---|---:|---|---|---:|---|---:|---|")
    chosen = [case for case in cases if not options.only or case[0] in options.only]
    written(_checked_line, chosen, options, write)


@remembered
def _checked_line(case: Case) -> str:
    spec, length, dtype, chosen = case
    words, name = ", ".join(map(str, chosen.values())), spec.replace("|", "\\|")
    automaton = krohn.parse_spec(spec) if ":" in spec else krohn.zoo(spec)
    try:
        network = krohn.compile(automaton, length, dtype=dtype, **chosen)  # type: ignore[arg-type]
    except KrohnError:
        return ""  # not built: there is nothing to certify
    start = time.process_time()
    refusal = attempt(network.transformer, automaton, length, arithmetic(dtype))[1]
    answer, seconds = "yes" if refusal is None else "no", time.process_time() - start
    depth, why = len(network.transformer.layers), "" if refusal is None else str(refusal)[:100]
    return f"| {name} | {length} | {dtype} | {words} | {depth} | {answer} | {seconds:.2f} | {why} |"


PARTS: dict[str, Callable[[argparse.Namespace, Line], None]] = {
    "paper": paper_part,
    "further": further_part,
    "zoo": zoo_part,
    "large": large_part,
    "options": options_part,
    "random": random_part,
    "long": long_part,
    "largest": largest_part,
    "half": half_part,
}


if __name__ == "__main__":
    sys.exit(main())

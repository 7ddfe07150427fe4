"""Class names against published labels: MLRegTest (van der Poel and others 2023), and suites of C-RASP.

    python benchmarks/bench_classes.py mlregtest FOLDER   # with files such as 04.03.TLT.2.1.0.att
    python benchmarks/bench_classes.py crasp FILE.csv …   # with columns regex, R, CRasp, Rinf, R_G

The first compares each language with the class of its name and with those that its authors' validator
excludes, its k with the least k, its tier with the letters that are no identity. The second compares four
labels. Theirs: github.com/heinz-jeffrey/subregular-learning and github.com/bveseli/state-tracking-crasp.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from krohn.algebra.classes.naming import TIER, NamedClass
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.analyzing import analyze

NAMES = {
    "SL": "strictly local",
    "TSL": f"strictly local{TIER}",
    "LT": "locally testable",
    "TLT": f"locally testable{TIER}",
    "LTT": "threshold testable",
    "TLTT": f"threshold testable{TIER}",
    "PLT": "locally J-trivial",
    "TPLT": f"locally J-trivial{TIER}",
    "SP": "strictly piecewise",
    "PT": "piecewise testable",
    "SF": "star-free",
    "Zp": "solvable",
    "Reg": "solvable",
}
OUTSIDE = {
    "SL": ("PT",),
    "TSL": ("PLT",),
    "LT": ("TSL", "PT"),
    "TLT": ("TSL", "PLT"),
    "LTT": ("TLT", "PT"),
    "TLTT": ("TLT", "PLT"),
    "PLT": ("PT", "TLTT"),
    "TPLT": ("PLT", "TLTT"),
    "SP": ("TLTT",),
    "PT": ("TLTT",),
    "SF": ("TPLT",),
    "Zp": ("SF",),
    "Reg": ("SF",),
}
"""What the authors' src/classvalidation/validate.py excludes."""
TIERED = {"SL", "TSL", "LT", "TLT", "LTT", "TLTT", "PLT", "TPLT"}


def read_att(path: Path) -> Semiautomaton:
    """A partial deterministic acceptor: arcs of four columns, final states; the first arc names the start."""
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    arcs = [line for line in lines if len(line) >= 4]
    final = {line[0] for line in lines if len(line) <= 2}
    names = list(dict.fromkeys([lines[0][0], *(q for arc in arcs for q in arc[:2]), *final]))
    letters = sorted({arc[2] for arc in arcs})
    table = [[len(names)] * len(letters) for _ in range(len(names) + 1)]
    for source, target, letter, *_ in arcs:
        table[names.index(source)][letters.index(letter)] = names.index(target)
    observe = tuple(int(name in final) for name in names)
    columns = list(zip(*table, strict=True))
    return Semiautomaton.from_letters(columns, start=0, letter_names=letters, observe=(*observe, 0))


def mlregtest(folder: Path) -> Iterator[tuple[str, str, bool]]:
    """For each language its class, what was compared, and whether it agrees."""
    for path in sorted(folder.glob("*.att")):
        _, tier, label, k, *_ = path.stem.split(".")
        rows = found(read_att(path))
        yield label, "class", rows[NAMES[label]].holds is True
        for other in OUTSIDE[label]:
            yield label, f"not {other}", rows[NAMES[other]].holds is False
        if label in ("SL", "TSL", "SP"):
            yield label, "k", rows[NAMES[label]].parameter == int(k)
        if label in TIERED:
            yield label, "tier", len(rows[f"strictly local{TIER}"].tier or ()) == int(tier)
        yield label, "no class left open", all(row.holds is not None for row in rows.values())


def crasp(path: Path) -> Iterator[tuple[str, str, bool]]:
    """The four labels, with the state read after the word."""
    for row in csv.DictReader(path.read_text().splitlines()):
        rows = found(from_regex(row["regex"]))
        aperiodic, one = rows["star-free"].holds, rows["R∗G"].holds
        computed = {
            "R": rows["R-trivial"].holds,
            "CRasp": rows["C-RASP"].holds,
            "Rinf": bool(aperiodic and one),
            "R_G": one,
        }
        for label, holds in computed.items():
            yield path.stem, label, str(holds) == row[label]


def found(automaton: Semiautomaton) -> dict[str, NamedClass]:
    """All named classes, by name."""
    return {row.name: row for row in analyze(automaton).classes.rows}


def main() -> None:
    """Prints agreement by label, every disagreement, and the seconds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("mlregtest", "crasp"))
    parser.add_argument("paths", nargs="+", type=Path)
    given = parser.parse_args()
    start, right, all_of = perf_counter(), Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for path in given.paths:
        for label, compared, agrees in (mlregtest if given.kind == "mlregtest" else crasp)(path):
            all_of[label, compared] += 1
            right[label, compared] += agrees
    for key, number in sorted(all_of.items()):
        print(f"{key[0]:24} {key[1]:24} {right[key]:5} of {number}")
    print(f"{sum(right.values())} of {sum(all_of.values())} agree; {perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()

"""One group by several generating sets: which of them are learned, and what ranks them?

    python research/presentations.py write F.jsonl        the list, for ``krohn train --each``
    python research/presentations.py judge ROWS.jsonl …   the table and the verdicts

Networks: ``krohn train --each F.jsonl --replicates 4 --length 100 --layers 4 --dim 256 --mlp 256 --heads 8
--optimizer muon --lr 1e-3 --betas .95 .98 --embedding-std .3 --schedule cosine --batch 64 --steps 6000``,
and with 8 layers and 3 replicates. ROWS are the files ``rows.jsonl`` of both; the folder of 8 layers has the
number in its name.
Expectations are in research/atlas-predictions.md, which was written before.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import Any

import krohn
from krohn.lab.experiments.atlas_predictors import predictors

# Quaternions as permutations of 1, -1, i, -i, j, -j, k, -k by multiplication from the right.
_UNITS = ("1", "-1", "i", "-i", "j", "-j", "k", "-k")
_TIMES = {
    ("i", "j"): "k",
    ("j", "k"): "i",
    ("k", "i"): "j",
    ("j", "i"): "-k",
    ("k", "j"): "-i",
    ("i", "k"): "-j",
}


def times(one: str, other: str) -> str:
    """The product of two quaternion units."""
    minus = one.startswith("-") != other.startswith("-")
    left, right = one.strip("-"), other.strip("-")
    product = (
        right if left == "1" else left if right == "1" else "-1" if left == right else _TIMES[left, right]
    )
    return (
        product.removeprefix("-")
        if minus and product.startswith("-")
        else f"-{product}"
        if minus
        else product
    )


def quaternions(*letters: str) -> list[list[int]]:
    return [[_UNITS.index(times(unit, letter)) for letter in letters] for unit in _UNITS]


def square(*letters: str) -> list[list[int]]:
    """D8 on its own elements r^k s^e, number 2k + e; letters are words in r and s."""

    def moved(place: int, letter: str) -> int:
        for step in letter:
            turn, flip = divmod(place, 2)
            place = 2 * ((turn + (-1 if flip else 1)) % 4) + flip if step == "r" else 2 * turn + 1 - flip
        return place

    return [[moved(place, letter) for letter in letters] for place in range(8)]


# Sets that are compared have as many letters.
LIST: dict[tuple[str, str], str | list[list[int]]] = {
    ("S3", "two swaps"): "S3:102,021",
    ("S3", "swap, 3-cycle"): "S3:102,120",
    ("A4", "two 3-cycles"): "A4:1203,1320",
    ("A4", "3-cycle, double swap"): "A4:1203,1032",
    ("D8", "turn, turn back, flip"): square("r", "rrr", "s"),
    ("D8", "turn, flip, their product"): square("r", "s", "rs"),
    ("Q8", "i, j, -i"): quaternions("i", "j", "-i"),
    ("Q8", "i, j, k"): quaternions("i", "j", "k"),
    ("S4", "three odd"): "S4:1230,0132,0213",
    ("S4", "two odd, one even"): "S4:1230,0132,0231",
}


def name_of(group: str, letters: str) -> str:
    return f"{group}: {letters}"


def listed() -> dict[str, dict[str, Any]]:
    """By name the table and its predictors."""
    result = {}
    for (group, letters), given in LIST.items():
        automaton = krohn.automaton(given) if isinstance(given, list) else krohn.parse_spec(given)
        name = name_of(group, letters)
        table = automaton.table.tolist()
        result[name] = {"table": table, "start": automaton.start, **predictors(automaton, 100)}
    return result


def ranks(values: list[float]) -> list[float]:
    return [
        sum(other < one for other in values) + (sum(other == one for other in values) - 1) / 2
        for one in values
    ]


def correlation(one: list[float], other: list[float]) -> float:
    """Spearman's."""
    first, second = ranks(one), ranks(other)
    a, b = mean(first), mean(second)
    above = sum((x - a) * (y - b) for x, y in zip(first, second, strict=True))
    below = (sum((x - a) ** 2 for x in first) * sum((y - b) ** 2 for y in second)) ** 0.5
    return above / below if below else 0.0


def judge(paths: list[Path]) -> str:
    """The table, then how accuracy is ranked by the period and by G₀'s derived length."""
    known = listed()
    accuracy: dict[tuple[str, int], list[float]] = defaultdict(list)
    words: dict[tuple[str, int], list[int]] = defaultdict(list)
    for path in paths:
        layers = 8 if "8" in path.parent.name else 4
        for row in map(json.loads, path.read_text().splitlines()):
            accuracy[row["automaton"], layers].append(row["accuracy"])
            if row.get("words_read") is not None:
                words[row["automaton"], layers].append(row["words_read"])
    lines = [
        "| letters | layers | period | G₀ | accuracy, % | learned | words to 99% |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (name, layers), values in sorted(accuracy.items()):
        own, seen = known[name], sorted(words[name, layers])
        percent = " ".join(f"{100 * value:.1f}" for value in sorted(values, reverse=True))
        learned = f"{sum(value >= 0.99 for value in values)} of {len(values)}"
        read = f"{seen[len(seen) // 2]:,}" if seen else "-"
        lines.append(
            f"| {name} | {layers} | {own['period']} | {own['g0']} | {percent} | {learned} | {read} |"
        )
    for layers in sorted({layers for _, layers in accuracy}):
        names = [name for name, own in accuracy if own == layers]
        by = {
            key: [float(known[name][key]) for name in names]
            for key in ("period", "g0_derived", "g0", "mixing")
        }
        means = [mean(accuracy[name, layers]) for name in names]
        told = ", ".join(f"{key} {correlation(values, means):+.2f}" for key, values in by.items())
        lines.append(f"\n{layers} layers, rank correlation with the mean accuracy: {told}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["write", "judge"])
    parser.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "judge":
        print(judge(given.paths))
        return
    rows = [
        {"automaton": name, "table": own["table"], "start": own["start"]} for name, own in listed().items()
    ]
    given.paths[0].write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


if __name__ == "__main__":
    main()

"""The verdicts of `research/atlas-predictions.md`, from the rows and the predictors alone."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Any

import numpy as np

from krohn.construct.learnability import LARGE, keeps
from krohn.lab.experiments.atlas_runs import Cell

HELD_OUT = (
    "cascade", "counter cascade", "register", "stack", "clock beside aperiodic",
    "resets among permutations",
)  # fmt: skip
"""Kinds that no rule was fitted to."""
Row = dict[str, Any]
Test = Callable[[Row], bool]
RANKED = ("sensitivity", "states", "semigroup", "group", "derived", "levels", "memory", "mixing", "period")
ENDLESS = 1e12  # where a limit was reached


@dataclass(frozen=True)
class Prediction:
    """One prediction: what was expected, whether it came out, and what was measured."""

    number: int
    question: str
    expected: str
    right: bool | None
    measured: str

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        word = {True: "right", False: "wrong", None: "open"}[self.right]
        return {
            "number": self.number,
            "question": self.question,
            "expected": self.expected,
            "verdict": word,
            "measured": self.measured,
        }


@dataclass(frozen=True)
class Share:
    """How many of how many, with a 95% interval (Wilson)."""

    hits: int
    of: int

    @property
    def value(self) -> float:
        """The share."""
        return self.hits / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95% interval."""
        if not self.of:
            return 0.0, 1.0
        z2 = 1.96**2
        middle = (self.hits + z2 / 2) / (self.of + z2)
        half = 1.96 / (self.of + z2) * sqrt(self.hits * (self.of - self.hits) / self.of + z2 / 4)
        return max(0.0, middle - half), min(1.0, middle + half)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.hits:,} of {self.of:,} ({self.value:.1%}, {low:.1%} to {high:.1%})"


def ranks(values: Sequence[float], learned: Sequence[bool]) -> float:
    """The chance that a learned one has a smaller value than one that is not, ties by half."""
    low, high = (
        np.array([value for value, hit in zip(values, learned, strict=True) if hit is wanted], dtype=float)
        for wanted in (True, False)
    )
    if not len(low) or not len(high):
        return 0.5
    order = np.sort(high)
    above = len(high) - np.searchsorted(order, low, "right")
    equal = np.searchsorted(order, low, "right") - np.searchsorted(order, low, "left")
    return float((above + equal / 2).sum() / (len(low) * len(high)))


class Table:
    """The rows of one cell (the main one by default) with both kinds of positions, and their predictors."""

    def __init__(self, rows: Sequence[Row], automata: Sequence[Row], cell: Cell | None = None) -> None:
        known = {one["automaton"]: one for one in automata}
        wanted = asdict(cell or Cell())
        del wanted["positions"]
        chosen = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
        self.rows = [known[row["automaton"]] | row for row in chosen]

    def of(self, positions: str, *tests: Test) -> list[Row]:
        """Rows with these positions that pass all tests."""
        return [
            row for row in self.rows if row["positions"] == positions and all(test(row) for test in tests)
        ]


def learned(rows: Sequence[Row]) -> Share:
    """How many were learned."""
    return Share(sum(row["learned"] for row in rows), len(rows))


def last(rows: Sequence[Row]) -> Share:
    """How many of the learned ones keep their accuracy."""
    hits = [row for row in rows if row["learned"]]
    return Share(sum(map(keeps, hits)), len(hits))


def held(row: Row) -> bool:
    """Whether the row is of a kind that was held out."""
    return row["kind"] in HELD_OUT


def is_open(row: Row) -> bool:
    """Whether its kind was open."""
    return not held(row)


PARTS: dict[str, Test] = {"open kinds": is_open, "held-out kinds": held}


def aperiodic(row: Row) -> bool:
    """Whether the semigroup has no groups."""
    return row["aperiodic"] is True


def with_groups(row: Row) -> bool:
    """Whether it has some."""
    return row["aperiodic"] is False


def small(row: Row) -> bool:
    """Fewer than 3,000 elements."""
    return row["semigroup"] is not None and row["semigroup"] < LARGE


def both(table: Table, rule: Callable[[Test], tuple[bool | None, str]]) -> tuple[bool | None, str]:
    """A rule in the open and in the held-out kinds; wrong if it is wrong in either."""
    results = {name: rule(test) for name, test in PARTS.items()}
    rights = [right for right, _ in results.values()]
    right = False if False in rights else None if None in rights else True
    return right, "; ".join(f"{name}: {text}" for name, (_, text) in results.items())


def bounded(share: Share, low: float, high: float = 1.0) -> bool | None:
    """Whether the share lies within; ``None`` if there are few and the interval holds a bound."""
    below, above = share.interval
    if share.of < 30 and (below < low < above or (high < 1.0 and below < high < above)):
        return None
    return low <= share.value <= high


def verdicts(rows: Sequence[Row], automata: Sequence[Row]) -> list[Prediction]:
    """The first eighteen, on the two main cells, in the order of the page."""
    t = Table(rows, automata)
    result: list[Prediction] = []

    def add(question: str, expected: str, outcome: tuple[bool | None, str]) -> None:
        result.append(Prediction(len(result) + 1, question, expected, *outcome))

    def share_rule(positions: str, tests: tuple[Test, ...], low: float, high: float = 1.0) -> Any:
        def rule(part: Test) -> tuple[bool | None, str]:
            share = learned(t.of(positions, part, *tests))
            return bounded(share, low, high), str(share)

        return rule

    def last_rule(positions: str, tests: tuple[Test, ...], low: float, high: float = 1.0) -> Any:
        def rule(part: Test) -> tuple[bool | None, str]:
            share = last(t.of(positions, part, *tests))
            return bounded(share, low, high), str(share)

        return rule

    sine = "sinusoidal"
    add(
        "aperiodic, fewer than 3,000 elements", "99% learned, at least 97%",
        both(t, share_rule(sine, (aperiodic, small), 0.97)),
    )  # fmt: skip
    middle = learned(t.of(sine, aperiodic, lambda row: (row["semigroup"] or 0) >= LARGE))
    largest = learned(t.of(sine, aperiodic, lambda row: row["semigroup"] is None))
    add(
        "aperiodic, 3,000 to 30,000 elements, and more", "fewer and fewer, the last over 50%",
        (middle.value >= largest.value >= 0.5, f"{middle}; {largest}"),
    )  # fmt: skip
    missed = [row["accuracy"] for row in t.of(sine, aperiodic) if not row["learned"]]
    least, typical = min(missed, default=1.0), median(missed or [1.0])
    add(
        "aperiodic ones that are missed", "median accuracy at least 97%",
        (typical >= 0.97, f"{len(missed)} missed, median {typical:.1%}, least {least:.1%}"),
    )  # fmt: skip
    add("not aperiodic", "25 to 55% learned", both(t, share_rule(sine, (with_groups,), 0.25, 0.55)))
    add(
        "sensitivity among the aperiodic with fewer than 3,000 elements",
        "from .35 on at least 95% learned, at most 4 points fewer than below .1",
        both(t, lambda part: _sensitive(t, part)),
    )
    add(
        "sensitivity among the not aperiodic", "ranks with an area of at least .70",
        both(t, lambda part: _area(t, part)),
    )  # fmt: skip
    counts: tuple[Test, ...] = (with_groups, lambda row: row["length_decides"])
    add(
        "not aperiodic, the length decides what its groups count", "at least 80% learned",
        both(t, share_rule(sine, counts, 0.8)),
    )  # fmt: skip
    placed, unplaced = learned(t.of(sine, *counts)), learned(t.of("none", *counts))
    add(
        "the same without positions", "at most half as many",
        (2 * unplaced.hits <= placed.hits, f"{unplaced}, with positions {placed}"),
    )  # fmt: skip
    add("permutation automata by G₀", "abelian, then derived length 2, then the rest", _by_g0(t))
    add(
        "which number ranks the not aperiodic best",
        "not the largest group's order; sensitivity within .03 of the best",
        both(t, lambda part: _best(t, part)),
    )
    add("groups of one order by several presentations", "a third of them partly learned", _presentations(t))
    one_way: Test = lambda row: row["one_way"]  # noqa: E731
    add(
        "without positions: learned one-way automata", "at least 80% keep 99% up to 128 letters",
        both(t, last_rule("none", (one_way,), 0.8)),
    )  # fmt: skip
    other: tuple[Test, ...] = (aperiodic, lambda row: not row["one_way"])
    add(
        "without positions: learned, aperiodic, not one-way", "20 to 60% keep it",
        both(t, last_rule("none", other, 0.2, 0.6)),
    )  # fmt: skip
    add(
        "without positions: learned, not aperiodic", "at most 5% keep it",
        both(t, last_rule("none", (with_groups,), 0.0, 0.05)),
    )  # fmt: skip
    add("sinusoidal positions: learned", "at most 35% keep it", both(t, last_rule(sine, (), 0.0, 0.35)))
    easy, hard = learned(t.of(sine, aperiodic, small)), learned(t.of("none", aperiodic, small))
    add(
        "without positions: aperiodic, fewer than 3,000 elements", "80 to 97% learned, 3 points fewer",
        (0.8 <= hard.value <= 0.97 and easy.value - hard.value >= 0.03, f"{hard}, with positions {easy}"),
    )  # fmt: skip
    read = [row["words_read"] or 10**9 for row in t.of(sine, aperiodic, small)]
    words = median(read or [10**9])
    add("words read to 99% by them", "median at most 20,000", (words <= 20_000, f"{words:,.0f}"))
    regular = learned(t.of(sine, lambda row: row["kind"] == "mlregtest"))
    add("MLRegTest", "at least 98% learned", (regular.value >= 0.98, str(regular)))
    return result


def _sensitive(t: Table, part: Test) -> tuple[bool | None, str]:
    rows = t.of("sinusoidal", part, aperiodic, small)
    high = learned([row for row in rows if row["sensitivity"] >= 0.35])
    low = learned([row for row in rows if row["sensitivity"] < 0.1])
    return high.value >= 0.95 and low.value - high.value <= 0.04, f"{high}, below .1 {low}"


def _area(t: Table, part: Test) -> tuple[bool | None, str]:
    area = _areas(t.of("sinusoidal", part, with_groups))["sensitivity"]
    return area >= 0.7, f"{area:.2f}"


def _areas(rows: Sequence[Row]) -> dict[str, float]:
    """How well each number ranks the rows, in either direction."""
    hits = [row["learned"] for row in rows]
    columns = {name: [ENDLESS if row[name] is None else row[name] for row in rows] for name in RANKED}
    elements = zip(columns["semigroup"], (row["letters"] for row in rows), strict=True)
    columns["elements per letter"] = [size / letters for size, letters in elements]
    areas = {name: ranks(values, hits) for name, values in columns.items()}
    return {name: max(area, 1 - area) if name != "sensitivity" else area for name, area in areas.items()}


def _best(t: Table, part: Test) -> tuple[bool | None, str]:
    areas = _areas(t.of("sinusoidal", part, with_groups))
    first = max(areas, key=lambda name: areas[name])
    right = first != "group" and areas["sensitivity"] >= areas[first] - 0.03
    named = sorted(areas.items(), key=lambda item: -item[1])[:4]
    shown = ", ".join(f"{name} {area:.2f}" for name, area in named)
    return right, f"{shown}; sensitivity {areas['sensitivity']:.2f}"


def _by_g0(t: Table) -> tuple[bool | None, str]:
    right, texts = True, []
    for kind in ("groups", "permutations"):
        rows = t.of("sinusoidal", lambda row, kind=kind: row["kind"] == kind)  # type: ignore[misc]
        tests: dict[str, Test] = {
            "trivial": lambda row: row["g0"] == 1,
            "abelian": lambda row: row["g0_derived"] == 1,
            "derived length 2": lambda row: row["g0_derived"] == 2,
            "rest": lambda row: row["g0_derived"] > 2,
        }
        shares = {name: learned([row for row in rows if test(row)]) for name, test in tests.items()}
        counted = [share for share in shares.values() if share.of >= 10]
        right &= all(a.value > b.value for a, b in pairwise(counted))
        texts.append(f"{kind}: " + ", ".join(f"{name} {share}" for name, share in shares.items() if share.of))
    return right, "; ".join(texts)


def _presentations(t: Table) -> tuple[bool | None, str]:
    groups: dict[str, list[bool]] = defaultdict(list)
    for row in t.of("sinusoidal", lambda row: row["kind"] == "groups"):
        groups[row["automaton"].split(":")[0]].append(row["learned"])
    several = [hits for hits in groups.values() if len(hits) >= 5]
    mixed = sum(0 < sum(hits) < len(hits) for hits in several)
    return 3 * mixed >= len(several), f"{mixed} of {len(several)} groups"

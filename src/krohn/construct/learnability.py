"""What trained networks made of automata like a given one: the atlas of learnability, as a small table.

The table `atlas.csv` has a row for each automaton of the atlas and is made from `results/atlas/atlas.jsonl`
(`krohn reproduce atlas`): Transformers of 4 layers and width 128, 64,000 words of 32 letters, with
sinusoidal positions and with none. *Learned* means 99% of the letters of fresh words.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.algebra.analysis import Algebra
from krohn.algebra.equal_lengths import equal_lengths
from krohn.automata.graph import strong_components
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import write_bytes, write_text
from krohn.base.notebook import Rows, frame, table
from krohn.errors import UnknownName

FILE = "atlas.csv"
LENGTH, LAYERS = 32, 4
LEARNED = KEPT = 0.99
POSITIONS = ("sinusoidal", "none")
LARGE = 3000
"""Elements of an aperiodic semigroup from which 64,000 words are often too few."""
CLASSES = (
    "one-way", "aperiodic", "aperiodic, large", "length decides", "abelian groups", "G0 abelian",
    "solvable groups", "not solvable",
)  # fmt: skip
"""One-way: no way back to a state that was left (R-trivial). Large: 3,000 elements or more. Length decides:
what the groups count is the length alone (quasi-aperiodic). G0 abelian: all letters permute, and the
quotients of words of equal length commute. The others are about the groups inside the semigroup."""
BINS = (0.0, 0.1, 0.2, 0.35, 0.5, 1.0)
"""Bounds of the sensitivity by which automata are called alike."""
FEW = 10
MOST_STATES, MOST_LETTERS = 32, 16
WORDS = 2_000
Table = npt.NDArray[np.integer[Any]]


def class_of(
    *,
    aperiodic: bool,
    one_way: bool,
    large: bool,
    length_decides: bool,
    abelian: bool,
    g0_abelian: bool,
    solvable: bool,
) -> str:
    """The first of ``CLASSES`` that fits."""
    fits = (one_way, aperiodic and not large, aperiodic, length_decides, abelian, g0_abelian, solvable, True)
    return CLASSES[fits.index(True)]


def is_one_way(automaton: Semiautomaton) -> bool:
    """Whether no state that was left is reached again: then the monoid is R-trivial, and only then."""
    return all(len(part) == 1 for part in strong_components(automaton.table.tolist()))


def sensitivity(automaton: Semiautomaton, length: int = LENGTH) -> float:
    """The chance that one changed letter of a uniform word changes the last state, from 2,000 words."""
    words, changed = sample_words(automaton.num_letters, length)
    table = np.asarray(automaton.table, dtype=np.int64)
    last, other = (read(table, automaton.start, given) for given in (words, changed))
    return round(float((last != other).mean()), 4)


def sample_words(letters: int, length: int) -> tuple[Table, Table]:
    """2,000 uniform words of one length, always the same, and each with one letter changed."""
    dice = np.random.default_rng(0)
    words = dice.integers(0, letters, (WORDS, length))
    rows, changed = np.arange(WORDS), words.copy()
    place = dice.integers(0, length, WORDS)
    changed[rows, place] = (words[rows, place] + dice.integers(1, max(letters, 2), WORDS)) % letters
    return words, changed


def read(table: Table, start: int, words: Table) -> npt.NDArray[np.int64]:
    """The state after each word."""
    state = np.full(len(words), start)
    for place in range(words.shape[1]):
        state = table[state, words[:, place]]
    return state


@cache
def networks() -> tuple[dict[str, Any], ...]:
    """A row for each network of the atlas."""
    text = resources.files("krohn.construct").joinpath(FILE).read_text(encoding="utf-8")
    rows = []
    for line in csv.DictReader(text.splitlines()):
        shared = {name: line[name] for name in ("automaton", "kind", "class")}
        shared |= {name: _integer(line[name]) for name in ("states", "letters", "semigroup")}
        shared["sensitivity"] = float(line["sensitivity"])
        for positions in POSITIONS:
            accuracy = float(line[f"{positions} accuracy"])
            longer = {str(k * LENGTH): float(line[f"{positions} {k * LENGTH}"]) for k in (2, 4)}
            rows.append(
                {
                    **shared,
                    "positions": positions,
                    "learned": accuracy >= LEARNED,
                    "accuracy": accuracy,
                    "words_read": _integer(line[f"{positions} words"]),
                    "longer": longer,
                }
            )
    return tuple(rows)


def _integer(text: str) -> int | None:
    return int(text) if text else None


def keeps(row: dict[str, Any]) -> bool:
    """Whether a learned network has 99% of the letters beyond the trained length, up to four times it."""
    return bool(row["learned"]) and min(row["longer"].values()) >= KEPT


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """The row with a column for each greater length, as table formats need it."""
    longer = {f"accuracy_{letters}": value for letters, value in row["longer"].items()}
    return {name: value for name, value in row.items() if name != "longer"} | longer


class Networks(Rows[dict[str, Any]]):
    """Rows of the atlas; as text a summary, class by class."""

    def save(self, path: str | Path) -> None:
        """Writes all rows to a file for other programs, ``.parquet`` or ``.csv``."""
        rows, file = frame([flat(row) for row in self]), Path(path)
        if file.suffix == ".parquet":
            buffer = io.BytesIO()
            rows.to_parquet(buffer, index=False)
            write_bytes(file, buffer.getvalue())
        else:
            write_text(file, rows.to_csv(index=False))

    def text(self) -> str:
        """For each class and kind of positions how many were learned, and how many of those last."""
        cells = []
        for name in dict.fromkeys([*CLASSES, *(row["class"] for row in self)]):
            for positions in POSITIONS:
                rows = [row for row in self if row["class"] == name and row["positions"] == positions]
                learned = [row for row in rows if row["learned"]]
                if rows:
                    kept = f"{sum(map(keeps, learned))} of {len(learned)}" if learned else ""
                    cells.append((name, positions, len(rows), len(learned), kept))
        header = ("class", "positions", "automata", "learned", f"99% up to {4 * LENGTH} letters")
        return table(header, cells)


def chosen_networks(class_: str = "", kind: str = "", positions: str = "") -> Networks:
    """The rows of a class, a kind of automata and a kind of positions; all of them without."""
    wanted = {"class": class_, "kind": kind, "positions": positions}
    for name, value in wanted.items():
        known = list(dict.fromkeys(row[name] for row in networks()))
        if value and value not in known:
            raise UnknownName(f"{name} must be one of {'; '.join(known)}; got {value[:60]!r}")
    fits = [row for row in networks() if all(value in ("", row[name]) for name, value in wanted.items())]
    return Networks(fits)


@dataclass(frozen=True)
class Alike:
    """What became of networks for automata like one.

    Attributes:
        class_: the class of all of them.
        between: bounds of their sensitivity.
        of: how many automata there are.
        learned: how many were learned with sinusoidal positions.
        unplaced: how many were learned without positions.
        kept: how many of those have 99% of the letters up to four times the length.
    """

    class_: str
    between: tuple[float, float]
    of: int
    learned: int
    unplaced: int
    kept: int

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "of": self.of,
            "by": f"{LAYERS} layers on words of {LENGTH} letters",
            "learned": self.learned,
            "class": self.class_,
            "sensitivity": list(self.between),
            "without_positions": {"learned": self.unplaced, "longer": self.kept},
        }

    def __str__(self) -> str:
        low, high = self.between
        alike = f"of {self.of:,} automata like this ({self.class_}, sensitivity {low:g} to {high:g})"
        main = f"{alike} {self.learned:,} were learned by {LAYERS} layers on words of {LENGTH} letters"
        if not self.unplaced:
            return f"{main}, none without positions"
        lost = self.unplaced - self.kept
        return (
            f"{main}; of {self.unplaced:,} learned without positions {lost:,} lose more than 1% of the "
            "letters beyond that length (krohn atlas)"
        )


def alike(analysis: Algebra) -> Alike | None:
    """The networks for automata like the analysed one; ``None`` if it is larger than those of the atlas."""
    automaton = analysis.automaton
    if not (2 <= automaton.num_states <= MOST_STATES and automaton.num_letters <= MOST_LETTERS):
        return None
    size, inner = analysis.semigroup_size, equal_lengths(automaton)
    name = class_of(
        aperiodic=analysis.is_aperiodic,
        one_way=is_one_way(automaton),
        large=size is None or size >= LARGE,
        length_decides=analysis.is_quasi_aperiodic,
        abelian=all(group.group.is_abelian for group in analysis.groups),
        g0_abelian=inner is not None and inner.group.is_abelian,
        solvable=analysis.is_solvable,
    )
    value = sensitivity(automaton)
    place = min(sum(value >= bound for bound in BINS[1:]), len(BINS) - 2)
    low, high = BINS[place], BINS[place + 1]
    rows = [row for row in networks() if row["class"] == name]
    near = [row for row in rows if low <= row["sensitivity"] < high or row["sensitivity"] == high == 1.0]
    if len(near) < len(POSITIONS) * FEW:
        near, low, high = rows, 0.0, 1.0
    return _summary(name, (low, high), near) if near else None


def _summary(name: str, between: tuple[float, float], rows: Sequence[dict[str, Any]]) -> Alike:
    learned = {
        positions: [row for row in rows if row["positions"] == positions and row["learned"]]
        for positions in POSITIONS
    }
    unplaced = learned["none"]
    return Alike(
        name, between, len(rows) // len(POSITIONS), len(learned["sinusoidal"]), len(unplaced),
        sum(map(keeps, unplaced)),
    )  # fmt: skip

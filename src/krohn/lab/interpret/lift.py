"""Coordinate systems of an automaton: every prefix has a tuple of small numbers, and tuples represent states.

A coordinate may be replaced in a tuple, which then represents another state. That is the counterfactual of a
cascade: "the same word, but with this component in another state".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from krohn.algebra.counters import CounterTower, counter_tower
from krohn.algebra.transformation import Permutation
from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget
from krohn.cascade.holonomy import holonomy_cascade
from krohn.cascade.plan_search import cascade_plans
from krohn.errors import KrohnError, LimitExceeded
from krohn.lab.interpret.readings import Numbers, Pairs, Readings

MAX_TUPLES = 4_096
PLAN_WORK = 300_000

Tuple = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LiftPart:
    """A variable of a coordinate system: ``values`` [tuple], and the coordinates that go with it."""

    name: str
    replaced: tuple[int, ...]
    values: Numbers


@dataclass(frozen=True, eq=False)
class CoordinateLift:
    """Tuples by number: ``coordinates`` [tuple, place], ``table`` [tuple, letter], ``state`` [tuple].

    ``decode`` gives the state of any tuple, or −1 if it represents none.
    """

    name: str
    parts: tuple[LiftPart, ...]
    coordinates: Numbers
    table: Numbers
    state: Numbers
    decode: Callable[[Tuple], int]

    def along(self, readings: Readings) -> Numbers:
        """Tuples before the first letter and after each: [word, t + 1]."""
        letters = readings.letters
        out = np.zeros((letters.shape[0], letters.shape[1] + 1), dtype=np.int64)
        for position in range(letters.shape[1]):
            out[:, position + 1] = self.table[out[:, position], letters[:, position]]
        return out

    @cached_property
    def _number(self) -> dict[Tuple, int]:
        return {tuple(row): number for number, row in enumerate(self.coordinates.tolist())}

    def numbers(self, rows: Numbers) -> Numbers:
        """Numbers of tuples [n, place], −1 for those that no word leads to."""
        known, where = np.unique(rows, axis=0, return_inverse=True)
        result = [self._number.get(tuple(row), -1) for row in known.tolist()]
        return np.array(result, dtype=np.int64)[where.reshape(-1)]

    def during(self, place: int) -> Numbers:
        """[tuple, letter, value]: the state if the coordinate were different already before the letter.

        ``value`` is the coordinate after the letter; −1 where no earlier value, or values with different
        states, lead to it.
        """
        values, rows = int(self.coordinates[:, place].max()) + 1, self.coordinates.tolist()
        replaced = [[(*row[:place], value, *row[place + 1 :]) for value in range(values)] for row in rows]
        others = np.array([[self._number.get(other, -1) for other in row] for row in replaced])
        out = np.full((len(others), self.table.shape[1], values), -1, dtype=np.int64)
        tuples, letters = np.indices(out.shape[:2])
        for value in range(values):
            before = others[:, value][:, None]
            target = self.table[np.maximum(before, 0), letters]
            reached = self.coordinates[target, place]
            known = out[tuples, letters, reached]
            fresh = np.where((known == -1) | (known == self.state[target]), self.state[target], -2)
            out[tuples, letters, reached] = np.where(before >= 0, fresh, known)
        return np.maximum(out, -1)

    def predict_after(self, part: LiftPart, readings: Readings, pairs: Pairs) -> Numbers:
        """The state of the base's tuple with the part's coordinates from the source, after the letter."""
        tuples = self.along(readings)
        base, source = (tuples[words, pairs.at + 1] for words in (pairs.base, pairs.source))
        mixed = self.coordinates[base].copy()
        mixed[:, part.replaced] = self.coordinates[source][:, part.replaced]
        rows, number = np.unique(mixed, axis=0, return_inverse=True)
        return np.array([self.decode(tuple(row)) for row in rows.tolist()])[number.reshape(-1)]

    def predict_alone(self, part: LiftPart, readings: Readings, pairs: Pairs) -> Numbers:
        """As ``predict_after``, only where the letter moves no other coordinate; otherwise undefined."""
        tuples = self.along(readings)
        before, after = (self.coordinates[tuples[pairs.base, pairs.at + step]] for step in (0, 1))
        others = [place for place in range(self.coordinates.shape[1]) if place not in part.replaced]
        unchanged = (before[:, others] == after[:, others]).all(axis=1)
        return np.where(unchanged, self.predict_after(part, readings, pairs), -1)

    def predict_during(self, place: int, readings: Readings, pairs: Pairs) -> Numbers:
        """As ``predict_after`` for one coordinate, as if it had already differed before the letter."""
        tuples = self.along(readings)
        value = self.coordinates[tuples[pairs.source, pairs.at + 1], place]
        letter = readings.letters[pairs.base, pairs.at]
        out: Numbers = self.during(place)[tuples[pairs.base, pairs.at], letter, value]
        return out


def lifts(automaton: Semiautomaton) -> tuple[list[CoordinateLift], list[str]]:
    """Every coordinate system that is not too large, and notes on those left out."""
    result, notes = [], []
    makers: dict[str, Callable[[Semiautomaton], CoordinateLift]] = {
        "series": series_lift,
        "plan": plan_lift,
        "holonomy": holonomy_lift,
    }
    for name, make in makers.items():
        try:
            result.append(make(automaton))
        except KrohnError as error:
            notes.append(f"no coordinates by {name}: {error}")
    return result, notes


def holonomy_lift(automaton: Semiautomaton) -> CoordinateLift:
    """The levels of the plain holonomy decomposition, and the stage sets that the first of them leave."""
    cascade = holonomy_cascade(automaton, budget=Budget(PLAN_WORK))
    names = tuple(f"holonomy level {level}" for level in range(1, cascade.num_levels + 1))
    lift = _lift("holonomy", names, automaton, cascade.initial, cascade.step, cascade.state)
    stages = np.array([cascade.stages(tuple(row)) for row in lift.coordinates.tolist()], dtype=np.int64)
    sets = tuple(
        LiftPart(f"holonomy set {count}", tuple(range(count)), stages[:, count])
        for count in range(2, cascade.num_levels)
    )
    return replace(lift, parts=(*lift.parts, *sets))


def plan_lift(automaton: Semiautomaton) -> CoordinateLift:
    """The coordinates of the shortest plan that ``krohn decompose`` finds with little work."""
    plans = list(cascade_plans(automaton, Budget(PLAN_WORK), MAX_TUPLES, None))
    if not plans:
        raise LimitExceeded(f"no plan was found with {PLAN_WORK:,} units of work")
    plan = min(plans, key=lambda plan: plan.measure)
    first = plan.coordinates(automaton.start)
    names = tuple(f"plan coordinate {part}" for part in range(1, plan.num_coordinates + 1))
    return _lift("plan", names, automaton, first, plan.step, plan.state)


def series_lift(automaton: Semiautomaton) -> CoordinateLift:
    """The sections of the derived series of the group, from the top; solvable groups only."""
    if any(len(set(letter)) < automaton.num_states for letter in automaton.letters):
        raise LimitExceeded("a letter is not a permutation")
    tower = counter_tower(automaton.letters, automaton.num_states)
    codes = [_code(section.moduli) for section in tower.sections]
    names = tuple(
        f"derived section {number} ({'×'.join(f'C{m}' for m in section.moduli)})"
        for number, section in enumerate(tower.sections, start=1)
    )

    def step(values: Tuple, letter: int) -> Tuple:
        element, out = automaton.letters[letter], []
        for section, code, value in zip(tower.sections, codes, values, strict=True):
            after, element = section.next_letter(code[value], element)
            out.append(code.index(after))
        return tuple(out)

    def state(values: Tuple) -> int:
        return _element(tower, codes, values)[automaton.start]

    return _lift("series", names, automaton, (0,) * len(names), step, state)


def _code(moduli: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Residue tuples by number; zero is the first."""
    return [tuple(map(int, index)) for index in np.ndindex(*moduli)]


def _element(tower: CounterTower, codes: list[list[tuple[int, ...]]], values: Tuple) -> Permutation:
    return tower.element(tuple(r for code, value in zip(codes, values, strict=True) for r in code[value]))


def _lift(
    name: str,
    parts: tuple[str, ...],
    automaton: Semiautomaton,
    first: Tuple,
    step: Callable[[Tuple, int], Tuple],
    state: Callable[[Tuple], int],
) -> CoordinateLift:
    """All tuples that words lead to, breadth first."""
    order, rows = explore(
        first,
        lambda values: [step(values, letter) for letter in range(automaton.num_letters)],
        MAX_TUPLES,
        f"words lead to more than {MAX_TUPLES:,} tuples",
    )

    def decode(values: Tuple) -> int:
        try:
            return state(values)
        except (KrohnError, LookupError):
            return -1

    coordinates = np.array(order, dtype=np.int64).reshape(len(order), len(parts))
    single = tuple(LiftPart(name, (place,), coordinates[:, place]) for place, name in enumerate(parts))
    states = np.array([state(values) for values in order], dtype=np.int64)
    return CoordinateLift(name, single, coordinates, np.array(rows, dtype=np.int64), states, decode)

"""Candidate variables of the automaton's algebra, each a function of the prefix.

A variable has a value after each letter and, where that is meaningful, *roles*: the state that must result at
a position if the variable there is swapped for that of another word, all else being equal. A variable without
a role can be read by a probe, but supports no causal claim.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from krohn.algebra.transformation import is_permutation, order
from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.interpret.lift import CoordinateLift, LiftPart, lifts
from krohn.lab.interpret.readings import Numbers, Pairs, Predict, Readings, latest, window_maps

MAX_VALUES = 256
"""Most values of a variable: the sampled words cannot distinguish more."""

MAX_MAP_STATES = 128
"""Most states for which the maps of windows are composed."""

COUNTED_LETTERS = 4
LOOK_BACKS = (1, 2, 3)


@dataclass(frozen=True, eq=False)
class Variable:
    """``values(readings)`` is [word, t], −1 where there is none; ``roles`` by name."""

    name: str
    family: str
    text: str
    values: Callable[[Readings], Numbers]
    roles: dict[str, Predict] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The name with those of equivalent variables."""
        return " = ".join((self.name, *self.aliases))


def candidates(automaton: Semiautomaton, length: int) -> tuple[list[Variable], list[str]]:
    """All variables for words of that length, and notes on what was left out."""
    systems, notes = lifts(automaton)
    result = [state_variable(), letter_variable()]
    result += windows(automaton, length, notes)
    for system in systems:
        result += [*coordinates(system), *sum_steps(system)]
    result += [
        *counts(automaton, length),
        *sums(automaton),
        *resets(automaton),
        *look_backs(length),
    ]
    return result, notes


def state_variable() -> Variable:
    """The state after the letter."""

    def take_state(readings: Readings, pairs: Pairs) -> Numbers:
        return readings.states[pairs.source, pairs.at]

    text = "the state after the letter"
    return Variable("state", "state", text, lambda readings: readings.states, {"moved": take_state})


def letter_variable() -> Variable:
    """The letter itself."""

    def take_letter(readings: Readings, pairs: Pairs) -> Numbers:
        return readings.table[readings.before[pairs.base, pairs.at], readings.letters[pairs.source, pairs.at]]

    text = "the letter at this position"
    return Variable("letter", "letter", text, lambda readings: readings.letters, {"replaced": take_letter})


def windows(automaton: Semiautomaton, length: int, notes: list[str]) -> Iterator[Variable]:
    """The maps of the last 2, 4, 8, … letters: the variables of a scan."""
    if automaton.num_states > MAX_MAP_STATES:
        notes.append(f"no windows: maps of more than {MAX_MAP_STATES} states are not composed")
        return
    width = 2
    while width < length:
        yield Variable(
            f"map of the last {width} letters",
            "scan",
            f"the composed map of the last {width} letters",
            partial(_window_values, width),
            {"applied": partial(_window_applied, width)},
        )
        width *= 2


def _window_values(width: int, readings: Readings) -> Numbers:
    """Numbers of the maps; a window must not cover the whole prefix, which is the state."""
    maps = window_maps(readings.table, readings.letters, width).astype(np.uint8)
    rows = np.ascontiguousarray(maps).view(np.dtype((np.void, maps.shape[2])))
    numbers: Numbers = np.unique(rows, return_inverse=True)[1].reshape(readings.letters.shape)
    numbers[:, :width] = -1
    return numbers


def _window_applied(width: int, readings: Readings, pairs: Pairs) -> Numbers:
    """The base's state before the window, moved by the source's window."""
    first = pairs.at - width + 1
    state = readings.before[pairs.base, np.maximum(first, 0)]
    for step in range(width):
        state = readings.table[state, readings.letters[pairs.source, np.maximum(first + step, 0)]]
    return np.where(first >= 1, state, -1)


def coordinates(system: CoordinateLift) -> Iterator[Variable]:
    """The parts of a coordinate system: components of a cascade, its stage sets, sections of a series."""
    for part in system.parts:
        if len(np.unique(part.values)) < 2:
            continue
        if len(part.replaced) == 1:
            roles: dict[str, Predict] = {
                "replaced after the letter": partial(system.predict_after, part),
                "replaced before the letter": partial(system.predict_during, part.replaced[0]),
            }
        else:
            roles = {"replaced where deeper levels rest": partial(system.predict_alone, part)}
        values = partial(_part_values, system, part)
        yield Variable(part.name, "cascade", f"{part.name}, the other coordinates being held", values, roles)


def _part_values(system: CoordinateLift, part: LiftPart, readings: Readings) -> Numbers:
    out: Numbers = part.values[system.along(readings)[:, 1:]]
    return out


def sum_steps(system: CoordinateLift) -> Iterator[Variable]:
    """Running sums of the steps of the cyclic sections of a series, not reduced modulo the order.

    A cascade sums before it reduces. The first section is omitted: its steps are counts of letters.
    """
    for part in system.parts[1:] if system.name == "series" else ():
        size = int(part.values.max()) + 1
        if part.name.endswith(f"(C{size})"):
            name = f"sum of {part.name}"
            roles: dict[str, Predict] = {"reduced": partial(system.predict_after, part)}
            values = partial(_unreduced_values, system, part, size)
            yield Variable(name, "cascade", f"{name}, the other coordinates being held", values, roles)


def _unreduced_values(system: CoordinateLift, part: LiftPart, size: int, readings: Readings) -> Numbers:
    return np.cumsum(np.diff(part.values[system.along(readings)], axis=1) % size, axis=1)


def counts(automaton: Semiautomaton, length: int) -> Iterator[Variable]:
    """Number of occurrences of a letter, exact and modulo the numbers relevant to the automaton."""
    orders = [_order(letter) for letter in automaton.letters]
    for letter in range(min(automaton.num_letters, COUNTED_LETTERS)):
        own = orders[letter]
        moduli = {0, 2, automaton.num_states if own is None else own}
        for modulus in sorted(m for m in moduli if m != 1 and m <= 16):
            name = f"count of {automaton.letter_names[letter]}"
            name += f" modulo {modulus}" if modulus else ""
            roles: dict[str, Predict] = {"last letter changed": partial(_last_changed, letter, modulus)}
            if modulus and own and modulus % own == 0 and _commutes(automaton):
                roles["more of the letter"] = partial(_more_of, letter, modulus)
            yield Variable(name, "count", f"{name} so far", partial(_count_values, letter, modulus), roles)


def _count_values(letter: int, modulus: int, readings: Readings) -> Numbers:
    total = np.cumsum(readings.letters == letter, axis=1)
    return total % modulus if modulus else total


def _last_changed(letter: int, modulus: int, readings: Readings, pairs: Pairs) -> Numbers:
    """The state if the last letter had been one that gives the source's count."""
    counted = np.cumsum(readings.letters == letter, axis=1)
    earlier = counted[pairs.base, pairs.at] - (readings.letters[pairs.base, pairs.at] == letter)
    wanted = counted[pairs.source, pairs.at]
    states = readings.table[readings.before[pairs.base, pairs.at]]  # [pair, letter]
    is_letter = np.arange(states.shape[1]) == letter
    missing = wanted[:, None] - earlier[:, None] - is_letter
    fits = missing % modulus == 0 if modulus else missing == 0
    low = np.where(fits, states, states.max() + 1).min(axis=1)
    high = np.where(fits, states, -1).max(axis=1)
    return np.where(low == high, low, -1)  # several letters fit: they must agree


def _more_of(letter: int, modulus: int, readings: Readings, pairs: Pairs) -> Numbers:
    """The state moved by the source's excess count of the letter; letters commute."""
    counted = _count_values(letter, modulus, readings)
    more = (counted[pairs.source, pairs.at] - counted[pairs.base, pairs.at]) % modulus
    state = readings.states[pairs.base, pairs.at]
    for step in range(modulus):
        state = np.where(step < more, readings.table[state, letter], state)
    return state


def sums(automaton: Semiautomaton) -> Iterator[Variable]:
    """For a cyclic group: the total steps of the letters, not reduced modulo its order."""
    orders = [_order(letter) for letter in automaton.letters]
    if automaton.num_letters < 3 or automaton.num_states not in orders:
        return
    step = automaton.letters[orders.index(automaton.num_states)]
    powers = [tuple(range(automaton.num_states))]
    while len(powers) < automaton.num_states:
        powers.append(tuple(step[state] for state in powers[-1]))
    if any(letter not in powers for letter in automaton.letters):
        return
    steps = np.array([powers.index(letter) for letter in automaton.letters])
    text = "the steps of all letters added up, not reduced modulo the order of the group"
    yield Variable("sum of steps", "count", text, lambda readings: np.cumsum(steps[readings.letters], axis=1))


def resets(automaton: Semiautomaton) -> Iterator[Variable]:
    """Which reset letter came last."""
    forgetting = [a for a, letter in enumerate(automaton.letters) if len(set(letter)) == 1]
    if len(forgetting) < 2:
        return
    text = "the last letter that leads all states to one"
    yield Variable(
        "last reset",
        "memory",
        text,
        lambda readings: _last_reset(forgetting, readings)[0],
        {"replaced": partial(_reset_replaced, forgetting)},
    )


def _last_reset(forgetting: list[int], readings: Readings) -> tuple[Numbers, Numbers]:
    """The letter and the position of the last reset; −1 before the first."""
    where = latest(np.isin(readings.letters, forgetting))
    letter = np.take_along_axis(readings.letters, np.maximum(where, 0), axis=1)
    return np.where(where >= 0, letter, -1), where


def _reset_replaced(forgetting: list[int], readings: Readings, pairs: Pairs) -> Numbers:
    """The source's reset at the place of the base's, then the base's letters."""
    letter, where = _last_reset(forgetting, readings)
    given, first = letter[pairs.source, pairs.at], where[pairs.base, pairs.at]
    state = readings.table[0, np.maximum(given, 0)]
    for position in range(readings.length):
        following = (position > first) & (position <= pairs.at)
        state = np.where(following, readings.table[state, readings.letters[pairs.base, position]], state)
    return np.where((given >= 0) & (first >= 0), state, -1)


def look_backs(length: int) -> Iterator[Variable]:
    """The letters shortly before this one."""
    for back in (back for back in LOOK_BACKS if back < length):
        yield Variable(
            f"letter {back} back",
            "look back",
            f"the letter {back} position{'s' * (back > 1)} before this one",
            partial(_letter_back, back),
            {"replaced": partial(_back_replaced, back)},
        )


def _letter_back(back: int, readings: Readings) -> Numbers:
    out = np.full_like(readings.letters, -1)
    out[:, back:] = readings.letters[:, :-back]
    return out


def _back_replaced(back: int, readings: Readings, pairs: Pairs) -> Numbers:
    """The source's letter there, then the base's own."""
    place = np.maximum(pairs.at - back, 0)
    state = readings.table[readings.before[pairs.base, place], readings.letters[pairs.source, place]]
    for step in range(1, back + 1):
        state = readings.table[state, readings.letters[pairs.base, np.minimum(place + step, pairs.at)]]
    return np.where(pairs.at >= back, state, -1)


def wall_states(automaton: Semiautomaton) -> list[int]:
    """States with a loop under a letter that moves others; none where every letter permutes, or all loop."""
    if all(map(is_permutation, automaton.letters)):
        return []
    own = np.arange(automaton.num_states)[:, None]
    loops = automaton.table == own
    moving = ~loops.all(axis=0)
    some = (loops[:, moving]).any(axis=1) & ~loops.all(axis=1)
    places = [int(state) for state in np.flatnonzero(some)]
    return places if len(places) < automaton.num_states else []


def _order(letter: tuple[int, ...]) -> int | None:
    """The order of a permutation; ``None`` for other maps."""
    return order(letter) if is_permutation(letter) else None


def _commutes(automaton: Semiautomaton) -> bool:
    table = automaton.table
    return all(
        np.array_equal(table[table[:, a], b], table[table[:, b], a])
        for a in range(automaton.num_letters)
        for b in range(a)
    )


def distinct(variables: list[Variable], readings: Readings) -> tuple[list[Variable], list[str]]:
    """Merges variables that partition the prefixes in the same way, with the roles of all."""
    kept: list[tuple[Variable, Numbers]] = []
    notes = []
    for variable in variables:
        values = variable.values(readings)
        count = len(np.unique(values[values >= 0]))
        if count < 2:
            continue
        if count > MAX_VALUES:
            notes.append(f"{variable.name}: {count} values are too many to tell apart")
            continue
        same = next((place for place, (_, other) in enumerate(kept) if same_cut(values, other)), None)
        if same is None:
            kept.append((_determining(variable, values, readings), values))
        else:
            kept[same] = (_join(kept[same][0], variable), kept[same][1])
    return [variable for variable, _ in kept], notes


def _determining(variable: Variable, values: Numbers, readings: Readings) -> Variable:
    """A variable that determines the state has the state's role too."""
    if variable.family == "state":
        return variable
    place = np.arange(readings.length)
    cells, known = values * readings.length + place, values >= 0
    if not _follows(readings.states[known], cells[known]):
        return variable
    return replace(
        variable, roles={**variable.roles, "moved with its state": state_variable().roles["moved"]}
    )


def same_cut(one: Numbers, other: Numbers) -> bool:
    """Whether one value follows from the other, both ways, among prefixes of one length."""
    if ((one < 0) != (other < 0)).any():
        return False
    place = np.arange(one.shape[1])
    first, second = (values * one.shape[1] + place for values in (one, other))
    first, second = first[one >= 0], second[one >= 0]
    return _follows(first, second) and _follows(second, first)


def _follows(one: Numbers, other: Numbers) -> bool:
    """Whether the first number is a function of the second."""
    together = len(np.unique(other * (one.max(initial=0) + 1) + one))
    return together == len(np.unique(other))


def _join(kept: Variable, other: Variable) -> Variable:
    roles = {f"{name} ({other.name})": predict for name, predict in other.roles.items()}
    # A variable equivalent to the state has the state's role: every counterfactual is "another state".
    return Variable(
        kept.name,
        kept.family,
        kept.text,
        kept.values,
        kept.roles if kept.family == "state" else {**kept.roles, **roles},
        (*kept.aliases, other.name),
    )

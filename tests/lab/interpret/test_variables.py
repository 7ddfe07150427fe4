"""Roles against the naive meaning: what the automaton itself says on the changed word."""

from collections.abc import Callable

import numpy as np
import pytest

import krohn
from every import every
from krohn.lab.interpret.lift import holonomy_lift, series_lift
from krohn.lab.interpret.readings import Pairs, Readings, draw_pairs
from krohn.lab.interpret.variables import Variable, candidates, distinct

LENGTH = 9


def sample(spec: str) -> tuple[Readings, Pairs]:
    automaton = krohn.zoo(spec)
    rng = np.random.default_rng(1)
    readings = Readings(automaton, rng.integers(automaton.num_letters, size=(60, LENGTH)))
    return readings, draw_pairs(readings, rng, 400)


def named(spec: str, name: str) -> Variable:
    return next(v for v in candidates(krohn.zoo(spec), LENGTH)[0] if v.name == name)


def spliced(first: int, last: int) -> Callable[[list[int], list[int], int], list[int]]:
    """The base up to a position, with the source's letters from ``first`` to ``last`` places back."""

    def word(base: list[int], source: list[int], at: int) -> list[int]:
        return [*base[: at - first], *source[at - first : at - last + 1], *base[at - last + 1 : at + 1]]

    return word


@every(
    ("name", "word"),
    [
        ("letter", spliced(0, 0)),
        ("letter 2 back", spliced(2, 2)),
        ("map of the last 2 letters", spliced(1, 0)),
        ("map of the last 4 letters", spliced(3, 0)),
    ],
)
@every("spec", ["Grid4", "D6", "Dyck4,2"])
def test_what_is_swapped_is_a_piece_of_the_word(
    spec: str, name: str, word: Callable[[list[int], list[int], int], list[int]]
) -> None:
    readings, pairs = sample(spec)
    variable = named(spec, name)
    (role,) = variable.roles.values()
    predicted = role(readings, pairs)
    assert (predicted >= 0).sum() > 100
    letters = readings.letters.tolist()
    for base, source, at, state in zip(
        *(part.tolist() for part in (pairs.base, pairs.source, pairs.at, predicted)), strict=True
    ):
        if state >= 0:
            assert readings.automaton.run(word(letters[base], letters[source], at))[-1] == state


def test_windows_have_one_value_for_each_map() -> None:
    readings, _ = sample("D6")
    values = named("D6", "map of the last 4 letters").values(readings)
    assert (values[:, :4] == -1).all()
    table = readings.table
    seen: dict[int, set[tuple[int, ...]]] = {}
    for word in range(60):
        for at in range(4, LENGTH):
            states = np.arange(6)
            for letter in readings.letters[word, at - 3 : at + 1]:
                states = table[states, letter]
            seen.setdefault(int(values[word, at]), set()).add(tuple(states.tolist()))
    assert all(len(maps) == 1 for maps in seen.values())
    assert len(set().union(*seen.values())) == len(seen)


@pytest.mark.parametrize("spec", ["D6", "Q8", "A4"])
def test_sections_of_the_derived_series_stand_for_states(spec: str) -> None:
    readings, _ = sample(spec)
    lift = series_lift(readings.automaton)
    assert (lift.state[lift.along(readings)[:, 1:]] == readings.states).all()
    assert len(lift.parts) >= 2


def test_a_replaced_coordinate_leaves_the_others_alone() -> None:
    readings, pairs = sample("Grid4")
    lift = holonomy_lift(readings.automaton)
    tuples = lift.along(readings)
    assert (lift.state[tuples[:, 1:]] == readings.states).all()
    predicted = lift.predict_after(lift.parts[1], readings, pairs)
    own = lift.coordinates[tuples[pairs.base, pairs.at + 1]].copy()
    own[:, 1] = lift.coordinates[tuples[pairs.source, pairs.at + 1], 1]
    assert [lift.decode(tuple(row)) for row in own.tolist()] == predicted.tolist()


def test_a_count_is_that_of_the_word_with_another_last_letter() -> None:
    readings, pairs = sample("Grid4")
    predicted = named("Grid4", "count of L").roles["last letter changed"](readings, pairs)
    counted = np.cumsum(readings.letters == 0, axis=1)
    for number in np.flatnonzero(predicted >= 0).tolist():
        base, source, at = (int(part[number]) for part in (pairs.base, pairs.source, pairs.at))
        words = [[*readings.letters[base, :at].tolist(), letter] for letter in (0, 1)]
        (word,) = [w for w in words if w.count(0) == counted[source, at]]
        assert readings.automaton.run(word)[-1] == predicted[number]
    assert (predicted >= 0).sum() > 50


def test_the_last_reset_is_replaced_and_the_rest_of_the_word_kept() -> None:
    readings, pairs = sample("FlipFlop")
    variable = named("FlipFlop", "last reset")
    predicted = variable.roles["replaced"](readings, pairs)
    values = variable.values(readings)
    known = predicted >= 0
    assert known.sum() > 100
    # After a reset a flip-flop only reads: the state is the source's.
    assert (predicted[known] == readings.states[pairs.source, pairs.at][known]).all()
    assert ((values[pairs.base, pairs.at] >= 0) & (values[pairs.source, pairs.at] >= 0) == known).all()


def test_variables_that_are_the_same_become_one() -> None:
    readings, _ = sample("Parity")
    variables, _ = distinct(candidates(readings.automaton, LENGTH)[0], readings)
    state = next(v for v in variables if v.name == "state")
    assert "count of 1 modulo 2" in state.aliases
    assert list(state.roles) == ["moved"]

"""Minimisation and exploration against naive definitions."""

import numpy as np
import pytest

from krohn.certify import stream as machine_module
from krohn.certify.stream import Machine, distinct_rows, explore, minimise
from krohn.errors import LimitExceeded


def outputs(machine: Machine, word: tuple[int, ...]) -> list[tuple[int, ...]]:
    state, seen = 0, []
    for letter in word:
        steps = tuple(machine.steps[state, letter].tolist())
        seen.append((int(machine.shown[state, letter]), *steps))
        state = int(machine.follow[state, letter])
    return seen


@pytest.mark.parametrize("seed", range(6))
def test_the_minimal_machine_says_the_same_and_has_no_two_alike(seed: int) -> None:
    dice = np.random.default_rng(seed)
    made = Machine(
        dice.integers(30, size=(30, 2)), dice.integers(2, size=(30, 2)), dice.integers(2, size=(30, 2, 1))
    )
    small = minimise(made)
    for number in range(256):
        word = tuple((number >> bit) & 1 for bit in range(8))
        assert outputs(small, word) == outputs(made, word)
    again = minimise(small)
    assert again.num_states == small.num_states


def test_minimisation_survives_colliding_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    real = machine_module._refined
    calls = []

    def blind(labels, follow, *, exact):  # type: ignore[no-untyped-def]
        calls.append(exact)
        return real(labels, follow, exact=True) if exact else np.zeros_like(labels)

    monkeypatch.setattr(machine_module, "_refined", blind)
    made = Machine(np.array([[1], [0]]), np.array([[0], [1]]), np.zeros((2, 1, 0), dtype=np.int64))
    assert minimise(made).num_states == 2
    assert calls == [False, True]


def test_distinct_rows_are_those_of_a_set() -> None:
    dice = np.random.default_rng(0)
    rows = dice.integers(-(2**40), 2**40, size=(50, 4))[dice.integers(50, size=200)]
    found, where = distinct_rows(rows)
    assert sorted(map(tuple, found.tolist())) == sorted({tuple(row) for row in rows.tolist()})
    assert (found[where] == rows).all()


def test_exploration_stops_at_the_word_length() -> None:
    def expand(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
        return (rows + 1)[:, None, :], rows[:, None, :]

    follow, shown = explore(np.zeros(1, dtype=np.int64), expand, 5)
    assert shown[:5, 0, 0].tolist() == [0, 1, 2, 3, 4]
    assert len(follow) == 6


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "MAX_STATES", 10)
    with pytest.raises(LimitExceeded, match="at most 10 states"):
        explore(np.zeros(1, dtype=np.int64), lambda rows: ((rows + 1)[:, None], rows[:, None]), 50)

"""What a machine keeps of a prefix sum, against walks that know all of it."""

import itertools

import numpy as np
import pytest

from certify.built_networks import CLIPPED, clipped_sum_program, compiled, lowered_program
from krohn.certify.arithmetic import arithmetic
from krohn.certify.folds import Fold, choices_of, find_fold, joined, step
from krohn.certify.verification import attempt

WHOLE = Fold(0, -20, 20)


def one(number: int) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([number])


@pytest.mark.parametrize(
    "fold", [Fold(0, -1, 2), Fold(0, 0, 0), Fold(0, -20, 3), Fold(0, 2, 20), Fold(3), Fold(1)]
)
@pytest.mark.parametrize("steps", [(-1, 1), (-2, 0, 1), (1, 3), (-3,)])
def test_the_truth_is_always_among_the_choices(fold: Fold, steps: tuple[int, ...]) -> None:
    choices = choices_of(fold, WHOLE, np.array(steps))
    for total, moved in itertools.product(range(-12, 13), steps):
        kept = fold.keep(one(total))
        reached = {int(step(fold, WHOLE, kept, one(moved), one(c))[0]) for c in range(choices)}
        assert int(fold.keep(one(total + moved))[0]) in reached


@pytest.mark.parametrize("steps", [(0, 1), (1, 4)])
def test_a_sum_that_never_falls_is_known(steps: tuple[int, ...]) -> None:
    moves = np.array(steps)
    fold = joined([Fold(0, 3, 5), Fold(1)], Fold(0, 0, 20), moves, limit=1)
    assert fold == Fold(0, 0, 5)
    assert choices_of(fold, Fold(0, 0, 20), moves) == 1


def test_readers_that_differ_see_the_finer_fold() -> None:
    moves = np.array([-1, 1])
    assert joined([Fold(2), Fold(3), Fold(1)], WHOLE, moves, 4) == Fold(6)
    assert joined([Fold(0, 0, 2), Fold(0, -3, 1)], WHOLE, moves, 4) == Fold(0, -3, 2)
    assert joined([Fold(0, 0, 2), Fold(3)], WHOLE, moves, 4) == WHOLE
    assert joined([Fold(0, 0, 2)], WHOLE, np.array([-9, 9]), 4) == WHOLE


@pytest.mark.parametrize("seed", range(20))
def test_sums_that_a_fold_does_not_tell_apart_look_alike(seed: int) -> None:
    dice = np.random.default_rng(seed)
    low, count = int(dice.integers(-9, 3)), int(dice.integers(2, 25))
    sums = np.arange(low, low + count)
    ends = np.sort(dice.integers(low, low + count, size=2))
    shapes = [np.clip(sums, *ends), sums % int(dice.integers(1, 7)), dice.integers(3, size=count)]
    flat = shapes[seed % 3][None, :, None].astype(np.float64)
    valid = np.ones((1, count), dtype=bool)
    valid[0, : int(dice.integers(0, 2))] = False
    valid[0, 1:-1] &= dice.random(count - 2) < 0.7  # sums of one parity only, for example
    fold = find_fold(flat, valid, low)
    groups: dict[int, set[float]] = {}
    for place in np.flatnonzero(valid[0]):
        groups.setdefault(int(fold.index(one(int(sums[place])))[0]), set()).add(float(flat[0, place, 0]))
    assert all(len(values) == 1 for values in groups.values())


def test_a_sum_that_cannot_be_in_the_middle_is_still_told_apart() -> None:
    flat = np.array([[[0.0], [7.0], [1.0]]])
    fold = find_fold(flat, np.array([[True, False, True]]), -1)
    assert fold.index(one(-1)) != fold.index(one(1))


def test_a_sum_clipped_at_the_end_is_no_walk_between_walls() -> None:
    for length, right in ((2, True), (3, False), (9, False)):
        network = lowered_program(clipped_sum_program(), CLIPPED, length).transformer
        refusal = attempt(network, CLIPPED, length, arithmetic("float64"))[1]
        assert (refusal is None) == right
        if refusal is not None:
            assert refusal.word in ((1, 1, 0), (0, 0, 1))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_stacks_are_certified_at_lengths_far_beyond_their_height(dtype: str) -> None:
    network = compiled("Dyck4,2", 300, "cascade", dtype)
    assert attempt(network.transformer, network.automaton, 300, arithmetic(dtype))[1] is None


def test_a_stack_over_eight_brackets_is_certified_in_float32() -> None:
    network = compiled("Dyck2,8", 40, "cascade", "float32")
    assert attempt(network.transformer, network.automaton, 40, arithmetic("float32"))[1] is None

"""What a machine keeps of a prefix sum, against walks that know all of it."""

import itertools

import numpy as np
import pytest

from certify.built_networks import CLIPPED, clipped_sum_program, compiled, lowered_program
from krohn.certify.arithmetic import arithmetic
from krohn.certify.program_maps import Fold, choices_of, step
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

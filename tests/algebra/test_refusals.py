"""What the algebra refuses: no permutations, groups without a tower, and more than may be listed."""

from collections.abc import Callable

import numpy as np
import pytest

from algebra import named_groups as named
from algebra.golden_cases import CASES, letters_of
from algebra.test_solvable import GROUPS
from krohn.algebra.analysis import algebra_of
from krohn.algebra.counters import counter_tower, prime_tower
from krohn.algebra.idempotents import idempotent_onto
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transformation import as_permutation
from krohn.algebra.transition_semigroup import TransitionSemigroup, list_elements
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported

A5 = [(1, 2, 3, 4, 0), (1, 2, 0, 3, 4)]
SWAPS = [(*range(2 * k), 2 * k + 1, 2 * k, *range(2 * k + 2, 30)) for k in range(15)]
# A random automaton of 200,000 states and two letters was searched for a hundred seconds.
LARGE = Semiautomaton(np.random.default_rng(0).integers(40_000, size=(40_000, 2)))
NO_PERMUTATIONS = ([1.7, 0], [1.0, 0.0], ["1", "0"], [None, 0], [0, 0], [1, 2])
NO_ELEMENTS = ((0, 1, 2, 3), (3, 2, 1, 0), (0, 0), (9, 0, 0, 0))


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (InvalidInput, r"must list each of 0, …, 2 once; got \[0, 0, 1\]", lambda: as_permutation([0, 0, 1])),
        (InvalidInput, "must have 4 images; got 3", lambda: as_permutation([0, 1, 2], 4)),
        *(
            (InvalidInput, "must list each of", lambda one=one: as_permutation(one))
            for one in NO_PERMUTATIONS
        ),
        (InvalidInput, "each of 0, …, 2 once", lambda: PermutationGroup([(0, 0, 1)], 3)),
        (InvalidInput, "must be at least 0; got -1", lambda: PermutationGroup([], -1)),
        (
            LimitExceeded,
            "at most 1,000 elements to be listed and this one has 40,320: raise",
            lambda: PermutationGroup(named.symmetric(8), 8).elements(1000),
        ),
        (Unsupported, "group of order 60 on 5 tiles", lambda: counter_tower(A5, 5)),
        (Unsupported, "a perfect group of order 60", lambda: prime_tower([*A5, (1, 0, 2, 3, 4)], 5)),
        (LimitExceeded, "at most 23 elements", lambda: prime_tower(GROUPS["S4"][0], 4, 23)),
        (LimitExceeded, "20,000 elements; got 32,768; use --method scan", lambda: counter_tower(SWAPS, 30)),
        *(
            (
                InvalidInput,
                "must be induced by some word",
                lambda images=images: list_elements(letters_of(CASES["grid4"])).index(images),
            )
            for images in NO_ELEMENTS
        ),
        (
            LimitExceeded,
            r"at most 400,000 entries .* 362,880 states × 8 letters: raise --effort to 8 ",
            lambda: algebra_of(zoo("S9")),
        ),
        (
            LimitExceeded,
            "at most 3,124 elements to be listed",
            lambda: list_elements(letters_of(CASES["T5"]), limit=3124),
        ),
        (
            LimitExceeded,
            "at most 0 pairs",
            lambda: idempotent_onto(ImageOrbit(letters_of(CASES["T4"])).components[0], limit=0),
        ),
        (
            LimitExceeded,
            "at most 20 image sets.* --effort",
            lambda: TransitionSemigroup(letters_of(CASES["T7"]), effort=4e-5).subgroups,
        ),
        (LimitExceeded, "raise --effort .effort= in Python", lambda: algebra_of(zoo("Dyck4,2"), effort=6e-6)),
        (InvalidInput, "effort must be a number above 0", lambda: algebra_of(zoo("Grid4"), effort=0)),
        (LimitExceeded, "with 400 states together", lambda: algebra_of(zoo("Grid100"), effort=2e-5)),
        (LimitExceeded, "with 50 states together", lambda: algebra_of(zoo("Grid300"), effort=2e-5)),
        (LimitExceeded, "with 500 states together", lambda: algebra_of(LARGE, effort=2e-4)),
    ],
)
def test_what_has_no_answer_is_refused_in_one_line(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)

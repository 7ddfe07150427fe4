"""What the compiler refuses: the line names the number that is too large, and what helps."""

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cascade.random_automata import cerny
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo
from krohn.base.portable import Budget
from krohn.construct.features.plans import one_layer_plan
from krohn.construct.request import MAX_LENGTH
from krohn.construct.tight.finite import require_rows
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported
from krohn.network.lowering.mlp_builder import require_entries, require_positions
from krohn.paper.threshold_circuit import threshold_circuit
from unproved import compile

MAPS = Semiautomaton(np.random.default_rng(0).integers(200, size=(200, 4)))
DICE = random.Random(3)
NO_METHOD = Semiautomaton.from_letters([[DICE.randrange(2_000) for _ in range(2_000)] for _ in range(2)])
LEVELS = Semiautomaton.from_letters(
    [[min(q + 1, 171) for q in range(172)], [max(q - 2, 0) for q in range(172)]]
)


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        *(
            (
                InvalidInput,
                f"length must be an integer from 1 to 16,777,216; got {length}",
                lambda length=length: compile("C2", length),
            )
            for length in (0, -1, MAX_LENGTH + 1, 10**20 - 1)
        ),
        (Unsupported, "encodings .* a --length of at most 13,333,333", lambda: compile("C2", MAX_LENGTH)),
        *(
            (
                InvalidInput,
                "objective width is for methods cascade and auto",
                lambda method=method: compile("Grid4", 16, method=method, objective="width"),
            )
            for method in ("scan", "paper", "grid")
        ),
        (InvalidInput, "shows something", lambda: compile("S4", 8, target="observation")),
        (InvalidInput, "method", lambda: compile("regex:(ab)*", 8, target="observation", method="scan")),
        (Unsupported, "A5 of order 60", lambda: compile("A5", 20, method="cascade")),
        (
            Unsupported,
            "within 1 image sets .* --method scan does without",
            lambda: compile(cerny(11), 10, method="cascade", effort=5e-5),
        ),
        (
            Unsupported,
            "40,000,000 .* maps of 194 points .*388 × 75,272.* 58,411,072",
            lambda: compile(MAPS, 64, effort=0.01),
        ),
        (  # writing them took minutes
            Unsupported,
            "no cascade: 341 layers are needed; .* 172 points",
            lambda: compile(LEVELS, 64, effort=0.01),
        ),
        (
            Unsupported,
            "no method fits: .*10,000.*|no method fits: .*--effort",
            lambda: compile(NO_METHOD, 100, effort=0.001),
        ),
        (InvalidInput, r"must lie in 1\.\.8.* got 9", lambda: threshold_circuit(compile("C3", 8), 9)),
        (
            InvalidInput,
            "method cascade has none",
            lambda: threshold_circuit(replace(compile("C2", 4), program=None)),
        ),
        (LimitExceeded, "x, y would have 100,001 rows", lambda: require_rows(100_001, ["x", "y"])),
        (LimitExceeded, "40,000,000 entries and would have 40,000,001", lambda: require_entries(40_000_001)),
        (LimitExceeded, "a --length of at most 4,000,000", lambda: require_positions(4_000_001, 10)),
        (
            LimitExceeded,
            "up to 600 states; got 720",
            lambda: one_layer_plan(zoo("S6"), range(720), Budget(1e6)),
        ),
    ],
)
def test_what_cannot_be_compiled_is_refused_in_one_line(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400  # a reason for each method, with the numbers that decide

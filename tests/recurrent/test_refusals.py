"""What recurrent cells and their weights refuse, with a way out where there is one."""

from collections.abc import Callable

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.recurrent.cells import GruCell, LstmCell
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported
from krohn.proving.recurrent import close
from krohn.recurrent.capability import capability
from krohn.recurrent.recurrent_weights import diagonal, gru, lstm, rankone

C2, ONE_STATE = parse_spec("C2"), Semiautomaton(np.array([[0]]), 0)
SHORT = {**gru(C2).tensors, "bias_ih": np.zeros(3, dtype=np.float32)}
NAN = {**rankone(C2).tensors, "h.0.mix.key": np.full_like(rankone(C2).tensors["h.0.mix.key"], np.nan)}
SIZES = [(0, 1), (1, 0), (-1, 1), (1, -2)]


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (
            InvalidInput,
            "unit, signed, complex; got 'soft'",
            lambda: DiagonalStack.of({}, {"gate": "soft"}),
        ),
        (InvalidInput, "from 1 to 1,024; got 'True'", lambda: RankOneStack.of({}, {"heads": True})),
        (InvalidInput, "from 1 to 1,024; got '0'", lambda: RankOneStack.of({}, {"heads": 0})),
        (InvalidInput, "deltaproduct needs the tensor h.0.mix.query", lambda: DeltaStack({})),
        (InvalidInput, "lstm needs the tensor weight_hh", lambda: LstmCell({})),
        (InvalidInput, "bias_ih does not", lambda: GruCell(SHORT)),
        (InvalidInput, "mix.key must be finite float32", lambda: RankOneStack(NAN)),
        (InvalidInput, "3 letters and 3 states; it has 2 and 2", lambda: close(lstm(C2), parse_spec("C3"))),
        (KrohnError, "choose deltaproduct", lambda: diagonal(parse_spec("A5"))),
        (LimitExceeded, "at most 50,000,000 parameters", lambda: lstm(parse_spec("C100"))),
        (Unsupported, "nothing to hold", lambda: diagonal(ONE_STATE)),
        (KrohnError, "family must be one of", lambda: capability("C2", "Mamba", 1, 1)),
        *(
            (
                InvalidInput,
                f"got {layers} and {steps}",
                lambda a=layers, b=steps: capability("C2", "DeltaProduct", a, b),
            )
            for layers, steps in SIZES
        ),
    ],
)
def test_what_is_no_cell_and_what_a_cell_cannot_hold_is_refused(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)

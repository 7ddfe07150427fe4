"""Half types round every partial sum: what several heads write depends on the order, and claims say any.

Both networks hold 256 in a channel to which two heads add 1 each. In bfloat16 256 + 1 is 256, and 256 + 2 is
258. Earlier versions added head by head alone, and certified both.
"""

import numpy as np
import pytest
import torch

from check.test_deceivers import certified
from krohn.functions import simulate
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from proving.test_attacks import LAST_LETTER

LENGTH, DIM, HELD = 6, 6, 256.0
LETTER, KEPT, KEY, ONE, VALUE = range(5)
HALF = torch.bfloat16
WORDS = np.random.default_rng(0).integers(2, size=(40, LENGTH))


def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Letters, padding and positions: heads see padding alone, whose key is large and whose value is 1."""
    letters, padding, positions = np.zeros((2, DIM)), np.zeros((1, DIM)), np.zeros((1 + LENGTH, DIM))
    letters[1, LETTER], letters[:, KEPT] = 1.0, HELD
    padding[0, KEY], padding[0, VALUE] = 200.0, 1.0
    positions[:, ONE] = 1.0
    return letters, padding, positions


def unit(*entries: tuple[int, float]) -> np.ndarray:
    column = np.zeros((DIM, 1))
    for channel, value in entries:
        column[channel] = value
    return column


def network(heads: int) -> Transformer:
    """The state is the last letter, as long as the channel that is kept holds 256."""
    letters, padding, positions = numbers()
    head = Head(unit((ONE, 1.0)), unit((KEY, 1.0)), unit((VALUE, 1.0)), unit((KEPT, 1.0)).T)
    nothing = Mlp((np.zeros((DIM, DIM)),), (np.zeros(DIM),))
    layer = Layer((head,) * heads, nothing, np.ones(DIM), np.ones(DIM))
    readout = np.concatenate([unit((KEPT, 1.0)), unit((LETTER, 2.0))], axis=1)
    return Transformer(letters, padding, positions, (layer,), readout, np.array([-HELD, -1.0]))


def attended(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    hidden = torch.ones(query.shape[1], query.shape[1]).triu(1).bool()
    scores = (query.float() @ key.float().mT).masked_fill(hidden, -torch.inf)
    return scores.softmax(-1).to(HALF) @ value


def heads_first(network: Transformer) -> np.ndarray:
    """The states in bfloat16 where the heads are added up before the stream is."""

    def held(matrix: np.ndarray) -> torch.Tensor:
        return torch.tensor(matrix).to(HALF)

    padding = held(network.padding).expand(len(WORDS), -1, -1)
    x = torch.cat([padding, held(network.embedding)[torch.tensor(WORDS)]], 1) + held(network.positions)
    for layer in network.layers:
        parts = [
            attended(*(x @ held(m) for m in (h.query, h.key, h.value))) @ held(h.output) for h in layer.heads
        ]
        x = x + torch.stack(parts).sum(0)
    logits = x[:, len(network.padding) :] @ held(network.readout) + held(network.readout_bias)
    return logits.argmax(-1).numpy()


@pytest.mark.parametrize(("heads", "right"), [(1, True), (2, False)])
def test_heads_of_a_half_type_may_be_added_up_first(heads: int, right: bool) -> None:
    built = network(heads)
    assert bool((heads_first(built) == simulate(LAST_LETTER, WORDS)).all()) == right
    assert certified((built, LAST_LETTER, LENGTH), "bfloat16") == right

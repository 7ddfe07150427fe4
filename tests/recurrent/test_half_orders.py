"""GRUs that are right in bfloat16 in some orders of adding alone: claims say any order, fused or not.

Both were certified by an earlier version, which allowed for one sum of all terms and for the input's part
with its bias first.
"""

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.check.cells import Gru
from krohn.recurrent.recurrent_verdict import close
from recurrent.judge import gated_logits, right

FLIPFLOP = parse_spec("FlipFlop")
"""Letters: one that keeps the state, one that leads to each."""
WORD = [2, 0, 0, 1, 0, 2, 0, 1, 0, 0]
Tensors = dict[str, np.ndarray]
HALF = torch.bfloat16


def gru(inward: list[list[float]], recurrent: list[list[float]], biases: list[list[float]]) -> Tensors:
    """Letters are read as they are; the last unit is the state."""
    units = len(recurrent)
    head = np.zeros((units, 2))
    head[-1] = -1.0, 1.0
    tensors = {
        "wte": np.eye(3),
        "weight_ih": np.array(inward),
        "weight_hh": np.array(recurrent),
        "bias_ih": np.array(biases[0]),
        "bias_hh": np.array(biases[1]),
        "head.weight": head,
        "head.bias": np.array([0.5, -0.5]),
    }
    return {name: value.astype(np.float32) for name, value in tensors.items()}


def keeps_by_cancelling(far: float) -> Tensors:
    """Unit 0 is 1. Unit 1 is kept by 128 + far·1 − far; its update gate is open where that is 0."""
    inward = [
        [0, 0, -200, 128, 200, -200],
        [0, 0, -200, -512, 200, -200],
        [0, 0, -200, -512, 200, 200],
    ]
    recurrent = [[0, 0, 0, far, 0, 0], [0] * 6]
    return gru(inward, recurrent, [[0, 0, 0, -far, 0, 0], [0] * 6])


def candidate_by_cancelling(one: float) -> Tensors:
    """Where the state becomes 0 the candidate is tanh(256 + one − 256): 0 if 256 + 1 is stored, as 256."""
    inward = [[0, 200, 0], [0, -200, 256], [0, -200, 1024]]
    return gru(inward, [[0, 0, 0]], [[200, 0, one], [0, 0, -256]])


def logits(tensors: Tensors, *, fused: bool) -> np.ndarray:
    """In bfloat16: sums of both parts before the bias; or torch's fused cell, which adds in float32."""
    w = {name: torch.tensor(value).to(HALF) for name, value in tensors.items()}
    units, result = len(w["weight_hh"]), []
    h, wide = torch.zeros(1, units, dtype=HALF), torch.float32 if fused else HALF
    for letter in WORD:
        inward, recurrent = w["wte"][[letter]] @ w["weight_ih"], h @ w["weight_hh"]
        i, r, first, second, old = (
            part.to(wide) for part in (inward, recurrent, w["bias_ih"], w["bias_hh"], h)
        )
        reset, update = (i + r + first + second)[:, : 2 * units].sigmoid().chunk(2, -1)
        last = slice(2 * units, None)
        fresh = (i[:, last] + first[last] + reset * (r[:, last] + second[last])).tanh()
        h = (fresh + update * (old - fresh)).to(HALF)
        result.append((h @ w["head.weight"] + w["head.bias"])[0].double().numpy())
    return np.array(result)


@pytest.mark.parametrize(("far", "holds"), [(2.0**13, True), (2.0**15, False)])
def test_both_parts_may_be_added_before_the_bias(far: float, holds: bool) -> None:
    """128 + 2¹⁵ is 2¹⁵ in bfloat16, and 128 − 2¹⁵ is what it is."""
    tensors = keeps_by_cancelling(far)
    assert right(gated_logits("gru", tensors, WORD, "bfloat16"), FLIPFLOP, WORD)
    assert right(logits(tensors, fused=False), FLIPFLOP, WORD) == holds
    assert close(Gru(tensors), FLIPFLOP, limit=200, dtype="bfloat16").every_length == holds
    assert close(Gru(tensors), FLIPFLOP, limit=200, dtype="float32").every_length


@pytest.mark.parametrize(("one", "holds"), [(0.0, True), (1.0, False)])
def test_a_fused_cell_does_not_store_its_sums(one: float, holds: bool) -> None:
    tensors = candidate_by_cancelling(one)
    assert right(gated_logits("gru", tensors, WORD, "bfloat16"), FLIPFLOP, WORD)
    assert right(logits(tensors, fused=True), FLIPFLOP, WORD) == holds
    assert close(Gru(tensors), FLIPFLOP, limit=200, dtype="bfloat16").every_length == holds

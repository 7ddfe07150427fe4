"""Networks that are right in bfloat16 in some orders of adding alone, or with memories in float32 alone.

Claims say any order, fused or not. Two GRUs were certified by an earlier version, which allowed for one sum
of all terms and for the input's part with its bias first; and no claim named the type of memories.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.check.recurrent.cells import GruCell
from krohn.check.recurrent.stacks import DiagonalStack
from krohn.check.rules import check_certificate
from krohn.lab.models.architectures import diagonal
from krohn.proving.claims import Question
from krohn.proving.recurrent import close, net_of, verify_recurrent
from krohn.recurrent.recurrent_network import RecurrentNetwork
from recurrent.judge import gated_logits, right, stack_logits

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
    assert close(GruCell(tensors), FLIPFLOP, limit=200, dtype="bfloat16").every_length == holds
    assert close(GruCell(tensors), FLIPFLOP, limit=200, dtype="float32").every_length


@pytest.mark.parametrize(("one", "holds"), [(0.0, True), (1.0, False)])
def test_a_fused_cell_does_not_store_its_sums(one: float, holds: bool) -> None:
    tensors = candidate_by_cancelling(one)
    assert right(gated_logits("gru", tensors, WORD, "bfloat16"), FLIPFLOP, WORD)
    assert right(logits(tensors, fused=True), FLIPFLOP, WORD) == holds
    assert close(GruCell(tensors), FLIPFLOP, limit=200, dtype="bfloat16").every_length == holds


def memory_beyond_eight_bits() -> DiagonalStack:
    """Under letter 0 a ← 512 − a, p ← 512 − p and q ← 1 − q, while b stays; others set a and b to 0 or 1,
    p and q to 0. The state is 1 where 2a − 2p + b + 2q is 3; 511 is 512 in bfloat16.
    """
    quiet = 0
    gate, write, out, head = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 2))
    gate[quiet], write[quiet] = (-200.0, -200.0, -200.0, 200.0), (512.0, 512.0, 1.0, 0.0)
    for letter, images in enumerate(FLIPFLOP.letters):
        if letter != quiet:
            write[letter, [0, 3]] = images[0]
    out[:, 3], head[3, 1] = (2.0, -2.0, 2.0, 1.0), 1.0
    tensors = {
        "wte": np.eye(3, 4),
        "h.0.mix.gate.weight": gate,
        "h.0.mix.gate.bias": np.zeros(4),
        "h.0.mix.write": write,
        "h.0.mix.out": out,
        "head.weight": head,
        "head.bias": np.array([2.5, 0.0]),
    }
    return DiagonalStack({name: value.astype(np.float32) for name, value in tensors.items()}, gate="signed")


def in_half(gate: torch.Tensor, write: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """``states_in_order`` with a memory that is stored in bfloat16 after each letter."""
    states = []
    for t in range(gate.shape[2]):
        memory = (gate[:, :, t] * memory + write[:, :, t]).to(HALF).to(gate.dtype)
        states.append(memory)
    return torch.stack(states, 2)


def test_a_claim_in_a_half_type_says_where_memories_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No claim said that memories are float32; in bfloat16 this one is lost after a letter and two pauses."""
    cell = memory_beyond_eight_bits()
    word = [2, 0, 0]
    assert right(stack_logits(cell, word, "bfloat16"), FLIPFLOP, word)
    with monkeypatch.context() as patched:
        patched.setattr(diagonal, "states_in_order", in_half)
        assert right(stack_logits(cell, word[:2], "bfloat16"), FLIPFLOP, word[:2])
        assert not right(stack_logits(cell, word, "bfloat16"), FLIPFLOP, word)
    network = RecurrentNetwork(cell, FLIPFLOP)
    certificate = verify_recurrent(network, Question("bfloat16")).certificate
    assert certificate is not None
    assert "memory" in certificate.claim.assumptions
    less = tuple(name for name in certificate.claim.assumptions if name != "memory")
    silent = replace(certificate, claim=replace(certificate.claim, assumptions=less))
    assert not check_certificate(net_of(network), silent).certified

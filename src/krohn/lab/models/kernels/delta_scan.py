"""The gated delta rule for all positions: chunks of steps, one triangular system each.

A letter first multiplies the memory S by its gate, then takes ``steps`` steps S ← S + β k (v − kᵀS). Within
a chunk S = D·S₀ + Σ γ k uᵀ, where D and γ are products of gates and the corrections u solve (I + A) U = rhs
with A = β γ k·k below the diagonal. All chunks are solved side by side; only S₀ goes from one to the next.
"""

import torch
from torch import Tensor
from torch.nn import functional

CHUNK = 64
"""Steps in a chunk."""


def delta_scan(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    beta: Tensor,
    log_gate: Tensor,
    memory: Tensor,
    chunk: int = CHUNK,
) -> tuple[Tensor, Tensor]:
    """What each letter's query reads after its steps [N, T, dv], and the memory after the last letter.

    ``query`` [N, T, dk] and ``log_gate`` [N, T] per letter; ``key`` [N, T, steps, dk], ``value`` [N, T,
    steps, dv] and ``beta`` [N, T, steps] per step; ``memory`` [N, dk, dv].
    """
    rate = beta[..., None]
    return _scan_chunks(query, key, rate * key, rate * value, log_gate, memory, chunk)


def in_order(
    query: Tensor, key: Tensor, look: Tensor, value: Tensor, rate: Tensor, log_gate: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """Steps S ← S + k (rate (v − wᵀS)), w being ``look``, one after the other.

    For ``delta_scan`` look is the key and rate is β; rank-one steps have a rate of 1.
    """
    reads = []
    for t in range(query.shape[1]):
        memory = log_gate[:, t, None, None].exp() * memory
        for s in range(key.shape[2]):
            missing = value[:, t, s] - (look[:, t, s, :, None] * memory).sum(1)
            memory = memory + key[:, t, s, :, None] * (rate[:, t, s, None] * missing)[:, None]
        reads.append((query[:, t, :, None] * memory).sum(1))
    return torch.stack(reads, 1), memory


def rank_one_scan(
    query: Tensor, key: Tensor, look: Tensor, value: Tensor, memory: Tensor, chunk: int = CHUNK
) -> tuple[Tensor, Tensor]:
    """As ``delta_scan`` for steps S ← S + k (v − wᵀS), where ``look`` holds w, as large as ``key``."""
    return _scan_chunks(query, key, look, value, query.new_zeros(query.shape[:2]), memory, chunk)


def _scan_chunks(
    query: Tensor,
    key: Tensor,
    look: Tensor,
    value: Tensor,
    log_gate: Tensor,
    memory: Tensor,
    chunk: int,
) -> tuple[Tensor, Tensor]:
    """Steps S ← S + k (v − wᵀS) after each letter's gate."""
    length, steps = key.shape[1:3]
    letters = min(length, max(1, chunk // steps))
    query, key, look, value, log_gate = (
        _chunks(part, letters) for part in (query, key, look, value, log_gate)
    )
    key, look, value = key.flatten(2, 3), look.flatten(2, 3), value.flatten(2, 3)
    between, since = _decays(log_gate, steps)
    mixed = (look @ key.mT) * between
    wanted = torch.cat([value, since[..., None] * look], -1)
    solved = torch.linalg.solve_triangular(mixed.tril(-1), wanted, upper=False, unitriangular=True)
    own, seen = solved.split([value.shape[-1], key.shape[-1]], -1)
    last = slice(steps - 1, None, steps)
    reach = (query @ key.mT) * between[:, :, last]
    query = query * since[:, :, last, None]
    kept = key * between[:, :, -1, :, None]
    reads = []
    for index in range(query.shape[1]):
        corrections = own[:, index] - seen[:, index] @ memory
        reads.append(query[:, index] @ memory + reach[:, index] @ corrections)
        memory = since[:, index, -1, None, None] * memory + kept[:, index].mT @ corrections
    return torch.cat(reads, 1)[:, :length], memory


def _chunks(part: Tensor, letters: int) -> Tensor:
    """[N, T, ...] -> [N, chunks, letters, ...]; letters after the end are zero and do nothing."""
    spare = -part.shape[1] % letters
    padding = (0, 0) * (part.ndim - 2) + (0, spare)
    return functional.pad(part, padding).reshape(len(part), -1, letters, *part.shape[2:])


def _decays(log_gate: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """Products of gates [N, chunks, C, C] after step j up to step i, 0 above the diagonal; and from S₀ on.

    Logarithms are summed separately for each j, so that nothing is subtracted: a gate that is 0 in the float
    type erases what came before it and leaves the rest exact.
    """
    shape = (*log_gate.shape, steps)
    rates = functional.pad(log_gate[..., None], (0, steps - 1)).reshape(*shape[:2], -1)
    count = rates.shape[-1]
    below = torch.ones(count, count, dtype=torch.bool, device=rates.device).tril(-1)
    sums = torch.where(below, rates[..., :, None], 0.0).cumsum(-2)
    return sums.exp().tril(), rates.cumsum(-1).exp()

"""Swaps of a part of the stream between two words, and how often the answers follow."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from krohn.lab.suite.causal import Counterfactual
from krohn.lab.suite.patching import EdgeModel


def swapped_in(model: EdgeModel, place: str, pairs: Sequence[Counterfactual]) -> Tensor:
    """The stream of the source words at the place and letter of the swap: [pair, d]."""
    sources = np.array([one.source for one in pairs], dtype=np.int64)
    letters = torch.tensor([one.letter for one in pairs]) + model.prompt
    seen = list[Tensor]()

    def look(where: str, stream: Tensor) -> Tensor:
        if where == place:
            seen.append(stream[torch.arange(len(pairs)), letters])
        return stream

    with torch.no_grad():
        model.run(sources, edit=look)
    return seen[0]


def interchange(
    model: EdgeModel,
    place: str,
    basis: Tensor,
    pairs: Sequence[Counterfactual],
    sources: Tensor | None = None,
    reads: Tensor | None = None,
) -> Tensor:
    """Logits [pair, letter, state] of the base with the source's part in the span of orthonormal rows.

    Rows that are not orthonormal need ``reads``, rows that read the part's coordinates off the stream.
    ``sources`` is the result of ``swapped_in``, if already computed.
    """
    reads = basis if reads is None else reads
    words = np.array([one.base for one in pairs], dtype=np.int64)
    letters = torch.tensor([one.letter for one in pairs]) + model.prompt
    rows, held = torch.arange(len(pairs)), swapped_in(model, place, pairs) if sources is None else sources

    def swap(where: str, stream: Tensor) -> Tensor:
        if where != place:
            return stream
        own = stream[rows, letters]
        changed = stream.clone()
        changed[rows, letters] = own + (held - own) @ reads.mT @ basis
        return changed

    return model.run(words, edit=swap).logits


def interchange_accuracy(
    model: EdgeModel,
    place: str,
    basis: Tensor,
    pairs: Sequence[Counterfactual],
    reads: Tensor | None = None,
) -> float:
    """The share of counterfactuals after which every answer, from the swapped letter on, is as predicted."""
    with torch.no_grad():
        answers = interchange(model, place, basis, pairs, reads=reads).argmax(-1).numpy()
    wanted = np.array([one.answers for one in pairs])
    letters = np.array([one.letter for one in pairs])
    later = np.arange(wanted.shape[1]) >= letters[:, None]
    return float(((answers == wanted) | ~later).all(axis=1).mean())

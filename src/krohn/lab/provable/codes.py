"""Finite codes for a looped network: few vectors that its own block maps near each other.

The search begins with what the block makes of one and of two letters, and merges every two codes found so
far. A stream near a code is that code; any other is a new one. If it ends, the same network with these codes
(``codes`` of ``looped``) computes by a finite table: no error can add up, and the checker reads the table off
the weights. The automaton is not asked: what is found is how the network computes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.lab.models.architectures.looped import Looped
from krohn.lab.models.parameters import Weights

MOST_CODES = 400
SETTLED = 3
ROWS = 1 << 14
"""Times that codes move to the mean of what is merged into them."""

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Machine:
    """What a network with codes computes.

    Attributes:
        first: the code of a letter with nothing before it.
        pairs: the code of two letters.
        products: the code of two codes, the earlier one first.
        read: the state read from each code.
    """

    first: Ints
    pairs: Ints
    products: Ints
    read: Ints


@torch.no_grad()
def find_codes(
    network: Looped, weights: Weights, letters: int, words: Tensor, near: float, *, windows: bool = False
) -> Tensor | None:
    """Codes [M, d] closed under the block of one replicate; ``None`` if there are too many.

    Streams within ``near`` of a code are that code, in standard deviations of the streams of ``words``
    [1, B, T]. In loops the later of two merged codes is always a window of two letters or more; with
    ``windows`` it may also be that of one letter, as when words are read letter by letter.
    """
    streams = torch.cat([x.flatten(0, 2) for x in network.streams(weights, words)])
    radius = near * float((streams - streams.mean(0)).square().sum(1).mean().sqrt())
    single = network.embed(weights, torch.arange(letters, device=streams.device)[None, None])[0, 0]
    first = _merge(network, weights, None, single)
    pairs = merge_all(network, weights, single, single).flatten(0, 1)
    codes = _extended(single[:0], torch.cat([pairs, first]), radius)
    later = torch.zeros(len(codes), dtype=torch.bool, device=codes.device)
    later[_nearest(codes, torch.cat([pairs, first]) if windows else pairs)] = True
    table = torch.full((len(codes), len(codes)), -1, device=codes.device)
    while True:
        earlier, last = torch.nonzero((table < 0) & later, as_tuple=True)
        count = len(codes)
        if not len(earlier):
            return _settled(network, weights, codes, torch.cat([first, pairs]), table)
        made = torch.cat(
            [
                _merge(network, weights, codes[far], codes[near])
                for far, near in zip(torch.split(earlier, ROWS), torch.split(last, ROWS), strict=True)
            ]
        )
        codes = _extended(codes, made, radius)
        if len(codes) > MOST_CODES:
            return None
        grown = torch.full((len(codes), len(codes)), -1, device=codes.device)
        grown[:count, :count] = table
        grown[earlier, last] = _nearest(codes, made)
        table = grown
        later = torch.cat([later, later.new_zeros(len(codes) - count)])
        while True:  # the product of two windows is a window
            reached = table[later][:, later]
            reached = reached[reached >= 0]
            if bool(later[reached].all()):
                break
            later[reached] = True


def _settled(network: Looped, weights: Weights, codes: Tensor, start: Tensor, table: Tensor) -> Tensor:
    """The codes, moved to the mean of what is merged into them."""
    earlier, last = torch.nonzero(table >= 0, as_tuple=True)
    for _ in range(SETTLED):
        total, count = torch.zeros_like(codes), codes.new_zeros(len(codes))
        merged = (
            _merge(network, weights, codes[far], codes[near])
            for far, near in zip(torch.split(earlier, ROWS), torch.split(last, ROWS), strict=True)
        )
        for made in (start, *merged):
            place = _nearest(codes, made)
            total.index_add_(0, place, made)
            count += torch.bincount(place, minlength=len(codes))
        codes = torch.where(count[:, None] > 0, total / count.clamp(min=1)[:, None], codes)
    return codes


def _nearest(codes: Tensor, streams: Tensor) -> Tensor:
    return torch.cat([torch.cdist(part, codes).argmin(1) for part in torch.split(streams, ROWS)])


def _extended(codes: Tensor, streams: Tensor, near: float) -> Tensor:
    """The codes and those streams that are near none of them, the first of each neighbourhood."""
    while len(codes) <= MOST_CODES:
        if len(codes):
            far = torch.cat([torch.cdist(part, codes).amin(1) > near for part in torch.split(streams, ROWS)])
            streams = streams[far]
        if not len(streams):
            break
        # Those at once that are near no earlier one of a small batch.
        batch = streams[:256]
        close = (torch.cdist(batch, batch) <= near).tril(-1).cpu()
        chosen: list[int] = []
        for number in range(len(batch)):
            if not close[number, chosen].any():
                chosen.append(number)
        codes = torch.cat([codes, batch[chosen]])
    return codes


def merge_all(network: Looped, weights: Weights, far: Tensor, near: Tensor) -> Tensor:
    """The streams [F, N, d] after merging each of ``far`` [F, d] with each of ``near`` [N, d]."""
    rows = max(1, (1 << 16) // max(1, len(near)))
    return torch.cat(
        [
            _merge(
                network,
                weights,
                part[:, None].expand(-1, len(near), -1).flatten(0, 1),
                near[None].expand(len(part), -1, -1).flatten(0, 1),
            ).view(len(part), len(near), -1)
            for part in torch.split(far, rows)
        ]
    )


def _merge(network: Looped, weights: Weights, far: Tensor | None, near: Tensor) -> Tensor:
    return network.merge(weights, None if far is None else far[None], near[None])[0]


def with_codes(weights: Weights, codes: Tensor) -> dict[str, Tensor]:
    """The weights of one replicate [1, …] with codes; the nearest one has the highest score."""
    return {**weights, "codes": codes[None], "codes_bias": -codes.square().sum(1)[None] / 2}


@torch.no_grad()
def machine_of(network: Looped, weights: Weights, letters: int) -> Machine:
    """The tables that a network with codes computes, evaluated as it runs."""
    codes = weights["codes"][0, : network.config.codes]
    single = network.embed(weights, torch.arange(letters, device=codes.device)[None, None])[0, 0]

    def number(streams: Tensor) -> Ints:
        scores = streams @ codes.T + weights["codes_bias"][0, : len(codes)]
        return scores.argmax(-1).cpu().numpy()

    return Machine(
        number(_merge(network, weights, None, single)),
        number(merge_all(network, weights, single, single)),
        number(merge_all(network, weights, codes, codes)),
        network.read(weights, codes[None])[0].argmax(-1).cpu().numpy(),
    )

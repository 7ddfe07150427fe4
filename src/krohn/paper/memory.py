"""Lemma "Simulating a memory semiautomaton": the latest write, by one head on four channels.

The head scores position j by c·(j/T − 2·1[no-op]): the printed matrices, not the printed text, which has −1
and lets a no-op at j = T tie with the first position (erratum 13). Position 0 is an explicit write of q₀:
the printed trick of giving no-ops the value q₀ breaks as soon as anything else is copied along (erratum
29).
"""

import numpy as np

from krohn.base.portable import log
from krohn.network.transformer import Head
from krohn.paper.blocks import basis


def memory_score(states: int, length: int, sharp: bool = False) -> float:
    """c: T·log(16·|Q|·T) as printed; T·log(1 + 8·|Q|) is enough, for errors fall geometrically with age."""
    return length * log(1.0 + 8.0 * states if sharp else 16.0 * states * length)


def memory_head(dim: int, idle: int, recency: int, one: int, score: float, copies: dict[int, int]) -> Head:
    """The head that copies ``copies`` (from → to) from the latest position whose idle flag is 0."""
    query, key = np.zeros((dim, 2)), np.zeros((dim, 2))
    query[one] = [-2.0, 1.0]
    key[idle, 0] = key[recency, 1] = score
    return Head(query, key, basis(dim, list(copies)), basis(dim, list(copies.values())).T)

"""Which attention heads of a gridworld network sum, and which find the last visit of a boundary.

Theorem 3 builds a gridworld network from two kinds of heads: uniform heads that sum the moves, and heads
that find the last time the walk was at a wall, where everything before can be forgotten. Each head gets a
score for each kind, so that they are found automatically.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from krohn.errors import InvalidInput

# A head is uniform if its total variation distance from the plain average is less than a tenth, and a
# detector if at least a quarter of its attention follows the walk to the wall.
UNIFORM_FROM, DETECTOR_FROM = 0.9, 0.25


@dataclass(frozen=True, kw_only=True)
class HeadScore:
    """What one head does, averaged over words and positions; every score is at most 1.

    ``uniform`` is one minus the total variation distance from the plain average. ``left`` and ``right``
    are the attention on the last visit of that wall, given that it was the last wall visited, less what
    the same attention puts there when it is shown another word: a head that attends by position alone
    scores 0, and a head that follows either wall scores on both sides. ``before`` is the attention on
    everything earlier than the last visit of a wall.
    """

    layer: int
    head: int
    uniform: float
    left: float
    right: float
    before: float

    @property
    def kind(self) -> str:
        """``both`` walls, ``left``, ``right``, ``uniform``, or nothing."""
        if min(self.left, self.right) >= DETECTOR_FROM:
            return "both"
        side, score = max((("left", self.left), ("right", self.right)), key=lambda pair: pair[1])
        if score >= DETECTOR_FROM:
            return side
        return "uniform" if self.uniform >= UNIFORM_FROM else ""


def last_visit(states: NDArray[np.integer], places: tuple[int, ...]) -> NDArray[np.int64]:
    """For each position the latest position up to it whose state is in ``places``; -1 where there is none."""
    index = np.where(np.isin(states, places), np.arange(states.shape[-1]), -1)
    return np.maximum.accumulate(index, axis=-1)


def score_heads(
    attention: NDArray[np.floating], states: NDArray[np.integer], last_state: int
) -> list[HeadScore]:
    """Scores of all heads, from ``attention[layer, head, word, t, i]`` and the states ``[word, t]``."""
    layers, heads, words, length, width = attention.shape
    if states.shape != (words, length) or length != width:
        raise InvalidInput(f"states must be one for each word and position; got {states.shape}")
    if words < 2:
        raise InvalidInput(f"heads must be scored on at least two words; got {words}")
    return [
        _score(attention[layer, head].astype(np.float64), states, last_state, layer, head)
        for layer in range(layers)
        for head in range(heads)
    ]


def best_heads(scores: list[HeadScore]) -> dict[str, HeadScore]:
    """The highest scoring head of each kind."""
    return {
        kind: max(scores, key=lambda score: getattr(score, kind)) for kind in ("uniform", "left", "right")
    }


def telling_words(states: NDArray[np.integer], last_state: int, count: int) -> list[int]:
    """The ``count`` words ``[word, t]`` that go from wall to wall most often, best first.

    Tie-breakers: the longer time at the wall visited less, then the earlier word. On a word that meets only
    one wall, a detector of the other shows nothing.
    """

    def rank(word: int) -> tuple[int, int]:
        walls = [state for state in states[word].tolist() if state in (0, last_state)]
        switches = sum(one != other for one, other in pairwise(walls))
        return switches, min(walls.count(0), walls.count(last_state))

    return sorted(range(len(states)), key=rank, reverse=True)[:count]


def _score(
    attention: NDArray[np.float64], states: NDArray[np.integer], last_state: int, layer: int, head: int
) -> HeadScore:
    nearest = last_visit(states, (0, last_state))
    return HeadScore(
        layer=layer,
        head=head,
        uniform=_uniform(attention),
        left=_excess(attention, _visits_of(states, nearest, 0)),
        right=_excess(attention, _visits_of(states, nearest, last_state)),
        before=_before(attention, nearest),
    )


def _visits_of(states: NDArray[np.integer], nearest: NDArray[np.int64], place: int) -> NDArray[np.int64]:
    """The last wall visited where that wall is ``place`` and lies behind; -1 elsewhere.

    Positions at the wall itself are excluded, or every head that attends to itself would score.
    """
    is_past = (nearest >= 0) & (nearest < np.arange(states.shape[1]))
    reached = np.take_along_axis(states, np.maximum(nearest, 0), axis=1)
    return np.where(is_past & (reached == place), nearest, -1)


def _excess(attention: NDArray[np.float64], visits: NDArray[np.int64]) -> float:
    counted = visits >= 0
    if not counted.any():
        return 0.0
    others = np.roll(attention, 1, axis=0)
    index = np.maximum(visits, 0)[:, :, None]
    own = np.take_along_axis(attention, index, axis=2)[:, :, 0][counted].mean()
    chance = np.take_along_axis(others, index, axis=2)[:, :, 0][counted].mean()
    return float(own - chance)


def _uniform(attention: NDArray[np.float64]) -> float:
    length = attention.shape[-1]
    average = np.tril(np.ones((length, length))) / np.arange(1, length + 1)[:, None]
    distance = np.abs(attention - average).sum(axis=-1) / 2
    # The first position has only one choice: no information.
    return float(1 - distance[:, 1:].mean())


def _before(attention: NDArray[np.float64], nearest: NDArray[np.int64]) -> float:
    earlier = np.arange(attention.shape[-1])[None, None, :] < nearest[:, :, None]
    counted = nearest > 0
    return float((attention * earlier).sum(axis=-1)[counted].mean()) if counted.any() else 0.0

"""Scores of the attention heads of trained gridworld networks: the last visit of a wall, and averages."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from krohn.errors import InvalidInput, Unsupported
from krohn.lab.interpret.head_patterns import last_visit, nearness
from krohn.lab.interpret.packed_shares import pack_shares
from krohn.lab.interpret.stages import stages_of_decoder
from krohn.lab.models.architectures.gpt import Gpt
from krohn.lab.training.run_decoder import decoder_of_weights
from krohn.lab.training.trained_network import TrainedNetwork


def attention_of(trained: TrainedNetwork, replicate: int, words: Tensor) -> NDArray[np.float32]:
    """Attention [layer, head, word, t, i] of one replicate, a GPT, on ``words`` [word, t], in float32."""
    if not isinstance(trained.network, Gpt):
        raise Unsupported(f"only a gpt has attention heads; got {type(trained.network).__name__}")
    length = words.shape[1]
    weights = {name: value[replicate].float().cpu() for name, value in trained.weights.items()}
    decoder = decoder_of_weights(trained.network.config, trained.task, weights, length)
    stages = stages_of_decoder(decoder, torch.float32)
    passed = stages.run(words.cpu().numpy(), attention=True)
    return torch.stack(passed.attention).transpose(1, 2).numpy()


# A head is uniform if its total variation distance from the plain average is less than a tenth, and a
# detector if at least a quarter of its attention follows the walk to the wall.
UNIFORM_FROM, DETECTOR_FROM = 0.9, 0.25


@dataclass(frozen=True, kw_only=True)
class HeadScore:
    """Scores of one head, averaged over words and positions; each is at most 1.

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
        uniform=nearness(torch.from_numpy(attention), None),
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


def _before(attention: NDArray[np.float64], nearest: NDArray[np.int64]) -> float:
    earlier = np.arange(attention.shape[-1])[None, None, :] < nearest[:, :, None]
    counted = nearest > 0
    return float((attention * earlier).sum(axis=-1)[counted].mean()) if counted.any() else 0.0


@dataclass(frozen=True, kw_only=True)
class AttentionHeads:
    """Scores every head of every replicate on ``words`` random walks of ``length`` steps.

    Maps are large, so they are kept only for the ``drawn`` most informative words, for the last layer and the
    best head of each kind, of the one replicate with the highest total score of its best heads.
    """

    length: int = 128
    words: int = 64
    drawn: int = 2
    seed: int = 2**42
    name: str = "attention"

    def measure(self, trained: TrainedNetwork) -> list[dict[str, Any]]:
        """See :class:`krohn.lab.interpret.evaluation.Evaluation`."""
        task = trained.task_with(length=self.length)
        words, batch = task.held_out(self.seed, self.words)
        states = batch.targets[0].cpu().numpy()
        last = trained.automaton.num_states - 1
        scores = [
            score_heads(attention_of(trained, replicate, words[0]), states, last)
            for replicate in range(trained.replicates)
        ]
        results: list[dict[str, Any]] = [{"heads": [_row(score) for score in own]} for own in scores]
        # Run again rather than kept: the maps of all replicates do not fit into memory together.
        best = max(range(len(scores)), key=lambda replicate: _detection(scores[replicate]))
        maps, shown = attention_of(trained, best, words[0]), telling_words(states, last, self.drawn)
        chosen = {(score.layer, score.head) for score in best_heads(scores[best]).values()}
        chosen |= {(len(maps) - 1, head) for head in range(maps.shape[1])}
        results[best] |= {
            "maps": [
                {"layer": layer, "head": head, "weights": pack_shares(np.tril(maps[layer, head, shown]))}
                for layer, head in sorted(chosen)
            ],
            "states": states[shown].tolist(),
            "last_state": last,
            "words": self.words,
        }
        return results


def _detection(scores: list[HeadScore]) -> float:
    return float(sum(getattr(score, kind) for kind, score in best_heads(scores).items()))


def _row(score: HeadScore) -> list[float]:
    """Layer, head, then the four scores, rounded."""
    values = (score.uniform, score.left, score.right, score.before)
    return [score.layer, score.head, *(round(value, 4) for value in values)]


def score_from_row(row: list[float]) -> HeadScore:
    """The inverse of ``_row``."""
    layer, head, uniform, left, right, before = row
    return HeadScore(layer=int(layer), head=int(head), uniform=uniform, left=left, right=right, before=before)

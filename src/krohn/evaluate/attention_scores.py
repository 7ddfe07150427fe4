"""The heads of gridworld networks: scores of all, and attention maps of a few for drawing."""

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krohn.errors import InvalidInput
from krohn.evaluate.evaluation import Trained
from krohn.evaluate.gridworld_heads import HeadScore, best_heads, score_heads, telling_words
from krohn.evaluate.trace import trace


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

    def measure(self, trained: Trained) -> list[dict[str, Any]]:
        """See :class:`krohn.evaluate.evaluation.Evaluation`."""
        task = trained.task_with(length=self.length)
        words, batch = task.held_out(self.seed, self.words)
        states = batch.targets[0].cpu().numpy()
        last = trained.automaton.num_states - 1
        results = []
        for replicate in range(trained.replicates):
            maps = trace(_only(trained, replicate), words[0]).attention[0].cpu().numpy()
            scores = score_heads(maps, states, last)
            results.append(({"heads": [_row(score) for score in scores]}, scores, maps))
            # Only the best replicate's maps are kept in memory.
            results = _forget_all_but_the_best(results)
        return [self._with_maps(result, scores, maps, states, last) for result, scores, maps in results]

    def _with_maps(
        self, result: dict[str, Any], scores: list[HeadScore], maps: Any, states: Any, last: int
    ) -> dict[str, Any]:
        if maps is None:
            return result
        layers, words = maps.shape[0], telling_words(states, last, self.drawn)
        chosen = {(score.layer, score.head) for score in best_heads(scores).values()}
        chosen |= {(layers - 1, head) for head in range(maps.shape[1])}
        kept = [
            {"layer": layer, "head": head, "weights": pack_shares(np.tril(maps[layer, head, words]))}
            for layer, head in sorted(chosen)
        ]
        return result | {
            "maps": kept,
            "states": states[words].tolist(),
            "last_state": last,
            "words": self.words,
        }


_Result = tuple[dict[str, Any], list[HeadScore], Any]


def _forget_all_but_the_best(results: list[_Result]) -> list[_Result]:
    best = max(range(len(results)), key=lambda index: _detection(results[index][1]))
    return [
        (result, scores, maps if index == best else None)
        for index, (result, scores, maps) in enumerate(results)
    ]


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


def _only(trained: Trained, replicate: int) -> Trained:
    weights = {name: value[replicate : replicate + 1] for name, value in trained.weights.items()}
    return Trained(network=trained.network, weights=weights, task=trained.task, automaton=trained.automaton)


# Arrays of shares as compact text: one byte per number, compressed, base64.


def pack_shares(values: NDArray[np.floating]) -> dict[str, Any]:
    """Numbers between 0 and 1, quantised to 1/255, as a JSON value."""
    if values.size and not (values.min() >= 0 and values.max() <= 1):
        raise InvalidInput(f"shares must lie in [0, 1]; got {values.min()} to {values.max()}")
    data = zlib.compress(np.rint(values * 255).astype(np.uint8).tobytes(), level=9)
    return {"shape": list(values.shape), "data": base64.b64encode(data).decode("ascii")}


def unpack_shares(packed: dict[str, Any]) -> NDArray[np.float64]:
    """The inverse of :func:`pack_shares`, up to 1/510."""
    data = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(data, dtype=np.uint8).reshape(packed["shape"]) / 255

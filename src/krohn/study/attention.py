"""Attention of trained GPTs: a forward pass that keeps it, and the heads of gridworld networks."""

import base64
import zlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from krohn.errors import InvalidInput, Unsupported
from krohn.models.architectures.gpt import Gpt
from krohn.models.kernels import plain
from krohn.models.network import Weights
from krohn.study.evaluation import Trained


@dataclass(frozen=True)
class Trace:
    """Activations of a forward pass.

    Attributes:
        attention: weights [R, layer, head, word, t, i].
        residual: the stream after the embedding and after each block [R, layer + 1, word, t, dim].
        logits: [R, word, t, class].
    """

    attention: Tensor
    residual: Tensor
    logits: Tensor


@torch.inference_mode()
def trace(trained: Trained, words: Tensor) -> Trace:
    """Runs the replicates on ``words`` [N, T] in float32 and keeps everything."""
    network = trained.network
    if trained.task.bos:
        raise Unsupported("attention can be traced only in a network without a beginning token")
    if not isinstance(network, Gpt):
        raise Unsupported(f"attention can be traced only in a gpt; got {type(network).__name__}")
    weights = {name: value.float() for name, value in trained.weights.items()}
    count, length = words.shape
    tokens = words.int().expand(trained.replicates, count, length)
    x = network.embed(weights, tokens)
    attention, residual = [], [x]
    for layer in range(network.config.layers):
        block = {name.removeprefix(f"h.{layer}."): value for name, value in weights.items()}
        scores, mixed = _attend(network, block, x, count, length)
        x = x + mixed
        _, h = plain.add_norm(x, None, None, block["ln_2.weight"], block["ln_2.bias"], None)
        hidden = plain.bias_gelu(plain.linear(h, block["mlp.c_fc.weight"]), block["mlp.c_fc.bias"])
        x = x + plain.linear(hidden, block["mlp.c_proj.weight"]) + block["mlp.c_proj.bias"][:, None]
        attention.append(scores)
        residual.append(x)
    _, h = plain.add_norm(x, None, None, weights["ln_f.weight"], weights["ln_f.bias"], None)
    logits = (plain.linear(h, weights["head.weight"]) + weights["head.bias"][:, None])[..., : network.classes]
    streams = torch.stack(residual, dim=1).view(len(x), -1, count, length, x.shape[-1])
    return Trace(torch.stack(attention, dim=1), streams, logits.reshape(len(x), count, length, -1))


def _attend(network: Gpt, block: Weights, x: Tensor, count: int, length: int) -> tuple[Tensor, Tensor]:
    heads = network.config.heads
    _, h = plain.add_norm(x, None, None, block["ln_1.weight"], block["ln_1.bias"], None)
    qkv = plain.linear(h, block["attn.c_attn.weight"]) + block["attn.c_attn.bias"][:, None]
    split = qkv.view(len(x), count, length, 3, heads, -1)
    # [R, word, t, 3, head, head_dim] -> three of [R, head, word, t, head_dim]
    q, k, v = split.permute(3, 0, 4, 1, 2, 5).unbind(0)
    if network.config.recency:
        mask = plain.recency_mask(plain.alibi_slopes(heads, x.device), length)[None, :, None]
    else:
        mask = torch.full((length, length), float("-inf"), device=x.device).triu(1)
    scores = (q @ k.transpose(-1, -2) * plain.head_scale(q.shape[-1]) + mask).softmax(-1)
    mixed = (scores @ v).permute(0, 2, 3, 1, 4).flatten(3).flatten(1, 2)
    out = plain.linear(mixed, block["attn.c_proj.weight"]) + block["attn.c_proj.bias"][:, None]
    return scores, out


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
        """See :class:`krohn.study.evaluation.Evaluation`."""
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

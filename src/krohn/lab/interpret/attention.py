"""Classification of attention heads by the nearest ideal pattern, and scores of gridworld networks.

Only attention on letters counts; attention on the prompt is reported separately. A head gets the name of a
pattern if, on average over words and positions, less than a fifth of its attention lies elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from krohn.errors import InvalidInput, Unsupported
from krohn.lab.interpret.packed_shares import pack_shares
from krohn.lab.interpret.readings import Numbers, Readings, latest
from krohn.lab.interpret.stages import Passed, Stages, stages_of_decoder
from krohn.lab.interpret.variables import wall_states
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


def last_visit(states: NDArray[np.integer], places: tuple[int, ...]) -> NDArray[np.int64]:
    """For each position the latest position up to it whose state is in ``places``; -1 where there is none."""
    return latest(np.isin(states, places))


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


NAMED_FROM = 0.8
"""Least nearness (one minus the mean distance) for a head to get a pattern's name."""

PROMPT_FROM = 0.9
"""Share of the attention on the prompt from which a head is said to rest there."""

FARTHEST = 16
SMALL_ALPHABET = 4


@dataclass(frozen=True)
class HeadReport:
    """The nearest pattern of one head; ``kind`` is ``none`` if it is not near enough."""

    layer: int
    head: int
    kind: str
    nearest: str
    score: float
    prompt: float


def patterns(readings: Readings) -> Iterator[tuple[str, str, Numbers | None]]:
    """(kind, name, the position looked at [word, t] or −1); ``None`` is the plain average."""
    letters = readings.letters
    place = np.broadcast_to(np.arange(readings.length), letters.shape)
    yield "uniform", "uniform", None
    yield "look back", "itself", place
    for back in range(1, min(FARTHEST, readings.length - 1) + 1):
        yield "look back", f"{back} back", np.where(place >= back, place - back, -1)
    for chosen in _classes(readings.automaton.num_letters):
        names = ", ".join(readings.automaton.letter_names[letter] for letter in chosen)
        yield "latest", f"latest {names}", latest(np.isin(letters, chosen))
    walls = wall_states(readings.automaton)
    for chosen in [(wall,) for wall in walls] + ([tuple(walls)] if len(walls) > 1 else []):
        names = ", ".join(readings.automaton.state_names[state] for state in chosen)
        yield "boundary", f"latest visit of {names}", last_visit(readings.states, chosen)


def _classes(letters: int) -> Iterator[tuple[int, ...]]:
    """Sets of letters: all of them in a small alphabet, single letters in a large one."""
    largest = letters - 1 if letters <= SMALL_ALPHABET else 1
    for size in range(1, largest + 1):
        yield from combinations(range(letters), size)


def classify_heads(stages: Stages, passed: Passed, readings: Readings) -> list[HeadReport]:
    """Every head that writes something, layer by layer; numbers count from 1."""
    ideals = list(patterns(readings))
    out = []
    for layer, (block, weights) in enumerate(zip(stages.blocks, passed.attention, strict=True), start=1):
        outputs = [one for same in block.sides for heads in same for one in heads.matrices[3]]
        for head, output in enumerate(outputs, start=1):
            if output.any():
                out.append(report_of(layer, head, weights[:, head - 1], len(stages.prompt), ideals))
    return out


def report_of(
    layer: int, head: int, weights: Tensor, prompt: int, ideals: list[tuple[str, str, Numbers | None]]
) -> HeadReport:
    """The attention of a head compared with the ideal patterns."""
    own = weights[:, prompt:, prompt:].to(torch.float64)
    on_letters = own.sum(dim=-1)
    resting = float(1 - on_letters[:, 1:].mean()) if prompt else 0.0
    if resting >= PROMPT_FROM:
        return HeadReport(layer, head, "prompt", "the prompt", resting, resting)
    attention = own / on_letters.clamp_min(1e-12)[..., None]
    scores = [nearness(attention, where) for _, _, where in ideals]
    best = max(range(len(ideals)), key=lambda index: (round(scores[index], 6), -index))
    kind = ideals[best][0] if scores[best] >= NAMED_FROM else "none"
    return HeadReport(layer, head, kind, ideals[best][1], scores[best], resting)


def nearness(attention: Tensor, where: Numbers | None) -> float:
    """One minus the mean distance, over positions with a choice where the pattern is defined."""
    length = attention.shape[-1]
    if where is None:
        average = torch.ones(length, length, dtype=attention.dtype).tril()
        average = average / average.sum(dim=-1, keepdim=True)
        distance = (attention - average).abs().sum(dim=-1) / 2
        # The first position has only one choice: no information.
        return float(1 - distance[:, 1:].mean()) if length > 1 else 1.0
    index = torch.from_numpy(np.maximum(where, 0))
    hit = attention.gather(-1, index[..., None])[..., 0]
    counted = torch.from_numpy(where >= 0)
    counted[:, 0] = False
    return float(hit[counted].mean()) if bool(counted.any()) else 0.0

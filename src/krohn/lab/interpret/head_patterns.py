"""Classification of attention heads by the nearest ideal pattern.

Only attention on letters counts; attention on the prompt is reported separately. A head gets the name of a
pattern if, on average over words and positions, less than a fifth of its attention lies elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from krohn.lab.interpret.readings import Numbers, Readings, latest
from krohn.lab.interpret.stages import Passed, Stages
from krohn.lab.interpret.variables import wall_states

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


def last_visit(states: NDArray[np.integer], places: tuple[int, ...]) -> NDArray[np.int64]:
    """For each position the latest position up to it whose state is in ``places``; -1 where there is none."""
    return latest(np.isin(states, places))


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

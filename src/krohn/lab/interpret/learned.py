"""The subspace of the state, learned from the effects of swaps at one or several positions.

Distributed alignment search (DAS): gradient descent on a subspace such that moving the last positions of a
word along it, to where another word has them, makes the network answer the other word's state. Baselines, on
the same words and of the same dimension: the directions that separate the states (linear discriminants), a
random subspace, and all directions. The search starts from random directions, and once more from the linear
ones.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from krohn.errors import InvalidInput
from krohn.lab.interpret.readings import Readings
from krohn.lab.interpret.stages import Passed, Stages
from krohn.lab.interpret.subject import Subject
from krohn.lab.interpret.subspace import RIDGES, Spread, descend, directions, random_directions
from krohn.lab.interpret.swaps import dealt


@dataclass(frozen=True)
class Moved:
    """Shares of swaps after which the answer is the source's state, by subspace.

    ``das`` starts from random directions, ``refined`` from the linear ones; ``chance``: the answers of
    ``refined`` permuted.
    """

    layer: int
    positions: int
    dimension: int
    pairs: int
    das: float
    refined: float
    linear: float
    random: float
    everything: float
    chance: float

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Side:
    """Pairs of words whose last positions are swapped."""

    base: Readings
    source: Readings
    passed: Passed
    other: Passed

    @classmethod
    def of(cls, stages: Stages, base: Readings, source: Readings) -> "Side":
        """Runs both words."""
        return cls(base, source, stages.run(base.letters), stages.run(source.letters))

    def logits(self, stages: Stages, layer: int, positions: int, basis: Tensor) -> Tensor:
        """Logits at the last letter, the base's last positions moved along ``basis`` to the source's."""
        own, other = (side.streams[layer][:, -positions:].clone() for side in (self.passed, self.other))
        return stages.last_logits(layer, own + (other - own) @ basis @ basis.T, self.passed)


def state_moved(
    subject: Subject,
    layer: int,
    *,
    positions: int = 1,
    dimension: int = 32,
    length: int | None = None,
    pairs: int = 512,
    steps: int = 60,
    rate: float = 0.05,
    seed: int = 0,
) -> Moved:
    """How often swaps of the last positions after ``layer`` blocks bring the source's state, by subspace.

    Subspaces are fitted on half of the pairs and evaluated on the others. Linear ones are fitted on all
    positions of these words, with the best of three ridges.
    """
    stages, letters = subject.stages, subject.length if length is None else length
    if not 0 <= layer <= len(stages.blocks) or not 1 <= positions <= letters:
        raise InvalidInput(
            f"the layer must be one of 0–{len(stages.blocks)} and the positions one of 1–{letters}; "
            f"got {layer} and {positions}"
        )
    dimension = min(dimension, stages.dim)
    words = subject.draw(seed, 2 * pairs, letters).reshape(2, pairs, letters)
    half = pairs // 2
    result, judge = (
        Side.of(stages, *(Readings(subject.automaton, side[part]) for side in words))
        for part in (slice(half), slice(half, None))
    )
    basis = torch.from_numpy(random_start(stages.dim, dimension, seed)).to(stages.embedding)
    learned = _aligned(stages, result, layer, positions, basis, steps, rate)
    stream = torch.cat([side.streams[layer][:, -letters:] for side in (result.passed, result.other)])
    states = np.concatenate([side.states for side in (result.base, result.source)])
    ridged = [one[:, :dimension] for one in directions(*Spread(stream).scatters(states), *RIDGES)]
    target = result.source.states[:, -1]
    linear = max(
        ridged, key=lambda one: int((_answers(stages, result, layer, positions, one) == target).sum())
    )
    refined = _aligned(stages, result, layer, positions, linear.to(basis), steps, rate)
    everything = torch.eye(stages.dim, dtype=torch.float64)
    bases = {"das": learned, "refined": refined, "linear": linear, "everything": everything}
    bases["random"] = random_directions(stages.dim, dimension, seed + 1)
    before, wanted = (side.states[:, -1] for side in (judge.base, judge.source))
    asked = before != wanted
    answers = {name: _answers(stages, judge, layer, positions, one)[asked] for name, one in bases.items()}
    shares = {name: float((one == wanted[asked]).mean()) for name, one in answers.items()}
    chance = dealt(answers["refined"], wanted[asked], before[asked])
    return Moved(layer, positions, dimension, int(asked.sum()), chance=chance, **shares)


def random_start(dim: int, count: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The initial subspace of the search."""
    return np.random.default_rng(seed).standard_normal((dim, count))


def _aligned(
    stages: Stages, side: Side, layer: int, positions: int, start: Tensor, steps: int, rate: float
) -> Tensor:
    """The subspace learned by Adam on the cross-entropy of the source's state."""
    wanted = torch.from_numpy(side.source.states[:, -1].copy()).to(start.device)

    def loss(basis: Tensor) -> Tensor:
        return torch.nn.functional.cross_entropy(side.logits(stages, layer, positions, basis), wanted)

    return descend(start, loss, steps=steps, rate=rate)


@torch.inference_mode()
def _answers(stages: Stages, side: Side, layer: int, positions: int, basis: Tensor) -> Any:
    wide = basis.to(stages.embedding)
    return side.logits(stages, layer, positions, wide).argmax(-1).cpu().numpy()

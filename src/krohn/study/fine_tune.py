"""Makes a trained recurrent network provable: the violation of the proof is the loss.

Ordinary trained cells keep old states by gates that are 1 in float32: nothing contracts, and no boxes close.
Here the weights, and the centre and radius of each box, are trained jointly until one step from any box ends
inside its follower. Gates that keep the old state are penalised, so that memory must be refreshed and errors
shrink. This needs the whole transition table: it is training with the automaton, not discovery of it.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from krohn.check.boxes import Boxes, BoxVerdict
from krohn.check.real import Array
from krohn.study.box_loss import IMAGES, FineTuned, Goal, Weights, cell_of, memory_gate, worst_leads
from krohn.study.box_search import search
from krohn.study.examined import habitual, legal, uniform

STEPS, RATE = 3000, 1e-2
RADIUS_H, RADIUS_MEMORY = 0.02, {"lstm": 0.2, "gru": 0.1}
CEILING = 1.0
"""Gates that keep the old state are pushed below σ(1) = 0.73."""
WARM = 0.3
"""Share of the steps in which boxes grow to their size."""
EVERY, LONG_EVERY = 50, 200
"""Steps between two searches from the boxes of the loss, and from the empty word."""


def fine_tune(
    goal: Goal,
    weights: Weights,
    *,
    steps: int = STEPS,
    seed: int = 0,
    tell: Callable[[int, float], None] = lambda step, violation: None,
) -> FineTuned:
    """Trains until a search proves the network, or for at most ``steps``.

    Boxes are initialised at the network's mean state after each context.
    """
    tuned = {name: value.detach().clone().requires_grad_(True) for name, value in weights.items()}
    centre = torch.tensor(centres(goal, weights, seed), dtype=torch.float32, requires_grad=True)
    shape = torch.zeros_like(centre, requires_grad=True)
    everything = [*tuned.values(), centre, shape]
    optimiser = torch.optim.Adam(everything, lr=RATE, betas=(0.9, 0.98))
    loss_of = TuningLoss(goal)
    last: tuple[Boxes, BoxVerdict] | None = None
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, step / 20) * max(0.05, min(1.0, 1.6 * (1 - (step - 1) / steps)))
        radius = min(1.0, step / (WARM * steps)) * radius_of(goal.kind, shape, weights["weight_hh"].shape[0])
        loss, violation = loss_of(tuned, centre, radius)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(everything, 1.0)
        optimiser.step()
        if step % EVERY == 0 or step == steps:
            tell(step, violation)
            last = proof_of(goal, tuned, centre, radius, from_nothing=step % LONG_EVERY == 0 or step == steps)
            if last[1].proved:
                break
    assert last is not None
    return FineTuned({name: value.detach() for name, value in tuned.items()}, step, *last)


class TuningLoss:
    """Penalties: images that leave their boxes, wrong answers on boxes, gates that only keep."""

    def __init__(self, goal: Goal) -> None:
        source, letter = np.nonzero(goal.found.follower >= 0)
        self._kind = goal.kind
        self._source, self._letter = torch.tensor(source), torch.tensor(letter)
        self._target = torch.tensor(goal.found.follower[source, letter])
        self._answer = torch.tensor(goal.found.state[1:])
        self._empty = (torch.arange(len(goal.found.state)) == 0)[:, None]

    def __call__(self, weights: Weights, centre: Tensor, radius: Tensor) -> tuple[Tensor, float]:
        """The loss of weights and boxes, and the largest violation of a box."""
        low, high = centre - radius, centre + radius
        first, last = (side.masked_fill(self._empty, 0.0) for side in (low, high))
        image = IMAGES[self._kind](weights, first, last, self._source, self._letter)
        goal_radius = radius[self._target]
        slack = 0.03 * goal_radius + 1e-4
        out = (low[self._target] + slack - image[0]).relu() + (image[1] - high[self._target] + slack).relu()
        # Relative violation: small boxes count as much as wide ones.
        out = out * (RADIUS_MEMORY[self._kind] / 2 / goal_radius.detach()).clamp(0.5, 20.0)
        worst = worst_leads(weights, low[1:], high[1:], self._answer)
        gate = memory_gate(self._kind, weights, centre[self._source], self._letter)
        loss = out.pow(2).sum(1).mean() + 0.3 * out.sum(1).mean() + (gate - CEILING).relu().pow(2).mean()
        return loss + functional.cross_entropy(worst, self._answer), float(out.detach().max())


def radius_of(kind: str, shape: Tensor, hidden: int) -> Tensor:
    """Radii trained within bounds: otherwise the scale would shrink instead of the violation."""
    memory = RADIUS_MEMORY[kind] * torch.exp(0.7 * torch.tanh(shape[:, -hidden:]))
    if kind == "gru":
        return memory
    shown = RADIUS_H * torch.exp((4 * shape[:, :hidden]).clamp(-0.9, 2.4))
    return torch.cat((shown, memory), 1)


def centres(goal: Goal, weights: Weights, seed: int) -> Array:
    """The network's mean state after each context, over uniform and repetitive words."""
    cell = cell_of(goal, weights)
    words = np.concatenate([make(goal.automaton, 64, seed)[:128] for make in (uniform, habitual)])
    words = legal(goal.automaton, words, goal.words.allowed, seed)
    total, count = np.zeros((len(goal.found.state), cell.size)), np.zeros(len(goal.found.state))
    point, key = np.zeros((len(words), cell.size)), np.zeros(len(words), dtype=np.int64)
    for column in words.T:
        for letter in np.unique(column):
            rows = column == letter
            low, high = cell.image(point[rows], point[rows], int(letter))
            point[rows] = (low + high) / 2
        key = goal.found.follower[key, column]
        np.add.at(total, key, point)
        np.add.at(count, key, 1)
    return np.asarray(total / np.maximum(count, 1)[:, None])


def proof_of(
    goal: Goal, weights: Weights, centre: Tensor, radius: Tensor, *, from_nothing: bool
) -> tuple[Boxes, BoxVerdict]:
    """Boxes searched from these, with the checker's verdict; fallback: a search from no boxes."""
    cell = cell_of(goal, weights)
    middle, half = (value.detach().double().numpy() for value in (centre, radius))
    result = search(cell, goal.words, goal.found, (middle - half, middle + half), rounds=60)
    if not result[1].proved and from_nothing:
        return search(cell, goal.words, goal.found)
    return result

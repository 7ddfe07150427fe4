"""The goal of fine-tuning for a proof by boxes, and its loss: the violation, in torch, with gradients."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.recurrent.boxes import BoxCell, Boxes, Words, gated
from krohn.check.verdict import Verdict
from krohn.proving.box_search import Contexts

Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Goal:
    """What to prove: the kind of cell, the words, the boxes to search."""

    kind: str
    automaton: Semiautomaton
    words: Words
    contexts: Contexts


@dataclass(frozen=True, eq=False)
class FineTuned:
    """The weights after fine-tuning; ``verdict`` says whether the boxes prove them right."""

    weights: Weights
    steps: int
    boxes: Boxes
    verdict: Verdict


def cell_of(goal: Goal, weights: Weights) -> BoxCell:
    """The weights as the checker reads them."""
    states, letters = goal.words.table.shape
    arrays = {name: value.detach().numpy() for name, value in weights.items()}
    return BoxCell(gated(goal.kind, arrays, letters, states), "float32")


Box = tuple[Tensor, Tensor]
Tensors = Mapping[str, Tensor]


def lstm_image(weights: Tensors, low: Tensor, high: Tensor, source: Tensor, letter: Tensor) -> Box:
    """Images of the boxes ``source`` [N] of [K, 2H] under letters [N], without rounding errors."""
    hidden = weights["weight_hh"].shape[0]
    letters = weights["wte"] @ weights["weight_ih"] + weights["bias"]
    middle, radius = (part[source] for part in _sums(weights, low[:, :hidden], high[:, :hidden]))
    middle, low, high = middle + letters[letter], low[source], high[source]
    i, f, g, o = zip((middle - radius).chunk(4, 1), (middle + radius).chunk(4, 1), strict=True)
    kept = _times(_each(f, torch.sigmoid), (low[:, hidden:], high[:, hidden:]))
    added = _times(_each(i, torch.sigmoid), _each(g, torch.tanh))
    cell = kept[0] + added[0], kept[1] + added[1]
    h = _times(_each(o, torch.sigmoid), _each(cell, torch.tanh))
    return torch.cat((h[0], cell[0]), 1), torch.cat((h[1], cell[1]), 1)


def gru_image(weights: Tensors, low: Tensor, high: Tensor, source: Tensor, letter: Tensor) -> Box:
    """Images of the boxes ``source`` [N] of [K, H] under letters [N], without rounding errors."""
    n = 2 * weights["weight_hh"].shape[0]
    constant = (weights["wte"] @ weights["weight_ih"] + weights["bias_ih"])[letter]
    middle, radius = (part[source] for part in _sums(weights, low, high))
    middle, low, high = middle + weights["bias_hh"], low[source], high[source]
    gates = middle[:, :n] + constant[:, :n]
    r, z = zip((gates - radius[:, :n]).chunk(2, 1), (gates + radius[:, :n]).chunk(2, 1), strict=True)
    part = middle[:, n:] - radius[:, n:], middle[:, n:] + radius[:, n:]
    reset = _times(_each(r, torch.sigmoid), part)
    fresh = (reset[0] + constant[:, n:]).tanh(), (reset[1] + constant[:, n:]).tanh()
    share = _each(z, torch.sigmoid)
    ends = [[(1 - s) * fresh[side] + s * (low, high)[side] for s in share] for side in (0, 1)]
    return torch.minimum(*ends[0]), torch.maximum(*ends[1])


def memory_gate(kind: str, weights: Tensors, centre: Tensor, letter: Tensor) -> Tensor:
    """Pre-activation of the gate that keeps the old state, at the centres of boxes."""
    hidden = weights["weight_hh"].shape[0]
    first, bias = (hidden, ("bias",)) if kind == "lstm" else (hidden, ("bias_ih", "bias_hh"))
    columns = slice(first, first + hidden)
    letters = weights["wte"] @ weights["weight_ih"][:, columns]
    constant = sum((weights[name][columns] for name in bias), letters)
    return centre[:, :hidden] @ weights["weight_hh"][:, columns] + constant[letter]


def worst_leads(weights: Tensors, low: Tensor, high: Tensor, answer: Tensor) -> Tensor:
    """The largest lead of each answer over the right one on each box [N, classes]; 0 for the right one."""
    hidden = weights["weight_hh"].shape[0]
    middle, half = (low + high)[:, :hidden] / 2, (high - low)[:, :hidden] / 2
    head, bias = weights["head.weight"].T, weights["head.bias"]
    apart = head[None] - head[answer][:, None]
    lead = (apart * middle[:, None]).sum(-1) + (apart.abs() * half[:, None]).sum(-1)
    return (lead + bias[None] - bias[answer][:, None]).scatter(1, answer[:, None], 0.0)


IMAGES = {"lstm": lstm_image, "gru": gru_image}


def _sums(weights: Tensors, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    recurrent = weights["weight_hh"]
    return (low + high) / 2 @ recurrent, (high - low) / 2 @ recurrent.abs()


def _each(box: Box, function: object) -> Box:
    assert callable(function)
    return function(box[0]), function(box[1])


def _times(a: Box, b: Box) -> Box:
    """Interval product with a non-negative box ``a``."""
    return torch.minimum(a[0] * b[0], a[1] * b[0]), torch.maximum(a[0] * b[1], a[1] * b[1])

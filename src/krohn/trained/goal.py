"""The goal of fine-tuning for a proof, and its result."""

from dataclasses import dataclass

from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.boxes import BoxCell, Boxes, BoxVerdict, Words, gated
from krohn.trained.box_search import Contexts

Weights = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Goal:
    """What to prove: the kind of cell, the words, the boxes to search."""

    kind: str
    automaton: Semiautomaton
    words: Words
    found: Contexts


@dataclass(frozen=True, eq=False)
class FineTuned:
    """The weights after fine-tuning; ``verdict`` says whether the boxes prove them right."""

    weights: Weights
    steps: int
    boxes: Boxes
    verdict: BoxVerdict


def cell_of(goal: Goal, weights: Weights) -> BoxCell:
    """The weights as the checker reads them."""
    states, letters = goal.words.table.shape
    arrays = {name: value.detach().numpy() for name, value in weights.items()}
    return BoxCell(gated(goal.kind, arrays, letters, states), "float32")

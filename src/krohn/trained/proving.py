"""A proof that a trained recurrent network is right on words of every length, or why there is none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.boxes import CELLS, BoxCell, Boxes, BoxVerdict, Words, check, gated
from krohn.check.claim import Certificate
from krohn.check.folder import read_net
from krohn.errors import InvalidFile
from krohn.evaluate.trained_states import TrainedStates
from krohn.nearest_float import stated
from krohn.trained import box_certificate
from krohn.trained.box_certificate import NAME, boxes_about
from krohn.trained.box_search import SHORT, contexts, proof_summary, search, shortened, words_of
from krohn.trained.examined import kind_of, words_of_training

LETTERS = (1, 2)
"""Boxes are looked for by the last letter, then by the last two."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proved about which words, or why not."""

    words: str
    boxes: Boxes
    verdict: BoxVerdict
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        result = self.verdict
        return {
            "words": self.words,
            "proved": result.proved,
            "boxes": len(self.boxes.state),
            "steps": result.steps,
            "margin": stated(result.margin),
            "widest": result.widest,
            "dtype": "float32",
            "failure": self.failure or result.failure or None,
        }


def provable(trained: TrainedStates) -> bool:
    """Whether a proof can be attempted: a cell that reads letters from the zero state."""
    config = trained.task.config
    return kind_of(trained) in CELLS and not config.scratchpad and not config.bos


def tensors_of(trained: TrainedStates) -> dict[str, npt.NDArray[np.float32]]:
    """The weights as stored."""
    return {name: value[0].cpu().numpy() for name, value in trained.weights.items()}


def cell_of(trained: TrainedStates) -> BoxCell:
    """The network as the checker reads it."""
    states, letters = trained.automaton.table.shape
    return BoxCell(gated(kind_of(trained), tensors_of(trained), letters, states), "float32")


def meant(trained: TrainedStates, automaton: Semiautomaton, words: str) -> Words:
    """All words of the automaton, or those that training draws."""
    return words_of(automaton, words_of_training(trained) if words == "training" else None)


def prove(trained: TrainedStates, automaton: Semiautomaton, words: str, near: Path | None = None) -> Proof:
    """Boxes from the run's certificate if valid, otherwise by search."""
    cell, which = cell_of(trained), meant(trained, automaton, words)
    if near is not None and (near / NAME).exists():
        kept = _kept(trained, automaton, near)
        if kept is not None and (verdict := check(cell, kept, which)).proved:
            return Proof(words, kept, verdict)
    best: Proof | None = None
    for letters in LETTERS:
        result = contexts(which, letters)
        if result is not None:
            best = Proof(words, *search(cell, which, result))
            if best.verdict.proved:
                return best
    if best is None:
        return Proof(
            words, _no_boxes(cell, which), BoxVerdict("there are too many states to give each a box")
        )
    return Proof(words, best.boxes, best.verdict, proof_summary(best.boxes, best.verdict, automaton))


def _kept(trained: TrainedStates, automaton: Semiautomaton, near: Path) -> Boxes | None:
    """The boxes in the certificate of the run, if it is about this network."""
    try:
        return boxes_about(read_net(near, trained.replicate), automaton, near / NAME)[0]
    except InvalidFile:
        return None


def certificate_of(
    directory: Path, trained: TrainedStates, automaton: Semiautomaton, proof: Proof
) -> Certificate:
    """The boxes with their claim, in the shortest float type in which they are still a proof."""
    net, cell = read_net(directory, trained.replicate), cell_of(trained)
    which = meant(trained, automaton, proof.words)
    for sides in SHORT:
        boxes = shortened(cell, proof.boxes, sides)
        if check(cell, boxes, which).proved:
            return box_certificate.certificate_of(net, automaton, which, boxes, sides)
    return box_certificate.certificate_of(net, automaton, which, proof.boxes, "f8")


def _no_boxes(cell: BoxCell, words: Words) -> Boxes:
    nothing = np.zeros((0, cell.size))
    return Boxes(np.zeros(0, np.int64), np.zeros((0, words.table.shape[1]), np.int64), nothing, nothing)

"""A proof that a trained recurrent network is right on words of every length, or why there is none."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidFile
from krohn.evaluate.trained_states import TrainedStates
from krohn.trained.box_certificate import NAME, BoxCertificate, digest, load_certificate
from krohn.trained.box_check import CELLS, Boxes, BoxVerdict, Cell, check
from krohn.trained.box_search import Claim, contexts, search, shortened, told
from krohn.trained.examined import kind_of, words_of_training
from krohn.trained.rounded import Closure, close

LETTERS = (1, 2)
"""Boxes are looked for by the last letter, then by the last two."""
SHORT = (np.float16, np.float32)
"""Floats in which the sides of boxes are written, if the boxes are a proof in them too."""
BITS = (2, 4)
"""Where there are no boxes, the network with its state rounded to multiples of 2^-bits is followed."""


@dataclass(frozen=True, eq=False)
class Proof:
    """What is proved of which words; ``rounded`` is about the network with a rounded state."""

    words: str
    boxes: Boxes
    verdict: BoxVerdict
    rounded: Closure | None = None
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found, rounded = self.verdict, self.rounded
        return {
            "words": self.words,
            "proved": found.proved,
            "boxes": len(self.boxes.state),
            "steps": found.steps,
            "margin": found.margin,
            "widest": found.widest,
            "dtype": "float32",
            "assumes": "sigmoid and tanh are off by at most 2^-21",
            "failure": self.failure or found.failure or None,
            "rounded": None
            if rounded is None
            else {
                "bits": rounded.bits,
                "states": rounded.states,
                "every_length": rounded.proved,
                "wrong_word": None if rounded.wrong is None else list(rounded.wrong),
                "reason": rounded.reason or None,
            },
        }


def provable(trained: TrainedStates) -> bool:
    """Whether there is a proof to look for: a cell that reads letters from a state of zeros."""
    config = trained.task.config
    return kind_of(trained) in CELLS and not config.scratchpad and not config.bos


def tensors_of(trained: TrainedStates) -> dict[str, npt.NDArray[np.float32]]:
    """The weights as stored."""
    return {name: value[0].cpu().numpy() for name, value in trained.weights.items()}


def cell_of(trained: TrainedStates) -> Cell:
    """The network as the checker reads it."""
    states, letters = trained.automaton.table.shape
    return CELLS[kind_of(trained)](tensors_of(trained), letters, states)


def claim_of(trained: TrainedStates, automaton: Semiautomaton, words: str) -> Claim:
    """All words of the automaton, or those that training draws."""
    drawn = words_of_training(trained) if words == "training" else None
    allowed = np.ones(automaton.table.shape, dtype=bool) if drawn is None else drawn
    return Claim(automaton.table.astype(np.int64), int(automaton.start), allowed)


def prove(trained: TrainedStates, automaton: Semiautomaton, words: str, near: Path | None = None) -> Proof:
    """Boxes from the certificate of the run if it is good, otherwise by search; else rounded states."""
    cell, claim = cell_of(trained), claim_of(trained, automaton, words)
    if near is not None and (near / NAME).exists():
        kept = load_certificate(near / NAME)
        if kept.words == words and (verdict := _checked(cell, kept.boxes, claim)).proved:
            return Proof(words, kept.boxes, verdict)
    best: Proof | None = None
    for letters in LETTERS:
        found = contexts(claim, letters)
        if found is not None:
            best = Proof(words, *search(cell, claim, found))
            if best.verdict.proved:
                return best
    if best is None:
        return Proof(
            words, _no_boxes(cell, claim), BoxVerdict("there are too many states to give each a box")
        )
    rounded = [close(cell, claim, bits) for bits in BITS]
    chosen = next((one for one in rounded if one.proved), rounded[0])
    why = told(best.boxes, best.verdict, automaton)
    return Proof(words, best.boxes, best.verdict, chosen, why)


def certificate_of(trained: TrainedStates, automaton: Semiautomaton, proof: Proof) -> BoxCertificate:
    """The boxes with what they are about, in the shortest floats in which they are still a proof."""
    about = (kind_of(trained), automaton.digest, digest(tensors_of(trained)), proof.words)
    cell, claim = cell_of(trained), claim_of(trained, automaton, proof.words)
    for sides in SHORT if proof.verdict.proved else ():
        boxes = shortened(cell, proof.boxes, sides)
        if _checked(cell, boxes, claim).proved:
            return BoxCertificate(boxes, *about, sides=sides)
    return BoxCertificate(proof.boxes, *about)


def recheck(trained: TrainedStates, automaton: Semiautomaton, file: Path) -> Proof:
    """Runs the checker alone on the boxes in a file."""
    kept = load_certificate(file)
    about = {
        "kind": (kept.kind, kind_of(trained)),
        "automaton": (kept.automaton, automaton.digest),
        "weights": (kept.weights, digest(tensors_of(trained))),
    }
    for name, (said, there) in about.items():
        if said != there:
            raise InvalidFile(
                f"the certificate must be about this network; its {name} is {said[:12]}, here {there[:12]}"
            )
    verdict = _checked(cell_of(trained), kept.boxes, claim_of(trained, automaton, kept.words))
    return Proof(kept.words, kept.boxes, verdict, failure=told(kept.boxes, verdict, automaton))


def _checked(cell: Cell, boxes: Boxes, claim: Claim) -> BoxVerdict:
    return check(cell, boxes, claim.table, claim.start, claim.allowed)


def _no_boxes(cell: Cell, claim: Claim) -> Boxes:
    nothing = np.zeros((0, cell.size))
    return Boxes(np.zeros(0, np.int64), np.zeros((0, claim.table.shape[1]), np.int64), nothing, nothing)

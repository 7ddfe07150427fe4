"""A proof that a trained recurrent network is right on words of every length, or why there is none."""

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.atomic import write_json
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.boxes import CELLS, SIDES, BoxCell, Boxes, BoxVerdict, Words, boxes_from, check, gated
from krohn.check.claim import ANY, Certificate, Claim, read_certificate
from krohn.check.folder import read_net
from krohn.check.net import Net
from krohn.check.recurrent_rules import allowed_of
from krohn.check.rules import RULES, fitting_rules
from krohn.check.verdict import Refused, require
from krohn.errors import InvalidFile
from krohn.nearest_float import stated
from krohn.study.box_search import SHORT, contexts, proof_summary, search, shortened, words_of
from krohn.study.examined import kind_of, words_of_training
from krohn.training.trained_states import TrainedStates

NAME = "certificate.json"
BEFORE = "boxes.safetensors"
"""Where earlier versions kept boxes; they are looked for again."""
LETTERS = (1, 2)
"""Boxes for each state and last letter are tried first, then for the last two letters."""


def claim_boxes(net: Net, automaton: Semiautomaton, words: Words, boxes: Boxes, sides: str) -> Certificate:
    """The boxes and the claim they prove about a run; ``sides``: their float type in the file."""
    every = bool(words.allowed.all())
    allowed = tuple(tuple(np.flatnonzero(row).tolist()) for row in words.allowed)
    rules = RULES["boxes"]
    claim = Claim(
        kind=net.kind,
        network=net.digest,
        configuration=net.configuration,
        letters=automaton.letter_names,
        states=automaton.state_names,
        automaton=words.automaton,
        target="state",
        up_to=None,
        dtype="float32",
        order=ANY,
        allowed=None if every else allowed,
    )
    named = Claim(**{**vars(claim), "assumptions": rules.assumptions(net, claim)})
    return Certificate(named, "boxes", rules.version, witness_of(boxes, sides))


def save_certificate(certificate: Certificate, path: Path) -> None:
    """Writes the file atomically."""
    write_json(path, certificate.to_json())


def boxes_about(net: Net, automaton: Semiautomaton, path: Path) -> tuple[Boxes, Words, str]:
    """The boxes in a certificate, its set of words, and why its claim is not about this run."""
    certificate = read_certificate(path)
    claim = certificate.claim
    if certificate.rules != "boxes":
        raise InvalidFile(f"the certificate of a run must have the rules boxes; it has {certificate.rules}")
    same = np.array_equal(claim.automaton.table, automaton.table) and claim.automaton.start == automaton.start
    if not same or claim.states != automaton.state_names or claim.letters != automaton.letter_names:
        raise InvalidFile("the certificate must be about this automaton; it is about another one")
    if claim.network != net.digest:
        raise InvalidFile(
            f"the certificate must be about this network; it is about {claim.network[:12]}, "
            f"this one is {net.digest[:12]}"
        )
    words = Words(claim.automaton, allowed_of(claim))
    try:
        fitting_rules(net, certificate)
    except Refused as refusal:
        return boxes_from(certificate.witness), words, str(refusal)
    return boxes_from(certificate.witness), words, ""


def witness_of(boxes: Boxes, sides: str = "f8") -> dict[str, Any]:
    """The boxes as plain values; sides in short floats, which must hold them exactly."""
    parts = {}
    for name in ("low", "high"):
        value = getattr(boxes, name).astype(SIDES[sides])
        require(value == getattr(boxes, name), f"{sides} does not hold the sides of the boxes")
        parts[name] = base64.b64encode(value.tobytes()).decode()
    lists = {"state": boxes.state.tolist(), "follower": boxes.follower.tolist()}
    return {**lists, "sides": sides, "width": int(boxes.low.shape[1]), **parts}


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
            return claim_boxes(net, automaton, which, boxes, sides)
    return claim_boxes(net, automaton, which, proof.boxes, "f8")


def _no_boxes(cell: BoxCell, words: Words) -> Boxes:
    nothing = np.zeros((0, cell.size))
    return Boxes(np.zeros(0, np.int64), np.zeros((0, words.table.shape[1]), np.int64), nothing, nothing)

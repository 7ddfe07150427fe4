"""The certificate of a training run: the boxes that prove it, with the claim about its weights."""

import base64
from pathlib import Path
from typing import Any

import numpy as np

from krohn.atomic import write_json
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.boxes import SIDES, Boxes, Words, boxes_from
from krohn.check.claim import ANY, RULES, Certificate, Claim, fitting_rules, read_certificate
from krohn.check.net import Net
from krohn.check.recurrent_rules import Asked, allowed_of
from krohn.check.verdict import Refused, require
from krohn.errors import InvalidFile

NAME = "certificate.json"
BEFORE = "boxes.safetensors"
"""Where earlier versions kept boxes; they are looked for again."""


def certificate_of(net: Net, automaton: Semiautomaton, words: Words, boxes: Boxes, sides: str) -> Certificate:
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
    asked = Asked(claim.automaton, claim.letters, claim.allowed, claim.up_to, claim.dtype, claim.order)
    words = Words(claim.automaton, allowed_of(asked))
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

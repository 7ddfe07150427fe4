"""The certificate: what was proved about which weights, check by check, as a value and as a JSON file."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from krohn.atomic import write_json
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.identity import Identity
from krohn.errors import KrohnError
from krohn.network.storage import tensors_of
from krohn.network.transformer import Transformer
from krohn.notebook import html_table


@dataclass(frozen=True)
class Check:
    """One proved inequality: ``bound`` must stay below ``limit``; ``margin`` is the share of it left."""

    name: str
    layer: int
    bound: float
    limit: float
    passed: bool
    text: str

    @property
    def margin(self) -> float:
        """1 − bound/limit: 1 when nothing of the tolerance is used, ≤ 0 when it is overdrawn."""
        if self.bound == 0:
            return 1.0
        return 1.0 - self.bound / self.limit if self.limit > 0 else -1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "layer": self.layer,
            "bound": self.bound,
            "limit": self.limit,
            "margin": self.margin,
            "passed": self.passed,
            "text": self.text,
        }


class Refuted(KrohnError):
    """The proof does not go through; ``word`` is a word on which it fails, where one is known."""

    def __init__(self, name: str, layer: int, reason: str, word: tuple[int, ...] | None = None) -> None:
        super().__init__(reason if reason.startswith(name) else f"{name}: {reason}")
        self.name, self.layer, self.reason, self.word = name, layer, reason, word


def place(layer: int, depth: int) -> str:
    """Where a check belongs, as people say it: layers are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"layer {layer}" if layer <= depth else "the read-out"


@dataclass
class Record:
    """Collects checks while a proof runs; a failed one ends it."""

    layer: int = 0  # from 1; 0 for what holds of the whole, one more than there are for the read-out
    checks: list[Check] = field(default_factory=list)
    guesses: bool = False  # whether a sum was clamped and the machine tries all that may come next
    proof: str = ""  # who proved it: the small checker, or what stands outside it
    witness: dict[str, Any] | None = None  # what the small checker was shown
    streams: list[Any] = field(default_factory=list)  # the abstract stream at every moment of the layout

    def require(self, name: str, bound: float, limit: float, text: str) -> None:
        """Notes ``bound < limit`` and stops the proof if it does not hold (or is not a number)."""
        passed = bool(bound < limit) or (bound == 0 and limit > 0)
        self.checks.append(Check(name, self.layer, float(bound), float(limit), passed, text))
        if not passed:
            raise Refuted(name, self.layer, f"{text}: {bound:.3g} is not below {limit:.3g}")

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Notes something that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str) -> Refuted:
        """The exception to raise when a structure is not one the checker can prove."""
        self.checks.append(Check(name, self.layer, 1.0, 0.0, False, reason))
        return Refuted(name, self.layer, reason)


VERSION = 1


@dataclass(frozen=True)
class Counterexample:
    """A word whose last letter the network gets wrong, found by running it."""

    word: tuple[int, ...]
    expected: int
    got: int

    def to_json(self, automaton: Semiautomaton) -> dict[str, Any]:
        """Numbers and names."""
        return {
            "word": list(self.word),
            "letters": [automaton.letter_names[letter] for letter in self.word],
            "expected": automaton.output_names[self.expected],
            "got": automaton.output_names[self.got],
        }


@dataclass(frozen=True)
class SecondOpinion:
    """Every word of one length, run on the real network: independent of the proof.

    ``limit`` says why no longer words were run; empty if these are the longest there are.
    """

    length: int
    words: int
    wrong: int
    limit: str = ""

    def to_json(self) -> dict[str, int | str]:
        """Plain values."""
        return {"length": self.length, "words": self.words, "wrong": self.wrong, "limit": self.limit}


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """The outcome of ``verify``: ``certified`` means right on every word of length ≤ ``length`` in ``dtype``.

    Attributes:
        margin: least distance of the right logit to the others, all errors taken off; 0 if not certified.
        checks: every inequality of the proof in order; the last one failed if it is not certified.
        counterexample: a word the network gets wrong, where one was found.
        largest: the largest length that this network certifies in this dtype (0: none).
        reason: why it is not certified, empty if it is.
        depth: the number of the network's layers; checks number them from 1.
        identity: the automaton that the network is compared with, and whether user or file named it.
        proof: who proved it: the small checker, or something outside it; empty if not certified.
        witness: what the small checker was shown; enough to check the certificate again.
    """

    certified: bool
    length: int
    dtype: str
    margin: float
    checks: tuple[Check, ...]
    counterexample: Counterexample | None
    largest: int
    reason: str
    second_opinion: SecondOpinion | None
    network: str
    depth: int
    identity: Identity
    proof: str = ""
    witness: dict[str, Any] | None = None

    @property
    def automaton(self) -> Semiautomaton:
        """The automaton that the network is compared with."""
        return self.identity.automaton

    @property
    def tightest(self) -> Check | None:
        """The check with the least of its tolerance left."""
        return min(self.checks, key=lambda check: check.margin, default=None)

    def __repr__(self) -> str:
        told = f"{self.automaton.name or 'automaton'}, words up to {self.length:,} letters, {self.dtype}"
        certified = f"certified, margin {self.margin:.3g}"
        outcome = certified if self.certified else f"not certified: {self.reason[:160]}"
        return f"<Certificate: {told}, {outcome}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and the checks of the proof in order."""
        facts = {
            "words up to": self.length,
            "arithmetic": self.dtype,
            "certified": "yes" if self.certified else f"no: {self.reason}",
            "margin": f"{self.margin:.3g}",
            "checks": len(self.checks),
            "network": self.network[:16],
        }
        return html_table(f"Certificate for {self.automaton.name or 'an automaton'}", facts)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; infinite margins become ``null``."""
        found = self.counterexample
        return {
            "krohn": VERSION,
            "certified": self.certified,
            "length": self.length,
            "dtype": self.dtype,
            "margin": self.margin if np.isfinite(self.margin) else None,
            "largest_length": self.largest,
            "tightest_layer": None if self.tightest is None else self.tightest.layer,
            "reason": self.reason,
            "proof": self.proof,
            "checks": [_finite(check.to_json()) for check in self.checks],
            "counterexample": None if found is None else found.to_json(self.automaton),
            "exhaustive": None if self.second_opinion is None else self.second_opinion.to_json(),
            "network": self.network,
            "automaton": self.automaton.digest,
            "identity": self.identity.to_json(),
        }

    def save(self, path: str | Path) -> None:
        """Writes the JSON file with the witness, whole or not at all."""
        write_json(Path(path), {**self.to_json(), "witness": self.witness})


def _finite(payload: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in payload.items()
    }


def network_hash(network: Transformer) -> str:
    """SHA-256 of mask, names, shapes and bytes of all tensors."""
    state = hashlib.sha256(network.mask.encode())
    for name, tensor in sorted(tensors_of(network).items()):
        state.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        state.update(np.ascontiguousarray(tensor).tobytes())
    return state.hexdigest()

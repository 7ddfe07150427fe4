"""The certificate: what was proved about which weights, as a value and as a JSON file."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.atomic import write_json
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.findings import Check
from krohn.certify.identity import Identity
from krohn.network.storage import tensors_of
from krohn.network.transformer import Transformer
from krohn.notebook import html_table

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

"""The outcome of ``verify``: the claim, the verdict, every check, and the certificate if there is one.

It can be read as an argument, lemma by lemma (``explain``).
"""

from dataclasses import dataclass, field
from math import floor, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.atomic import check_output, write_json
from krohn.base.nearest_float import portable_bound
from krohn.base.notebook import html_table
from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.claim import Certificate, Claim
from krohn.errors import InvalidInput, KrohnError
from krohn.proving.identity import Identity, described


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
        """1 − bound/limit: 1 if none of the tolerance is used, ≤ 0 if it is exceeded."""
        if self.bound == 0:
            return 1.0
        return 1.0 - self.bound / self.limit if self.limit > 0 else -1.0

    def to_json(self) -> dict[str, Any]:
        """Plain values; the bound in millionths of the limit, rounded up: every machine writes the same."""
        limit, share = portable_bound(self.limit), 1.0 - self.margin
        if isfinite(share) and not (4096 * share).is_integer():
            share = -floor(portable_bound(-share) * 1e6) / 1e6
        return {
            "name": self.name,
            "layer": self.layer,
            "bound": share * limit if limit > 0 and isfinite(limit) else self.bound,
            "limit": limit,
            "margin": 1.0 - share,
            "passed": self.passed,
            "text": self.text,
        }


class Refuted(KrohnError):
    """The proof does not go through; ``word`` is a word on which it fails, where one is known."""

    def __init__(self, name: str, layer: int, reason: str, word: tuple[int, ...] | None = None) -> None:
        super().__init__(reason if reason.startswith(name) else f"{name}: {reason}")
        self.name, self.layer, self.reason, self.word = name, layer, reason, word


def place(layer: int, depth: int) -> str:
    """Where a check belongs, in words: layers are numbered from 1."""
    if layer < 1:
        return "the network as a whole"
    return f"layer {layer}" if layer <= depth else "the read-out"


@dataclass
class ProofRecord:
    """Collects checks while a proof runs; a failed one ends it."""

    layer: int = 0  # from 1; 0: the whole network; depth + 1: the read-out
    checks: list[Check] = field(default_factory=list)
    witness: dict[str, Any] | None = None  # as given to the small checker

    def require(self, name: str, bound: float, limit: float, text: str) -> None:
        """Records ``bound < limit`` and stops the proof if it does not hold (or is NaN)."""
        passed = bool(bound < limit) or (bound == 0 and limit > 0)
        self.checks.append(Check(name, self.layer, float(bound), float(limit), passed, text))
        if not passed:
            raise Refuted(name, self.layer, f"{text}: {bound:.3g} is not below {limit:.3g}")

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Records a check, by default one that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str) -> Refuted:
        """Records a failed check; returns the exception to raise."""
        self.checks.append(Check(name, self.layer, 1.0, 0.0, False, reason))
        return Refuted(name, self.layer, reason)


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
            "got": automaton.output_names[self.got] if self.got >= 0 else "another token",
        }


@dataclass(frozen=True)
class SecondOpinion:
    """Every word of one length, run on the real network: independent of the proof.

    ``dtype`` is the float format of the run, which need not be that of the claim; ``limit`` says why longer
    words were not run; empty if these are the longest there are.
    """

    length: int
    words: int
    wrong: int
    dtype: str
    limit: str = ""

    def to_json(self) -> dict[str, int | str]:
        """Plain values."""
        return {**self.exact(), "dtype": self.dtype, "limit": self.limit}

    def exact(self) -> dict[str, int]:
        """The numbers alone."""
        return {"length": self.length, "words": self.words, "wrong": self.wrong}


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What ``verify`` found about a network of any kind; ``certified`` means that the claim is proved.

    Attributes:
        claim: what was to be proved.
        margin: least distance of the right logit to the others, all errors taken off; 0 if not certified.
        checks: every inequality of the proof in order; the last one failed if it is not certified.
        counterexample: a word the network gets wrong, where one was found.
        largest: the largest length up to which it is proved in this dtype (0: none).
        reason: why it is not certified, empty if it is.
        second_opinion: every short word, run on the network itself.
        depth: the number of the network's layers; checks number them from 1.
        identity: the automaton that the network is compared with, and whether user or file named it.
        certificate: enough to check the claim again; none if it is not certified.
        more: further results for networks of this kind, as JSON data.
    """

    certified: bool
    claim: Claim
    margin: float
    checks: tuple[Check, ...]
    counterexample: Counterexample | None
    largest: int
    reason: str
    second_opinion: SecondOpinion | None
    depth: int
    identity: Identity
    certificate: Certificate | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> int | None:
        """The longest words that the claim is about; none if it is about all."""
        return self.claim.up_to

    @property
    def dtype(self) -> str:
        """The float format."""
        return self.claim.dtype

    @property
    def network(self) -> str:
        """Digest of tensors and configuration."""
        return self.claim.network

    @property
    def witness(self) -> Any:
        """The witness that the rules accepted; none if it is not certified."""
        return None if self.certificate is None else self.certificate.witness

    @property
    def automaton(self) -> Semiautomaton:
        """The automaton that the network is compared with."""
        return self.identity.automaton

    @property
    def tightest(self) -> Check | None:
        """The check with the smallest remaining tolerance."""
        return min(self.checks, key=lambda check: check.margin, default=None)

    @property
    def words(self) -> str:
        """Which words the claim is about."""
        some = "" if self.claim.allowed is None else ", of those that training draws"
        if self.length is None:
            return f"words of every length{some}"
        return f"every word of length ≤ {self.length:,}{some}"

    def __bool__(self) -> bool:
        """Whether it is certified: ``assert krohn.verify(network)`` fails where there is no proof."""
        return self.certified

    def __repr__(self) -> str:
        about = f"{self.automaton.name or 'automaton'}, {self.words}, {self.dtype}"
        certified = f"certified, margin {self.margin:.3g}"
        outcome = certified if self.certified else f"not certified: {self.reason[:160]}"
        return f"<Verification: {about}, {outcome}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict and its claim."""
        facts = {
            "words": self.words,
            "arithmetic": self.dtype,
            "certified": "yes" if self.certified else f"no: {self.reason}",
            "margin": f"{self.margin:.3g}",
            "checks": len(self.checks),
            "network": self.network[:16],
        }
        return html_table(f"Verification of {self.automaton.name or 'an automaton'}", facts)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; infinite margins become ``null``."""
        result = self.counterexample
        return {
            "certified": self.certified,
            "claim": self.claim.to_json(),
            "assumptions": [{"name": n, "text": ASSUMPTIONS.get(n, "")} for n in self.claim.assumptions],
            "every_length": self.certified and self.length is None,
            "length": self.length,
            "dtype": self.dtype,
            "margin": portable_bound(self.margin) if np.isfinite(self.margin) else None,
            "largest_length": self.largest,
            "tightest_layer": None if self.tightest is None else self.tightest.layer,
            "reason": self.reason,
            "rules": None if self.certificate is None else self.certificate.rules,
            "checks": [_finite(check.to_json()) for check in self.checks],
            "counterexample": None if result is None else result.to_json(self.automaton),
            "exhaustive": None if self.second_opinion is None else self.second_opinion.to_json(),
            "exact": None if self.second_opinion is None else self.second_opinion.exact(),
            "network": self.network,
            "automaton": self.automaton.digest,
            "identity": self.identity.to_json(),
            **self.more,
        }

    def save(self, path: str | Path) -> None:
        """Writes the certificate, whole or not at all; without a proof there is none."""
        if self.certificate is None:
            raise InvalidInput(f"only a proof can be written; there is none: {self.reason}")
        check_output(Path(path))
        write_json(Path(path), self.certificate.to_json())


def _finite(payload: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in payload.items()
    }


LEMMAS = {
    "prefix sum": "Lemma (modular counter). Equal weights on all letters add up what they bring.",
    "residue": "Lemma (modular counter). What is read off a prefix sum repeats, or ends on either side.",
    "memory": "Lemma (memory). The latest position of the best kind gets all the weight but a leak.",
    "memory leak": "Lemma (softmax approximates hard max). The leak is the sum of e^(−gap).",
    "look-back": "Lemma (circle codes). The score depends on positions only; one distance wins.",
    "MLP": "Lemma (interpolation). Evaluated on every reachable input; inside the error box it is affine.",
    "composition": "Lemma (function composition). Separable in arguments, hence right for all maps.",
    "visits": "Theorem 3. Heads find the last visit of the nearest place; the MLP tells orders of visits.",
    "intervals": "Theorem 1. Induction over intervals of letters.",
    "decode": "Decoding. The right logit is the largest, whatever the errors are.",
    "simulation": "Simulation. The machine read off the weights runs in step with the automaton.",
    "range": "Range. No overflow.",
    "program": "Program. The registers and operations krohn.json describes, as a finite machine.",
    "hints": "Description. What krohn.json says fits the weights.",
}


def explain(certificate: Verification) -> str:
    """Several lines per layer: the lemma used, the bound, what it must stay below."""
    lines = [_claim(certificate), ""]
    layer: int | None = None
    for check in certificate.checks:
        if check.layer != layer:
            layer = check.layer
            lines.append(_heading(layer, certificate))
        lines += _step(check)
    lines += ["", *_second_opinion(certificate), _conclusion(certificate)]
    return "\n".join(lines)


def _claim(certificate: Verification) -> str:
    return (
        f"Claim. In {certificate.dtype}, for {certificate.words}, the network "
        f"{certificate.network[:12]} outputs at every position the {certificate.claim.target} of "
        f"{certificate.automaton.name or 'the automaton'}: {described(certificate.automaton)}."
    )


def _heading(layer: int, certificate: Verification) -> str:
    where = place(layer, certificate.depth)
    return where[0].upper() + where[1:]


def _step(check: Check) -> list[str]:
    lemma = LEMMAS.get(check.name, check.name)
    mark = "✓" if check.passed else "✗"
    first = f"  {mark} {lemma}"
    second = f"      {check.text}"
    if check.bound:
        second += f"; {check.bound:.3g} < {check.limit:.3g}" if check.passed else ""
    return [first, second]


def _second_opinion(certificate: Verification) -> list[str]:
    opinion = certificate.second_opinion
    if opinion is None or not opinion.length:
        return []
    limit = f" ({opinion.limit})" if opinion.limit else ""
    return [
        f"Independently of this argument all {opinion.words:,} words of length {opinion.length} and their "
        f"prefixes were run in {opinion.dtype}: {opinion.wrong:,} wrong{limit}.",
        "",
    ]


def _conclusion(certificate: Verification) -> str:
    if certificate.certified:
        tight = certificate.tightest
        where = f"; tightest: {tight.name} in {place(tight.layer, certificate.depth)}" if tight else ""
        return f"Hence certified, with logit margin {certificate.margin:.3g}{where}. ∎"
    tail = f" Counterexample: {certificate.counterexample.word}." if certificate.counterexample else ""
    return f"Not certified: {certificate.reason}.{tail}"

"""The outcome of ``verify``: the claim, the verdict, every check, and the certificate if there is one.

It can be read in a few lines (``text``) and as an argument, lemma by lemma (``argument``).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import CALLABLE, check_output, write_folder, write_json
from krohn.base.notebook import html_table
from krohn.base.portable import portable_bound
from krohn.check.arithmetic.format import ASSUMPTIONS
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, ORDERS, Claim
from krohn.check.files.folders import COMPILED, LOOPED, RECURRENT, STOCK, TRAINED, Net
from krohn.errors import InvalidInput, counted
from krohn.proving.claims import Check, place
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.identity import SHOWN, Identity, describe_automaton

EVERY_LENGTH = (RECURRENT, LOOPED, TRAINED)
"""Kinds that read words of every length: a claim up to one is no part of theirs."""


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What ``verify`` found about a network of any kind; ``certified`` means that the claim is proved.

    Attributes:
        claim: what was to be proved.
        identity: the automaton that the network is compared with, and whether user or file named it.
        reason: why it is not certified, empty if it is.
        margin: least distance of the right logit to the others, all errors taken off; 0 if not certified.
        checks: every inequality of the proof in order; the last one failed if it is not certified.
        counterexample: a word the network gets wrong, where one was found.
        largest: the largest length up to which it is proved in this dtype (0: none).
        second_opinion: every short word, run on the network itself.
        depth: the number of the network's layers; checks number them from 1.
        certificate: enough to check the claim again; none if it is not certified.
        more: further results for networks of this kind, as JSON data.
        wording: the first lines of its text, where the kind of network has its own.
        graph: the operators of a module that is proved, which ``save`` writes beside the certificate.
    """

    certified: bool
    claim: Claim
    identity: Identity
    reason: str = ""
    margin: float = 0.0
    checks: tuple[Check, ...] = ()
    counterexample: Counterexample | None = None
    largest: int = 0
    second_opinion: SecondOpinion | None = None
    depth: int = 0
    certificate: Certificate | None = None
    more: dict[str, Any] = field(default_factory=dict)
    wording: str = ""
    graph: Net | None = None
    rechecked: bool = False  # a certificate was checked, and nothing was searched

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
    def subject(self) -> str:
        """The automaton in a sentence."""
        return self.automaton.name or f"an automaton of {self.automaton.num_states} states"

    @property
    def proved(self) -> str:
        """A line that says what is proved."""
        order = "" if self.claim.order == ANY else f", sums added {self.claim.order}"
        return f"certified: {self.subject}, {self.words}, {self.dtype}{order}"

    @property
    def assumed(self) -> str:
        """A line about the assumptions."""
        names = ", ".join(self.claim.assumptions)
        return f"assumed: {names}; python -I -m krohn.check spells them out"

    @property
    def words(self) -> str:
        """Which words the claim is about."""
        return "words of every length" if self.length is None else f"every word of length ≤ {self.length:,}"

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

    def text(self) -> str:
        """The verdict in a sentence, then what it rests on, as ``krohn verify`` prints it."""
        return _summary(self)

    def argument(self) -> str:
        """The proof, several lines per block: the lemma used, the bound, what it must stay below."""
        return _argue(self)

    def written(self, path: Path) -> str:
        """A line that says what ``verify`` wrote to ``path``."""
        kernel = self.more.get("kernel")
        if kernel and kernel["order"]:  # a certificate is written before it is checked
            return f"wrote {path}"
        if self.certificate is None:
            return f"nothing written to {path}: only a proof is"
        if self.graph is not None:
            folder = graph_folder(path)
            return f"wrote {path}, and its graph to {folder}: python -I -m krohn.check {folder} {path}"
        named = next((name for name, order in ORDERS.items() if order == self.claim.order), "")
        return f"wrote {path}" + f"; --recheck needs --order {named}, the only order it is about" * bool(
            named
        )

    def save(self, path: str | Path) -> None:
        """Writes the certificate, whole or not at all; without a proof there is none."""
        if self.certificate is None:
            raise InvalidInput(f"only a proof can be written; there is none: {self.reason}")
        check_output(Path(path))
        if self.graph is not None:
            folder = graph_folder(Path(path))
            text, tensors = stored(self.graph)
            write_folder(folder, {"graph.json": text, "model.safetensors": tensors}, key="graph.json")
        write_json(Path(path), self.certificate.to_json())


def graph_folder(path: Path) -> Path:
    """Where the graph of a module is kept, beside its certificate."""
    return path.with_suffix(".graph")


def stored(net: Net) -> tuple[bytes, bytes]:
    """The files of a graph."""
    from safetensors.numpy import save  # lazy import: only needed to write

    tensors = dict(net.tensors)
    text = tensors.pop("graph.json").tobytes()
    return text, save({name: np.ascontiguousarray(tensor) for name, tensor in sorted(tensors.items())})


def mismatched(claim: Claim, identity: Identity, depth: int, more: dict[str, Any]) -> Verification:
    """The network is for another automaton than the user named: nothing is left to prove."""
    checks = (Check.exact("identity", 0, passed=False, text=identity.mismatch),)
    reason = f"identity: {identity.mismatch}"
    return Verification(False, claim, identity, reason, checks=checks, depth=depth, more=more)


def _finite(payload: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not np.isfinite(value) else value
        for key, value in payload.items()
    }


LEMMAS = {
    "prefix sum": "Lemma (modular counter). Equal weights on all letters add up what they bring.",
    "memory": "Lemma (memory). The latest position of the best kind gets all the weight but a leak.",
    "look-back": "Lemma (circle codes). The score depends on positions only; one distance wins.",
    "MLP": "Lemma (interpolation). Evaluated on every reachable input; inside the error box it is affine.",
    "composition": "Lemma (function composition). Separable in arguments, hence right for all maps.",
    "intervals": "Theorem 1. Induction over intervals of letters.",
    "decode": "Decoding. The right logit is the largest, whatever the errors are.",
    "simulation": "Simulation. The machine read off the weights runs in step with the automaton.",
    "hints": "Description. What krohn.json says fits the weights.",
}


def _argue(verdict: Verification) -> str:
    lines = [_claim(verdict), *_meaning(verdict), ""]
    layer: int | None = None
    for check in verdict.checks:
        if check.layer != layer:
            layer = check.layer
            lines.append(_heading(layer, verdict))
        lines += _step(check)
    lines += ["", *_second_opinion(verdict), _conclusion(verdict)]
    return "\n".join(lines)


def _claim(verdict: Verification) -> str:
    return (
        f"Claim. In {verdict.dtype}, for {verdict.words}, the network "
        f"{verdict.network[:12]} outputs at every position the {verdict.claim.target} of "
        f"{verdict.automaton.name or 'the automaton'}: {describe_automaton(verdict.automaton)}."
    )


def _meaning(verdict: Verification) -> list[str]:
    """What tokens mean, where no file of the network says it."""
    if verdict.claim.kind != STOCK:
        return []
    whose = " of the certificate (--tokens FILE compares them with yours)" * verdict.rechecked
    return [f"tokens{whose}: {verdict.claim.tokens(SHOWN)}"]


def _heading(layer: int, verdict: Verification) -> str:
    where = place(layer, verdict.depth)
    return where[0].upper() + where[1:]


def _step(check: Check) -> list[str]:
    lemma = LEMMAS.get(check.name, check.name)
    mark = "✓" if check.passed else "✗"
    first = f"  {mark} {lemma}"
    second = f"      {check.text}"
    if check.bound:
        second += f"; {check.bound:.3g} < {check.limit:.3g}" if check.passed else ""
    return [first, second]


def _second_opinion(verdict: Verification) -> list[str]:
    opinion = verdict.second_opinion
    if opinion is None or not opinion.length:
        return []
    ran = f"all {opinion.words:,} words of length {opinion.length} and their prefixes"
    limit = [f"longer ones were not run: {opinion.limit}"] if opinion.limit else []
    how = "as it is" if verdict.claim.kind == CALLABLE else f"in {opinion.dtype}"
    return [f"independently run {how}: {ran}, {opinion.wrong:,} wrong", *limit]


def _conclusion(verdict: Verification) -> str:
    if verdict.certified:
        tight = verdict.tightest
        where = f"; tightest: {tight.name} in {place(tight.layer, verdict.depth)}" if tight else ""
        return f"Hence certified, with logit margin {verdict.margin:.3g}{where}. ∎"
    tail = f" Counterexample: {verdict.counterexample.word}." if verdict.counterexample else ""
    return f"Not certified: {verdict.reason}.{tail}"


def _summary(verdict: Verification) -> str:
    """The verdict, what leaves it open, and the automaton that it is about."""
    if verdict.identity.mismatch:
        return f"not certified: {verdict.reason}"
    lines = [verdict.wording or _verdict(verdict), *_left_open(verdict)]
    if "by_position" in verdict.more:
        shares = verdict.more["by_position"]
        lines.append(f"right by position, in {shares['words']} random words: {shares['text']}")
    lines += [verdict.identity.sentence(), *_meaning(verdict)]
    return "\n".join([*lines, *([] if verdict.claim.kind == TRAINED else _second_opinion(verdict))])


def _left_open(verdict: Verification) -> list[str]:
    """The word that refutes the network; or, where it is neither proved nor refuted, what was tried."""
    shorter = f"certified in {verdict.dtype} up to length {verdict.largest}" if verdict.largest else ""
    if verdict.counterexample is not None:
        wrong = verdict.counterexample.to_json(verdict.automaton)
        place = f" after letter {wrong['at']}" if "at" in wrong else ""
        refuted = f"{' '.join(wrong['letters'])} → {wrong['got']}{place}, must be {wrong['expected']}"
        lines = [f"counterexample: {refuted}"]
        if shorter and verdict.claim.kind == STOCK:
            lines.append(f"{shorter}: --length {verdict.largest} asks for these words")
        return lines
    if verdict.certified or verdict.wording or verdict.claim.kind in EVERY_LENGTH:
        return []
    if shorter:
        return [shorter]
    if verdict.rechecked:
        return ["no words were run and no proof was sought: krohn verify without --recheck does both"]
    sought = " (--largest looks for a length that is proved)" * (verdict.claim.kind == COMPILED)
    return [f"no counterexample found: undecided{sought}"]


def _verdict(verdict: Verification) -> str:
    """The verdict and its assumptions."""
    if not verdict.certified:
        return f"not certified: {verdict.reason}"
    tight = verdict.tightest if verdict.claim.kind == COMPILED else None
    checks = f"; {counted(len(verdict.checks), 'check')}" if verdict.checks else ""
    where = f"; tightest: {tight.name}, {place(tight.layer, verdict.depth)}" if tight else ""
    margin = f"logit margin {portable_bound(verdict.margin):.4g} after all errors{checks}{where}"
    return f"{verdict.proved}\n{verdict.assumed}\n{margin}"

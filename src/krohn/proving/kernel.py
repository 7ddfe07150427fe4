"""The entry point: from a directory to a certificate for Coq, and Coq's verdict on it."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.atomic import write_text
from krohn.base.folder import COMPILED, RECURRENT, Folder
from krohn.base.strict_json import short
from krohn.coq.certificate_text import MARK, certificate_text, reader_text, statement
from krohn.coq.coqc import NO_COQ, CoqVerdict, check_text, coq_version
from krohn.coq.counters import counting
from krohn.coq.counting_hints import Counting
from krohn.coq.exploring import explore
from krohn.coq.heads import NoCounters
from krohn.coq.scanning import Scanning, scanning
from krohn.coq.stored import StoredNetwork, StoredTransformer, stored_network, stored_transformer
from krohn.coq.transformer_text import transformer_statement, transformer_text
from krohn.errors import InvalidInput, LimitExceeded, MissingDependency, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import save as save_compiled
from krohn.proving.identity import identify
from krohn.proving.outcome import SecondOpinion
from krohn.proving.recurrent import run_all
from krohn.proving.word_search import exhaustive
from krohn.recurrent.recurrent_network import RecurrentNetwork, load, save

ANY_ORDER, LEFT_TO_RIGHT = "any order", "order from left to right, not fused"
LETTER_BY_LETTER, WHOLE_WORDS = "letter by letter", "whole words"


@dataclass(frozen=True)
class KernelVerdict:
    """The verdict of Coq's kernel on a network.

    Attributes:
        accepted: Coq accepts the certificate, in float32, for words of every length or of at most ``length``
            letters, for sums in this ``order`` and letters read by this ``schedule``.
        pairs: the number of reachable pairs of states or residues of the network and states of the automaton.
        coq: version, seconds, assumptions; none if no certificate could be written.
        reason: why it is not certified, in one line; empty if it is.
        line, digest: the configuration in a line, and the SHA-256 of the line and model.safetensors after it.
        ran: all short words, run without Coq.
    """

    accepted: bool
    automaton: Semiautomaton
    architecture: str
    order: str | None
    pairs: int
    coq: CoqVerdict | None
    reason: str
    line: str
    digest: str
    ran: SecondOpinion
    length: int | None = None

    @property
    def certified(self) -> bool:
        """Proved for sums in any order, and no word that was run is wrong."""
        return self.accepted and not self.reason

    @property
    def schedule(self) -> str:
        """How letters are read in the theorem."""
        return LETTER_BY_LETTER if self.length is None else WHOLE_WORDS

    def __bool__(self) -> bool:
        """Whether it is certified."""
        return self.certified

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        coq = self.coq
        return {
            "certified": self.certified,
            "claim": {
                "automaton": self.automaton.name,
                "automaton_digest": self.automaton.digest,
                "target": "state",
                "lengths": "every" if self.length is None else self.length,
                "dtype": "float32",
                "order": self.order,
                "schedule": self.schedule,
                "configuration": self.line,
                "sha256": self.digest,
            },
            "kernel": {
                "accepted": self.accepted,
                "order": self.order,
                "schedule": self.schedule,
                "coq": coq.version if coq else coq_version(),
                "seconds": round(coq.seconds, 2) if coq else 0.0,
                "megabytes": coq.megabytes if coq else 0,
                "pairs": self.pairs,
                "assumptions": list(coq.assumptions) if coq else [],
                "reason": self.reason or None,
            },
            "exact": self.ran.exact(),
        }

    def write(self, path: Path) -> str:
        """A line on what was written before Coq was asked."""
        if self.coq is None:
            return f"nothing written to {path}: only a proof is"
        return f"wrote {path} and {_reader(path).name}, which states what it proves"

    def text(self) -> str:
        """A few lines."""
        name = self.automaton.name or f"an automaton of {self.automaton.num_states} states"
        about = f"{name}, {self.architecture}"
        lines = [f"certified: {about}" if self.certified else f"not certified: {about}: {self.reason}"]
        if self.coq is not None and self.accepted:
            words = "every length" if self.length is None else f"at most {self.length} letters"
            lines += [
                f"proved by Coq {self.coq.version} in {self.coq.seconds:.1f} s: words of {words}, "
                f"{self.schedule}, float32, sums in {self.order}",
                f"'{self.line}' and model.safetensors after it have the SHA-256 {self.digest}",
                f"assumptions: {', '.join(self.coq.assumptions)}",
            ]
        lines.append(f"the automaton has the digest {self.automaton.digest}")
        if self.ran.words:
            ran = f"all {self.ran.words:,} words of length {self.ran.length} and their beginnings"
            lines.append(f"independently run: {ran}, {self.ran.wrong:,} wrong")
        return "\n".join(lines)


def kernel_verdict(
    given: CompiledNetwork | RecurrentNetwork | str | Path,
    automaton: Semiautomaton | None = None,
    *,
    renamed: bool = False,
    out: str | Path | None = None,
) -> KernelVerdict:
    """Writes the certificate of a network, has Coq check it, and runs short words.

    Args:
        given: a network that ``compile`` returned, or the directory it was saved in.
        automaton: the intended automaton; by default the one that the file names.
        renamed: allow that the network's states and letters have other names than those of ``automaton``.
        out: also write the certificate to this ``.v`` file, before Coq checks it, and what it must prove to
            the same name with ``.reader.v``.
    """
    target = None if out is None else checked_target(Path(out))
    with _folder_of(given) as folder:
        network, run = _stored(folder)
    if coq_version() is None and target is None:
        raise MissingDependency(NO_COQ)
    identity = identify(network.automaton, automaton, renamed=renamed)
    network = replace(network, automaton=identity.automaton)
    unproved = KernelVerdict(
        accepted=False,
        automaton=identity.automaton,
        architecture=network.architecture,
        order=None,
        pairs=0,
        coq=None,
        reason=identity.mismatch,
        line=network.line,
        digest=network.digest,
        ran=SecondOpinion(0, 0, 0, "float32"),
        length=network.length,
    )
    if identity.mismatch:
        return unproved
    unproved = replace(unproved, ran=run(identity.automaton))
    try:
        proposed = _recurrent(network) if isinstance(network, StoredNetwork) else _transformer(network)
    except (LimitExceeded, NoCounters) as error:
        return replace(unproved, reason=str(error))
    if target is not None:
        write_text(target, proposed.text)
        reader = reader_text(target.stem, proposed.statement, network.automaton, network.line)
        write_text(_reader(target), reader)
    coq = check_text(proposed.text)
    reason = _reason(coq, proposed, unproved.ran)
    order, pairs = proposed.order, proposed.pairs
    return replace(unproved, accepted=coq.accepted, order=order, pairs=pairs, coq=coq, reason=reason)


@dataclass(frozen=True)
class _Proposed:
    """A certificate that Coq has not checked yet; ``statement`` is its theorem by full names."""

    text: str
    statement: str
    order: str
    pairs: int
    right: bool


def _reason(coq: CoqVerdict, proposed: _Proposed, ran: SecondOpinion) -> str:
    """Why the network is not certified; empty if it is."""
    if not coq.accepted:
        wrong = ": as its states or counts were read off, some word leads to a wrong state"
        return coq.reason + ("" if proposed.right else wrong)
    if ran.wrong:
        wrong = f"{ran.wrong:,} of {ran.words:,} words are run wrong"
        return f"Coq proves it for sums in {proposed.order}, but {wrong}"
    if proposed.order != ANY_ORDER:
        return f"Coq proves it for sums in {proposed.order}; a device may take them otherwise"
    return ""


def _recurrent(network: StoredNetwork) -> _Proposed:
    result = explore(network)
    order = ANY_ORDER if result.any_order else LEFT_TO_RIGHT
    text = certificate_text(network, result)
    return _Proposed(text, statement(network, result), order, len(result.hints), result.right)


def _transformer(network: StoredTransformer) -> _Proposed:
    hints: Counting | Scanning
    if network.scans:
        hints = scanning(network.weights, network.automaton)
        pairs = len(hints.states)
    else:
        hints = counting(network.weights, network.automaton)
        pairs = len(hints.known)
    text = transformer_text(network, hints)
    return _Proposed(text, transformer_statement(network), ANY_ORDER, pairs, hints.right)


@contextmanager
def _folder_of(given: CompiledNetwork | RecurrentNetwork | str | Path) -> Iterator[Path]:
    """Where the network lies; a network that is nowhere is saved for a while."""
    if isinstance(given, str | Path):
        yield Path(given)
        return
    with tempfile.TemporaryDirectory() as name:
        if isinstance(given, RecurrentNetwork):
            save(given, name)
        else:
            save_compiled(given, name)
        yield Path(name)


def _stored(
    folder: Path,
) -> tuple[StoredNetwork | StoredTransformer, Callable[[Semiautomaton], SecondOpinion]]:
    """The network, and a function that runs short words on it, independently of the hints."""
    kind = Folder(folder).kind
    if kind == RECURRENT:
        cell = load(folder).cell
        return stored_network(folder), lambda automaton: run_all(cell, automaton)[0]
    if kind != COMPILED:
        raise Unsupported("the kernel's proofs cover what krohn compile writes; others are not covered")
    stored = stored_transformer(folder)
    return stored, lambda automaton: exhaustive(stored.weights, automaton, "float32", stored.length, WORK)[0]


WORK = 5e9
"""Multiplications that running words may take beside a proof: about a second."""


def _reader(target: Path) -> Path:
    return target.with_suffix(".reader.v")


def checked_target(out: Path) -> Path:
    """The file, if Coq accepts its name and nothing but a certificate would be overwritten."""
    if out.suffix != ".v" or not out.stem.isidentifier():
        raise InvalidInput(
            f"--out must end in .v here, and its name must be a word of letters, digits and _; got {out.name}"
        )
    for file in (out, _reader(out)):
        if file.exists() and not (file.is_file() and MARK.encode() in file.read_bytes()[:1000]):
            raise InvalidInput(f"{short(file)} exists and is not a certificate of krohn: choose another file")
    return out

"""The entry point: from a directory to a certificate for Coq, and Coq's verdict on it."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.atomic import write_text
from krohn.base.folder import COMPILED, RECURRENT, Folder
from krohn.base.strict_json import short
from krohn.coq.certificate_text import MARK, certificate_text
from krohn.coq.coqc import NO_COQ, CoqVerdict, check_text, coq_version
from krohn.coq.counters import counting
from krohn.coq.exploring import explore
from krohn.coq.heads import NoCounters
from krohn.coq.stored import StoredNetwork, StoredTransformer, stored_network, stored_transformer
from krohn.coq.transformer_text import transformer_text
from krohn.errors import InvalidInput, LimitExceeded, MissingDependency, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import save as save_compiled
from krohn.proving.identity import identify
from krohn.recurrent.recurrent_network import RecurrentNetwork, save


@dataclass(frozen=True)
class KernelVerdict:
    """The verdict of Coq's kernel on a network.

    Attributes:
        accepted: proved, in float32, for words of every length or of at most ``length`` letters.
        order: of summation: any, or from left to right where sums are rounded.
        pairs: the number of reachable pairs of states or residues of the network and states of the automaton.
        coq: version, seconds, assumptions; none if no certificate could be written.
        reason: why not, in one line.
    """

    accepted: bool
    automaton: Semiautomaton
    architecture: str
    order: str | None
    pairs: int
    coq: CoqVerdict | None
    reason: str | None
    digest: str
    length: int | None = None

    def __bool__(self) -> bool:
        """Whether Coq accepts it."""
        return self.accepted

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        coq = self.coq
        return {
            "certified": self.accepted,
            "claim": {
                "automaton": self.automaton.name,
                "target": "state",
                "lengths": "every" if self.length is None else self.length,
                "dtype": "float32",
                "order": self.order,
                "sha256": self.digest,
            },
            "kernel": {
                "accepted": self.accepted,
                "coq": coq.version if coq else coq_version(),
                "seconds": round(coq.seconds, 2) if coq else 0.0,
                "megabytes": coq.megabytes if coq else 0,
                "pairs": self.pairs,
                "assumptions": list(coq.assumptions) if coq else [],
                "reason": self.reason,
            },
        }

    def sentence(self) -> str:
        """A few lines."""
        name = self.automaton.name or f"an automaton of {self.automaton.num_states} states"
        if self.coq is None or not self.accepted:
            return f"rejected: {name}, {self.architecture}: {self.reason}"
        words = "every length" if self.length is None else f"at most {self.length} letters"
        return (
            f"accepted by Coq {self.coq.version} in {self.coq.seconds:.1f} s: {name}, {self.architecture}, "
            f"words of {words}, float32, sums in {self.order}\n"
            f"model.safetensors has the SHA-256 {self.digest}\n"
            f"assumptions: {', '.join(self.coq.assumptions) or 'none'}"
        )


def kernel_verdict(
    given: CompiledNetwork | RecurrentNetwork | str | Path,
    automaton: Semiautomaton | None = None,
    *,
    renamed: bool = False,
    out: str | Path | None = None,
) -> KernelVerdict:
    """Writes the certificate of a network and has Coq check it.

    Args:
        given: a network that ``compile`` returned, or the directory it was saved in.
        automaton: the intended automaton; by default the one that the file names.
        renamed: allow that the network's states and letters have other names than those of ``automaton``.
        out: also write the certificate to this ``.v`` file, before Coq checks it.
    """
    target = None if out is None else checked_target(Path(out))
    network = _stored(given)
    if coq_version() is None and target is None:
        raise MissingDependency(NO_COQ)
    identity = identify(network.automaton, automaton, renamed=renamed)
    network = replace(network, automaton=identity.automaton)
    own, digest = network.automaton, network.digest
    kind, length = network.architecture, network.length

    def rejected(reason: str) -> KernelVerdict:
        return KernelVerdict(False, own, kind, None, 0, None, reason, digest, length)

    if identity.mismatch:
        return rejected(identity.mismatch)
    try:
        proposed = _recurrent(network) if isinstance(network, StoredNetwork) else _transformer(network)
    except (LimitExceeded, NoCounters) as error:
        return rejected(str(error))
    if target is not None:
        write_text(target, proposed.text)
    coq = check_text(proposed.text)
    reason = None if coq.accepted else "Coq does not accept the certificate"
    if reason and not proposed.right:
        reason += ": as its states or counts were read off, some word leads to a wrong state"
    return KernelVerdict(coq.accepted, own, kind, proposed.order, proposed.pairs, coq, reason, digest, length)


@dataclass(frozen=True)
class _Proposed:
    """A certificate that Coq has not checked yet."""

    text: str
    order: str
    pairs: int
    right: bool


def _recurrent(network: StoredNetwork) -> _Proposed:
    result = explore(network)
    order = "any order" if result.any_order else "order from left to right"
    return _Proposed(certificate_text(network, result), order, len(result.hints), result.right)


def _transformer(network: StoredTransformer) -> _Proposed:
    hints = counting(network.weights, network.automaton)
    return _Proposed(transformer_text(network, hints), "any order", len(hints.known), hints.right)


def _stored(given: CompiledNetwork | RecurrentNetwork | str | Path) -> StoredNetwork | StoredTransformer:
    if isinstance(given, str | Path):
        folder = Path(given)
        kind = Folder(folder).kind
        if kind == RECURRENT:
            return stored_network(folder)
        if kind != COMPILED:
            raise Unsupported("the kernel's proofs cover what krohn compile writes; others are not covered")
        return stored_transformer(folder)
    with tempfile.TemporaryDirectory() as name:
        if isinstance(given, RecurrentNetwork):
            save(given, name)
            return stored_network(Path(name))
        save_compiled(given, name)
        return stored_transformer(Path(name))


def checked_target(out: Path) -> Path:
    """The file, if Coq accepts its name and nothing but a certificate would be overwritten."""
    if out.suffix != ".v" or not out.stem.isidentifier():
        raise InvalidInput(
            f"--out must end in .v here, and its name must be a word of letters, digits and _; got {out.name}"
        )
    if out.exists() and not (out.is_file() and MARK.encode() in out.read_bytes()[:1000]):
        raise InvalidInput(f"{short(out)} exists and is not a certificate of krohn: choose another file")
    return out

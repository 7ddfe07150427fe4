"""``verify``: one question and one form of answer for every kind of network."""

from collections.abc import Callable
from math import inf
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.base.files import MODULE, check_output, path_of
from krohn.base.portable import float_name
from krohn.base.typed import plainly
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.claim import ORDERS
from krohn.check.files.folders import shown
from krohn.check.rules import RULES, unanswered
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.stock import named_tokens
from krohn.proving.attempts import arithmetic
from krohn.proving.claims import Question
from krohn.proving.kinds import Kind, kind_for
from krohn.proving.outcome import Verification
from krohn.proving.recheck import recheck_net

if TYPE_CHECKING:
    from krohn.recurrent.recurrent_network import RecurrentNetwork


@plainly
def verify(
    network: "CompiledNetwork | RecurrentNetwork | Callable[..., Any] | str | Path",
    dtype: Any = None,
    length: int | None = None,
    *,
    automaton: AutomatonLike | None = None,
    renamed: bool = False,
    certificate: Certificate | str | Path | None = None,
    chunks: bool = False,
    order: str | None = None,
    as_claimed: bool = False,
    second_opinion: bool = True,
    largest: bool = False,
    effort: float = 1.0,
    device: str = "cpu",
    tokens: Any = None,
    input: AutomatonLike | None = None,
    kernel: bool = False,
    coqc: bool = False,
    out: str | Path | None = None,
) -> Verification:
    """Whether a network is proved right: compiled, exported, recurrent, trained, or brought by others.

    Args:
        network: what ``compile`` returns, or the folder of a compiled network, of an export for
            ``transformers``, recurrent weights, or a training run (its best replicate);
            or a GPT-2 of ``transformers``, saved or in memory; or any callable from tokens to logits, which
            is run on all short words and never certified. The last two need ``automaton``.
        dtype: the float format, by name (float32, bf16) or as a type of torch; by default, for
            compiled networks, the one that they were proved in when compiled (float64 if in none), for GPT-2s
            the one that config.json names, and float32 for all others.
        length: the longest words; by default those it was built for, and words of every length for recurrent
            networks and trained ones.
        automaton: the automaton to verify against (object, name or file); by default the one that the files
            name, which is then taken on trust.
        renamed: allow the network's names of states and letters to differ from those of ``automaton``.
        certificate: recheck this certificate instead of searching for a proof; it must be about all words, as
            long as the network was built for or as ``length`` says, and about ``dtype`` if that is given.
        chunks: ask for the form that reads many letters at once, too, as ``krohn run --chunks`` does.
        order: ask of a certificate for sums added in this order alone: left, from left to right and not
            fused. By default any order is asked for, and a certificate about one order is no answer.
        as_claimed: ask of a certificate no more than it claims: perhaps shorter words.
        second_opinion: also run all short words, independently of the proof.
        largest: if the proof fails, find the largest length that is proved; this may take minutes.
        effort: for a trained network: how many words to run; for a certificate whose words are run again: how
            many times twenty seconds. 10 allows ten times the work.
        device: the torch device for a trained network.
        tokens: for a network that krohn did not write: the tokens of letters and states, as a JSON file or
            ``{"prompt": [], "letters": [5, 6], "states": {"even": 7, "odd": 8}}``; by default their numbers.
        input: for a module: the automaton that accepts the inputs, such as ``"regex:(ab)*"``; by default all
            words are inputs.
        kernel: have Coq's checker prove it, in float32, of a compiled network (all its words) or a trained
            LSTM: as the program krohn-kernel where that is built, else by Coq.
        coqc: with ``kernel``: by Coq itself.
        out: the certificate is written to this file, if the network is proved; with ``kernel`` before it is
            checked.
    """
    meant = None if automaton is None else as_automaton(automaton)
    named = None if dtype is None else float_name(dtype)
    question = Question(
        dtype=named,
        length=_whole(length),
        automaton=meant,
        renamed=renamed,
        input=None if input is None else as_automaton(input),
        chunks=chunks,
        second_opinion=second_opinion,
        largest=largest,
        effort=effort,
        device=device,
        tokens=tokens,
        order=order,
    )
    kind = kind_for(network, "verify needs", "verify")
    _refuse_idle(kind, question, certificate, kernel=kernel, as_claimed=as_claimed)
    if coqc and not kernel:
        raise InvalidInput("--coqc says who proves it with --kernel; add --kernel, or leave it out")
    if kernel:
        return _by_kernel(kind, network, meant, renamed=renamed, by_coq=coqc, out=out)
    _check_target(out)  # fail before the work
    if certificate is not None:
        return _write(_recheck(network, certificate, question, as_claimed=as_claimed), out)
    kind.refuse_idle(network, chunks=chunks, device=device)
    given = path_of(network) if isinstance(network, str) and kind.name != MODULE else network
    return _write(kind.verify(given, question), out)


def _refuse_idle(kind: Kind, question: Question, certificate: Any, *, kernel: bool, as_claimed: bool) -> None:
    """Refuses options that would change nothing."""
    if question.tokens is not None and kind.names_itself:
        raise InvalidInput(f"--tokens is for a network that krohn did not write; {kind.called} names its own")
    if question.input is not None and kind.name != MODULE:
        raise InvalidInput(
            f"--input is for a module, as module.py:NAME, .onnx or .pt2; this is {kind.called}: leave it out"
        )
    if question.renamed and question.automaton is None:
        raise InvalidInput("--renamed needs --automaton SPEC, whose names the network need not have")
    if not 0 < question.effort < inf:
        raise InvalidInput(f"effort must be a number above 0; got {shown(question.effort)}")
    searches = (
        question.largest or question.device != "cpu" or (question.effort != 1.0 and certificate is None)
    )
    about = question.dtype not in (None, "float32") or question.length is not None or certificate is not None
    if question.order not in (None, *ORDERS):
        raise InvalidInput(f"order must be {' or '.join(ORDERS)}; got {shown(question.order)}")
    if question.order is not None and certificate is None:
        raise InvalidInput("--order needs --recheck CERTIFICATE: without it the verdict says for which order")
    if kernel and (searches or about or question.chunks or as_claimed):
        raise InvalidInput(
            "--kernel proves float32 for all words a network was built for; omit --dtype, --length, "
            "--recheck, --as-claimed, --chunks, --largest, --effort and --device"
        )
    if as_claimed and certificate is None:
        raise InvalidInput(
            "--as-claimed needs --recheck CERTIFICATE, which is asked for no more than it claims"
        )
    if searches and certificate is not None:
        raise InvalidInput(
            "--recheck searches for nothing and runs nothing on a device; omit --largest and --device"
        )


def _check_target(out: str | Path | None) -> None:
    if out is None:
        return
    if Path(out).suffix == ".v":
        raise InvalidInput(
            "a certificate is a JSON file, with --kernel too; python proof_text.py makes .v of it"
        )
    check_output(Path(out))


def _write(verdict: Verification, out: str | Path | None) -> Verification:
    if out is not None and verdict.certificate is not None:
        verdict.save(out)
    return verdict


def _by_kernel(
    kind: Kind,
    network: Any,
    meant: Semiautomaton | None,
    *,
    renamed: bool,
    by_coq: bool,
    out: str | Path | None,
) -> Verification:
    from krohn.proving.kernel import kernel_verdict

    if callable(network) and not kind.names_itself:
        raise InvalidInput("kernel proves compiled networks; got a callable")
    return kernel_verdict(network, meant, renamed=renamed, by_coq=by_coq, out=out)


def _whole(length: Any) -> int | None:
    """The length as a number of Python, whatever kind of whole number was given."""
    if length is None:
        return None
    whole = isinstance(length, Integral) and not isinstance(length, bool)
    if not whole or length < 1:
        raise InvalidInput(f"the length must be a whole number from 1 on; got {shown(length)}")
    return int(length)


def _recheck(
    network: Any, given: Certificate | str | Path, question: Question, *, as_claimed: bool
) -> Verification:
    certificate = given if isinstance(given, Certificate) else read_certificate(given)
    running = [name for name, rules in RULES.items() if rules.work is not None]
    if question.effort != 1.0 and certificate.rules not in running:
        raise InvalidInput(
            f"--effort with --recheck is for certificates whose words are run again, by the rules "
            f"{', '.join(running)}; this one has {shown(certificate.rules)}: leave it out"
        )
    net, named = kind_for(network, "verify --recheck needs", "net").net(network, certificate)
    dtype = None if question.dtype is None else arithmetic(question.dtype)
    limits: dict[str, Any] = {"order": question.order, "chunks": question.chunks, "as_claimed": as_claimed}
    unclaimed = unanswered(net, certificate.claim, dtype, question.length, **limits)
    meant, tokens = question.automaton, question.tokens
    if tokens is not None:
        if question.renamed:
            raise InvalidInput("tokens belong to names: with --tokens leave --renamed out")
        # No file of the network says what its tokens mean: with others it is right about another automaton.
        claimed = named_tokens(named, certificate.claim.configuration.get("tokens"))
        if named_tokens(meant or named, tokens) != claimed:
            unclaimed = "question: the certificate is about other tokens than those that were asked for"
    return recheck_net(
        net, named, certificate, meant, renamed=question.renamed, unclaimed=unclaimed, effort=question.effort
    )

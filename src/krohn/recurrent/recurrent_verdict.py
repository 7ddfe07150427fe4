"""Verification of recurrent networks: words of every length by closure, up to a length by balls."""

from dataclasses import replace
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Check, Counterexample, SecondOpinion, Verification
from krohn.certify.identity import Identity, identify
from krohn.check.claim import RULES, Certificate, Claim, check_certificate
from krohn.check.folder import recurrent_net
from krohn.check.net import Net
from krohn.errors import InvalidInput
from krohn.recurrent.closure import DTYPES, Closure, checkable, close
from krohn.recurrent.horizon import Horizon, horizon_of
from krohn.recurrent.recurrent_files import RecurrentNetwork, run_all


def net_of(network: RecurrentNetwork) -> Net:
    """The recurrent network as the checker reads it from a folder."""
    automaton = network.automaton
    names = list(automaton.letter_names), list(automaton.state_names)
    return recurrent_net(dict(network.cell.tensors), network.cell.kind, network.cell.options, *names)


def verify_recurrent(
    network: RecurrentNetwork,
    dtype: str | None = None,
    length: int | None = None,
    meant: Semiautomaton | None = None,
    *,
    renamed: bool = False,
) -> Verification:
    """Every length, or every word up to ``length``; a counterexample if one is found."""
    dtype, net = dtype or DTYPES[0], net_of(network)
    if dtype not in DTYPES:
        raise InvalidInput(f"recurrent networks are proved in {' or '.join(DTYPES)}; got {dtype}")
    identity = identify(network.automaton, meant, renamed=renamed)
    if identity.mismatch:
        nothing = Closure(False, (), 0.0, "any", reason=f"identity: {identity.mismatch}")
        return _outcome(network, _claimed(net, network.automaton, dtype, length), identity, nothing)
    automaton = identity.automaton
    closure = close(network.cell, automaton, dtype=dtype)
    if closure.every_length:
        certificate = _claimed(net, automaton, dtype, None, order=closure.order)
        return _outcome(network, certificate, identity, closure, net=net)
    horizon = horizon_of(network.cell, automaton, dtype)
    if length is not None and horizon is not None and horizon.length >= length:
        certificate = _claimed(net, automaton, dtype, length, "balls", witness=horizon.witness)
    elif length is not None and (closure.horizon or 0) >= length:
        certificate = _claimed(net, automaton, dtype, length, order=closure.order)
    else:
        return _outcome(network, _claimed(net, automaton, dtype, length), identity, closure, horizon)
    return _outcome(network, certificate, identity, closure, horizon, net)


def _claimed(
    net: Net,
    automaton: Semiautomaton,
    dtype: str,
    length: int | None,
    rules: str = "closure",
    order: str = "any",
    witness: Any = None,
) -> Certificate:
    names = automaton.letter_names, automaton.state_names
    about = (net.kind, net.digest, net.configuration, *names, checkable(automaton), "state", length, dtype)
    claim = Claim(*about, order)
    claim = replace(claim, assumptions=RULES[rules].assumptions(net, claim))
    return Certificate(claim, rules, RULES[rules].version, witness)


def _outcome(
    network: RecurrentNetwork,
    certificate: Certificate,
    identity: Identity,
    closure: Closure,
    horizon: Horizon | None = None,
    net: Net | None = None,
) -> Verification:
    """The checker's rules decide where there is something to prove, given by ``net``."""
    claim, automaton = certificate.claim, identity.automaton
    verdict = None if net is None else check_certificate(net, certificate)
    done = verdict is not None and verdict.certified
    reached = max(closure.horizon or 0, 0 if horizon is None else horizon.length)
    wrong = None if done or identity.mismatch else _wrong(closure, automaton, claim.up_to)
    reason = "" if done else verdict.reason if verdict else closure.reason
    if not reason and not done:
        reason = "the right logit does not lead after some word"
    ran = None if identity.mismatch else run_all(network, automaton)
    text = (
        reason
        or f"{certificate.rules}: proved for {'words of every length' if claim.up_to is None else 'them'}"
    )
    known = closure.to_json(automaton) if not identity.mismatch else {}
    kept = ("vectors", "vectors_by_layer", "order", "any_order", "chunked", "horizon")
    return Verification(
        certified=done,
        claim=claim,
        margin=verdict.margin if verdict else 0.0,
        checks=(Check(certificate.rules, 1, 0.0 if done else 1.0, 1.0 if done else 0.0, done, text),),
        counterexample=wrong,
        largest=reached,
        reason=reason,
        second_opinion=None if ran is None else SecondOpinion(ran.length, ran.words, ran.wrong),
        depth=int(getattr(network.cell, "layers", 1)),
        identity=identity,
        certificate=certificate if done else None,
        more={"architecture": network.cell.kind, **{name: known.get(name) for name in kept}},
    )


def _wrong(closure: Closure, automaton: Semiautomaton, up_to: int | None) -> Counterexample | None:
    if closure.counterexample is None:
        return None
    word, got = closure.counterexample
    if up_to is not None and len(word) > up_to:
        return None
    return Counterexample(word, int(automaton.run(word)[-1]), got)

"""Verification of recurrent networks: words of every length by closure, up to a length by balls.

The search for references and radii that prove a horizon (``check.balls``) is here; the checker trusts none
of it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Check, Verification
from krohn.certify.identity import Identity, identify
from krohn.certify.proof import checkable_table
from krohn.check.balls import (
    MAX_REFERENCES,
    Carried,
    DiagonalBalls,
    References,
    joined,
    letters_within,
    points,
    settled,
)
from krohn.check.cells import Cell
from krohn.check.claim import Certificate, Claim
from krohn.check.closure import WORK
from krohn.check.folder import recurrent_net
from krohn.check.net import Net
from krohn.check.recurrent_rules import closure_verdict
from krohn.check.rules import RULES, check_certificate, fitting_rules
from krohn.check.stacks import DiagonalStack
from krohn.check.verdict import Budget, Refused, Verdict, refusal_of
from krohn.errors import InvalidInput
from krohn.recurrent.closure import DTYPES, Closure, close, run_all
from krohn.recurrent.recurrent_network import RecurrentNetwork

_NEAR = 0.25  # points within this distance of a reference of the same state are merged into it
_RATIOS = (1e-1, 1e-2, 1e-3, 1e-4)  # allowed error of a memory relative to that of the next one
_HALVINGS = 7  # bisection steps for the factor, between 1e-6 and 1


@dataclass(frozen=True)
class Horizon:
    """Length up to which every word is computed correctly, and the witness for ``check.balls``."""

    length: int
    witness: dict[str, Any]


def horizon_of(cell: Cell, automaton: Semiautomaton, dtype: str = "float32") -> Horizon | None:
    """The longest horizon found, 0 if no length is proved; ``None`` if undecided."""
    if not isinstance(cell, DiagonalStack):
        return None
    budget, nothing = Budget(WORK), Horizon(0, {})
    try:
        with np.errstate(all="ignore"):
            balls = DiagonalBalls(cell, dtype)
            result = _references(balls, automaton)
            if result is None:
                return None
            origins, references = result
            exact, _ = settled(balls, references, [0.0] * cell.layers, budget)
            if not any(exact):  # nothing is rounded: the closure decides
                return None
            rounded = [loss > 0 for loss in exact]
            ratios = _RATIOS if sum(rounded) > 1 else _RATIOS[:1]
            length, allowed = max(
                (_largest(balls, references, rounded, ratio, budget) for ratio in ratios),
                key=lambda pair: pair[0],
            )
    except Refused:
        return nothing
    witness = {"references": origins, "follow": references.follow.tolist(), "allowed": allowed}
    return Horizon(length, witness) if length else nothing


def _largest(
    balls: DiagonalBalls, references: References, rounded: list[bool], ratio: float, budget: Budget
) -> tuple[int, list[float]]:
    """The horizon with the widest last memory that the read-out allows; those above are narrower."""
    best, radii, least, most = 0, [0.0] * len(rounded), 1e-6, 1.0
    lossy_after = [sum(rounded[i + 1 :]) for i in range(len(rounded))]
    for _ in range(_HALVINGS):
        size = (least * most) ** 0.5
        allowed = [size * ratio**n if lossy else 0.0 for lossy, n in zip(rounded, lossy_after, strict=True)]
        try:
            length, least = letters_within(balls, references, allowed, budget), size
        except Refused:
            most = size
            continue
        if length > best:
            best, radii = length, allowed
    return best, radii


def _references(balls: DiagonalBalls, automaton: Semiautomaton) -> tuple[list[list[int]], References] | None:
    """Breadth first; a point near a reference of the same state is merged into it."""
    states, right, origins = [balls.start()], [int(automaton.start)], list[list[int]]()
    flat, known = [_flat(states[0])], {int(automaton.start): [0]}
    follow: list[list[int]] = []
    while len(follow) < len(states):
        number, row = len(follow), []
        for letter in range(automaton.num_letters):
            after = points(balls.step(states[number], letter)[0])
            vector, q = _flat(after), int(automaton.table[right[number], letter])
            gaps = [(float(np.abs(vector - flat[n]).max()), n) for n in known.setdefault(q, [])]
            gap, near = min(gaps, default=(np.inf, 0))
            if not gap <= _NEAR:
                near = len(states)
                known[q].append(near)
                flat.append(vector)
                states.append(after)
                right.append(q)
                origins.append([number, letter])
            row.append(near)
        follow.append(row)
        if len(states) > MAX_REFERENCES or not np.isfinite(flat[-1]).all():
            return None
    result = References(joined(states), np.array(follow), automaton.table[np.array(right)].astype(np.int64))
    return origins, result


def _flat(state: Carried) -> npt.NDArray[np.complex128]:
    """The first row, flattened."""
    return np.concatenate([ball.middle[0] for block in state for ball in block])


def net_of(network: RecurrentNetwork) -> Net:
    """The recurrent network as the checker reads it from a folder."""
    automaton = network.automaton
    names = {"letters": list(automaton.letter_names), "states": list(automaton.state_names)}
    return recurrent_net(dict(network.cell.tensors), network.cell.kind, network.cell.options, names)


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
    about = (
        net.kind,
        net.digest,
        net.configuration,
        *names,
        checkable_table(automaton),
        "state",
        length,
        dtype,
    )
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
    """The result of a verification; the certificate is checked against ``net`` if that is given."""
    claim, automaton = certificate.claim, identity.automaton
    verdict = None if net is None else _decided(network, net, certificate, closure)
    done = verdict is not None and verdict.certified
    reached = max(closure.horizon or 0, 0 if horizon is None else horizon.length)
    wrong = None if done or identity.mismatch else closure.counterexample
    if wrong is not None and claim.up_to is not None and len(wrong.word) > claim.up_to:
        wrong = None
    reason = "" if done else verdict.reason if verdict else closure.reason
    if not reason and not done:
        reason = "the right logit does not lead after some word"
    text = (
        reason
        or f"{certificate.rules}: proved for {'words of every length' if claim.up_to is None else 'them'}"
    )
    known = dict.fromkeys(closure.to_json()) if identity.mismatch else closure.to_json()
    return Verification(
        certified=done,
        claim=claim,
        margin=verdict.margin if verdict else 0.0,
        checks=(Check(certificate.rules, 1, 0.0 if done else 1.0, 1.0 if done else 0.0, done, text),),
        counterexample=wrong,
        largest=reached,
        reason=reason,
        second_opinion=None if identity.mismatch else run_all(network.cell, automaton)[0],
        depth=int(getattr(network.cell, "layers", 1)),
        identity=identity,
        certificate=certificate if done else None,
        more={"architecture": network.cell.kind, **known},
    )


def _decided(network: RecurrentNetwork, net: Net, certificate: Certificate, closure: Closure) -> Verdict:
    """The checker's verdict. A closure has no witness: its search is the proof, and is not repeated here."""
    if certificate.rules != "closure" or closure.searched is None:
        return check_certificate(net, certificate)
    try:
        fitting_rules(net, certificate)
        return closure_verdict(network.cell, certificate.claim, closure.searched)
    except Refused as refusal:
        return refusal_of(refusal)

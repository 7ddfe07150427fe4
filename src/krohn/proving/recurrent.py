"""Verification of recurrent networks: words of every length by closure, up to a length by balls.

For words of every length the checker's own search is the proof (``check.closure``); if it fails, short words
are run for a counterexample.
The search for references and radii that prove a horizon (``check.balls``) is here; the checker trusts none
of it.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.certificate import Certificate
from krohn.check.claim import ANY, CHUNKS, LEFT
from krohn.check.files.folders import Net, recurrent_net
from krohn.check.ground import Refused, Verdict, Work, refusal_of
from krohn.check.recurrent import closure
from krohn.check.recurrent.balls import (
    MAX_REFERENCES,
    Carried,
    DiagonalBalls,
    References,
    join,
    letters_within,
    points,
    settle,
)
from krohn.check.recurrent.cells import Cell
from krohn.check.recurrent.chunks import same_in_chunks
from krohn.check.recurrent.closure import MAX_PAIRS, budget_for
from krohn.check.recurrent.rules import DTYPES as DTYPES
from krohn.check.recurrent.rules import closure_verdict
from krohn.check.recurrent.stacks import DiagonalStack
from krohn.check.rules import check_certificate, fitting_rules
from krohn.errors import InvalidInput
from krohn.proving.claims import Check, Question, certificate_about, claim_about
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.identity import Identity, identify
from krohn.proving.outcome import Verification, mismatched
from krohn.proving.witness.search import checkable_table
from krohn.proving.word_search import longest_of, run_every_word
from krohn.recurrent.recurrent_network import RecurrentNetwork, load, states_of

SHORT_WORDS = 5_000
"""Words to run if a proof is refused."""
LEFT_PAIRS = 1_000
"""Limit on the pairs of a layer for sums from left to right. Such closures in the zoo have at most 193; a
network that reaches more keeps rounding to new values, and only balls can prove it."""


@dataclass(frozen=True)
class SearchedClosure:
    """What the search found.

    Attributes:
        every_length: proved for words of every length.
        layers: for each layer, the reached pairs of a state of the layers above and a box.
        margin: the least lead of the right logit.
        order: the summation order for which it holds.
        horizon: all words up to this length are right in that order; ``None`` if nothing was searched.
        counterexample: a wrong word, if known; confirmed by a run.
        chunked: whether the chunked form gives the same floats; ``None`` if there is no such form.
        reason: why there is no proof.
        searched: what the checker's search went through, which is the proof.
    """

    every_length: bool
    layers: tuple[int, ...]
    margin: float
    order: str
    horizon: int | None = None
    counterexample: Counterexample | None = None
    chunked: bool | None = None
    reason: str = ""
    searched: closure.Closure | None = None

    @property
    def vectors(self) -> int:
        """Pairs of all layers."""
        return sum(self.layers)

    @property
    def any_order(self) -> bool:
        """Whether it is proved for every summation order."""
        return self.every_length and self.order != LEFT

    def to_json(self) -> dict[str, Any]:
        """Its entries in the JSON of a verdict."""
        return {
            "vectors": self.vectors,
            "vectors_by_layer": list(self.layers),
            "order": self.order,
            "any_order": self.any_order,
            "chunked": self.chunked,
            "horizon": self.horizon,
        }


def close(
    cell: Cell, automaton: Semiautomaton, limit: int = MAX_PAIRS, dtype: str = "float32"
) -> SearchedClosure:
    """Tries sums in any order first, then, where rounding depends on it, from left to right."""
    sizes = (cell.num_letters, cell.num_states)
    if sizes != (automaton.num_letters, automaton.num_states):
        raise InvalidInput(
            f"the network must have the automaton's {automaton.num_letters} letters and "
            f"{automaton.num_states} states; it has {sizes[0]} and {sizes[1]}"
        )
    result = _search(cell, automaton, limit, dtype, ANY)
    if not result.every_length and not result.layers and LEFT in cell.orders and dtype == "float32":
        result = _search(cell, automaton, min(limit, LEFT_PAIRS), dtype, LEFT)
    if result.every_length or result.counterexample is not None:
        return result
    opinion, wrong = run_all(cell, automaton)
    return replace(result, counterexample=wrong) if opinion.dtype == dtype else result


def _search(cell: Cell, automaton: Semiautomaton, limit: int, dtype: str, order: str) -> SearchedClosure:
    """The search in one summation order; a word it cannot prove is run, as it may be a counterexample."""
    budget, chunked = budget_for(cell), None
    try:
        with np.errstate(all="ignore"):
            result = closure.close(cell, checkable_table(automaton), dtype, order, limit, budget=budget)
            if result.proved and CHUNKS in cell.orders:
                chunked = order == ANY and same_in_chunks(cell, result.notes, budget)
    except Refused as refusal:
        return SearchedClosure(False, (), 0.0, order, reason=str(refusal))
    built = SearchedClosure(
        result.proved, result.layers, result.margin, order, result.horizon, searched=result
    )
    if result.proved:
        return replace(built, horizon=None, order=CHUNKS if chunked else order, chunked=chunked)
    if result.doubt is None:
        return replace(built, reason=f"more than {built.vectors - 1:,} vectors are reached")
    got, wanted = int(states_of(cell, np.array([result.doubt]))[0, -1]), int(automaton.run(result.doubt)[-1])
    wrong = Counterexample(result.doubt, wanted, got) if got != wanted and dtype == DTYPES[0] else None
    return replace(built, counterexample=wrong, reason="the right logit does not lead after some word")


def run_all(
    cell: Cell, automaton: Semiautomaton, most: int = SHORT_WORDS
) -> tuple[SecondOpinion, Counterexample | None]:
    """Runs all words of the largest length with at most ``most`` words (length 1 at least)."""
    letters = automaton.num_letters
    length = longest_of(letters, most, most.bit_length() if letters > 1 else 1)
    return run_every_word(partial(states_of, cell), automaton, length)


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
    if not isinstance(cell, DiagonalStack) or cell.gate != "complex":
        return None
    budget, nothing = budget_for(cell), Horizon(0, {})
    try:
        with np.errstate(all="ignore"):
            balls = DiagonalBalls(cell, dtype)
            result = _references(balls, automaton)
            if result is None:
                return None
            origins, references = result
            exact, _ = settle(balls, references, [0.0] * cell.layers, budget)
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
    balls: DiagonalBalls, references: References, rounded: list[bool], ratio: float, budget: Work
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
    result = References(join(states), np.array(follow), automaton.table[np.array(right)].astype(np.int64))
    return origins, result


def _flat(state: Carried) -> npt.NDArray[np.complex128]:
    """The first row, flattened."""
    return np.concatenate([ball.middle[0] for block in state for ball in block])


def net_of(network: RecurrentNetwork) -> Net:
    """The recurrent network as the checker reads it from a folder."""
    automaton = network.automaton
    names = {"letters": list(automaton.letter_names), "states": list(automaton.state_names)}
    return recurrent_net(dict(network.cell.tensors), network.cell.kind, network.cell.options, names)


def verify_recurrent(given: RecurrentNetwork | Path, question: Question) -> Verification:
    """Every length, or every word up to a length; a counterexample if one is found."""
    network = given if isinstance(given, RecurrentNetwork) else load(given)
    dtype, length, net = question.dtype or DTYPES[0], question.length, net_of(network)
    if dtype not in DTYPES:
        raise InvalidInput(f"recurrent networks are proved in {' or '.join(DTYPES)}; got {dtype}")
    identity = identify(network.automaton, question.automaton, renamed=question.renamed)
    if identity.mismatch:
        claim = _claim_of(net, network.automaton, dtype, length).claim
        known = dict.fromkeys(SearchedClosure(False, (), 0.0, ANY).to_json())
        return mismatched(claim, identity, _depth(network), {"architecture": network.cell.kind, **known})
    automaton = identity.automaton
    closure = close(network.cell, automaton, dtype=dtype)
    if question.chunks and not closure.chunked:
        why = "in chunks the sums may be rounded otherwise" if closure.every_length else closure.reason
        nothing = replace(closure, every_length=False, reason=why)
        return _outcome(network, _claim_of(net, automaton, dtype, length), identity, nothing)
    if closure.every_length:
        certificate = _claim_of(net, automaton, dtype, None, order=closure.order)
        return _outcome(network, certificate, identity, closure, net=net)
    horizon = horizon_of(network.cell, automaton, dtype)
    if length is not None and horizon is not None and horizon.length >= length:
        certificate = _claim_of(net, automaton, dtype, length, "balls", witness=horizon.witness)
    elif length is not None and (closure.horizon or 0) >= length:
        certificate = _claim_of(net, automaton, dtype, length, order=closure.order)
    else:
        return _outcome(network, _claim_of(net, automaton, dtype, length), identity, closure, horizon)
    return _outcome(network, certificate, identity, closure, horizon, net)


def _claim_of(
    net: Net,
    automaton: Semiautomaton,
    dtype: str,
    length: int | None,
    rules: str = "closure",
    order: str = "any",
    witness: Any = None,
) -> Certificate:
    claim = claim_about(net, automaton, length, dtype, rules, target="state", order=order)
    return certificate_about(claim, rules, witness)


def _outcome(
    network: RecurrentNetwork,
    certificate: Certificate,
    identity: Identity,
    closure: SearchedClosure,
    horizon: Horizon | None = None,
    net: Net | None = None,
) -> Verification:
    """The result of a verification; the certificate is checked against ``net`` if that is given.

    A wrong word of a run in the claim's float type refutes any proof: what is proved of one order of sums
    need not be the order of a device.
    """
    claim, automaton = certificate.claim, identity.automaton
    opinion, found = run_all(network.cell, automaton)
    verdict = None if net is None else _decide(network, net, certificate, closure)
    reached = max(closure.horizon or 0, 0 if horizon is None else horizon.length)
    wrong = closure.counterexample or (found if opinion.dtype == claim.dtype else None)
    if wrong is not None and claim.up_to is not None and len(wrong.word) > claim.up_to:
        wrong = None
    done = verdict is not None and verdict.certified and wrong is None
    reason = "" if done else verdict.reason if verdict else closure.reason
    if verdict is not None and verdict.certified and not done:
        reason = f"proved for sums added {claim.order}, but a word is run wrong"
    if not reason and not done:
        reason = "the right logit does not lead after some word"
    text = (
        reason
        or f"{certificate.rules}: proved for {'words of every length' if claim.up_to is None else 'them'}"
    )
    result = Verification(
        certified=done,
        claim=claim,
        margin=verdict.margin if verdict and done else 0.0,
        checks=(Check.exact(certificate.rules, 1, done, text),),
        counterexample=wrong,
        largest=reached,
        reason=reason,
        second_opinion=opinion,
        depth=_depth(network),
        identity=identity,
        certificate=certificate if done else None,
        more={"architecture": network.cell.kind, **closure.to_json()},
    )
    return replace(result, wording=_wording(result, closure))


_CHUNKS = {
    True: "\nin chunks the floats are the same: proved for both forms",
    False: "\nproved one letter after the other; chunks multiply gates first and round elsewhere",
    None: "",
}


def _wording(verdict: Verification, closure: SearchedClosure) -> str:
    """The verdict in a line or two."""
    if verdict.certified and verdict.length is None:
        order = "sums in any order" if closure.any_order else f"sums added {LEFT}"
        return (
            f"certified: {verdict.subject}, {verdict.words}, {verdict.dtype}, {order}\n"
            f"{closure.vectors} vectors are reached by all words; logit margin {verdict.margin:.4g}"
            f"{_CHUNKS[closure.chunked]}\n{verdict.assumed}"
        )
    if verdict.certified:
        return f"{verdict.proved}\n{verdict.assumed}"
    if verdict.counterexample is not None:
        return "not certified: a wrong word was found"
    if verdict.largest:
        # A horizon by balls is for any order; that of a search is for its own.
        order = f", sums added {LEFT}" * (closure.order == LEFT and verdict.largest == closure.horizon)
        return (
            f"not certified: {verdict.reason}; every word of at most {verdict.largest:,} letters is right in "
            f"{verdict.dtype}{order}, one letter after the other: --length {verdict.largest}"
        )
    return f"not certified: {verdict.reason}"


def _depth(network: RecurrentNetwork) -> int:
    return int(getattr(network.cell, "layers", 1))


def _decide(
    network: RecurrentNetwork, net: Net, certificate: Certificate, closure: SearchedClosure
) -> Verdict:
    """The checker's verdict. A closure has no witness: its search is the proof, and is not repeated here."""
    if certificate.rules != "closure" or closure.searched is None:
        return check_certificate(net, certificate)
    try:
        fitting_rules(net, certificate)
        return closure_verdict(network.cell, certificate.claim, closure.searched, budget_for(network.cell))
    except Refused as refusal:
        return refusal_of(refusal)

"""Verifies a compiled network: runs all short words, proves it, checks its description, seeks wrong words."""

from dataclasses import replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.claim import Claim
from krohn.check.files.folders import Net, compiled_net
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Transformer
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.claims import Question, certificate_about, claim_about
from krohn.proving.evidence import Counterexample
from krohn.proving.identity import identify
from krohn.proving.outcome import Verification, mismatched
from krohn.proving.proof_record import ProofRecord, Refutation, blame_weights, refutation_text
from krohn.proving.word_search import exhaustive, runner, search

RULE_SET = "transformer"


def verify_compiled(
    compiled: CompiledNetwork, question: Question, *, described: bool = False
) -> Verification:
    """Decides from the weights whether the network is right on every word that was asked for.

    ``described``: whether building it again gives its tensors and its description, which then fits.
    """
    dtype = arithmetic(question.dtype or compiled.proved or "float64")
    wanted = compiled.length if question.length is None else question.length
    if not 1 <= wanted <= compiled.length:
        raise InvalidInput(f"the length must lie in 1..{compiled.length}, as built; got {wanted}")
    identity = identify(compiled.automaton, question.automaton, renamed=question.renamed)
    if identity.mismatch:
        claim = claim_of(compiled, compiled.automaton, dtype, wanted)[1]
        return mismatched(claim, identity, len(compiled.transformer.layers), {})
    matrices, automaton = compiled.transformer, identity.automaton
    compiled = replace(compiled, automaton=automaton)  # the description is compared with it too
    opinion, result = (
        exhaustive(matrices, automaton, dtype, wanted) if question.second_opinion else (None, None)
    )
    record, failure, margin = attempt(matrices, automaton, wanted, dtype, once=result is not None)
    unproved = failure is not None
    if failure is None and described:
        record.layer = 0
        record.note("hints", "building the network again gives these tensors and this description")
    elif failure is None:
        failure = _check_description(compiled, record)
    if result is not None and failure is None:
        record.layer = len(matrices.layers) + 1
        failure = record.refuse("exhaustive run", "a short word is run wrong", result.word)
    if failure is not None and result is None:
        result = search(matrices, automaton, dtype, wanted, failure.word)
    reason = "" if failure is None else refutation_text(failure, len(matrices.layers))
    if result is not None and "wider dtype" in reason and _wrong_in_float64(matrices, result):
        reason = blame_weights(reason)
    claim = claim_of(compiled, automaton, dtype, wanted)[1]
    shown = certificate_about(claim, RULE_SET, record.witness)
    best = wanted if failure is None else 0
    if unproved and question.largest and result is None:
        best = _largest(matrices, automaton, wanted, dtype)
    return Verification(
        certified=failure is None,
        claim=claim,
        margin=margin if failure is None else 0.0,
        checks=tuple(record.checks),
        counterexample=result,
        largest=best,
        reason=reason,
        second_opinion=opinion,
        depth=len(matrices.layers),
        identity=identity,
        certificate=shown if failure is None else None,
    )


def _wrong_in_float64(network: Transformer, wrong: Counterexample) -> bool:
    return int(runner(network, "float64")(np.array([wrong.word]))[0, -1]) != wrong.expected


def claim_of(
    compiled: CompiledNetwork, automaton: Semiautomaton, dtype: str, length: int
) -> tuple[Net, Claim]:
    """Everything that decides the network's answers, and the claim to be proved."""
    matrices = compiled.transformer
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in matrices.layers]
    names = {"letters": list(automaton.letter_names), "states": list(automaton.state_names)}
    net = compiled_net(matrices.tensors(), shape, "causal", {**names, "target": automaton.target})
    return net, claim_about(net, automaton, length, dtype, RULE_SET)


def _check_description(compiled: CompiledNetwork, record: ProofRecord) -> Refutation | None:
    """Refuses a program that does not give the tensors, and heads that claim what no program has.

    No proof uses the description. But one that does not fit is misleading, so such a network is refused.
    """
    record.layer = 0
    if compiled.program is not None:
        return record.refuse(
            "hints",
            "building the network again from its program gives other tensors, or another description: one of "
            "them was changed; compile the network again, or remove its program",
        )
    claiming = [at for at, heads in enumerate(compiled.layout.heads, 1) if any(h.operations for h in heads)]
    if claiming:
        return record.refuse("hints", f"block {claiming[0]} claims an operation the program does not have")
    record.note("hints", "there is no program; the layout's names are not part of the proof")
    return None


def _largest(network: Transformer, automaton: Semiautomaton, length: int, dtype: str) -> int:
    """By bisection: errors only grow with the length."""
    low, high = 0, length
    while high - low > 1:
        middle = (low + high) // 2
        if attempt(network, automaton, middle, dtype)[1] is None:
            low = middle
        else:
            high = middle
    return low

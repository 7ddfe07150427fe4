"""From a network to a verdict: a witness for the small checker; Theorem 3 has its own last layer."""

from collections.abc import Iterator

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.arithmetic import Arithmetic
from krohn.certify.certificate import Record, Refuted
from krohn.certify.stream import streams_of
from krohn.certify.theorem3_proof import prove_theorem3
from krohn.certify.witness_search import (
    Walk,
    compares_repeating_codes,
    differing_word,
    note_scan,
    note_steps,
    scans,
    walk_through,
    witness_json,
)
from krohn.check.checker import check
from krohn.check.reader import Automaton, Network, network_of
from krohn.check.verdict import Verdict, refusal_of
from krohn.errors import LimitExceeded
from krohn.network.storage import tensors_of
from krohn.network.transformer import Transformer

SMALL = "small checker"
SCAN_WORK = 5e9
SHORT = 4
"""Words up to here are few: a machine can hold whatever a head returns."""
WALK_WORK = 4e8
"""Entries of arrays that a walk through the layers may compute: some seconds."""

Outcome = tuple[Record, Refuted | None, float]


def attempt(network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic) -> Outcome:
    """The small checker; for heads that return positions the proof of Theorem 3 is asked first: it is short.

    Where that theorem is found, no machine holds what heads return, and a long search would find nothing.
    """
    stopped = None
    if returns_positions(network):
        stopped = prove_theorem3(network, checkable(network, automaton)[0], automaton, length, arith)
        if stopped[1] is None or (stopped[0].proof and length > SHORT):
            return stopped
    return small_attempt(network, automaton, length, arith)


def returns_positions(network: Transformer) -> bool:
    """Whether values of the last layer read a channel in which positions have codes, as in Theorem 3."""
    codes = (network.positions != network.positions[-1:]).any(axis=0)
    heads = network.layers[-1].heads if network.layers else ()
    return any(bool((codes & (head.value != 0).any(axis=1)).any()) for head in heads)


def small_attempt(network: Transformer, automaton: Semiautomaton, length: int, arith: Arithmetic) -> Outcome:
    """Every witness that the search finds; of those that are refused, the one that came furthest."""
    return furthest(*checkable(network, automaton), length, arith)


def furthest(
    checked: Network, table: Automaton, length: int, arith: Arithmetic, searched: Network | None = None
) -> Outcome:
    """Every witness that the search finds, in the network itself or in one of the same structure."""
    stopped: Outcome | None = None
    for outcome in _attempts(checked, searched or checked, table, length, arith):
        if outcome[1] is None:
            return outcome
        if stopped is None or stopped[1] is None or outcome[1].layer >= stopped[1].layer:
            stopped = outcome
    if stopped is None:
        record = Record()
        return record, record.refuse("search", "no form of proof fits the network"), 0.0
    return stopped


def checkable(network: Transformer, automaton: Semiautomaton) -> tuple[Network, Automaton]:
    """The same matrices and table for the checker, which reads nothing else."""
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    return network_of(tensors_of(network), shape, network.mask), checkable_table(automaton)


def checkable_table(automaton: Semiautomaton) -> Automaton:
    """Table and outputs alone, without names."""
    shows = np.array(automaton.outputs, dtype=np.int64)
    return Automaton(np.asarray(automaton.table, dtype=np.int64), automaton.start, shows)


def _attempts(
    checked: Network, searched: Network, table: Automaton, length: int, arith: Arithmetic
) -> Iterator[Outcome]:
    """The small checker on every witness the search finds."""
    for scan in scans(searched):
        record, plain = Record(), witness_json(scan)
        verdict = check(checked, table, arith.name, length, plain, SCAN_WORK)
        if verdict.certified:
            note_scan(record, scan, len(checked.layers), verdict.margin)
            record.proof, record.witness = SMALL, plain
        yield record, _refuted(record, verdict, len(checked.layers)), verdict.margin
        if verdict.layer > 1 and length > SHORT:
            return  # a scan, though not one that is proved here: no machine holds its maps
    joined, guessed = searched is not checked, True
    for choices, clock in ((True, True), (False, True), (True, False)):
        if (not choices and not guessed) or (not clock and not compares_repeating_codes(searched)):
            continue
        record, walk = Record(), None
        try:
            walk = walk_through(
                searched, arith.name, length, choices=choices, work=WALK_WORK, joined=joined, clock=clock
            )
            verdict = check(checked, table, arith.name, length, witness_json(walk.witness))
        except LimitExceeded as error:
            verdict = Verdict(False, 0.0, str(error))
        except Exception as error:  # the search is not trusted: what it stumbles over is a refusal
            verdict = refusal_of(error)
        if walk is not None:
            yield _walked(record, walk, verdict, table, length)
        else:
            yield record, _refuted(record, verdict, len(checked.layers)), 0.0
        guessed = walk is None or walk.guessed


def _walked(record: Record, walk: Walk, verdict: Verdict, table: Automaton, length: int) -> Outcome:
    """The whole witness was found; the checker had the last word."""
    depth = len(walk.network.layers)
    word = None if verdict.certified else differing_word(walk, table, length)
    if verdict.certified:
        note_steps(record, walk, verdict.margin)
        record.proof, record.witness = SMALL, witness_json(walk.witness)
        record.streams += streams_of(walk.moments, walk.network)
    return record, _refuted(record, verdict, depth, word), verdict.margin


def _refuted(
    record: Record, verdict: Verdict, depth: int, word: tuple[int, ...] | None = None
) -> Refuted | None:
    if verdict.certified:
        return None
    record.layer = verdict.layer if verdict.layer <= depth else depth + 1
    record.refuse(verdict.place or "proof", verdict.reason)
    return Refuted(verdict.place or "proof", record.layer, verdict.reason, word)

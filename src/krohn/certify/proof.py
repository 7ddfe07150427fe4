"""From a network to a verdict: every witness that the search finds, until the checker accepts one."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Record, Refuted
from krohn.certify.witness_search import Walk, compares_repeating_codes, scans, walk_through
from krohn.certify.witness_text import differing_word, note_scan, note_steps, witness_json
from krohn.check.checker import LAYERED_WORK, WORK, check, fits
from krohn.check.reader import Automaton, Network, network_of
from krohn.check.readout import decode, simulate
from krohn.check.verdict import Budget, Verdict, inside, refusal_of
from krohn.errors import LimitExceeded
from krohn.network.storage import tensors_of
from krohn.network.transformer import Transformer

RUN_ONLY = (
    "heads of the last layer return positions, which no finite machine holds: such a network (Theorem 3 as "
    "printed) is run, not proved; the variant mod of --method grid is proved"
)
SHORT = 4
"""Up to this length there are few words: a machine can hold whatever a head returns."""

Outcome = tuple[Record, Refuted | None, float]


def attempt(
    network: Transformer, automaton: Semiautomaton, length: int, dtype: str, *, once: bool = False
) -> Outcome:
    """The outcome for the first witness that the checker accepts; if none, for the one that got furthest.

    ``once``: a wrong word is known, so no proof exists, and one attempt is enough to say where it fails.
    """
    if length > SHORT and returns_positions(network):  # the search would take minutes and find nothing
        record = Record(layer=network.depth)
        return record, record.refuse("search", RUN_ONLY), 0.0
    return furthest(*checkable(network, automaton), length, dtype, once=once)


def returns_positions(network: Transformer) -> bool:
    """Whether three or more heads of the last of several layers return positions, as in Theorem 3.

    One or two can be compared with each other, or with the current position, and a first layer may have
    several such pairs; with more the search finds nothing.
    """
    if network.depth < 2:
        return False
    codes = (network.positions != network.positions[-1:]).any(axis=0)
    returning = ((codes & (head.value != 0).any(axis=1)).any() for head in network.layers[-1].heads)
    return sum(map(bool, returning)) > 2


def furthest(
    checked: Network,
    table: Automaton,
    length: int,
    dtype: str,
    searched: Network | None = None,
    *,
    once: bool = False,
) -> Outcome:
    """As ``attempt``; witnesses are searched in the network itself, or in one of the same structure."""
    stopped: Outcome | None = None
    with one_thread():
        for outcome in _attempts(checked, searched or checked, table, length, dtype, once=once):
            if outcome[1] is None:
                return outcome
            if stopped is None or stopped[1] is None or outcome[1].layer >= stopped[1].layer:
                stopped = outcome
    if stopped is None:
        record = Record()
        return record, record.refuse("search", "no form of proof fits the network"), 0.0
    return stopped


def one_thread() -> AbstractContextManager[object]:
    """Limits BLAS to one thread: for small products, threads cost more time than they save."""
    limited: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limited


def checkable(network: Transformer, automaton: Semiautomaton) -> tuple[Network, Automaton]:
    """The same matrices and table for the checker, which reads nothing else."""
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    return network_of(tensors_of(network), shape, network.mask), checkable_table(automaton)


def checkable_table(automaton: Semiautomaton) -> Automaton:
    """Table and outputs alone, without names."""
    shows = np.array(automaton.outputs, dtype=np.int64)
    return Automaton(np.asarray(automaton.table, dtype=np.int64), automaton.start, shows)


def _attempts(
    checked: Network, searched: Network, table: Automaton, length: int, dtype: str, *, once: bool
) -> Iterator[Outcome]:
    """The small checker on every witness the search finds."""
    for scan in scans(searched):
        record, plain = Record(), witness_json(scan)
        verdict = check(checked, table, dtype, length, plain)
        if verdict.certified:
            note_scan(record, scan, len(checked.layers), verdict.margin)
            record.witness = plain
        yield record, _refuted(record, verdict, len(checked.layers)), verdict.margin
        if verdict.layer > 1 and length > SHORT:
            return  # a scan that this checker does not prove: no machine holds its maps
    joined, guessed = searched is not checked, True
    for choices, clock in ((True, True), (False, True), (True, False))[: 1 if once else None]:
        if (not choices and not guessed) or (not clock and not compares_repeating_codes(searched)):
            continue
        record, walk = Record(), None
        try:
            work = LAYERED_WORK / 4 if once else LAYERED_WORK
            walk = walk_through(
                searched, dtype, length, choices=choices, work=work, joined=joined, clock=clock
            )
            if not joined and fits(checked, table):  # refuses early: the walk has the checker's own boxes
                read_off(walk, table, length)
            verdict = check(checked, table, dtype, length, witness_json(walk.witness))
        except LimitExceeded as error:
            verdict = Verdict(False, 0.0, str(error))
        except Exception as error:  # the search is not trusted: any error is a refusal
            verdict = refusal_of(error)
        if walk is not None:
            yield _walked(record, walk, verdict, table, length)
        else:
            yield record, _refuted(record, verdict, len(checked.layers)), 0.0
        guessed = walk is None or walk.guessed


def read_off(walk: Walk, table: Automaton, length: int) -> None:
    """The end of a proof: every class decodes, and the machine agrees with the automaton."""
    setting = replace(walk.setting, budget=Budget(WORK))
    with np.errstate(all="ignore"), inside("read-out", len(walk.network.layers) + 1):
        states, _ = decode(setting, walk.moment, walk.network)
        simulate(setting, walk.moment.machine, states, table, length)


def _walked(record: Record, walk: Walk, verdict: Verdict, table: Automaton, length: int) -> Outcome:
    """The outcome for a complete witness, by the checker's verdict."""
    depth = len(walk.network.layers)
    word = None if verdict.certified else differing_word(walk, table, length)
    if verdict.certified:
        note_steps(record, walk, verdict.margin)
        record.witness = witness_json(walk.witness)
    return record, _refuted(record, verdict, depth, word), verdict.margin


def _refuted(
    record: Record, verdict: Verdict, depth: int, word: tuple[int, ...] | None = None
) -> Refuted | None:
    if verdict.certified:
        return None
    record.layer = verdict.layer if verdict.layer <= depth else depth + 1
    record.refuse(verdict.place or "proof", verdict.reason)
    return Refuted(verdict.place or "proof", record.layer, verdict.reason, word)

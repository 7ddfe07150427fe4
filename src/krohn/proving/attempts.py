"""Attempts to prove a Transformer: every witness that the search finds, until the checker accepts one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.threads import one_thread
from krohn.check.arithmetic.format import FORMATS
from krohn.check.files.reader import Automaton, Network, fits, stored
from krohn.check.files.witness import EachWord
from krohn.check.ground import Refused, Verdict, Work, refusal_of
from krohn.check.transformer.checker import LAYERED_WORK, check
from krohn.check.transformer.each_word import cost
from krohn.check.transformer.parts import joined, leaders_of
from krohn.errors import InvalidInput, LimitExceeded
from krohn.network.transformer import Transformer
from krohn.proving.proof_record import ProofRecord, Refutation, note_parts, note_scan, note_steps
from krohn.proving.witness.apart import witness_apart
from krohn.proving.witness.machines import compares_repeating_codes, middle, scans
from krohn.proving.witness.plain import witness_json
from krohn.proving.witness.search import WitnessWalk, begin_walk, checkable, read_off, walk_through

ARITHMETICS = tuple(FORMATS)
RUN_ONLY = (
    "heads of the last layer return positions, which no finite machine holds: such a network (Theorem 3 as "
    "printed) is proved on the shortest words alone, and else run, not proved; the variant mod of "
    "--method grid is proved"
)
SHORT = 4
"""Up to this length there are few words: a machine can hold whatever a head returns."""
MAX_PAIRS = 200_000
"""Pairs of states, one of the machine and one of the automaton, among which a wrong word is sought."""

Outcome = tuple[ProofRecord, Refutation | None, float]


class Manner(NamedTuple):
    """How a machine is followed through the layers.

    ``choices``: a clamped counter may leave its end by any step, which makes smaller machines but fails where
    two counters need it. ``clock``: position codes that repeat are states of the machine; without, they stay
    numbers that heads may compare.
    """

    choices: bool = True
    clock: bool = True


@dataclass(frozen=True)
class Goal:
    """What is to be proved.

    Attributes:
        checked: the network that is proved.
        searched: where witnesses are sought: the network itself, or one of the same structure.
        table: the automaton.
        length: the longest words.
        dtype: the float format.
        once: a wrong word is known, so no proof exists, and one attempt is enough to say where it fails.
        budget: what the search may spend, if it is bounded; no wrong word is sought then. A scan has none,
            and the work of the checker bounds it.
    """

    checked: Network
    searched: Network
    table: Automaton
    length: int
    dtype: str
    once: bool = False
    budget: Work | None = None


def arithmetic(name: str) -> str:
    """The name of a float format, validated."""
    if name not in ARITHMETICS:
        raise InvalidInput(f"dtype must be one of {', '.join(ARITHMETICS)}; got {name!r}")
    return name


def attempt(
    network: Transformer,
    automaton: Semiautomaton,
    length: int,
    dtype: str,
    *,
    once: bool = False,
    budget: Work | None = None,
) -> Outcome:
    """The outcome for the first witness that the checker accepts; if none, for the one that got furthest."""
    checked, table = checkable(network, automaton)
    if returns_positions(network):  # the search would take minutes and find nothing
        return _each_word(checked, table, length, dtype)
    return furthest(Goal(checked, checked, table, length, dtype, once=once, budget=budget))


def _each_word(network: Network, table: Automaton, length: int, dtype: str) -> Outcome:
    """All words, where there are few enough of them."""
    record, depth = ProofRecord(layer=len(network.layers)), len(network.layers)
    if cost(network, length) > LAYERED_WORK:
        return record, record.refuse("search", RUN_ONLY), 0.0
    plain = witness_json(EachWord())
    verdict = check(network, table, dtype, length, plain)
    if verdict.certified:
        record.layer, record.witness = depth + 1, plain
        count = len(network.embedding) ** length
        record.note("words", f"{count:,} words of {length} letters, one after another: each leads")
        record.note("decode", f"the right logit leads by {verdict.margin:.3g} after every letter")
    return record, _refute(record, verdict, depth), verdict.margin


def returns_positions(network: Transformer) -> bool:
    """Whether three or more heads of the last of several layers return positions, as in Theorem 3.

    Two heads that write into one channel are compared there, and do not count. One or two others can be
    compared with the current position; with more the search finds nothing.
    """
    if len(network.layers) < 2:
        return False
    codes = (network.positions != network.positions[-1:]).any(axis=0)
    returning = [
        (np.abs(head.value) * codes[:, None]).sum(axis=0) @ np.abs(head.output) > 0
        for head in network.layers[-1].heads
    ]
    shared = np.sum(returning, axis=0, initial=0) == 2
    alone = (bool(channels.any()) and not (channels & shared).any() for channels in returning)
    return sum(alone) > 2


def furthest(goal: Goal) -> Outcome:
    """As ``attempt``, for networks as the checker reads them."""
    stopped: Outcome | None = None
    with one_thread():
        for outcome in _attempts(goal):
            if outcome[1] is None:
                return outcome
            if stopped is None or stopped[1] is None or outcome[1].layer >= stopped[1].layer:
                stopped = outcome
    if stopped is None:
        record = ProofRecord()
        return record, record.refuse("search", "no form of proof fits the network"), 0.0
    return stopped


def _attempts(goal: Goal) -> Iterator[Outcome]:
    """The small checker on every witness the search finds."""
    depth = len(goal.checked.layers)
    for scan in scans(goal.searched):
        record, plain = ProofRecord(), witness_json(scan)
        verdict = check(goal.checked, goal.table, goal.dtype, goal.length, plain)
        if verdict.certified:
            note_scan(record, scan, depth, verdict.margin)
            record.witness = plain
        yield record, _refute(record, verdict, depth), verdict.margin
        # Refused beyond its first layer it is still a scan, whose maps are too many for a machine to hold.
        if verdict.layer > 1 and goal.length > SHORT:
            return
    yield from _layer_by_layer(goal)


def _layer_by_layer(goal: Goal) -> Iterator[Outcome]:
    """Attempts by parts, or by a machine that is followed through the layers, each in another manner."""
    work = goal.budget or Work(LAYERED_WORK / 4 if goal.once else LAYERED_WORK)  # of all attempts together
    if goal.searched is goal.checked and not goal.once:
        outcome = _apart(goal, work.part(work.left / 2))
        if outcome is not None:
            yield outcome
            if goal.budget is not None:  # one machine would have the states of all parts multiplied
                return
    outcome, has_choices = _follow(goal, Manner(), work)
    yield outcome
    if goal.once:
        return
    if has_choices:
        yield _follow(goal, Manner(choices=False), work)[0]
    if compares_repeating_codes(goal.searched):
        yield _follow(goal, Manner(clock=False), work)[0]


def _apart(goal: Goal, work: Work) -> Outcome | None:
    """The outcome for a witness by parts; ``None`` if the automaton has none."""
    record, depth = ProofRecord(), len(goal.checked.layers)
    try:
        with np.errstate(all="ignore"):
            found = witness_apart(goal.checked, goal.table, goal.dtype, goal.length, work)
    except (LimitExceeded, Refused) as error:
        return record, _refute(record, refusal_of(error), depth), 0.0
    if found is None:
        return None
    witness, walks = found
    plain = witness_json(witness)
    verdict = check(goal.checked, goal.table, goal.dtype, goal.length, plain)
    if verdict.certified:
        note_parts(record, walks, verdict.margin)
        record.witness = plain
    return record, _refute(record, verdict, depth), verdict.margin


def _follow(goal: Goal, manner: Manner, work: Work) -> tuple[Outcome, bool]:
    """The outcome, and whether the machine has choices."""
    rough = goal.searched is not goal.checked
    record, walk, depth = ProofRecord(), None, len(goal.checked.layers)
    searched, table, letters = goal.searched, goal.table, np.arange(len(goal.checked.embedding))
    try:
        if fits(goal.checked, table):
            with np.errstate(all="ignore"):
                letters = leaders_of(stored(goal.checked, FORMATS[goal.dtype]), table)
            searched, table = joined(searched, table, letters)
        walk = begin_walk(searched, goal.dtype, goal.length, work, rough=rough, clock=manner.clock)
        walk.alike = len(letters) < len(goal.checked.embedding)
        walk_through(walk, choices=manner.choices)
        # Unless it is rough, the walk has the checker's own boxes, so this refuses what the checker would.
        if not rough and fits(goal.checked, goal.table):
            read_off(walk, table, goal.length)
        verdict = check(goal.checked, goal.table, goal.dtype, goal.length, witness_json(walk.witness))
    except LimitExceeded as error:
        verdict = Verdict(False, 0.0, str(error))
    except Exception as error:  # the search is not trusted: any error is a refusal
        verdict = refusal_of(error)
    if walk is None or not walk.complete:
        return (record, _refute(record, verdict, depth), 0.0), walk is not None and walk.guessed
    word = None
    if verdict.certified:
        note_steps(record, walk, verdict.margin)
        record.witness = witness_json(walk.witness)
    elif goal.budget is None:
        read = differing_word(walk, table, goal.length)
        word = None if read is None else tuple(letters[[*read]].tolist())
    return (record, _refute(record, verdict, depth, word), verdict.margin), walk.guessed


def differing_word(walk: WitnessWalk, automaton: Automaton, length: int) -> tuple[int, ...] | None:
    """A shortest word on which the machine disagrees with the automaton, if its classes decode at all."""
    logits = middle(walk.moment.box) @ walk.network.readout + walk.network.readout_bias
    machine, states = walk.moment.machine, logits.argmax(axis=1)
    seen: dict[tuple[int, int], tuple[int, ...]] = {(0, automaton.start): ()}
    frontier = list(seen)
    for _ in range(length):
        following = []
        for own, right in frontier:
            word = seen[own, right]
            for at, letter in enumerate(machine.letter.tolist()):
                wanted = int(automaton.table[right, letter])
                if states[machine.shown[own, at]] != automaton.shows[wanted]:
                    return (*word, letter)
                pair = (int(machine.follow[own, at]), wanted)
                if pair not in seen:
                    seen[pair] = (*word, letter)
                    following.append(pair)
        frontier = following
        if not frontier or len(seen) > MAX_PAIRS:
            break
    return None


def _refute(
    record: ProofRecord, verdict: Verdict, depth: int, word: tuple[int, ...] | None = None
) -> Refutation | None:
    if verdict.certified:
        return None
    record.layer = verdict.layer if verdict.layer <= depth else depth + 1
    return record.refuse(verdict.place or "proof", verdict.reason, word)

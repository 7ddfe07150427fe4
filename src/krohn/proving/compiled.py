"""Verifies a compiled network: runs all short words, proves it, checks its description, seeks wrong words.

A proof tries every witness that the search finds, until the checker accepts one. A witness is written out as
JSON data, step by step for people, and as a word that shows it wrong.

Or checks a certificate against a network: the rules alone, on the certificate's witness and the network's own
files. Nothing is searched then and nothing in the certificate is trusted; in addition to ``python -m
krohn.check``, the claim's automaton is compared with the one that the user names, or that the files name.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.arithmetic.format import FORMATS
from krohn.check.certificate import Certificate
from krohn.check.claim import Claim
from krohn.check.files.folders import Net, compiled_net
from krohn.check.files.reader import (
    Attention,
    Automaton,
    Back,
    Cells,
    Fold,
    Merge,
    Network,
    Rule,
    Scan,
    Silent,
    Step,
    Sum,
    Tabulate,
    Witness,
)
from krohn.check.ground import Verdict, Work, inside, refusal_of
from krohn.check.rules import check_certificate
from krohn.check.transformer.checker import LAYERED_WORK, WORK, check, fits
from krohn.check.transformer.mlp import decode, simulate
from krohn.check.transformer.stream import Moment
from krohn.errors import InvalidInput, LimitExceeded, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Transformer
from krohn.proving.claims import Check, Question, certificate_about, claim_about, identify, place
from krohn.proving.outcome import Verification, mismatched
from krohn.proving.witness.machines import compares_repeating_codes, middle, scans
from krohn.proving.witness.search import WitnessWalk, begin_walk, checkable, checkable_table, walk_through
from krohn.proving.word_search import exhaustive, search

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


@dataclass(frozen=True)
class Refutation:
    """Where and why a proof does not go through; ``word``: one on which it fails, where one is known."""

    name: str
    layer: int
    reason: str
    word: tuple[int, ...] | None

    def __str__(self) -> str:
        return self.reason if self.reason.startswith(self.name) else f"{self.name}: {self.reason}"


@dataclass
class ProofRecord:
    """Collects the checks of a proof while it runs, and the one that fails."""

    layer: int = 0  # from 1; 0: the whole network; depth + 1: the read-out
    checks: list[Check] = field(default_factory=list)
    witness: dict[str, Any] | None = None  # as given to the small checker

    def note(self, name: str, text: str, bound: float = 0.0, limit: float = 1.0) -> None:
        """Records a check, by default one that was decided exactly."""
        self.checks.append(Check(name, self.layer, float(bound), float(limit), True, text))

    def refuse(self, name: str, reason: str, word: tuple[int, ...] | None = None) -> Refutation:
        """Records a failed check."""
        self.checks.append(Check.exact(name, self.layer, passed=False, text=reason))
        return Refutation(name, self.layer, reason, word)


KINDS = {Silent: "silent", Sum: "sum", Back: "back", Cells: "cells", Merge: "merge"}


def witness_json(witness: Witness) -> dict[str, Any]:
    """Lists of whole numbers, and the worth of counters; empty arrays state their shape."""
    if isinstance(witness, Scan):
        cuts = [
            [{"stage": stage, "units": _plain(units)} for stage, units in layer] for layer in witness.cuts
        ]
        maps = {key: part for key, part in _parts(witness).items() if key != "cuts"}
        return {"kind": "scan", **maps, **({"cuts": cuts} if cuts else {})}
    clock = {} if witness.clock else {"clock": False}
    return {"kind": "layered", **clock, "steps": [_step(step) for step in witness.steps]}


def _step(step: Step) -> dict[str, Any]:
    if isinstance(step, Merge):
        return {"kind": "merge", **_parts(step)}
    if isinstance(step, Attention):
        heads = [{"kind": KINDS[type(rule)], **_parts(rule)} for rule in step.heads]
        pairs = {"pairs": [_parts(pair) for pair in step.pairs]} if step.pairs else {}
        return {"kind": "attention", **_parts(step.lift), "heads": heads, **pairs}
    return {"kind": "mlp", **_parts(step.lift), **_describe_tabulated(step)}


def _describe_tabulated(step: Tabulate) -> dict[str, Any]:
    folds = np.array([[f.modulus, f.low, f.high] for f in step.folds], dtype=np.int64).reshape(
        len(step.folds), 3
    )
    return {
        "kept": _plain(step.kept),
        "folds": _plain(folds),
        "wide": _plain(step.wide),
        "blocks": 1,
    }


def _parts(item: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(item, field.name)) for field in fields(item)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        numbers = value.astype(np.int64) if value.dtype == bool else value
        return numbers.tolist() if numbers.size else {"shape": list(numbers.shape)}
    return [list(item) for item in value] if isinstance(value, tuple) else value


def note_steps(record: ProofRecord, walk: WitnessWalk, margin: float | None) -> None:
    """A line per head and MLP, then decoding and simulation."""
    record.layer = 0
    for step in walk.steps:
        if isinstance(step, Attention):
            record.layer += 1
            for number, rule in enumerate(step.heads, 1):
                record.note(*_rule_text(number, rule))
        elif isinstance(step, Tabulate):
            states, classes = step.lift.follow.shape[0], int(step.lift.shown.max()) + 1
            folds = ", ".join(_fold_text(fold) for fold in step.folds)
            reads = f"; sums read {folds}" if folds else ""
            record.note("MLP", f"{counted(classes, 'class', 'classes')}, {counted(states, 'state')}{reads}")
    if margin is not None:
        _note_end(record, walk.moment, walk.network, margin)


def note_scan(record: ProofRecord, scan: Scan, depth: int, margin: float) -> None:
    """Windows double layer by layer."""
    for layer in range(1, depth + 1):
        record.layer = layer
        rounds = len(scan.cuts[layer - 1]) if scan.cuts else 0
        text = f"every position stands for a window of {2**layer} letters"
        if rounds:
            text = f"the MLP composes the letters of the whole window in {rounds + 1} rounds"
        record.note("composition", text)
    record.layer = depth + 1
    record.note("intervals", f"the last window reaches the first letter; {scan.letters.shape[1]} points")
    record.note("decode", f"every composition decodes with a margin of {margin:.3g}")
    record.note("simulation", "every composition of letters decodes to the automaton's state")


def _note_end(record: ProofRecord, moment: Moment, network: Network, margin: float) -> None:
    record.layer = len(network.layers) + 1
    logits = middle(moment.box) @ network.readout + network.readout_bias
    ordered = np.sort(logits, axis=1)
    ideal = float((ordered[:, -1] - ordered[:, -2]).min()) if logits.shape[1] > 1 else np.inf
    text = f"{len(logits):,} classes decode by the largest logit"
    if np.isfinite(ideal):
        record.note("decode", text, float(np.maximum(ideal - margin, 0.0)), float(np.maximum(ideal, margin)))
    else:
        record.note("decode", text)
    record.note(
        "simulation",
        f"the machine of {counted(len(moment.machine.follow), 'state')} runs as the automaton does",
    )


def _rule_text(number: int, rule: Rule) -> tuple[str, str]:
    if isinstance(rule, Sum):
        return (
            "prefix sum",
            f"head {number}: equal weights on all letters, {counted(rule.steps.shape[1], 'sum')}",
        )
    if isinstance(rule, Back):
        return "look-back", f"head {number}: {rule.distance} positions back"
    if isinstance(rule, Cells):
        end = "earliest" if rule.earliest else "latest"
        return "memory", f"head {number}: the {end} of the best of {len(rule.member)} kinds"
    return "silent head", f"head {number}: adds nothing"


def _fold_text(fold: Fold) -> str:
    return f"mod {fold.modulus}" if fold.modulus else f"from {fold.low} to {fold.high}"


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
        if not frontier or len(seen) > 200_000:
            break
    return None


RUN_ONLY = (
    "heads of the last layer return positions, which no finite machine holds: such a network (Theorem 3 as "
    "printed) is run, not proved; the variant mod of --method grid is proved"
)
SHORT = 4
"""Up to this length there are few words: a machine can hold whatever a head returns."""

Outcome = tuple[ProofRecord, Refutation | None, float]


def attempt(
    network: Transformer,
    automaton: Semiautomaton,
    length: int,
    dtype: str,
    *,
    once: bool = False,
    budget: Work | None = None,
) -> Outcome:
    """The outcome for the first witness that the checker accepts; if none, for the one that got furthest.

    ``once``: a wrong word is known, so no proof exists, and one attempt is enough to say where it fails.
    The search for a witness may spend the ``budget``, if there is one, and no wrong word is sought then; a
    scan has none, and the work of the checker bounds it.
    """
    if length > SHORT and returns_positions(network):  # the search would take minutes and find nothing
        record = ProofRecord(layer=len(network.layers))
        return record, record.refuse("search", RUN_ONLY), 0.0
    return furthest(*checkable(network, automaton), length, dtype, once=once, budget=budget)


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


def furthest(
    checked: Network,
    table: Automaton,
    length: int,
    dtype: str,
    searched: Network | None = None,
    *,
    once: bool = False,
    budget: Work | None = None,
) -> Outcome:
    """As ``attempt``; witnesses are searched in the network itself, or in one of the same structure."""
    stopped: Outcome | None = None
    with one_thread():
        for outcome in _attempts(
            checked, searched or checked, table, length, dtype, once=once, budget=budget
        ):
            if outcome[1] is None:
                return outcome
            if stopped is None or stopped[1] is None or outcome[1].layer >= stopped[1].layer:
                stopped = outcome
    if stopped is None:
        record = ProofRecord()
        return record, record.refuse("search", "no form of proof fits the network"), 0.0
    return stopped


def one_thread() -> AbstractContextManager[object]:
    """Limits BLAS to one thread: for small products, threads cost more time than they save."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


@cache
def _libraries() -> "ThreadpoolController":
    """The libraries with threads, numpy's among them; looking for them takes longer than a small proof."""
    from threadpoolctl import ThreadpoolController  # lazy import: training loads this module, and needs none

    return ThreadpoolController()


def _attempts(
    checked: Network,
    searched: Network,
    table: Automaton,
    length: int,
    dtype: str,
    *,
    once: bool,
    budget: Work | None,
) -> Iterator[Outcome]:
    """The small checker on every witness the search finds; with a budget, no wrong word is sought."""
    for scan in scans(searched):
        record, plain = ProofRecord(), witness_json(scan)
        verdict = check(checked, table, dtype, length, plain)
        if verdict.certified:
            note_scan(record, scan, len(checked.layers), verdict.margin)
            record.witness = plain
        yield record, _refute(record, verdict, len(checked.layers)), verdict.margin
        # Refused beyond its first layer it is still a scan, whose maps are too many for a machine to hold.
        if verdict.layer > 1 and length > SHORT:
            return
    rough, guessed = searched is not checked, True
    own = budget or Work(LAYERED_WORK / 4 if once else LAYERED_WORK)  # of all attempts together
    # Choices make smaller machines but fail where two counters need them; without a clock, position codes
    # stay numbers that heads may compare.
    for choices, clock in ((True, True), (False, True), (True, False))[: 1 if once else None]:
        if (not choices and not guessed) or (not clock and not compares_repeating_codes(searched)):
            continue
        record, walk = ProofRecord(), None
        try:
            walk = begin_walk(searched, dtype, length, own, rough=rough, clock=clock)
            walk_through(walk, choices=choices)
            if not rough and fits(checked, table):  # refuses early: the walk has the checker's own boxes
                read_off(walk, table, length)
            verdict = check(checked, table, dtype, length, witness_json(walk.witness))
        except LimitExceeded as error:
            verdict = Verdict(False, 0.0, str(error))
        except Exception as error:  # the search is not trusted: any error is a refusal
            verdict = refusal_of(error)
        if walk is not None and walk.complete:
            yield _conclude(record, walk, verdict, table, 0 if budget else length)
        else:
            yield record, _refute(record, verdict, len(checked.layers)), 0.0
        guessed = walk is not None and walk.guessed


def read_off(walk: WitnessWalk, table: Automaton, length: int) -> None:
    """The end of a proof: every class decodes, and the machine agrees with the automaton."""
    setting = replace(walk.setting, budget=Work(WORK))
    with np.errstate(all="ignore"), inside("read-out", len(walk.network.layers) + 1):
        states, _ = decode(setting, walk.moment, walk.network)
        simulate(setting, walk.moment.machine, states, table, length)


def _conclude(
    record: ProofRecord, walk: WitnessWalk, verdict: Verdict, table: Automaton, length: int
) -> Outcome:
    """The outcome for a complete witness, by the checker's verdict; a wrong word has at most ``length``."""
    depth = len(walk.network.layers)
    word = None if verdict.certified else differing_word(walk, table, length)
    if verdict.certified:
        note_steps(record, walk, verdict.margin)
        record.witness = witness_json(walk.witness)
    return record, _refute(record, verdict, depth, word), verdict.margin


def _refute(
    record: ProofRecord, verdict: Verdict, depth: int, word: tuple[int, ...] | None = None
) -> Refutation | None:
    if verdict.certified:
        return None
    record.layer = verdict.layer if verdict.layer <= depth else depth + 1
    return record.refuse(verdict.place or "proof", verdict.reason, word)


ARITHMETICS = tuple(FORMATS)
RULE_SET = "transformer"
OWN_PLACES = ("block ", "read-out", "embedding", "proof")
"""Prefixes of the small checker's refusals, which name their place themselves."""


def arithmetic(name: str) -> str:
    """The name of a float format, validated."""
    if name not in ARITHMETICS:
        raise InvalidInput(f"dtype must be one of {', '.join(ARITHMETICS)}; got {name!r}")
    return name


def verify_compiled(
    compiled: CompiledNetwork, question: Question, *, described: bool = False
) -> Verification:
    """Decides from the weights whether the network is right on every word that was asked for.

    ``described``: whether building it again gives its tensors and its description, which then fits.
    """
    dtype = arithmetic(question.dtype or "float64")
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
        reason="" if failure is None else refutation_text(failure, len(matrices.layers)),
        second_opinion=opinion,
        depth=len(matrices.layers),
        identity=identity,
        certificate=shown if failure is None else None,
    )


def claim_of(
    compiled: CompiledNetwork, automaton: Semiautomaton, dtype: str, length: int
) -> tuple[Net, Claim]:
    """Everything that decides the network's answers, and the claim to be proved."""
    matrices = compiled.transformer
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in matrices.layers]
    names = {"letters": list(automaton.letter_names), "states": list(automaton.state_names)}
    net = compiled_net(matrices.tensors(), shape, "causal", {**names, "target": automaton.target})
    return net, claim_about(net, automaton, length, dtype, RULE_SET)


def refutation_text(failure: Refutation, depth: int) -> str:
    """The cause of a failure, with its place unless the small checker has named it."""
    return (
        failure.reason if failure.name.startswith(OWN_PLACES) else f"{place(failure.layer, depth)}: {failure}"
    )


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


def recheck_net(
    net: Net,
    named: Semiautomaton,
    certificate: Certificate,
    meant: Semiautomaton | None,
    *,
    renamed: bool = False,
    beyond: str = "",
) -> Verification:
    """The verdict on a certificate; ``named`` is the automaton that the files of the network name, ``beyond``
    what was asked and is not claimed.
    """
    identity, claim = identify(named, meant, renamed=renamed), certificate.claim
    reason, verdict = f"identity: {identity.mismatch}" if identity.mismatch else beyond, None
    if not reason and not _same(certificate, identity.automaton):
        reason = "identity: the certificate is about another automaton than the network's files name"
    if not reason:
        with one_thread():
            verdict = check_certificate(net, certificate)
        reason = verdict.reason
    done = verdict is not None and verdict.certified
    lead = f", with a logit margin of {verdict.margin:.6g}" if verdict and verdict.margin else ""
    text = reason or f"the witness holds{lead}"
    layer = 0 if verdict is None else verdict.layer
    return Verification(
        certified=done,
        claim=claim,
        margin=0.0 if verdict is None else verdict.margin,
        checks=(Check.exact("witness", layer, done, text),),
        largest=claim.up_to or 0 if done else 0,
        reason=reason,
        depth=len(net.configuration.get("shape", ())),
        identity=identity,
        certificate=certificate if done else None,
        rechecked=True,
    )


def _same(certificate: Certificate, automaton: Semiautomaton) -> bool:
    """Whether the claim is about this automaton: the same names, table, start and outputs."""
    claim = certificate.claim
    names = (claim.letters, claim.states, claim.target)
    named = (automaton.letter_names, automaton.state_names, automaton.target)
    return names == named and claim.table == replace(claim, automaton=checkable_table(automaton)).table

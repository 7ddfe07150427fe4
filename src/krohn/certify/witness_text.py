"""A witness written out: as JSON data, step by step for people, and as a word that shows it wrong."""

from dataclasses import fields
from typing import Any

import numpy as np

from krohn.certify.certificate import Record
from krohn.certify.witness_machines import middle
from krohn.certify.witness_search import Walk
from krohn.check.machine import Moment
from krohn.check.reader import Automaton, Network
from krohn.check.witness import (
    Attention,
    Back,
    Cells,
    Fold,
    Merge,
    Rule,
    Scan,
    Silent,
    Step,
    Sum,
    Tabulate,
    Witness,
)
from krohn.errors import counted

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
        races = [_parts(race) for race in step.races]
        return {
            "kind": "attention",
            **_parts(step.lift),
            "heads": heads,
            **({"races": races} if races else {}),
        }
    return {"kind": "mlp", **_parts(step.lift), **_tabulated(step)}


def _tabulated(step: Tabulate) -> dict[str, Any]:
    folds = np.array([[f.modulus, f.low, f.high] for f in step.folds], dtype=np.int64).reshape(
        len(step.folds), 3
    )
    return {
        "kept": _plain(step.kept),
        "folds": _plain(folds),
        "wide": _plain(step.wide),
        "blocks": step.blocks,
        "cut": step.cut,
    }


def _parts(item: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(item, field.name)) for field in fields(item)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        kept = value.astype(np.int64) if value.dtype == bool else value
        return kept.tolist() if kept.size else {"shape": list(kept.shape)}
    return [list(item) for item in value] if isinstance(value, tuple) else value


def note_steps(record: Record, walk: Walk, margin: float | None) -> None:
    """A line per head and MLP, then decoding and simulation."""
    record.layer = 0
    for step in walk.steps:
        if isinstance(step, Attention):
            record.layer += 1
            for number, rule in enumerate(step.heads, 1):
                record.note(*_rule_text(number, rule))
        elif isinstance(step, Tabulate) and step.blocks:
            states, classes = step.lift.follow.shape[0], int(step.lift.shown.max()) + 1
            folds = ", ".join(_fold_text(fold) for fold in step.folds)
            reads = f"; sums read {folds}" if folds else ""
            record.note("MLP", f"{counted(classes, 'class', 'classes')}, {counted(states, 'state')}{reads}")
        elif not isinstance(step, (Merge, Attention)):
            record.note("residue", "sums that a head looks at are written out")
    if margin is not None:
        _note_end(record, walk.moment, walk.network, margin)


def note_scan(record: Record, scan: Scan, depth: int, margin: float) -> None:
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


def _note_end(record: Record, moment: Moment, network: Network, margin: float) -> None:
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


def differing_word(walk: Walk, automaton: Automaton, length: int) -> tuple[int, ...] | None:
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

"""A witness as JSON data, the form that a certificate holds and that the checker reads."""

from dataclasses import fields
from typing import Any

import numpy as np

from krohn.check.witness import Attention, Back, Cells, Merge, Scan, Silent, Step, Sum, Tabulate, Witness

KINDS = {Silent: "silent", Sum: "sum", Back: "back", Cells: "cells", Merge: "merge"}


def witness_json(witness: Witness) -> dict[str, Any]:
    """Lists of whole numbers, and the worth of counters; empty arrays state their shape."""
    if isinstance(witness, Scan):
        return {"kind": "scan", **_parts(witness)}
    return {"kind": "layered", "steps": [_step(step) for step in witness]}


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

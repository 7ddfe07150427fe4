"""A witness as plain data: what a certificate holds, and what the small checker is given."""

from dataclasses import fields
from typing import Any

import numpy as np

from krohn.check.files.witness import (
    Attention,
    Back,
    Cells,
    EachWord,
    Merge,
    Parts,
    Scan,
    Silent,
    Step,
    Sum,
    Tabulate,
    Witness,
)

KINDS = {Silent: "silent", Sum: "sum", Back: "back", Cells: "cells", Merge: "merge"}


def witness_json(witness: Witness) -> dict[str, Any]:
    """Lists of whole numbers, and the worth of counters; empty arrays state their shape."""
    if isinstance(witness, Parts):
        own = ({**_parts(part), "proof": witness_json(part.proof)} for part in witness.parts)
        return {"kind": "parts", "parts": list(own)}
    if isinstance(witness, EachWord):
        return {"kind": "words"}
    if isinstance(witness, Scan):
        cuts = [
            [{"stage": stage, "units": _plain(units)} for stage, units in layer] for layer in witness.cuts
        ]
        maps = {key: part for key, part in _parts(witness).items() if key != "cuts"}
        return {"kind": "scan", **maps, **({"cuts": cuts} if cuts else {})}
    clock = {} if witness.clock else {"clock": False}
    alike = {"alike": True} if witness.alike else {}
    return {"kind": "layered", **clock, **alike, "steps": [_step(step) for step in witness.steps]}


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

"""Results of trained networks for the page: depth map, curves, runs, attention beside the compiled one."""

import base64
import statistics
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import named
from krohn.construct.compiling import compile
from krohn.errors import KrohnError
from krohn.network.explanation import explain_word

GALLERY = (
    *("Grid4", "Grid9", "Dyck4,2"),
    *(f"C{order}" for order in range(2, 9)),
    *("C2xC2", "C2xC2xC2", "D6", "D8", "Q8", "A4", "S4", "A5", "S5"),
)


SHOWN = 64
"""Positions of an attention map that are drawn."""

MAX_POINTS = 60
MAP = "depth"
"""The experiment whose cells are an automaton and a number of layers."""


# Records and memberships of a store, which belong to the lab: nothing here loads it.
Replicate = Any
MapCell = Any


def results_view(records: Iterable[Replicate], members: Iterable[MapCell]) -> dict[str, Any]:
    """Runs by id, the cells of the depth map, and the stored attention maps."""
    by_run: dict[str, list[Replicate]] = {}
    for record in records:
        by_run.setdefault(record.run_id, []).append(record)
    cells = [
        {"task": str(m.label["task"]), "depth": int(m.label["depth"]), "run": m.run_id}
        for m in members
        if m.experiment == MAP and {"task", "depth"} <= set(m.label) and m.run_id in by_run
    ]
    cells.sort(key=lambda cell: (_rank(str(cell["task"])), cell["depth"]))
    attention = [view for group in by_run.values() for record in group if (view := _attention(record))]
    wanted = {cell["run"] for cell in cells} | {view["run"] for view in attention}
    runs = {run: _run(group) for run, group in by_run.items() if run in wanted}
    return {"depth": cells, "runs": runs, "attention": attention}


def _rank(task: str) -> tuple[int, str]:
    """Sort key: order of the gallery, other tasks after it by name."""
    return (GALLERY.index(task) if task in GALLERY else len(GALLERY), task)


def _run(group: list[Replicate]) -> dict[str, Any]:
    first = group[0]
    task, model = dict(first.config.get("task", {})), dict(first.config.get("model", {}))
    accuracies = [record.accuracy for record in group]
    return {
        "task": task.get("spec", "?"),
        "length": task.get("length"),
        **{key: model.get(key) for key in ("layers", "dim", "heads")},
        "kind": model.get("kind", "?"),
        "best": max(accuracies),
        "median": statistics.median(accuracies),
        "replicates": [_replicate(record) for record in sorted(group, key=lambda record: record.replicate)],
    }


def _replicate(record: Replicate) -> dict[str, Any]:
    curve = record.metrics.get("curve") or {}
    steps, values = curve.get("step", []), curve.get("accuracy", [])
    every = -(-len(steps) // MAX_POINTS) or 1
    return {
        "number": record.replicate,
        "accuracy": round(record.accuracy, 5),
        "sequences": record.sequences,
        "seconds": record.metrics.get("seconds"),
        "steps": list(steps[::every]),
        "curve": [round(value, 3) for value in values[::every]],
    }


def _attention(record: Replicate) -> dict[str, Any] | None:
    """The stored attention maps of a trained network beside those of the compiled one, on the same word."""
    stored = (record.metrics.get("evaluations") or {}).get("attention") or {}
    spec = str(dict(record.config.get("task", {})).get("spec", ""))
    if not stored.get("maps") or not stored.get("states"):
        return None
    try:
        automaton = named(spec)
    except KrohnError:
        return None
    states = [int(state) for state in stored["states"][0]][:SHOWN]
    word = _word(automaton, states)
    if word is None:
        return None
    return {
        "run": record.run_id,
        "replicate": record.replicate,
        "task": spec,
        "accuracy": round(record.accuracy, 5),
        "letters": [automaton.letter_names[letter] for letter in word],
        "states": [automaton.state_names[state] for state in states],
        "trained": [_describe_trained(item) for item in stored["maps"]],
        "compiled": _describe_compiled(automaton, word),
    }


def _word(automaton: Semiautomaton, states: list[int]) -> list[int] | None:
    """A word with these states: the first letter that makes each step."""
    word, here = [], automaton.start
    for state in states:
        ways = np.flatnonzero(automaton.table[here] == state)
        if not len(ways):
            return None
        word.append(int(ways[0]))
        here = state
    return word


def _describe_trained(item: Mapping[str, Any]) -> dict[str, Any]:
    packed = item["weights"]
    values = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), dtype=np.uint8)
    first = values.reshape(packed["shape"])[0]
    layer, head = int(item["layer"]) + 1, int(item["head"]) + 1
    return {"name": f"layer {layer}, head {head}", "text": "trained", **_map(first[:SHOWN, :SHOWN])}


def _describe_compiled(automaton: Semiautomaton, word: list[int]) -> list[dict[str, Any]]:
    network = compile(automaton, len(word), unproved=True)
    seen = explain_word(network, word)
    padding = network.transformer.num_padding
    return [
        {
            "name": f"layer {view.layer + 1}, head {view.number + 1}",
            "text": view.text,
            **_map(np.rint(view.weights[padding:, padding:] * 255)),
        }
        for view in seen.heads
    ]


def _map(values: npt.NDArray[Any]) -> dict[str, Any]:
    """A square of bytes, 255 for weight 1."""
    return {"size": len(values), "data": base64.b64encode(values.astype(np.uint8).tobytes()).decode()}

"""Which property of an automaton predicts the layers that training needs? Tested on held-out automata.

    python tools/held_out.py predict     # once, before their runs: writes results/sample-predictions.json
    python tools/held_out.py score       # prints the table that published_tables.py puts into the page

Models of the least depth are fitted on the first 24 random automata and predict the other 16.
The file with the predictions was committed before those were run and is not written again.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from learned_depth import (
    FITTED,
    ROOT,
    Fit,
    Line,
    atlas_depths,
    called,
    fit,
    interval,
    line_of,
    markdown,
    rows_of,
    specs,
)
from numpy.typing import NDArray

from krohn.lab.experiments.experiment import Row

FILE = ROOT / "results" / "sample-predictions.json"
MODELS: dict[str, tuple[str, ...]] = {
    "no property": (),
    "order": ("order",),
    "compiled layers": ("compiled",),
    "derived length": ("derived_length",),
    "non-abelian": ("non_abelian",),
    "verdict": ("verdict",),
    "levels": ("levels",),
    "order and non-abelian": ("order", "non_abelian"),
}
"""The properties that each model uses."""
LOGARITHMS = ("order", "compiled", "levels")
CLASSES = ("1", "2", "more than 2")
EDGES = (-math.inf, 0.0, 1.0, math.inf)
"""Edges of the classes, as log₂ of the least depth."""
DOUBT = 0.01
"""Added to the probability of each class, so that none is 0."""


Properties = Mapping[str, float]


def properties_of(line: Line) -> Properties:
    return {name: getattr(line, name) for names in MODELS.values() for name in names}


def places(known: Sequence[Properties], names: Sequence[str]) -> NDArray[np.float64]:
    """The design matrix: an intercept and the properties of each automaton, some as logarithms."""
    return np.array(
        [
            [1.0, *(math.log2(one[name]) if name in LOGARITHMS else float(one[name]) for name in names)]
            for one in known
        ]
    )


def fitted(known: Sequence[Properties], between: Sequence[Sequence[float]]) -> dict[str, Fit]:
    """Maximum-likelihood fit of each model, given intervals that contain the least depths."""
    with np.errstate(divide="ignore"):
        low, high = np.log2(np.array(between, dtype=float)).T
    return {name: fit(places(known, names), low, high) for name, names in MODELS.items()}


def chances(model: Fit, place: NDArray[np.float64]) -> list[float]:
    """The predicted probability of each class for an automaton."""
    middle = float(place @ model.slopes)
    below = [0.5 * math.erfc((middle - edge) / model.spread / math.sqrt(2)) for edge in EDGES]
    shares = [high - low + DOUBT for low, high in pairwise(below)]
    return [share / sum(shares) for share in shares]


def prediction() -> dict[str, Any]:
    """Models fitted on the first automata, and their predictions for the others."""
    rows, atlas = rows_of("sample"), atlas_depths()
    known = {spec: properties_of(line_of(spec, rows, *atlas[spec])) for spec in specs()}
    first = specs()[:FITTED]
    intervals = [interval(spec, "", rows) for spec in first]
    between = [[one.low, None if one.high == math.inf else one.high] for one in intervals if one]
    assert len(between) == FITTED, "each of them was run"
    models = fitted([known[spec] for spec in first], bounds(between))
    return {
        "fitted_on": {
            spec: {"between": ends, "properties": known[spec]}
            for spec, ends in zip(first, between, strict=True)
        },
        "classes": list(CLASSES),
        "models": {
            name: {
                "properties": list(MODELS[name]),
                "slopes": [round(float(slope), 4) for slope in model.slopes],
                "spread": round(model.spread, 4),
                "log_likelihood": round(model.log_likelihood, 2),
            }
            for name, model in models.items()
        },
        "automata": {
            spec: {
                "properties": known[spec],
                "chances": {
                    name: [
                        round(chance, 3) for chance in chances(model, places([known[spec]], MODELS[name])[0])
                    ]
                    for name, model in models.items()
                },
            }
            for spec in specs()[FITTED:]
        },
    }


def bounds(between: Sequence[Sequence[float | None]]) -> list[list[float]]:
    """Intervals (low, high] with JSON's null replaced by infinity."""
    return [[math.inf if end is None else end for end in ends] for ends in between]


def seen(task: str, rows: list[Row]) -> int | None:
    """The class that was observed; ``None`` if the runs do not decide it."""
    depth = interval(task, "", rows)
    if depth is None or (depth.high == math.inf and depth.low < 2):
        return None
    return {1.0: 0, 2.0: 1}.get(depth.high, 2)


def scored(predictions: dict[str, Any], rows: list[Row]) -> dict[str, tuple[float, int, int]]:
    """For each model: log score, how often its likeliest class was right, and the number of automata."""
    known = {task: place for task in predictions["automata"] if (place := seen(task, rows)) is not None}
    return {
        name: (
            sum(
                math.log(predictions["automata"][task]["chances"][name][place])
                for task, place in known.items()
            ),
            sum(
                int(np.argmax(predictions["automata"][task]["chances"][name])) == place
                for task, place in known.items()
            ),
            len(known),
        )
        for name in predictions["models"]
    }


def blocks() -> dict[str, str]:
    """The tables of the page: predictions with outcomes, and the score of each model."""
    predictions, rows = json.loads(FILE.read_text()), rows_of("sample")
    names = ("order", "compiled layers", "non-abelian")
    header = ["table", "order", "compiled", "derived length"]
    header += [f"{name}: chance of {' / '.join(CLASSES)}" for name in names] + ["learned", "best by layers"]
    body = []
    for task, one in predictions["automata"].items():
        own = sorted((row for row in rows if row["task"] == task), key=lambda row: int(row["depth"]))
        depth = interval(task, "", rows)
        properties = one["properties"]
        body.append(
            [
                task.removeprefix("table:"),
                *(f"{properties[name]:.0f}" for name in ("order", "compiled", "derived_length")),
                *(" / ".join(f"{100 * chance:.0f}" for chance in one["chances"][name]) for name in names),
                str(depth) if depth else "not run",
                ", ".join(f"{row['depth']}: {100 * row['max_accuracy']:.1f}%" for row in own),
            ]
        )
    scores = scored(predictions, rows)
    lines = [
        [
            name if name in ("no property", "order and non-abelian") else called(name),
            f"{predictions['models'][name]['log_likelihood']:.1f}",
            f"{score:.1f}",
            f"{right} of {count}",
        ]
        for name, (score, right, count) in sorted(scores.items(), key=lambda item: -item[1][0])
    ]
    return {
        "held-out": markdown(header, body),
        "held-out-scores": markdown(
            [
                "model",
                f"log-likelihood on the first {FITTED}",
                "log score on the others",
                "likeliest class right",
            ],
            lines,
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["predict", "score"])
    if parser.parse_args().what == "score":
        print("\n\n".join(blocks().values()))
    elif FILE.exists():
        parser.error(f"{FILE.name} is there: predictions are made once, before the runs")
    else:
        FILE.write_text(json.dumps(prediction(), indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The report, as JSON and in words. Correlation alone never counts as held."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from krohn.notebook import frame
from krohn.study.findings import Finding, Share
from krohn.study.heads import HeadReport
from krohn.study.variables import Variable

if TYPE_CHECKING:
    from krohn.notebook import DataFrame

HELD_FROM = 0.9
"""Lower end of the causal interval, and share of quiet swaps, from which a variable is said to be held."""

PARTLY_FROM = 0.5
ABOVE_CHANCE = 0.1
"""Least lead of the causal share over chance (permuted answers) for a variable to count as partly held."""

READ_FROM = 0.9
"""Share of the baseline's errors that a probe must remove for a variable to count as readable."""

FAMILIES = {
    "scan": "a scan",
    "cascade": "coordinates of a cascade",
    "count": "counts",
    "memory": "a memory of the last reset",
    "look back": "letters kept from shortly before",
}
"""Families that the verdict mentions even if none of their variables is held."""


@dataclass(frozen=True)
class Report:
    """One network: every variable after every layer, every head, and the verdict."""

    network: str
    kind: str
    automaton: str
    length: int
    layers: int
    dim: int
    seed: int
    effort: float
    accuracy: Share
    found: tuple[tuple[Variable, tuple[Finding, ...]], ...]
    whole: tuple[dict[str, Share], ...]
    heads: tuple[HeadReport, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Report on {self.network[:60]}: {verdict(self)[:110]}>"

    def to_frame(self) -> "DataFrame":
        """One row for each variable and layer."""
        return frame(self.to_json()["variables"])

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and strings; ``variables`` has one entry for each variable and layer."""
        plain = ("network", "kind", "automaton", "length", "layers", "dim", "seed", "effort")
        return {
            **{name: getattr(self, name) for name in plain},
            "accuracy": asdict(self.accuracy),
            "verdict": verdict(self),
            "variables": [_row(variable, finding) for variable, rows in self.found for finding in rows],
            "whole": [{name: asdict(share) for name, share in row.items()} for row in self.whole],
            "heads": [asdict(head) for head in self.heads],
            "notes": list(self.notes),
        }


def status(finding: Finding) -> str:
    """``held``, ``with the state``, ``read-out``, ``partly``, ``readable`` (by a probe only) or ``no``.

    ``with the state``: swaps follow, but no pair of words separates the variable from the state itself.
    ``read-out``: swaps follow after the last block, which shows how the state is written, not how it is
    computed.
    """
    result = _status(finding)
    moved = finding.role.startswith("moved")
    return "read-out" if finding.final and not moved and result in ("held", "partly") else result


def _status(finding: Finding) -> str:
    if finding.causal is not None:
        quiet = 1.0 if finding.stays is None else finding.stays.value
        if finding.causal.low >= HELD_FROM and quiet >= HELD_FROM:
            return "with the state" if finding.alike else "held"
        beyond = max((share.high for share in finding.controls.values()), default=0.0)
        lucky = finding.causal.value - (finding.chance or 0.0) < ABOVE_CHANCE
        moved = finding.role.startswith("moved")  # then few answers are possible: chance is uninformative
        if finding.causal.low > max(PARTLY_FROM, beyond) and quiet >= PARTLY_FROM and (moved or not lucky):
            return "partly"
    return "readable" if _gain(finding) >= READ_FROM else "no"


def _gain(finding: Finding) -> float:
    left = 1 - finding.baseline
    return (finding.probe.value - finding.baseline) / left if left > 0 else 0.0


def _row(variable: Variable, finding: Finding) -> dict[str, Any]:
    causal, control = finding.causal, finding.control
    return {
        "name": variable.name,
        "aliases": list(variable.aliases),
        "family": variable.family,
        "text": variable.text,
        "layer": finding.layer,
        "status": status(finding),
        "causal": None if causal is None else causal.value,
        "causal_interval": None if causal is None else [causal.low, causal.high],
        "stays": None if finding.stays is None else asdict(finding.stays),
        "control": control,
        "chance": finding.chance,
        "controls": {name: asdict(share) for name, share in finding.controls.items()},
        "rest": None if finding.rest is None else asdict(finding.rest),
        "variance": None if finding.variance is None else asdict(finding.variance),
        "probe": finding.probe.value,
        "probe_interval": [finding.probe.low, finding.probe.high],
        "baseline": finding.baseline,
        "selectivity": finding.selectivity,
        "role": finding.role,
        "dimension": finding.dimension,
        "ridge": finding.ridge,
        "pairs": finding.pairs,
        "alike": finding.alike,
        "by_place": list(finding.by_place),
    }


def verdict(report: Report) -> str:
    """A sentence or two with numbers."""
    held = [text for variable, rows in report.found for text in _held(variable, rows, "held")]
    alike = [text for variable, rows in report.found for text in _held(variable, rows, "with the state")]
    partly = [text for variable, rows in report.found for text in _held(variable, rows, "partly")]
    parts = ["; ".join(held) if held else "nothing is held that the algebra names"]
    parts += [f"not told from the state: {'; '.join(alike)}"] if alike else []
    parts += [f"partly: {'; '.join(partly)}"] if partly else []
    parts += [*_missing(report), *_whole(report)]
    return ". ".join(part[0].upper() + part[1:] for part in parts) + "."


def _held(variable: Variable, rows: tuple[Finding, ...], wanted: str) -> Iterator[str]:
    """``NAME after layers 1–2, causal 98% [95–99]``, for each run of layers; not the trivial ones."""
    chosen = [row for row in rows if status(row) == wanted and not _trivial(variable, row)]
    for _, run in groupby(enumerate(chosen), key=lambda pair: pair[1].layer - pair[0]):
        group = [row for _, row in run]
        worst = min(group, key=lambda row: row.causal.value if row.causal else 0.0)
        where = _layers(group[0].layer, group[-1].layer)
        assert worst.causal is not None
        yield f"{variable.title} {where}, causal {_percent(worst.causal)}"


def _trivial(variable: Variable, row: Finding) -> bool:
    """Every network has the letter in its embedding."""
    return variable.family == "letter" and row.layer == 0


def _layers(first: int, last: int) -> str:
    if first == last:
        return f"after layer {first}" if first else "in the embedding"
    return f"after layers {first}–{last}" if first else f"from the embedding to layer {last}"


def _percent(share: Share) -> str:
    return f"{100 * share.value:.0f}% [{100 * share.low:.0f}–{100 * share.high:.0f}]"


def _whole(report: Report) -> Iterator[str]:
    """The layer up to which a position is only its letter, and from which it is its state."""
    letter = [layer for layer, row in enumerate(report.whole) if row["letter"].low >= HELD_FROM]
    state = [layer for layer, row in enumerate(report.whole) if row["state"].low >= HELD_FROM]
    if letter and letter[-1] > 0:
        share = report.whole[letter[-1]]["letter"]
        yield (
            f"up to layer {letter[-1]} a whole position swapped brings its letter alone ({_percent(share)}): "
            "all else still comes from earlier positions"
        )
    if state:
        share = report.whole[state[0]]["state"]
        yield f"a whole position swapped brings its state from layer {state[0]} on ({_percent(share)})"


def _missing(report: Report) -> Iterator[str]:
    """For each family without a held variable, its best score, and whether a probe reads it."""
    for family, text in FAMILIES.items():
        rows = [(v, row) for v, result in report.found if v.family == family for row in result]
        if not rows or any(status(row) in ("held", "with the state", "partly") for _, row in rows):
            continue
        asked = [(v, row) for v, row in rows if row.causal is not None and not row.final]
        read = [v.name for v, row in rows if status(row) == "readable"]
        also = f"; a probe reads {', '.join(dict.fromkeys(read))}, but swaps do not follow" if read else ""
        if not asked:
            yield f"nothing causal can be said about {text}{also}"
            continue
        best, row = max(asked, key=lambda pair: pair[1].causal.value if pair[1].causal else 0.0)
        assert row.causal is not None
        near = row.causal.value - (row.chance or 0.0) < ABOVE_CHANCE
        held = "no more than chance" if near else "not held"
        yield (
            f"{text}: {held} (at most {_percent(row.causal)}, chance "
            f"{100 * (row.chance or 0.0):.0f}%: {best.name}, {_layers(row.layer, row.layer)}{also})"
        )

"""The report on a network, and its verdict in words. Correlation alone never counts as held."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from krohn.base.files import check_output, write_text
from krohn.base.notebook import frame, html_lines
from krohn.errors import counted
from krohn.lab.interpret.findings import Finding, Share
from krohn.lab.interpret.head_patterns import HeadReport
from krohn.lab.interpret.report_page import html, text_of
from krohn.lab.interpret.variables import Variable
from krohn.proving.by_position import ByPosition, percent

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


HELD_FROM = 0.9
"""Lower end of the causal interval, and share of quiet swaps, from which a variable is said to be held, if
that end is above the upper end of every control."""

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
    """One network: every variable after every block, every head, and the verdict.

    ``length`` is that of the words studied: it was ``given``, or chosen by what was ``measured`` by position.
    """

    network: str
    kind: str
    automaton: str
    length: int
    layers: int
    dim: int
    seed: int
    effort: float
    accuracy: Share
    by_position: ByPosition
    length_is: Literal["given", "measured"]
    variables: tuple[tuple[Variable, tuple[Finding, ...]], ...]
    whole: tuple[dict[str, Share], ...]
    heads: tuple[HeadReport, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Report on {self.network[:60]}: {verdict(self)[:110]}>"

    def text(self) -> str:
        """The verdict, the table, the heads."""
        return text_of(self.to_json())

    def _repr_html_(self) -> str:
        return html_lines(self.text())

    def save(self, path: str | Path) -> None:
        """Writes the page."""
        check_output(Path(path), ".html")
        write_text(Path(path), html(self.to_json()))

    def to_frame(self) -> "DataFrame":
        """One row for each variable and block."""
        return frame(self.to_json()["variables"])

    def to_json(self) -> dict[str, Any]:
        """Plain numbers and strings; ``variables`` has one entry for each variable and block (``layer``)."""
        plain = ("network", "kind", "automaton", "length", "layers", "dim", "seed", "effort")
        return {
            **{name: getattr(self, name) for name in plain},
            "accuracy": asdict(self.accuracy),
            "by_position": self.by_position.to_json(),
            "verdict": verdict(self),
            "variables": [_row(variable, finding) for variable, rows in self.variables for finding in rows],
            "whole": [{name: asdict(share) for name, share in row.items()} for row in self.whole],
            "heads": [asdict(head) for head in self.heads],
            "notes": list(self.notes),
        }


def status(finding: Finding) -> str:
    """``held``, ``with the state``, ``as a control``, ``read-out``, ``partly``, ``readable`` or ``no``.

    ``with the state``: swaps follow, but no pair of words separates the variable from the state itself.
    ``as a control``: swaps follow, but no more than those of a control. ``readable``: by a probe only.
    ``read-out``: swaps follow after the last block, which shows how the state is written, not how it is
    computed.
    """
    result = _status(finding)
    moved = finding.role.startswith("moved")
    return "read-out" if finding.final and not moved and result in ("held", "partly") else result


def _status(finding: Finding) -> str:
    if finding.causal is not None:
        quiet = 1.0 if finding.stays is None else finding.stays.value
        strongest = max((share.high for share in finding.controls.values()), default=0.0)
        if finding.causal.low >= HELD_FROM and quiet >= HELD_FROM:
            if finding.causal.low <= strongest:
                return "as a control"
            return "with the state" if finding.alike else "held"
        lucky = finding.causal.value - (finding.chance or 0.0) < ABOVE_CHANCE
        moved = finding.role.startswith("moved")  # then few answers are possible: chance is uninformative
        if finding.causal.low > max(PARTLY_FROM, strongest) and quiet >= PARTLY_FROM and (moved or not lucky):
            return "partly"
    return "readable" if _gain(finding) >= READ_FROM else "no"


def _gain(finding: Finding) -> float:
    left = 1 - finding.baseline
    return (finding.probe.value - finding.baseline) / left if left > 0 else 0.0


def _row(variable: Variable, finding: Finding) -> dict[str, Any]:
    """A finding as plain values: of the two main shares the value, and the interval beside it."""
    causal, probe = finding.causal, finding.probe
    return asdict(finding) | {
        "name": variable.name,
        "aliases": list(variable.aliases),
        "family": variable.family,
        "text": variable.text,
        "status": status(finding),
        "causal": None if causal is None else causal.value,
        "causal_interval": None if causal is None else [causal.low, causal.high],
        "control": finding.control,
        "probe": probe.value,
        "probe_interval": [probe.low, probe.high],
    }


def verdict(report: Report) -> str:
    """A sentence for everybody, then what was measured, with numbers."""
    held = [text for variable, rows in report.variables for text in _held(variable, rows, "held")]
    alike = [text for variable, rows in report.variables for text in _held(variable, rows, "with the state")]
    partly = [text for variable, rows in report.variables for text in _held(variable, rows, "partly")]
    chance = [text for variable, rows in report.variables for text in _held(variable, rows, "as a control")]
    parts = [sentence(report), "; ".join(held) if held else "nothing is held that the algebra names"]
    parts += [f"indistinguishable from the state: {'; '.join(alike)}"] if alike else []
    parts += [f"partly: {'; '.join(partly)}"] if partly else []
    parts += [f"followed no more than a control: {'; '.join(chance)}"] if chance else []
    parts += [*_missing(report), *_whole(report)]
    return ". ".join(part[0].upper() + part[1:] for part in parts) + "."


NAMED = 3
"""Variables that the first sentence names."""
HOW = {
    "with": "held",
    "with what no pair of words tells from the state:": "with the state",
    "in part with": "partly",
    "perhaps, as swaps of a control are followed too, with": "as a control",
}
"""What the first sentence says of variables, and which status they have; the first that some variable has."""


def _where(report: Report) -> str:
    """The words that were studied, why these, and the accuracy by position."""
    words = f"in words of {counted(report.length, 'letter')}"
    longest, share = report.by_position.best(2)
    if report.length_is == "measured" and share is None:
        words += ", none of any length being 90% right"
    elif report.length_is == "measured" and report.length == longest < report.by_position.length:
        words += f", the longest with {share:.0%} right"
    return f"{words} ({report.by_position.text()})"


def sentence(report: Report) -> str:
    """How often the network is right, and what it computes with, in the order of blocks."""
    share = report.accuracy.value
    right = "every letter tried" if share == 1 else f"{percent(share)} of the letters"
    right = f"{right} {_where(report)}"
    for how, wanted in HOW.items():
        first = [
            (min(layers), f"the {variable.name} (block {min(layers)})")
            for variable, rows in report.variables
            if variable.family != "letter"
            and (layers := [row.layer for row in rows if row.layer and status(row) == wanted])
        ]
        if first:
            names = [name for _, name in sorted(first, key=lambda one: one[0])]
            more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
            said = names[:NAMED] + more
            listed = " and ".join([*([", ".join(said[:-1])] if said[:-1] else []), said[-1]])
            return f"the network is right after {right}, and computes {how} {listed}"
    tried = f"{len(report.variables)} tried"
    return (
        f"the network is right after {right}; no quantity of its automaton was found at work in it ({tried})"
    )


def _held(variable: Variable, rows: tuple[Finding, ...], wanted: str) -> Iterator[str]:
    """``NAME after blocks 1–2, causal 98% [95–99]``, for each run of blocks; not the trivial ones."""
    chosen = [row for row in rows if status(row) == wanted and not _trivial(variable, row)]
    for _, run in groupby(enumerate(chosen), key=lambda pair: pair[1].layer - pair[0]):
        group = [row for _, row in run]
        worst = min(group, key=lambda row: row.causal.value if row.causal else 0.0)
        where = _layers(group[0].layer, group[-1].layer)
        assert worst.causal is not None
        text = f"{variable.title} {where}, causal {_percent(worst.causal)}"
        if wanted == "as a control":
            name, share = max(worst.controls.items(), key=lambda pair: pair[1].high)
            text += f", {name} {_percent(share)}"
        yield text


def _trivial(variable: Variable, row: Finding) -> bool:
    """Every network has the letter in its embedding."""
    return variable.family == "letter" and row.layer == 0


def _layers(first: int, last: int) -> str:
    if first == last:
        return f"after block {first}" if first else "in the embedding"
    return f"after blocks {first}–{last}" if first else f"from the embedding to block {last}"


def _percent(share: Share) -> str:
    return f"{100 * share.value:.0f}% [{100 * share.low:.0f}–{100 * share.high:.0f}]"


def _whole(report: Report) -> Iterator[str]:
    """The block up to which a position is only its letter, and from which it is its state."""
    layers = list(enumerate(report.whole))
    letter = list(takewhile(lambda one: one[1]["letter"].low >= HELD_FROM, layers))
    state = list(takewhile(lambda one: one[1]["state"].low >= HELD_FROM, reversed(layers)))
    if len(letter) > 1:
        share = min((row["letter"] for _, row in letter), key=lambda share: share.value)
        yield (
            f"up to block {letter[-1][0]} a whole position swapped brings its letter alone "
            f"({_percent(share)}): all else still comes from earlier positions"
        )
    if state:
        share = min((row["state"] for _, row in state), key=lambda share: share.value)
        yield f"a whole position swapped brings its state from block {state[-1][0]} on ({_percent(share)})"


def _missing(report: Report) -> Iterator[str]:
    """For each family without a held variable, its best score, and whether a probe reads it."""
    for family, text in FAMILIES.items():
        rows = [(v, row) for v, result in report.variables if v.family == family for row in result]
        if not rows or any(status(row) in HOW.values() for _, row in rows):
            continue
        tried = [(v, row) for v, row in rows if row.causal is not None and not row.final]
        also = _read_alone(rows)
        if not tried:
            yield f"nothing causal can be said about {text}{also}"
            continue
        best, row = max(tried, key=lambda pair: pair[1].causal.value if pair[1].causal else 0.0)
        assert row.causal is not None
        near = row.causal.value - (row.chance or 0.0) < ABOVE_CHANCE
        held = "no more than chance" if near else "not held"
        yield (
            f"{text}: {held} (at most {_percent(row.causal)}, chance "
            f"{100 * (row.chance or 0.0):.0f}%: {best.name}, {_layers(row.layer, row.layer)}{also})"
        )


def _read_alone(rows: list[tuple[Variable, Finding]]) -> str:
    """What a probe alone reads; that swaps do not follow is said where swaps were made."""
    read = [(v.name, row) for v, row in rows if status(row) == "readable"]
    swapped = dict.fromkeys(name for name, row in read if row.causal is not None)
    others = dict.fromkeys(name for name, _ in read if name not in swapped)
    said = {", but swaps do not follow": swapped, ", which no swap tested": others}
    return "".join(f"; a probe reads {', '.join(names)}{how}" for how, names in said.items() if names)

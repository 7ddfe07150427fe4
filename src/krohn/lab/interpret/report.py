"""The report as JSON, in words, and as a page with a heat map. Correlation alone never counts as held."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from itertools import groupby, takewhile
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal

from krohn.base.files import check_output, write_text
from krohn.base.notebook import frame, html_lines, table
from krohn.errors import counted
from krohn.lab.interpret.attention import HeadReport
from krohn.lab.interpret.findings import Finding, Share
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

LINE = 98
"""Columns of the terminal."""


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
        return _text(self.to_json())

    def _repr_html_(self) -> str:
        return html_lines(self.text())

    def save(self, path: str | Path) -> None:
        """Writes the page."""
        write_page(self, Path(path))

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


HEADER = {
    "block": "from 1",
    "head": "its number in the block",
    "kind": "the family of the pattern: uniform, look back, latest, boundary; none below 80%",
    "nearest": "the pattern of attention that fits best",
    "agreement": "share of attention that lies where this pattern has it",
    "on the prompt": "share of attention on the tokens before the first letter",
}
"""Columns of the heads, and what they mean."""
STYLE = """th{max-width:11rem}.map{border-spacing:1px}.map small{font-size:.6rem}
.map td{text-align:center;min-width:2.6rem;border:2px solid transparent}
.map .held{border-color:#cc3311}.map .with{border:2px dashed #cc3311}
.map .as{border:2px dotted #888888}"""
LEGEND = (
    "A cell is the share of swaps after which the network says what the algebra predicts; below it the "
    "accuracy of a linear probe. A red frame: held (lower end of the 95% interval at least 90% and above "
    "every control); dashed: no pair of words tells it from the state; dotted: a control does as well. Point "
    "at a cell for its interval and controls."
)
MARKS = {"held": "*", "with the state": "=", "as a control": "~"}
"""Beside a share in the terminal; on the page these have a frame."""


def write_page(report: Report, path: Path) -> None:
    """Writes the page of a report atomically."""
    check_output(path, ".html")
    write_text(path, html(report.to_json()))


def html(data: dict[str, Any]) -> str:
    """A self-contained page in the explorer's style; what a column means stands over it."""
    heads = ""
    for head in data["heads"]:
        shares = (f"{100 * head[key]:.0f}%" for key in ("score", "prompt"))
        texts = (head["layer"], head["head"], escape(head["kind"]), escape(head["nearest"]), *shares)
        heads += f"<tr>{''.join(f'<td>{text}</td>' for text in texts)}</tr>"
    columns = "".join(f'<th>{name}<br><span class="note">{text}</span></th>' for name, text in HEADER.items())
    notes = "".join(f"<li>{escape(note)}</li>" for note in data["notes"])
    first, _, more = data["verdict"].partition(". ")
    parts = f"""<section class="panel"><h2>Variables</h2><p class="note">{LEGEND}</p>{heat_map(data)}
<p>{escape(more)}</p></section>
<section class="panel"><h2>Heads</h2><table><tr>{columns}</tr>{heads}</table></section>
<section class="panel"><h2>Notes</h2><ul>{notes or "<li>none</li>"}</ul>
<p class="note">Words of {data["length"]} letters, seed {data["seed"]}, effort {data["effort"]:g}.</p>
</section>
"""
    return page(data["network"], data["network"], f"{first}.", parts, STYLE)


def heat_map(data: dict[str, Any]) -> str:
    """A row for each variable, a column for each block: causal shares, the probe's accuracy below."""
    rows = [
        f"<tr><th>{escape(name)}</th>{''.join(map(_cell, entries))}</tr>"
        for name, entries in _by_variable(data).items()
    ]
    for what in ("state", "letter"):
        shares = "".join(f"<td>{100 * row[what]['value']:.0f}</td>" for row in data["whole"])
        rows.append(f"<tr><th>a whole position: its {what}</th>{shares}</tr>")
    head = "".join(f"<th>{name}</th>" for name in _columns(data))
    return f'<table class="map"><tr><th></th>{head}</tr>{"".join(rows)}</table>'


def _by_variable(data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The entries of each variable, block by block, under its names."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for entry in data["variables"]:
        rows.setdefault(" = ".join((entry["name"], *entry["aliases"])), []).append(entry)
    return rows


def _columns(data: dict[str, Any]) -> list[str]:
    return ["start", *(f"block {number}" for number in range(1, data["layers"] + 1))]


def _cell(entry: dict[str, Any]) -> str:
    """The shade is the causal share; a frame marks what is held; grey: a probe only."""
    share = entry["causal"]
    shade = "#f2f2f2" if share is None else _blue(share)
    ink = "white" if share is not None and share > 0.55 else "black"
    held = f' class="{entry["status"].partition(" ")[0]}"' if entry["status"] in MARKS else ""
    probe = f"<br><small>probe {100 * entry['probe']:.0f}</small>"
    look = f'title="{escape(_describe(entry))}" style="background:{shade};color:{ink}"'
    return f"<td{held} {look}>{_share(share)}{probe}</td>"


def _blue(share: float) -> str:
    """White at 0, dark blue at 1."""
    return "#" + "".join(f"{round(255 + (end - 255) * share):02x}" for end in (0x1F, 0x4E, 0x8C))


def _share(value: float | None) -> str:
    return "·" if value is None else f"{100 * value:.0f}"


def _describe(entry: dict[str, Any]) -> str:
    probe = f"probe {100 * entry['probe']:.1f}%, guessing {100 * entry['baseline']:.1f}%"
    if entry["causal"] is None:
        return f"no counterfactual; {probe}"
    low, high = entry["causal_interval"]
    causal = f"causal {100 * entry['causal']:.1f}% [{100 * low:.1f}–{100 * high:.1f}]"
    controls = ", ".join(f"{name} {100 * one['value']:.1f}%" for name, one in entry["controls"].items())
    swaps = f"{entry['pairs']} swaps of {entry['dimension']} dimensions"
    return f"{entry['status']}: {causal} in {swaps}; {controls}; {probe}"


def page(title: str, name: str, lead: str, parts: str, style: str = "") -> str:
    """A self-contained page in the explorer's style: the lead in a sentence, then parts as HTML."""
    own = files("krohn.explorer").joinpath("assets/page.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="generator" content="krohn">
<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>
<style>{own}
td,th{{padding:.15rem .7rem;text-align:left;vertical-align:top}}.panel{{overflow-x:auto}}
.panel svg{{max-width:100%;height:auto}}{style}</style>
<main><h1>{escape(name)}</h1><p class="lead">{escape(lead)}</p>{parts}</main></html>
"""


def _text(payload: dict[str, Any]) -> str:
    rows = [
        [name[:60], *(_share(entry["causal"]) + MARKS.get(entry["status"], "") for entry in entries)]
        for name, entries in _by_variable(payload).items()
    ]
    heads = [
        (h["layer"], h["head"], h["kind"], h["nearest"], f"{100 * h['score']:.0f}%") for h in payload["heads"]
    ]
    parts = [
        f"{payload['network']}: {percent(payload['accuracy']['value'])} of the letters right in words of "
        f"{counted(payload['length'], 'letter')}",
        *wrap(payload["verdict"], LINE),
        "",
        table(["causal, %", *_columns(payload)], rows),
        "causal: share of swaps of the variable that the output follows; * the block holds it, = no pair of",
        "words tells it from the state itself, ~ a control does as well, · no swap predicts another answer",
    ]
    for what in ("state", "letter"):
        shares = " ".join(f"{100 * row[what]['value']:.0f}" for row in payload["whole"])
        parts.append(f"a whole position swapped brings its {what}, %, by block: {shares}")
    if heads:
        parts += ["", table(("block", "head", "kind", "nearest pattern", "agreement"), heads)]
    notes = (line for text in payload["notes"] for line in wrap(f"note: {text}", LINE))
    return "\n".join([*parts, *notes])

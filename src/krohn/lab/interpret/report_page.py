"""A report for a terminal, and as a page with a heat map."""

from html import escape
from importlib.resources import files
from textwrap import wrap
from typing import Any

from krohn.base.notebook import table
from krohn.errors import counted
from krohn.proving.by_position import percent

LINE = 98
"""Columns of the terminal."""
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


def text_of(payload: dict[str, Any]) -> str:
    """The verdict, the table, the heads, for a terminal."""
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

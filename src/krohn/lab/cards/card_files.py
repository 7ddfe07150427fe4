"""A card for people: a terminal table, a self-contained page, and a badge for a README."""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from krohn.base.files import check_output, json_bytes, write_folder
from krohn.base.notebook import table
from krohn.base.svg import Canvas, text_width
from krohn.errors import InvalidInput
from krohn.lab.interpret.report_page import page
from krohn.proving.by_position import percent

Data = Mapping[str, Any]
FILES = ("card.json", "card.html", "badge.svg")
HOLDS = "holds (letters right before the first wrong one)"
HEADER = ("task", "verdict", "can", "learned T", "4T", HOLDS, "control", "steps", "seconds", "parameters")
GREEN, GREY, BLUE, LINE = "#2e7d32", "#555555", "#2f5db0", "#d8d4cb"
LEGEND = (
    "verdict: learned if most seeds pass at T and at 4T; where a layer fails that may, the control decides. "
    "can: by theorem, yes, no or open. learned: seeds with at least 99% of the letters right on test words "
    "of T and 4T letters, of all seeds. holds: for each seed that passes at T, how many letters are right "
    "before the first wrong one on random words, repeated letters and alternations; ≥ where none was wrong. "
    "control: letters right at T and 4T of a layer that can, by theorem, trained in the same way. "
    "seconds: of training one network. ! marks a conflict of can and learned."
)


@cache
def _known() -> dict[str, Any]:
    text = files("krohn.lab.cards").joinpath("known.json").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(text)
    return result


def find_beside(tasks: Sequence[str]) -> list[dict[str, Any]]:
    """The stored rows about these automata."""
    return [row for row in _known()["rows"] if row["task"] in tasks]


def stored_protocol(settings: Data) -> str:
    """The protocol of the stored runs in words, and what this card has instead."""
    held = _known()["protocol"]
    text = (
        f"T = {held['length']}, width {held['width']}, {held['steps']:,} steps of {held['batch']} words by "
        f"{held['optimizer']} at rate {held['lr']:g}"
    )
    others = [f"{key} {settings.get(key)}" for key, value in held.items() if settings.get(key) != value]
    return f"{text} (this card has {', '.join(others)})" if others else text


def cells(row: Data) -> list[str]:
    """A row of the table as texts."""
    seeds, control = row["seeds"], row["control"]
    mark = " !" if row["conflict"] else ""
    shares = "–" if control is None else " ".join(percent(control["accuracy"][key]) for key in ("T", "4T"))
    return [
        row["task"],
        row["verdict"],
        row["can"] + mark,
        f"{row['learned']['T']} of {seeds}" if seeds else "not run",
        f"{row['learned']['4T']} of {seeds}" if seeds else "not run",
        " ".join(_far(held) for held in row["holds"]) or "not run",
        shares,
        f"{row['steps']:,}",
        "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
        "–" if row["parameters"] is None else f"{row['parameters']:,}",
    ]


def _far(held: Data | None) -> str:
    if held is None:
        return "–"
    return f"{'≥' if held['first_wrong'] is None else ''}{held['letters']:,}"


def notes(data: Data) -> list[str]:
    """Reasons, conflicts and remarks, a sentence each."""
    length = data["settings"]["length"]
    result = [f"T = {length}."]
    for row in data["rows"]:
        source = f" ({row['source']})" if row["source"] else ""
        result.append(f"{row['task']}: {row['can']}: {row['reason']}{source}.")
        if row.get("control"):
            result.append(_beside_control(row))
        known = [one for one in row.get("by_position", ()) if one]
        if known and row["verdict"] != "learned":
            far = max(known, key=lambda one: int(one["reach"]))
            result.append(f"{row['task']}: the seed that is 99% right longest, by position: {far['text']}.")
        lost = sum(step is not None for step in row.get("diverged", ()))
        if lost:
            result.append(f"{row['task']}: {lost} of {row['seeds']} seeds diverged: the loss was not finite.")
        if row["conflict"]:
            result.append(f"{row['task']}: conflict: {row['conflict']}.")
        early = [held for held in row["holds"] if held and (held["first_wrong"] or length + 1) <= length]
        if early:
            first = min(early, key=lambda held: int(held["first_wrong"]))
            passing = f"{len(early)} of the {row['learned']['T']} seeds that pass at T"
            where = f"first at letter {first['first_wrong']} of {first['word']}"
            result.append(
                f"{row['task']}: {passing} are wrong within T letters of another word ({where}): "
                "random words are easy here."
            )
    assumed = sorted({row["assumes"] for row in data["rows"] if row["assumes"]})
    result += [f"Assumed by the theorems: {each}." for each in assumed]
    result += [f"{each}." for each in (data["remark"], data["stopped"]) if each]
    return result


def text(data: Data) -> str:
    """The terminal table, with assumptions and notes below."""
    header = tuple("holds" if name == HOLDS else name for name in HEADER)
    shown = table(header, [cells(row) for row in data["rows"]])
    return "\n".join([verdict(data), "", shown, "", *_beside_text(data), *notes(data)])


def _beside_text(data: Data) -> list[str]:
    """The known layers for a terminal: seeds that pass at T and at 4T."""
    if not data.get("beside"):
        return []
    settings = data["settings"]
    lines = [f"beside it, seeds that pass at T and at 4T; {stored_protocol(settings)}:"]
    for layer in dict.fromkeys(row["layer"] for row in data["beside"]):
        rows = [row for row in data["beside"] if row["layer"] == layer]
        lines.append(f"  {layer}: " + "; ".join(f"{row['task']} {_count(row)}" for row in rows))
    return [*lines, ""]


def _beside_control(row: Data) -> str:
    """What the control did, beside the best of the layer's seeds."""
    best = {key: max(row["accuracy"][key]) for key in ("T", "4T")}
    control = row["control"]["accuracy"]
    return (
        f"{row['task']}: the control, {row['control']['layer']}, has {percent(control['T'])} of the letters "
        f"right at T and {percent(control['4T'])} at 4T; the layer at best {percent(best['T'])} and "
        f"{percent(best['4T'])}."
    )


def verdict(data: Data) -> str:
    """The card in a sentence: the verdict on each automaton, with the numbers of seeds that pass."""
    length = data["settings"]["length"]
    groups: dict[str, list[str]] = {}
    for row in data["rows"]:
        count = (
            f" ({row['learned']['T']} and {row['learned']['4T']} of {row['seeds']})" if row["seeds"] else ""
        )
        groups.setdefault(row["verdict"], []).append(f"{row['task']}{count}")
    parts = "; ".join(f"{_list(tasks)}: {what}" for what, tasks in groups.items())
    return (
        f"{data['layer']}: {parts}. In brackets: seeds with 99% of the letters right on words of {length} "
        f"and of {4 * length} letters."
    )


def _list(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def html(data: Data) -> str:
    """A self-contained page in the explorer's style: the verdict, pictures, tables; settings folded away."""
    below = "".join(f"<li>{escape(note)}</li>\n" for note in notes(data))
    own = "".join(_table_row(cells(row)) for row in data["rows"])
    settings = "".join(
        f"<tr><th>{escape(str(key))}</th><td>{escape(str(value))}</td></tr>"
        for key, value in data["settings"].items()
    )
    parts = f"""<p>{badge(data)}</p>
<section class="panel"><h2>Learning</h2><p class="note">Share of letters right on fresh words of T letters,
a line for each seed.</p>{curves(data)}</section>
<section class="panel"><h2>How far it holds</h2><p class="note">Letters right before the first wrong one, on a
logarithmic scale; an open circle where none was wrong; a line at T and at 4T.</p>{horizons(data)}</section>
<section class="panel"><h2>The card</h2><table><tr>{"".join(f"<th>{escape(t)}</th>" for t in HEADER)}</tr>
{own}</table><p class="note">{escape(LEGEND)}</p><ul>
{below}</ul></section>
<section class="panel"><h2>Beside known layers</h2>{_beside(data)}</section>
<details class="panel"><summary>Settings</summary><table>{settings}</table></details>"""
    return page(f"{data['layer']}: state tracking", data["layer"], verdict(data), parts)


def _table_row(texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(text)}</td>" for text in texts) + "</tr>\n"


def _beside(data: Data) -> str:
    """Seeds that pass at T and at 4T, for her layer and the known ones: a row for each layer."""
    tasks = [row["task"] for row in data["rows"]]
    if not data.get("beside"):
        return "<p class='note'>No stored runs have these automata.</p>"
    layers: dict[str, dict[str, Data]] = {data["layer"]: {row["task"]: row for row in data["rows"]}}
    for row in data["beside"]:
        layers.setdefault(row["layer"], {})[row["task"]] = row
    head = "".join(f"<th>{escape(task)}</th>" for task in tasks)
    lines = (
        _table_row([layer, *(_count(known.get(task)) for task in tasks)]) for layer, known in layers.items()
    )
    return (
        f"<table><tr><th>layer</th>{head}</tr>{''.join(lines)}</table><p class='note'>Seeds that pass "
        f"at T and at 4T, of all seeds. The known layers: {stored_protocol(data['settings'])}.</p>"
    )


def _count(row: Data | None) -> str:
    return "–" if row is None else f"{row['learned']['T']}, {row['learned']['4T']} of {row['seeds']}"


WIDE, HIGH, SIDE = 170, 90, 30


def curves(data: Data) -> str:
    """Small pictures side by side: accuracy against steps, for each automaton and seed."""
    canvas = Canvas((WIDE + SIDE) * max(1, len(data["rows"])), HIGH + 2 * SIDE)
    for place, row in enumerate(data["rows"]):
        left = place * (WIDE + SIDE) + SIDE / 2
        canvas.rect(left, SIDE, WIDE, HIGH, fill="none", stroke=LINE)
        canvas.text(left + WIDE / 2, SIDE / 2, row["task"], size=12, fill=GREY)
        for curve in row.get("curves", ()):
            points = [(left + WIDE * x / row["steps"], SIDE + HIGH * (1 - y)) for x, y in curve]
            for (x, y), (u, v) in pairwise(points):
                canvas.line(x, y, u, v, stroke=BLUE)
        canvas.text(left + WIDE / 2, SIDE * 1.5 + HIGH, f"{row['steps']:,} steps", size=11, fill=GREY)
    return canvas.render(title="learning curves")


def horizons(data: Data) -> str:
    """A line for each automaton: how many letters were right, for each seed that passes at T."""
    length, top = data["settings"]["length"], 100_000
    canvas, left = Canvas(620, 24 * len(data["rows"]) + 40), 110.0

    def place(letters: float) -> float:
        return left + 480 * math.log(max(1.0, letters)) / math.log(top)

    for letters in (length, 4 * length):
        canvas.line(place(letters), 8, place(letters), 24 * len(data["rows"]) + 12, stroke=LINE)
    for number, row in enumerate(data["rows"]):
        y = 20 + 24 * number
        canvas.text(left - 50, y, row["task"], size=12, fill=GREY)
        for held in (one for one in row["holds"] if one is not None):
            endless = held["first_wrong"] is None
            canvas.circle(place(held["letters"]), y, 4, fill="none" if endless else BLUE, stroke=BLUE)
    for letters in (1, 10, 100, 1_000, 10_000, top):
        canvas.text(place(letters), 24 * len(data["rows"]) + 28, f"{letters:,}", size=11, fill=GREY)
    return canvas.render(title="letters right before the first wrong one")


def badge(data: Data) -> str:
    """How many of the automata that were run most seeds track, at T and at 4T, as a picture of one line."""
    run = [row for row in data["rows"] if row["seeds"]]
    kept = [row["task"] for row in run if row["verdict"] == "learned"]
    left, idle = "state tracking", len(data["rows"]) - len(run)
    right = f"{len(kept)} of {len(run)}" if run else "not run"
    right += (f" ({' '.join(kept)})" if kept else "") + (f", {idle} not run" if run and idle else "")
    widths = [text_width(part, 11) + 12 for part in (left, right)]
    canvas = Canvas(sum(widths), 20)
    canvas.rect(0, 0, widths[0], 20, fill=GREY, stroke="none")
    canvas.rect(widths[0], 0, widths[1], 20, fill=GREEN if kept else GREY, stroke="none")
    canvas.text(widths[0] / 2, 10, left, size=11, fill="white")
    canvas.text(widths[0] + widths[1] / 2, 10, right, size=11, fill="white")
    return canvas.render(title=f"{data['layer']}: {left}, {right}")


def check_folder(folder: Path, names: Sequence[str] = FILES) -> None:
    """Fails early if it is a file, or has a file of one of these names that krohn did not write."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(
            f"a card is written to a folder; {str(folder)[-80:]} is a file: name another place with --out"
        )
    for name in names:
        check_output(folder / name, Path(name).suffix)


def save(data: Data, folder: Path) -> list[Path]:
    """Writes all three."""
    return write_all(folder, dict(zip(FILES, (json_bytes(data), html(data), badge(data)), strict=True)))


def write_all(folder: Path, files: Mapping[str, str | bytes]) -> list[Path]:
    """Writes the files together or not at all."""
    check_folder(folder, tuple(files))
    parts = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    write_folder(folder, parts, key=next(iter(parts)))
    return [folder / name for name in parts]

"""A card for people: a terminal table, a self-contained page, and a badge for a README."""

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from krohn.base.atomic import check_output, json_bytes, write_folder
from krohn.base.svg import Canvas, text_width
from krohn.errors import InvalidInput

Data = Mapping[str, Any]
FILES = ("card.json", "card.html", "badge.svg")
HOLDS = "holds (letters right before the first wrong one)"
HEADER = ("task", "can", "learned T", "4T", HOLDS, "steps", "seconds", "parameters")
GREEN, GREY = "#2e7d32", "#555555"
LEGEND = (
    "can: by theorem, yes, no or open. learned: seeds with at least 99% of the letters right on test words "
    "of T and 4T letters, of all seeds. holds: for each seed that passes at T, how many letters are right "
    "before the first wrong one on random words, repeated letters and alternations; ≥ where none was wrong; "
    "proved n (LSTM, GRU): right on every word of up to n letters, in float32 with sums in any order. "
    "seconds: of training one network. ! marks a conflict of can and learned."
)


def cells(row: Data) -> list[str]:
    """A row of the table as texts."""
    seeds = row["seeds"]
    mark = " !" if row["conflict"] else ""
    return [
        row["task"],
        row["can"] + mark,
        f"{row['learned']['T']} of {seeds}",
        f"{row['learned']['4T']} of {seeds}",
        " ".join(_far(held) for held in row["holds"]) or "not run",
        f"{row['steps']:,}",
        "–" if row["seconds"] is None else f"{row['seconds']:.1f}",
        "–" if row["parameters"] is None else f"{row['parameters']:,}",
    ]


def _far(held: Data | None) -> str:
    if held is None:
        return "–"
    letters = f"{'≥' if held['first_wrong'] is None else ''}{held['letters']:,}"
    certified = held.get("certified")
    return letters if certified is None else f"{letters} (proved {certified})"


def notes(data: Data) -> list[str]:
    """Reasons, conflicts and remarks, a sentence each."""
    length = data["settings"]["length"]
    result = [f"T = {length}."]
    for row in data["rows"]:
        source = f" ({row['source']})" if row["source"] else ""
        result.append(f"{row['task']}: {row['can']}: {row['reason']}{source}.")
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
    header = (*HEADER[:4], "holds", *HEADER[5:])
    lines = [header, *(cells(row) for row in data["rows"])]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    shown = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([f"{data['layer']}", *shown, "", *notes(data)])


def html(data: Data) -> str:
    """A self-contained page."""
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells(row)) + "</tr>\n"
        for row in data["rows"]
    )
    below = "".join(f"<li>{escape(note)}</li>\n" for note in notes(data))
    settings = ", ".join(f"{key} {value}" for key, value in data["settings"].items())
    name = escape(data["layer"])
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="generator" content="krohn">
<title>{name}: state tracking</title>
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}}
td,th{{padding:.15rem .7rem;text-align:left;vertical-align:top}}svg{{max-width:100%;height:auto}}</style>
<h1>{name}</h1>
{badge(data)}
<p>{escape(LEGEND)}</p>
<table><tr>{"".join(f"<th>{escape(title)}</th>" for title in HEADER)}</tr>
{rows}</table>
<ul>
{below}</ul>
<p>{escape(settings)}.</p></html>
"""


def badge(data: Data) -> str:
    """The automata that most seeds track at 4 T, as a picture of one line."""
    kept = [row["task"] for row in data["rows"] if 2 * row["learned"]["4T"] > row["seeds"]]
    left = "state tracking"
    right = f"{len(kept)} of {len(data['rows'])}" + (f": {' '.join(kept)}" if kept else "")
    widths = [text_width(part, 11) + 12 for part in (left, right)]
    canvas = Canvas(sum(widths), 20)
    canvas.rect(0, 0, widths[0], 20, fill=GREY, stroke="none")
    canvas.rect(widths[0], 0, widths[1], 20, fill=GREEN if kept else GREY, stroke="none")
    canvas.text(widths[0] / 2, 10, left, size=11, fill="white")
    canvas.text(widths[0] + widths[1] / 2, 10, right, size=11, fill="white")
    return canvas.render(title=f"{data['layer']}: {left}, {right}")


def check_folder(folder: Path) -> None:
    """Fails early if it is a file, or has a file of one of these names that krohn did not write."""
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(
            f"a card is written to a folder; {str(folder)[-80:]} is a file: name another place with --out"
        )
    for name in FILES:
        check_output(folder / name, Path(name).suffix)


def save(data: Data, folder: Path) -> list[Path]:
    """Writes all three, together or not at all."""
    check_folder(folder)
    result = {
        "card.json": json_bytes(data),
        "card.html": html(data).encode(),
        "badge.svg": badge(data).encode(),
    }
    write_folder(folder, result, key="card.json")
    return [folder / name for name in FILES]

"""``krohn explain``: the meaning of a compiled network's parts, and their values on a word."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from krohn.base.folder import COMPILED, Folder
from krohn.cli.options import NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.errors import counted
from krohn.network.meaning import meaning
from krohn.network.storage import load
from krohn.network.word_view import NOTHING, WordView, check_name, view_word, write_meaning, write_view

WIDTH, NAME, ROWS = 98, 40, 12
"""Columns of the terminal, of a name in a table, and rows of a table that are printed."""


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.argument("word", nargs=-1)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write to F.json, F.parquet or, for a word, F.svg."
)
@json_option
def command(directory: Path, word: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Explain the registers, heads and tables of a compiled network, and their values on a word.

    Letters are separated by spaces. Positions are those of the network: the prompt ⊥ comes first. A
    head's entry is the position it attends to, or the range of those it averages over.

    \b
    Example:  krohn compile D6 --length 16 --out nets/d6
              krohn explain nets/d6
              krohn explain nets/d6 toggle drive toggle --out d6.svg
    """
    if out is not None:
        check_name(out, word=bool(word))  # fail early
    Folder(directory).require("explain needs", COMPILED)
    network = load(directory)
    if not word:
        about = meaning(network)
        if out is not None:
            write_meaning(about, out)
        title = f"{network.automaton.name or directory} by method {network.method}"
        emit({**about, "positions": []}, as_json=as_json, text=lambda: "\n".join(_about(title, about)))
    else:
        view = view_word(network, " ".join(word))
        if out is not None:
            write_view(view, out)
        emit(view.to_json(), as_json=as_json, text=lambda: "\n".join(_tables(view)))
    if out is not None:
        note(f"written: {out}")


def _about(title: str, about: dict[str, Any]) -> Iterator[str]:
    numbers = (about["layers"], "layer"), (len(about["registers"]), "register"), (len(about["heads"]), "head")
    counts = ", ".join(counted(number, noun) for number, noun in numbers)
    yield f"{title}: {counts}, words of at most {about['length']} letters\n"
    yield "registers that tokens and positions bring"
    for entry in about["registers"]:
        if entry.get("layer") in (None, 0):
            yield from item_lines(entry["name"], _values(entry))
    for layer in range(1, about["layers"] + 1):
        yield f"\nlayer {layer}"
        for head in about["heads"]:
            if head["layer"] == layer:
                yield from item_lines(f"head {head['head']}", f"{head['text']}; attends to {head['attends']}")
        for change in about["maps"]:
            if change["layer"] == layer:
                yield from item_lines("map", change["text"] + _rows(change))
    readout = about["readout"]
    if readout is not None:
        yield "\noutput"
        yield from item_lines("", f"the state whose code is in {', '.join(readout['registers'])}:")
        codes = [f"{name} = {' '.join(map(str, code))}" for name, code in readout["codes"].items()]
        yield from item_lines("", "; ".join(first_items(codes)))


def _values(entry: dict[str, Any]) -> str:
    if entry["kind"] is None:
        return ""
    text = f"{entry['low']} to {entry['high']}"
    letters = [f"{name} {value}" for name, value in entry.get("letters", {}).items()]
    if "cycle" in entry:
        early, cycle = (" ".join(first_items(list(map(str, entry[part])))) for part in ("early", "cycle"))
        return f"{text}; by position {early}, then {cycle} again and again"
    return f"{text}; {', '.join(first_items(letters))}; ⊥ {entry['prompt'][0]}" if letters else text


def _rows(change: dict[str, Any]) -> str:
    if "rows" not in change:
        return ""
    rows = (f"{' '.join(map(str, given))} → {' '.join(map(str, result))}" for given, result in change["rows"])
    return ": " + ", ".join(first_items(list(rows)))


def first_items(items: list[str]) -> list[str]:
    """The first rows, and how many more there are."""
    rest = len(items) - ROWS
    return items if rest <= 1 else [*items[:ROWS], f"… {rest} more (--json has all)"]


def item_lines(name: str, text: str) -> Iterator[str]:
    """A name and what it means, the text wrapped beside it or below a long name."""
    indent = " " * 12
    first = f"  {name}".ljust(12)
    if len(first) > 12:
        yield first
        first = indent
    lines = wrap(text, WIDTH - 12, break_long_words=True) or [""]
    yield (first + lines[0]).rstrip()
    yield from (indent + line for line in lines[1:])


def _tables(view: WordView) -> Iterator[str]:
    """Rows are registers and heads, columns positions: as many side by side as the terminal holds."""
    rows = list(_lines(view))
    label = max(len(name) for name, _ in rows)
    widths = [max(len(cells[place]) for _, cells in rows) for place in range(len(rows[0][1]))]
    start = 0
    while start < len(widths):
        end, used = start, label
        while end < len(widths) and (end == start or used + 2 + widths[end] <= WIDTH):
            used += 2 + widths[end]
            end += 1
        for name, cells in rows:
            line = "  ".join(cells[place].rjust(widths[place]) for place in range(start, end))
            yield f"{name.ljust(label)}  {line}".rstrip()
        start = end
        if start < len(widths):
            yield ""


def _lines(view: WordView) -> Iterator[tuple[str, list[str]]]:
    explained = view.explanation
    count, prompt = len(explained.positions), len(explained.positions) - len(explained.states)
    yield "position", [str(place) for place in range(count)]
    yield "letter", list(explained.positions)
    for layer in range(view.about["layers"] + 1):
        if layer:
            yield f"layer {layer}", [""] * count
        for head, about in zip(explained.heads, view.about["heads"], strict=True):
            if head.layer + 1 == layer:
                sums = any(each["operation"] in ("PrefixSum", "PlaceSum") for each in about["operations"])
                cells = [_attended(weights, sums=sums) for weights in head.weights]
                yield f" head {head.number + 1} looks at", cells
        for shown in view.registers:
            if shown.layer == layer:
                mark = " (not stored)" if shown.after == "not stored" else ""
                yield f" {_short(shown.name)}{mark}", [_number(value) for value in shown.values]
    yield "state", [""] * prompt + list(explained.states)


def _attended(weights: npt.NDArray[np.float64], *, sums: bool) -> str:
    """The position with nearly all the weight, or the first and the last with some, as a sum has it."""
    if not sums and weights.max() > 0.99:
        return str(int(weights.argmax()))
    some = np.flatnonzero(weights > NOTHING)
    return f"{some[0]}–{some[-1]}" if len(some) > 1 else str(some[0])


def _short(name: str) -> str:
    half = (NAME - 1) // 2
    return name if len(name) <= NAME else f"{name[:half]}…{name[-half:]}"


def _number(value: float) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)

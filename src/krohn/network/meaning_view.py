"""What every part of a network means, in words for people."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from krohn.base.files import write_json
from krohn.errors import InvalidInput, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.meaning import ROWS, WIDTH, Json, meaning
from krohn.network.plain_words import head_words, register_titles, register_words


@dataclass(frozen=True, eq=False)
class MeaningView:
    """What every part of a network means, without a word."""

    title: str
    about: Json

    def to_json(self) -> Json:
        """``registers``, ``heads``, ``maps``, ``edges``, ``readout``; no ``positions``."""
        return {**self.about, "positions": []}

    def text(self) -> str:
        """Layer by layer, as ``krohn explain`` prints it."""
        return "\n".join(_meaning_lines(self.title, self.about))

    def save(self, path: Path) -> None:
        """Writes it as JSON."""
        if path.suffix != ".json":
            raise InvalidInput("pictures and tables need a word to show: give one, or choose .json")
        write_json(path, {"krohn": 1, **self.about})


def view(network: CompiledNetwork, name: str = "") -> MeaningView:
    """What every part means; ``name`` is for an automaton without a name."""
    return MeaningView(f"{network.automaton.name or name} by method {network.method}", in_words(network))


def in_words(network: CompiledNetwork) -> Json:
    """What all parts mean, as the page says it; texts call registers by the titles of their words."""
    words = register_words(network)
    titles = register_titles(network)
    about = meaning(network, titles)
    for entry in about["registers"]:
        entry["words"] = words.get(entry["name"], entry["name"])
        entry["title"] = titles.get(entry["name"], entry["name"])
    plain = (text for layer in head_words(network) for text in layer)
    for head, text in zip(about["heads"], plain, strict=True):
        head["words"] = text
    return about


def _meaning_lines(title: str, about: dict[str, Any]) -> Iterator[str]:
    # As the theorems count them: blocks without heads go on with the MLP of the layer before.
    depth = len({1, *(head["layer"] for head in about["heads"])}) if about["layers"] else 0
    numbers = (depth, "layer"), (len(about["registers"]), "register"), (len(about["heads"]), "head")
    counts = [counted(number, noun) for number, noun in numbers]
    counts[0] += f" ({counted(about['layers'], 'block')})"
    yield f"{title}: {', '.join(counts)}, words of at most {about['length']} letters\n"
    yield "registers that tokens and positions bring"
    words = {entry["name"]: entry["words"] for entry in about["registers"]}
    for entry in about["registers"]:
        if entry["layer"] == 0:
            yield from item_lines(entry["written_by"], _values(entry))
    for layer in range(1, about["layers"] + 1):
        yield f"\nblock {layer}"
        for head in about["heads"]:
            if head["layer"] == layer:
                yield from item_lines(f"head {head['head']}", head["words"])
        for entry in about["registers"]:
            if entry["layer"] == layer and about["readout"] is None:
                yield from item_lines(entry["written_by"], entry["words"])
        for change in about["maps"]:
            if change["layer"] == layer:
                yield from item_lines("map", "; ".join(words[name] for name in change["writes"]))
                yield from item_lines("", change["text"] + _rows(change))
    readout = about["readout"]
    if readout is not None:
        yield "\noutput"
        held = {entry["name"]: entry["title"] for entry in about["registers"]}
        places = "; ".join(held[name] for name in readout["registers"])
        yield from item_lines("", f"the state whose code is here: {places}")
        codes = [f"{name} = {' '.join(map(str, code))}" for name, code in readout["codes"].items()]
        yield from item_lines("", "; ".join(first_items(codes)))


def _values(entry: dict[str, Any]) -> str:
    if entry["kind"] is None:
        return str(entry["words"])
    text = f"{entry['words']}, {entry['low']} to {entry['high']}"
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

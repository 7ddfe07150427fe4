"""One word through a compiled network, position by position, by a real pass; on screen and as a file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import letter_numbers
from krohn.base.atomic import check_output, write_json, write_text, write_whole
from krohn.base.extras import to_install
from krohn.errors import InvalidInput, MissingDependency, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.explanation import Array, Explanation
from krohn.network.meaning import Json, meaning
from krohn.network.plain_words import head_words, register_titles, register_words
from krohn.network.program import interpret_registers

WIDTH, NAME, ROWS = 98, 48, 12
"""Columns of the terminal, of a name in a table, and rows of a table that are printed."""

LONGEST = 256
"""Longest word shown: a head has an entry for every pair of positions."""

NOTHING = 1e-6
"""Attention weights below this are not listed."""


@dataclass(frozen=True)
class Shown:
    """A register along the positions: after the embedding, the heads or the MLP, where it is first stored.

    One that is never stored, because a map consumes it directly, has the value that the program gives it.
    """

    name: str
    layer: int
    after: str
    values: tuple[int | float, ...]


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
        """Writes it as JSON or parquet."""
        write_meaning(self.about, path)


@dataclass(frozen=True, eq=False)
class WordView:
    """A word's explanation, with every register read off once and its meaning beside it."""

    about: Json
    explanation: Explanation
    registers: tuple[Shown, ...]

    def text(self) -> str:
        """Registers and heads by position, in blocks as wide as a terminal."""
        return "\n".join(_word_lines(self))

    def save(self, path: Path) -> None:
        """Writes it as JSON, parquet or a picture."""
        write_view(self, path)

    def to_json(self) -> Json:
        """``registers`` and ``heads`` as of the network; ``positions`` of the word, the prompt first."""
        return {**self.about, "positions": list(self._positions())}

    def _positions(self) -> Iterator[Json]:
        explained = self.explanation
        prompt = len(explained.positions) - len(explained.states)
        for place, letter in enumerate(explained.positions):
            yield {
                "position": place,
                "letter": letter if place >= prompt else None,
                "state": explained.states[place - prompt] if place >= prompt else None,
                "registers": {shown.name: shown.values[place] for shown in self.registers},
                "heads": [
                    {
                        "layer": head.layer + 1,
                        "head": head.number + 1,
                        "weights": [
                            [int(to), float(head.weights[place, to])] for to in _seen(head.weights[place])
                        ],
                    }
                    for head in explained.heads
                ],
            }


def view(network: CompiledNetwork, word: str = "", name: str = "") -> MeaningView | WordView:
    """What the parts of a network mean, or their values on a word; ``name`` is for one without a name."""
    if word:
        return view_word(network, word)
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


def view_word(network: CompiledNetwork, word: str | Sequence[int | str]) -> WordView:
    """Runs the word in float64 and reads off every register where it is first stored."""
    letters = letter_numbers(word, network.automaton.letter_names)
    if len(letters) > min(network.length, LONGEST):
        raise InvalidInput(
            f"a word that is explained must have at most {min(network.length, LONGEST)} letters; "
            f"got {len(letters)}"
        )
    explained = network.explain(letters)
    about = in_words(network)
    return WordView(about, explained, tuple(_registers(network, about, letters, explained)))


def _registers(
    network: CompiledNetwork, about: Json, letters: list[int], explained: Explanation
) -> Iterator[Shown]:
    sizes = {} if network.program is None else {r.name: r.high + 1 for r in network.program.registers}
    known: set[str] = set()
    for index, moment in enumerate(explained.moments):
        after = "embedding" if index == 0 else ("heads" if index % 2 else "MLP")
        for channel in network.layout.moments[index]:
            name = channel.register
            if not name or name in known or (channel.part and name not in sizes):
                continue  # a circle of which no program says how many values it has
            known.add(name)
            if channel.part:
                values = around_circle(moment[f"{name} cos"], moment[f"{name} sin"], sizes[name])
            else:
                values = moment[name]
            yield Shown(name, (index + 1) // 2, after, tuple(without_noise(float(value)) for value in values))
    if network.program is not None:
        by_program = interpret_registers(network.program, np.array([letters], dtype=np.int64).reshape(1, -1))
        for entry in about["registers"]:
            if not entry["stored"]:
                held = by_program[entry["name"]][0]
                yield Shown(entry["name"], entry["layer"], "not stored", tuple(map(int, held)))


def around_circle(cosine: Array, sine: Array, count: int) -> Array:
    """The values 0 … count − 1 of points on a circle; a point slightly before the first is not the last."""
    turns: Array = np.arctan2(sine, cosine) / (2 * np.pi) * count
    return (turns + 0.5) % count - 0.5


def without_noise(value: float) -> int | float:
    """Rounds float64 noise of less than 1e-6 off whole numbers."""
    nearest = round(value)
    return nearest if abs(value - nearest) < 1e-6 else value


def _seen(weights: Array) -> Iterator[int]:
    return (int(place) for place in np.flatnonzero(weights > NOTHING))


# The meaning of a network, or its run on a word, as a file: JSON, a picture, or one long table in parquet.


SUFFIXES = (".parquet", ".json", ".svg")

_WORD = ("kind", "layer", "head", "name", "position", "letter", "to", "value", "text")
_NETWORK = ("kind", "layer", "head", "name", "low", "high", "text")


def check_name(path: Path, *, word: bool) -> None:
    """Refuses an unknown file format, before the work."""
    check_output(path, *SUFFIXES)
    if path.suffix == ".svg" and not word:
        raise InvalidInput("a picture needs a word to draw: give one, or choose .json or .parquet")


def write_meaning(about: Json, path: Path) -> None:
    """The meaning of a network as JSON or parquet."""
    check_name(path, word=False)
    if path.suffix == ".json":
        write_json(path, {"krohn": 1, **about})
    else:
        _write_parquet(path, _NETWORK, _meaning_rows(about))


def write_view(view: WordView, path: Path) -> None:
    """A word as JSON, parquet or a picture."""
    check_name(path, word=True)
    writers: dict[str, Callable[[], None]] = {
        ".json": lambda: write_json(path, {"krohn": 1, **view.to_json()}),
        ".svg": lambda: write_text(path, view.explanation.picture()),
        ".parquet": lambda: _write_parquet(path, _WORD, _word_rows(view.to_json())),
    }
    writers[path.suffix]()


def _meaning_rows(about: Json) -> Iterator[Json]:
    for entry in about["registers"]:
        yield {**entry, "kind": "register"}
    for head in about["heads"]:
        yield {**head, "kind": "head", "name": ", ".join(head["writes"]), "text": head["attends"]}
    for change in about["maps"]:
        yield {**change, "kind": "map", "name": ", ".join(change["writes"])}


def _word_rows(payload: Json) -> Iterator[Json]:
    layer_of = {entry["name"]: entry.get("layer") for entry in payload["registers"]}
    texts = {(head["layer"], head["head"]): head["text"] for head in payload["heads"]}
    for place in payload["positions"]:
        here = {"position": place["position"], "letter": place["letter"]}
        for name, value in place["registers"].items():
            yield {**here, "kind": "register", "layer": layer_of[name], "name": name, "value": float(value)}
        for head in place["heads"]:
            name = texts[head["layer"], head["head"]]
            for to, weight in head["weights"]:
                yield {**here, **head, "kind": "head", "name": name, "to": to, "value": weight}
        if place["state"] is not None:
            yield {**here, "kind": "output", "name": "state", "text": place["state"]}


def _write_parquet(path: Path, columns: tuple[str, ...], rows: Iterator[Json]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependency(f"writing parquet needs pyarrow: {to_install('parquet')}") from error
    types = {"value": pyarrow.float64()}
    types |= dict.fromkeys(("layer", "head", "position", "to", "low", "high"), pyarrow.int64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in columns])
    result = pyarrow.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows], schema)

    def put(stream: Any) -> None:
        pyarrow.parquet.write_table(result, stream)

    write_whole(path, put)


# For people: what the parts mean, and their values on a word.


def _meaning_lines(title: str, about: dict[str, Any]) -> Iterator[str]:
    numbers = (about["layers"], "layer"), (len(about["registers"]), "register"), (len(about["heads"]), "head")
    counts = ", ".join(counted(number, noun) for number, noun in numbers)
    yield f"{title}: {counts}, words of at most {about['length']} letters\n"
    yield "registers" + (" that tokens and positions bring" if about["readout"] else "")
    words = {entry["name"]: entry["words"] for entry in about["registers"]}
    for entry in about["registers"]:
        if entry.get("layer") in (None, 0):
            yield from item_lines(entry.get("written_by", "stored"), _values(entry))
    for layer in range(1, about["layers"] + 1):
        yield f"\nlayer {layer}"
        for head in about["heads"]:
            if head["layer"] == layer:
                yield from item_lines(
                    f"head {head['head']}", f"{head['words']}; attends to {head['attends']}"
                )
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


def _word_lines(view: WordView) -> Iterator[str]:
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
    explained, titles = view.explanation, {each["name"]: each["title"] for each in view.about["registers"]}
    count, prompt = len(explained.positions), len(explained.positions) - len(explained.states)
    yield "position", [str(place) for place in range(count)]
    yield "letter", list(explained.positions)
    for layer in range(view.about["layers"] + 1):
        if layer:
            yield f"layer {layer}", [""] * count
        for head, about in zip(explained.heads, view.about["heads"], strict=True):
            if head.layer + 1 == layer:
                sums = any(each["operation"] in ("PrefixSum", "PlaceSum") for each in about["operations"])
                cells = [_attend(weights, sums=sums) for weights in head.weights]
                yield f" head {head.number + 1} looks at", cells
        for shown in view.registers:
            if shown.layer == layer:
                mark = " (not stored)" if shown.after == "not stored" else ""
                yield f" {_short(titles[shown.name])}{mark}", [_number(value) for value in shown.values]
    yield "state", [""] * prompt + list(explained.states)


def _attend(weights: npt.NDArray[np.float64], *, sums: bool) -> str:
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

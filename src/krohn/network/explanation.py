"""What the parts of a compiled network mean, and what they hold on a word: on screen and as a file.

The values are those of a real forward pass, under their names: ground truth for interpretability.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from krohn.automata.words import Word
from krohn.base.files import check_output, write_json, write_text
from krohn.base.notebook import frame
from krohn.errors import InvalidInput, counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import logits
from krohn.network.meaning import WIDTH, Json
from krohn.network.meaning_view import in_words
from krohn.network.plain_words import head_words, register_titles
from krohn.network.program import interpret_registers
from krohn.network.word_picture import Array, HeadView, word_picture
from krohn.network.word_table import word_rows, write_parquet

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame

NAME = 48
"""Columns of a name in a table."""

LONGEST = 256
"""Longest word that is explained: a head has an entry for every pair of positions."""

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


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Registers and attention of one word. Position 0 … τ−1 are padding, then the letters.

    ``moments[m][name]`` holds the values along the positions: ``m`` = 0 after the embedding,
    2l+1 after attention of layer l, 2l+2 after its MLP.
    """

    network: CompiledNetwork
    letters: tuple[int, ...]
    positions: tuple[str, ...]
    states: tuple[str, ...]
    moments: tuple[dict[str, Array], ...]
    heads: tuple[HeadView, ...]

    def __repr__(self) -> str:
        word = " ".join(self.positions[len(self.positions) - len(self.states) :][:20])
        more = " …" if len(self.states) > 20 else ""
        return f"<Explanation of {word or 'the empty word'}{more}: {counted(len(self.heads), 'head')}>"

    @cached_property
    def about(self) -> Json:
        """What all parts of the network mean."""
        return in_words(self.network)

    @cached_property
    def registers(self) -> tuple[Shown, ...]:
        """Every register, read off once where it is first stored."""
        return tuple(_registers(self.network, self.about, self))

    def picture(self) -> str:
        """Registers, states and attention as SVG."""
        titles = register_titles(self.network)
        stored = (shown for shown in self.registers if shown.after != "not stored")
        rows = ((shown.layer, titles.get(shown.name, shown.name), shown.values) for shown in stored)
        return word_picture(self.positions, self.states, rows, self.heads)

    _repr_svg_ = picture

    def to_frame(self) -> "DataFrame":
        """One row for each position: letter, every register at the last moment that holds it, state."""
        held = {name: values for moment in self.moments for name, values in moment.items()}
        states = [None] * (len(self.positions) - len(self.states)) + list(self.states)
        return frame(
            {"letter": letter, **{name: values[at] for name, values in held.items()}, "state": states[at]}
            for at, letter in enumerate(self.positions)
        )

    def text(self) -> str:
        """Registers and heads by position, in blocks as wide as a terminal."""
        return "\n".join(_word_lines(self))

    def save(self, path: Path) -> None:
        """Writes it as JSON, as one long table in parquet, or as a picture."""
        check_output(path, ".parquet", ".json", ".svg")
        if path.suffix == ".svg":
            write_text(path, self.picture())
        elif path.suffix == ".json":
            write_json(path, {"krohn": 1, **self.to_json()})
        else:
            write_parquet(path, word_rows(self.to_json()))

    def to_json(self) -> Json:
        """``registers`` and ``heads`` as of the network; ``positions`` of the word, the prompt first."""
        return {**self.about, "positions": list(self._positions())}

    def _positions(self) -> Iterator[Json]:
        prompt = len(self.positions) - len(self.states)
        for place, letter in enumerate(self.positions):
            yield {
                "position": place,
                "letter": letter if place >= prompt else None,
                "state": self.states[place - prompt] if place >= prompt else None,
                "registers": {shown.name: shown.values[place] for shown in self.registers},
                "heads": [
                    {
                        "layer": head.layer + 1,
                        "head": head.number + 1,
                        "weights": [
                            [int(to), float(head.weights[place, to])]
                            for to in np.flatnonzero(head.weights[place] > NOTHING)
                        ],
                    }
                    for head in self.heads
                ],
            }


def explain_word(network: CompiledNetwork, word: Word) -> Explanation:
    """Runs the word in float64 and records every intermediate under its name."""
    automaton, layout = network.automaton, network.layout
    letters = automaton.numbers(word)
    most = min(network.length, LONGEST)
    if len(letters) > most:
        raise InvalidInput(f"a word that is explained must have at most {most} letters; got {len(letters)}")
    seen: dict[str, Array] = {}
    words = np.array([letters], dtype=np.int64).reshape(1, len(letters))
    result = logits(network.transformer, words, observe=lambda name, value: seen.update({name: value[0]}))
    streams = [seen["embedding"]]
    for layer in range(len(layout.heads)):
        streams += [seen[f"layer.{layer}.mixed"], seen[f"layer.{layer}.stream"]]
    return Explanation(
        network,
        tuple(letters),
        positions=("⊥",) * network.transformer.num_padding
        + tuple(automaton.letter_names[x] for x in letters),
        states=tuple(automaton.output_names[state] for state in result.argmax(-1)[0]),
        moments=tuple(layout.read(index, stream) for index, stream in enumerate(streams)),
        heads=tuple(
            HeadView(layer, number, text, seen[f"layer.{layer}.head.{number}.weights"])
            for layer, texts in enumerate(head_words(network))
            for number, text in enumerate(texts)
        ),
    )


def _registers(network: CompiledNetwork, about: Json, explained: Explanation) -> Iterator[Shown]:
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
        letters = np.array([explained.letters], dtype=np.int64).reshape(1, -1)
        by_program = interpret_registers(network.program, letters)
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


def _word_lines(view: Explanation) -> Iterator[str]:
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


def _lines(explained: Explanation) -> Iterator[tuple[str, list[str]]]:
    titles = {each["name"]: each["title"] for each in explained.about["registers"]}
    count, prompt = len(explained.positions), len(explained.positions) - len(explained.states)
    yield "position", [str(place) for place in range(count)]
    yield "letter", list(explained.positions)
    for layer in range(explained.about["layers"] + 1):
        if layer:
            yield f"block {layer}", [""] * count
        for head, about in zip(explained.heads, explained.about["heads"], strict=True):
            if head.layer + 1 == layer:
                sums = any(each["operation"] in ("PrefixSum", "PlaceSum") for each in about["operations"])
                cells = [_attend(weights, sums=sums) for weights in head.weights]
                yield f" head {head.number + 1} looks at", cells
        for shown in explained.registers:
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

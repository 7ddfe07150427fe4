"""One word through a compiled network, position by position, by a real pass; on screen and as a file."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import letter_numbers
from krohn.base.atomic import check_output, write_json, write_text, write_whole
from krohn.base.extras import to_install
from krohn.errors import InvalidInput, MissingDependency
from krohn.network.compiled import CompiledNetwork
from krohn.network.explanation import Array, Explanation, word_picture
from krohn.network.meaning import Json, meaning
from krohn.network.program import interpret_registers

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
class WordView:
    """A word's explanation, with every register read off once and its meaning beside it."""

    about: Json
    explanation: Explanation
    registers: tuple[Shown, ...]

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


def view_word(network: CompiledNetwork, word: str | Sequence[int | str]) -> WordView:
    """Runs the word in float64 and reads off every register where it is first stored."""
    letters = letter_numbers(word, network.automaton.letter_names)
    if len(letters) > min(network.length, LONGEST):
        raise InvalidInput(
            f"a word that is explained must have at most {min(network.length, LONGEST)} letters; "
            f"got {len(letters)}"
        )
    explained = network.explain(letters)
    about = meaning(network)
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
            if not name or name in known:
                continue
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
    seen = view.explanation
    writers: dict[str, Callable[[], None]] = {
        ".json": lambda: write_json(path, {"krohn": 1, **view.to_json()}),
        ".svg": lambda: write_text(path, word_picture(seen.positions, seen.states, seen.moments, seen.heads)),
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

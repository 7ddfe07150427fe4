"""What a network means, or does on a word, as a file: JSON, a picture, or one long table in parquet."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from krohn.atomic import write_json, write_text, write_whole
from krohn.errors import InvalidInput, MissingDependency
from krohn.network.meaning import Json
from krohn.network.picture import word_picture
from krohn.network.word_view import WordView

SUFFIXES = (".parquet", ".json", ".svg")

_WORD = ("kind", "layer", "head", "name", "position", "letter", "to", "value", "text")
_NETWORK = ("kind", "layer", "head", "name", "low", "high", "text")


def check_name(path: Path, *, word: bool) -> None:
    """Refuses a name whose form is not known, before the work."""
    if path.suffix not in SUFFIXES:
        raise InvalidInput(f"the file must end in one of {', '.join(SUFFIXES)}; got {path.name!r:.80}")
    if path.suffix == ".svg" and not word:
        raise InvalidInput("a picture needs a word to draw: give one, or choose .json or .parquet")


def write_meaning(about: Json, path: Path) -> None:
    """The meaning of a network as JSON or parquet."""
    check_name(path, word=False)
    if path.suffix == ".json":
        write_json(path, about)
    else:
        _write_parquet(path, _NETWORK, _meaning_rows(about))


def write_view(view: WordView, path: Path) -> None:
    """A word as JSON, parquet or a picture."""
    check_name(path, word=True)
    seen = view.explanation
    writers: dict[str, Callable[[], None]] = {
        ".json": lambda: write_json(path, view.to_json()),
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
        raise MissingDependency("writing parquet needs pyarrow: pip install pyarrow") from error
    types = {"value": pyarrow.float64()}
    types |= dict.fromkeys(("layer", "head", "position", "to", "low", "high"), pyarrow.int64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in columns])
    made = pyarrow.Table.from_pylist([{name: row.get(name) for name in columns} for row in rows], schema)

    def put(stream: Any) -> None:
        pyarrow.parquet.write_table(made, stream)

    write_whole(path, put)

"""The values of the parts on a word as one long table in parquet."""

from collections.abc import Iterator
from pathlib import Path

from krohn.base.extras import to_install
from krohn.base.files import write_whole
from krohn.errors import MissingDependency
from krohn.network.meaning import Json

_COLUMNS = ("kind", "layer", "head", "name", "position", "letter", "to", "value", "text")


def word_rows(payload: Json) -> Iterator[Json]:
    """A row for each register and attention weight at each position, and the state after it."""
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


def write_parquet(path: Path, rows: Iterator[Json]) -> None:
    """Writes the rows, missing values as nulls."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependency(f"writing parquet needs pyarrow: {to_install('parquet')}") from error
    types = {"value": pyarrow.float64()}
    types |= dict.fromkeys(("layer", "head", "position", "to"), pyarrow.int64())
    schema = pyarrow.schema([(name, types.get(name, pyarrow.string())) for name in _COLUMNS])
    result = pyarrow.Table.from_pylist([{name: row.get(name) for name in _COLUMNS} for row in rows], schema)
    write_whole(path, lambda stream: pyarrow.parquet.write_table(result, stream))

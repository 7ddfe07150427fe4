"""Data sets on disk: a sample streamed to .npz, .parquet or .jsonl in bounded memory."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
import numpy.typing as npt

from krohn.atomic import write_whole
from krohn.automata.npz import NpzStream
from krohn.automata.semiautomaton import Semiautomaton, whole
from krohn.errors import InvalidInput, MissingDependency


class Rows(Protocol):
    """Words: one per row, in every column."""

    def __len__(self) -> int: ...

    def columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """Integer arrays [word, position] by name."""
        ...


class Drawing(Protocol):
    """Anything that draws words chunk by chunk: ``Sampler``, or one with columns of its own."""

    @property
    def automaton(self) -> Semiautomaton:
        """Whose words they are."""
        ...

    @property
    def length(self) -> int:
        """Row length, in every column."""
        ...

    @property
    def seed(self) -> int:
        """The same seed gives the same words."""
        ...

    @property
    def distribution_name(self) -> str:
        """How the words are distributed, as on the command line."""
        ...

    @property
    def column_types(self) -> dict[str, np.dtype[Any]]:
        """The columns that every chunk has, and the type of their entries."""
        ...

    def chunks(self, count: int, *, threads: int | None = None) -> Iterator[Rows]:
        """``count`` words in order, chunk by chunk."""
        ...


Progress = Callable[[int], None]
Writer = Callable[[IO[bytes], Drawing, Iterator[Rows], int], None]


def write_dataset(
    sampler: Drawing,
    count: int,
    path: str | Path,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> None:
    """Writes ``count`` words with their states to ``path``, whole or not at all, in the suffix's format.

    Columns are ``letters``, ``states`` and, if the automaton has an observation map, ``observations``,
    as 0-based integers. ``progress`` is called with the number of words of every chunk.
    """
    target = Path(path)
    if target.suffix not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise InvalidInput(f"the name of a data set must end in one of {known}; got {str(path)!r}")
    if whole(count) < 1:
        raise InvalidInput(f"the count of a data set must be at least 1; got {count}")
    if target.is_dir():
        raise InvalidInput(f"the name of a data set must not be that of a directory; got {str(path)!r}")
    _check_space(sampler, count, target)
    chunks = _reported(sampler.chunks(count, threads=threads), progress)
    write_whole(target, lambda stream: _WRITERS[target.suffix](stream, sampler, chunks, count))


def _check_space(sampler: Drawing, count: int, target: Path) -> None:
    """Checks disk space before anything is drawn."""
    per_word = sampler.length * sum(kind.itemsize for kind in sampler.column_types.values())
    # Parquet packs small numbers into bits: no format needs less than an eighth.
    needed = count * per_word // (8 if target.suffix == ".parquet" else 1)
    folder = next(folder for folder in target.absolute().parents if folder.exists())
    _, used, free = shutil.disk_usage(folder)
    # Virtual folders such as /proc report no size; writing there fails on its own.
    if needed > free and used + free > 0:
        raise InvalidInput(
            f"the data set must fit on the disk, which has {free:,} bytes free; {count:,} words need "
            f"{needed:,}: lower the count or choose another disk"
        )


def _reported(chunks: Iterator[Rows], progress: Progress | None) -> Iterator[Rows]:
    for chunk in chunks:
        yield chunk
        if progress is not None:
            progress(len(chunk))


def _description(sampler: Drawing) -> dict[str, Any]:
    automaton = sampler.automaton
    return {
        "automaton": automaton.name,
        "distribution": sampler.distribution_name,
        "seed": sampler.seed,
        "letter_names": list(automaton.letter_names),
        "state_names": list(automaton.state_names),
    }


def _write_npz(stream: IO[bytes], sampler: Drawing, chunks: Iterator[Rows], count: int) -> None:
    names = {key: np.array(getattr(sampler.automaton, key)) for key in ("letter_names", "state_names")}
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        key: ((count, sampler.length), kind) for key, kind in sampler.column_types.items()
    }
    shapes |= {key: (values.shape, values.dtype) for key, values in names.items()}
    with NpzStream(stream, shapes) as archive:
        for key, values in names.items():
            archive.write(key, values)
        for chunk in chunks:
            for key, column in chunk.columns().items():
                archive.write(key, column)


def _write_parquet(stream: IO[bytes], sampler: Drawing, chunks: Iterator[Rows], count: int) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependency(
            "writing parquet needs pyarrow: pip install 'krohn[parquet]'; or write .npz or .jsonl"
        ) from error
    del count
    columns = sampler.column_types
    schema = pyarrow.schema(
        [(key, pyarrow.list_(pyarrow.from_numpy_dtype(kind))) for key, kind in columns.items()],
        metadata={"krohn": json.dumps(_description(sampler))},
    )
    # Dictionary encoding packs small integers into few bits; compressing them again is not worth the time.
    with pyarrow.parquet.ParquetWriter(stream, schema, compression="none") as writer:
        for chunk in chunks:
            offsets = pyarrow.array(np.arange(len(chunk) + 1, dtype=np.int32) * np.int32(sampler.length))
            lists = [
                pyarrow.ListArray.from_arrays(offsets, pyarrow.array(np.ascontiguousarray(column).ravel()))
                for column in chunk.columns().values()
            ]
            writer.write_table(pyarrow.Table.from_arrays(lists, schema=schema))


def _write_jsonl(stream: IO[bytes], sampler: Drawing, chunks: Iterator[Rows], count: int) -> None:
    del sampler, count
    for chunk in chunks:
        parts: list[npt.NDArray[np.uint8]] = []
        for key, column in chunk.columns().items():
            parts += [_constant(f'{", " if parts else "{"}"{key}": [', len(chunk)), _printed(column)]
        stream.write(np.concatenate([*parts, _constant("}\n", len(chunk))], axis=1).tobytes())


def _constant(text: str, rows: int) -> npt.NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text.encode(), dtype=np.uint8), (rows, len(text)))


def _printed(column: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint8]:
    """Each row as JSON text up to its closing bracket; numbers are padded with blanks to a fixed width.

    Fixed width makes a row a table lookup per number: no loop over words or digits.
    """
    values, place = (
        np.unique(column, return_inverse=True) if column.itemsize > 1 else (np.arange(256), column)
    )
    digits = max(len(str(int(column.max()))), len(str(int(column.min()))))
    width = next((width for width in (1, 3, 7) if width >= digits), digits)  # 2, 4 or 8 bytes with the comma
    texts = "".join(f"{value:>{width}},"[: width + 1] for value in values.tolist()).encode()
    entries = np.frombuffer(texts, dtype=f"V{width + 1}")
    text: npt.NDArray[np.uint8] = entries.take(place.reshape(column.shape)).view(np.uint8)
    text[:, -1] = ord("]")
    return text


_WRITERS: dict[str, Writer] = {".parquet": _write_parquet, ".npz": _write_npz, ".jsonl": _write_jsonl}

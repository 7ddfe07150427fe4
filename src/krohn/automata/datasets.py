"""Data sets on disk: a sample streamed to .npz, .parquet or .jsonl in bounded memory.

A zip member is contiguous, so each column of an .npz is a pass of its own over the words, which are drawn
again: the same seed gives the same words.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import numpy.typing as npt

from krohn.automata.sampling import Sample, Sampler
from krohn.automata.words import whole
from krohn.base.extras import to_install
from krohn.base.files import check_output, write_whole
from krohn.errors import InvalidInput, MissingDependency

Progress = Callable[[int], None]
Draw = Callable[[int], Iterator[Sample]]
"""The words, chunk by chunk, in a pass that counts as so many words of the progress."""
Writer = Callable[[IO[bytes], Sampler, Draw, int], None]


def write_dataset(
    sampler: Sampler,
    count: int,
    path: str | Path,
    *,
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
    check_output(target, *_WRITERS)
    _check_space(sampler, count, target)

    def draw(share: int) -> Iterator[Sample]:
        return _report_progress(sampler.chunks(count), progress, share / count)

    write_whole(target, lambda stream: _WRITERS[target.suffix](stream, sampler, draw, count))


def _check_space(sampler: Sampler, count: int, target: Path) -> None:
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


def _report_progress(chunks: Iterator[Sample], progress: Progress | None, share: float) -> Iterator[Sample]:
    done, told = 0, 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(round(done * share) - told)
            told = round(done * share)


def _description(sampler: Sampler) -> dict[str, Any]:
    automaton = sampler.automaton
    return {
        "automaton": automaton.name,
        "distribution": sampler.distribution_name,
        "seed": sampler.seed,
        "letter_names": list(automaton.letter_names),
        "state_names": list(automaton.state_names),
    }


def _write_npz(stream: IO[bytes], sampler: Sampler, draw: Draw, count: int) -> None:
    types = sampler.column_types
    with ZipFile(stream, "w") as archive:
        for number, (key, kind) in enumerate(types.items()):
            share = count * (number + 1) // len(types) - count * number // len(types)
            with archive.open(ZipInfo(f"{key}.npy"), "w", force_zip64=True) as member:
                shape = {"descr": kind.str, "fortran_order": False, "shape": (count, sampler.length)}
                np.lib.format.write_array_header_1_0(member, shape)
                for chunk in draw(share):
                    member.write(np.ascontiguousarray(chunk.columns()[key]).data)
        for key in ("letter_names", "state_names"):
            with archive.open(ZipInfo(f"{key}.npy"), "w") as member:
                np.lib.format.write_array(member, np.array(getattr(sampler.automaton, key)))


def _write_parquet(stream: IO[bytes], sampler: Sampler, draw: Draw, count: int) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependency(
            f"writing parquet needs pyarrow: {to_install('parquet')}; or write .npz or .jsonl"
        ) from error
    columns = sampler.column_types
    schema = pyarrow.schema(
        [(key, pyarrow.list_(pyarrow.from_numpy_dtype(kind))) for key, kind in columns.items()],
        metadata={"krohn": json.dumps(_description(sampler))},
    )
    # Dictionary encoding packs small integers into few bits; compressing them again is not worth the time.
    with pyarrow.parquet.ParquetWriter(stream, schema, compression="none") as writer:
        for chunk in draw(count):
            offsets = pyarrow.array(np.arange(len(chunk) + 1, dtype=np.int32) * np.int32(sampler.length))
            lists = [
                pyarrow.ListArray.from_arrays(offsets, pyarrow.array(np.ascontiguousarray(column).ravel()))
                for column in chunk.columns().values()
            ]
            writer.write_table(pyarrow.Table.from_arrays(lists, schema=schema))


def _write_jsonl(stream: IO[bytes], sampler: Sampler, draw: Draw, count: int) -> None:
    del sampler
    for chunk in draw(count):
        parts: list[npt.NDArray[np.uint8]] = []
        for key, column in chunk.columns().items():
            parts += [_constant(f'{", " if parts else "{"}"{key}": [', len(chunk)), _print_rows(column)]
        stream.write(np.concatenate([*parts, _constant("}\n", len(chunk))], axis=1).tobytes())


def _constant(text: str, rows: int) -> npt.NDArray[np.uint8]:
    return np.broadcast_to(np.frombuffer(text.encode(), dtype=np.uint8), (rows, len(text)))


def _print_rows(column: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.uint8]:
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

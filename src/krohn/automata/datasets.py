"""Data sets on disk: a sample streamed to .npz, .parquet or .jsonl in bounded memory.

An uncompressed .npz is written in one pass: several arrays grow side by side in one file. A zip member must
be contiguous, and Python's zip writer fills one member at a time. With sizes known beforehand each array's
offset is known too, so rows are written in place and the checksums are filled in at the end. Sizes are
always written in the zip64 form. A second thread writes to the file while the first computes checksums. With
Python's writer the later columns would need temporary files: twice the disk, and 1.6 to 1.8 times the time
for a million words of S5.
"""

import json
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
import numpy.typing as npt

from krohn.automata.sampling import Sample, Sampler
from krohn.automata.semiautomaton import Semiautomaton, whole
from krohn.base.atomic import check_output, write_whole
from krohn.base.extras import to_install
from krohn.errors import InvalidInput, MissingDependency

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")
_ZIP64 = 45  # zip format version with 64-bit sizes
_UTF8 = 0x800
_FULL = 0xFFFFFFFF
_JANUARY_1980 = 0x21  # the earliest zip date, a constant: the file depends on nothing but the data


@dataclass
class _Member:
    name: bytes
    offset: int
    size: int
    written: int = 0
    checksum: int = 0

    @property
    def begin(self) -> int:
        return self.offset + _LOCAL.size + len(self.name) + 20


class NpzStream:
    """Writes arrays of known shapes, row by row, each at its own offset; use in a ``with`` block."""

    def __init__(self, stream: IO[bytes], arrays: dict[str, tuple[tuple[int, ...], npt.DTypeLike]]) -> None:
        self._stream = stream
        self._members: dict[str, _Member] = {}
        self._pool = ThreadPoolExecutor(1)
        self._writing: Future[None] | None = None
        offset = 0
        for name, (shape, kind) in arrays.items():
            dtype = np.dtype(kind)
            header = _array_header(shape, dtype)
            size = len(header) + int(np.prod(shape, dtype=object)) * dtype.itemsize
            member = _Member(f"{name}.npy".encode(), offset, size)
            self._members[name] = member
            self._append(member, header)
            offset = member.begin + size
        self._end = offset

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.shutdown()  # waits for the pending write
        if kind is None:
            self._finish()

    def write(self, name: str, rows: npt.NDArray[Any]) -> None:
        """Appends rows to the array of that name."""
        self._append(self._members[name], np.ascontiguousarray(rows).data.cast("B"))

    def _finish(self) -> None:
        """Writes the headers and the directory; every array must be complete."""
        self._settle()
        for member in self._members.values():
            assert member.written == member.size, f"{member.name!r} is not complete"
            self._stream.seek(member.offset)
            self._stream.write(_local_header(member))
        self._stream.seek(self._end)
        self._stream.write(_directory(list(self._members.values()), self._end))

    def _append(self, member: _Member, data: bytes | memoryview) -> None:
        self._settle()
        self._writing = self._pool.submit(self._put, member.begin + member.written, data)
        member.written += len(data)
        member.checksum = zlib.crc32(data, member.checksum)

    def _put(self, offset: int, data: bytes | memoryview) -> None:
        self._stream.seek(offset)
        self._stream.write(data)

    def _settle(self) -> None:
        """Waits for the pending write, at most one, and raises its error if it failed."""
        if self._writing is not None:
            self._writing.result()


def _array_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    buffer = BytesIO()
    fields = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, fields)
    return buffer.getvalue()


def _local_header(member: _Member) -> bytes:
    extra = struct.pack("<2H2Q", 1, 16, member.size, member.size)
    fields = (b"PK\3\4", _ZIP64, _UTF8, 0, 0, _JANUARY_1980, member.checksum, _FULL, _FULL)
    return _LOCAL.pack(*fields, len(member.name), len(extra)) + member.name + extra


def _directory(members: Sequence[_Member], offset: int) -> bytes:
    entries = b"".join(map(_central_header, members))
    count, size = len(members), len(entries)
    end64 = _END64.pack(b"PK\6\6", _END64.size - 12, _ZIP64, _ZIP64, 0, 0, count, count, size, offset)
    locator = _LOCATOR.pack(b"PK\6\7", 0, offset + size, 1)
    return entries + end64 + locator + _END.pack(b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _FULL, _FULL, 0)


def _central_header(member: _Member) -> bytes:
    extra = struct.pack("<2H3Q", 1, 24, member.size, member.size, member.offset)
    fields = (b"PK\1\2", _ZIP64, _ZIP64, _UTF8, 0, 0, _JANUARY_1980, member.checksum, _FULL, _FULL)
    return _CENTRAL.pack(*fields, len(member.name), len(extra), 0, 0, 0, 0, _FULL) + member.name + extra


Progress = Callable[[int], None]
Writer = Callable[[IO[bytes], Sampler, Iterator[Sample], int], None]


def write_dataset(
    sampler: Sampler,
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
    check_output(target, *_WRITERS)
    _check_space(sampler, count, target)
    chunks = _reported(sampler.chunks(count, threads=threads), progress)
    write_whole(target, lambda stream: _WRITERS[target.suffix](stream, sampler, chunks, count))


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


def _reported(chunks: Iterator[Sample], progress: Progress | None) -> Iterator[Sample]:
    for chunk in chunks:
        yield chunk
        if progress is not None:
            progress(len(chunk))


def _description(sampler: Sampler) -> dict[str, Any]:
    automaton = sampler.automaton
    return {
        "automaton": automaton.name,
        "distribution": sampler.distribution_name,
        "seed": sampler.seed,
        "letter_names": list(automaton.letter_names),
        "state_names": list(automaton.state_names),
    }


def _write_npz(stream: IO[bytes], sampler: Sampler, chunks: Iterator[Sample], count: int) -> None:
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


def _write_parquet(stream: IO[bytes], sampler: Sampler, chunks: Iterator[Sample], count: int) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependency(
            f"writing parquet needs pyarrow: {to_install('parquet')}; or write .npz or .jsonl"
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


def _write_jsonl(stream: IO[bytes], sampler: Sampler, chunks: Iterator[Sample], count: int) -> None:
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


# Words and states as text for next-token language models: one document a line, in three formats.
#
# A state is shown after some letters only, drawn with the seed of the sample, and always after the last
# one: a model of the text has to know the state at any moment without being told it. The rest of a line is
# letters.


SHARE = 0.25
"""Of the letters after which the state is shown."""
QUERY = "?"
Spoken = list[tuple[int, int | None]]
"""Letters in order, each with the state after it where that is shown."""


def _queries(automaton: Semiautomaton, spoken: Spoken) -> dict[str, Any]:
    """Letters with blanks between; a question mark asks for the state, which follows it."""
    letters, states = automaton.letter_names, automaton.state_names
    parts = [
        letters[letter] if state is None else f"{letters[letter]} {QUERY} {states[state]}"
        for letter, state in spoken
    ]
    return {"text": " ".join(parts)}


def _repl(automaton: Semiautomaton, spoken: Spoken) -> dict[str, Any]:
    """A session at a prompt: letters are commands, ``state`` prints the state."""
    letters, states = automaton.letter_names, automaton.state_names
    lines = [
        f">>> {letters[letter]}\n"
        if state is None
        else f">>> {letters[letter]}\n>>> state\n{states[state]}\n"
        for letter, state in spoken
    ]
    return {"text": "".join(lines)}


def _tokens(automaton: Semiautomaton, spoken: Spoken) -> dict[str, Any]:
    """Numbers: letters, then states, then the question mark; labels are states alone, -100 elsewhere."""
    first, query = automaton.num_letters, automaton.num_letters + automaton.num_states
    rows: list[tuple[int, int]] = []
    for letter, state in spoken:
        rows.append((letter, -100))
        if state is not None:
            rows += [(query, -100), (first + state, first + state)]
    return {"input_ids": [row[0] for row in rows], "labels": [row[1] for row in rows]}


FORMATS: dict[str, tuple[Callable[[Semiautomaton, Spoken], dict[str, Any]], str]] = {
    "queries": (_queries, 'load_dataset("json", data_files="{path}")["train"]["text"]'),
    "repl": (_repl, 'load_dataset("json", data_files="{path}")["train"]["text"]'),
    "tokens": (_tokens, 'load_dataset("json", data_files="{path}")["train"].remove_columns("krohn")'),
}
"""Formats by name, each with the line that loads it with Hugging Face datasets."""


def loader(form: str, path: Path) -> str:
    """The line of Python that loads a file of this format."""
    return FORMATS[form][1].format(path=path)


def write_language(
    sampler: Sampler, count: int, path: Path, form: str, *, threads: int | None = None
) -> None:
    """Writes ``count`` documents as JSON lines, whole or not at all; the same seed gives the same file."""
    if form not in FORMATS:
        raise InvalidInput(f"a format must be one of {', '.join(FORMATS)}; got {form[:40]!r}")
    if whole(count) < 1:
        raise InvalidInput(f"the count of a data set must be at least 1; got {count}")
    automaton, spoken = sampler.automaton, FORMATS[form][0]
    taken = {*automaton.letter_names, *automaton.state_names} & {QUERY, "state", ">>>"}
    if taken:
        raise InvalidInput(f"{', '.join(sorted(taken))} must be free for the text; rename letters or states")
    check_output(path, ".jsonl")

    def lines() -> Iterator[str]:
        rng = np.random.default_rng([sampler.seed, 1])
        for chunk in sampler.chunks(count, threads=threads):
            columns = chunk.columns()
            letters, states = columns["letters"], columns["states"]
            shown = rng.random(letters.shape) < SHARE
            shown[:, -1] = True
            seen = np.where(shown, states.astype(np.int64), -1).tolist()
            for word, after in zip(letters.tolist(), seen, strict=True):
                pairs = [(a, None if q < 0 else q) for a, q in zip(word, after, strict=True)]
                about = {"krohn": automaton.name or "automaton", **spoken(automaton, pairs)}
                yield json.dumps(about, ensure_ascii=False) + "\n"

    def put(stream: IO[bytes]) -> None:
        stream.writelines(line.encode() for line in lines())

    write_whole(path, put)

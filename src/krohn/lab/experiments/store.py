"""The store of results: a folder of JSON lines, one file for each writer, merged by reading them.

Nobody writes into the file of another, so nothing is locked: stores are joined by copying their files into
one folder. A torn last line is ignored. A file that ``krohn results export`` wrote is a store to read, too.
"""

import os
import re
import socket
from collections.abc import Iterable, Sequence
from io import FileIO
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from krohn.base.files import check_output, write_text
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.lab.experiments.record import Conflict, Member, Record, canonical, survivor
from krohn.lab.experiments.result_lines import HEADER, Part, bytes_of, lines_of, parse, place_of

ENDING = ".jsonl"
LARGEST = 32_000_000
"""Bytes after which a writer begins another file: readers refuse files of more than twice as many."""


class StoreUnwritable(KrohnError, OSError):
    """The store cannot be written (full disk, read-only folder); its content is unchanged."""


class Store:
    """Runs by (run id, replicate) with config, seed, metrics, environment, code version, times and status.

    Of two records of one replicate the better one counts, in whatever order they are read. A store that may
    be written sees what others have written meanwhile; one that is only read does not change.

    Attributes:
        conflicts: finished records that disagree, found while reading.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path, self._writable = path, writable
        self.conflicts: list[Conflict] = []
        self._parts: dict[Path, Part] = {}
        self._records: dict[str, dict[int, Record]] = {}
        self._members: dict[tuple[str, str, str, str], Member] = {}
        self._file: FileIO | None = None
        self._own = Path()
        if writable:
            self._make_folder()
        elif not path.exists():
            raise InvalidFile(
                f"a store must exist to be read; there is no folder {path}: name another with --store, or "
                "make one with krohn reproduce"
            )
        self._read_more()

    def _make_folder(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnwritable(
                f"a store must be a folder; {self.path} cannot be one ({error.strerror}): give another with "
                "--store"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file that this store writes."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def put(self, records: Iterable[Record], members: Iterable[Member] = ()) -> list[Conflict]:
        """Adds all or none; for a known replicate the better record stays."""
        if not self._writable:
            raise StoreUnwritable(f"the store must be writable; {self.path} was opened to be read")
        self._read_more()
        better: dict[tuple[str, int], Record] = {}
        conflicts = []
        for record in records:
            known = better.get(record.key) or self._records.get(record.run_id, {}).get(record.replicate)
            kept, conflict = survivor(known, record) if known else (record, None)
            conflicts += [conflict] if conflict else []
            if kept is record and kept != known:
                better[record.key] = record
        new = {place_of(member): member for member in members if place_of(member) not in self._members}
        if better or new:
            self._append(list(better.values()), list(new.values()))
        return conflicts

    def _append(self, records: Sequence[Record], members: Sequence[Member]) -> None:
        """One write for all lines; where it fails, the file is as it was."""
        try:
            file = self._opened()
            before, part = file.tell(), self._parts[self._own]
            new = [
                line
                for line in lines_of(records, members)
                if not ("environment" in line and line["environment"] in part.environments)
                and not ("config" in line and line["config"] in part.configs)
                and not ("krohn-results" in line and before)
            ]
            left = memoryview("".join(canonical(line) + "\n" for line in new).encode())
            try:
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                file.seek(before)
                raise
        except OSError as error:
            raise StoreUnwritable(
                f"the store must be writable and its disk have room; {self.path}: {error.strerror}; nothing "
                "was added, nothing is lost"
            ) from error
        self._read_more()

    def _opened(self) -> FileIO:
        """The file of this writer, made when first needed: no two processes have one of the same name."""
        if self._file is not None and self._file.tell() < LARGEST:
            return self._file
        self.close()
        writer = re.sub(r"[^\w.-]", "-", f"{socket.gethostname()}-{os.getpid()}")
        for number in count(1):
            self._own = self.path / f"{writer}-{number}{ENDING}"
            try:
                self._file = FileIO(self._own, "xb")
            except FileExistsError:
                continue
            break
        self._parts[self._own] = Part()
        assert self._file is not None
        return self._file

    def records(self, run_ids: Sequence[str] | None = None) -> list[Record]:
        """All records, or those of the given runs, ordered by run id and replicate."""
        self._refresh()
        wanted = sorted(self._records if run_ids is None else set(run_ids))
        return [record for run_id in wanted for record in self._of_run(run_id)]

    def of_run(self, run_id: str) -> list[Record]:
        """The records of one run, by replicate."""
        self._refresh()
        return self._of_run(run_id)

    def _of_run(self, run_id: str) -> list[Record]:
        return [record for _, record in sorted(self._records.get(run_id, {}).items())]

    def members(self, experiment: str | None = None, scale: str | None = None) -> list[Member]:
        """Which runs belong to which experiment, ordered by experiment, scale and run id."""
        self._refresh()
        return [
            member
            for _, member in sorted(self._members.items())
            if experiment in (None, member.experiment) and scale in (None, member.scale)
        ]

    def _refresh(self) -> None:
        if self._writable:
            self._read_more()

    def _read_more(self) -> None:
        """Reads what was added to the files since."""
        if not self.path.is_dir():
            if not self._parts:
                self._take(self.path, self._parts.setdefault(self.path, Part()))
            return
        for path in sorted(self.path.glob(f"*{ENDING}")):
            part = self._parts.setdefault(path, Part())
            try:
                grown = path.stat().st_size > part.seen
            except OSError as error:
                raise InvalidFile(
                    f"results must be a readable text file; {path}: {error.strerror}"
                ) from error
            if grown:
                self._take(path, part)

    def _take(self, path: Path, part: Part) -> None:
        records: list[Record] = []
        members: list[Member] = []
        data = bytes_of(path)[part.seen :]
        if path != self.path:  # its writer was killed in the last line, or is writing it now
            data = data[: data.rfind(b"\n") + 1]
            if not part.lines and not data.startswith(HEADER):
                return  # JSON lines of another kind, or none yet
        parse(path, data, part, records, members)
        part.seen += len(data)
        for record in records:
            known = self._records.setdefault(record.run_id, {})
            kept, conflict = (
                survivor(known[record.replicate], record) if record.replicate in known else (record, None)
            )
            known[record.replicate] = kept
            if conflict is not None:
                self.conflicts.append(conflict)
        self._members |= {place_of(member): member for member in members}


def export_text(store: Store, path: Path, *, experiment: str | None = None, scale: str | None = None) -> int:
    """Writes the store, or one experiment of it, to ``path`` and returns the number of records.

    Configs and environments are written once each, on separate lines, so that the file stays small.
    """
    members = store.members(experiment, scale)
    chosen = experiment is None and scale is None
    records = store.records(None if chosen else [member.run_id for member in members])
    if not records:
        # Never replace published results by an empty file.
        what = " ".join(filter(None, [experiment, scale])) or "anything"
        raise InvalidInput(f"there must be records to export; {store.path} has none of {what}")
    check_output(path, path.suffix)
    write_text(path, "".join(canonical(line) + "\n" for line in lines_of(records, members)))
    return len(records)

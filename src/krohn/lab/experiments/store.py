"""The embedded store of results: one SQLite file, written in whole transactions, and its text form."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from krohn.base.files import check_output, parse_json, read_bytes, write_text
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.lab.experiments.record import Conflict, Member, Record, canonical, digest, survivor

SCHEMA_VERSION = 1
# "krhn" as a 32-bit integer: an SQLite file of another program is refused before a table is touched.
APPLICATION_ID = 0x6B72686E

_SCHEMA = """
CREATE TABLE configs (run_id TEXT PRIMARY KEY, config TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE environments (digest TEXT PRIMARY KEY, environment TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE results (
    run_id TEXT NOT NULL REFERENCES configs(run_id), replicate INTEGER NOT NULL,
    seed INTEGER NOT NULL, status TEXT NOT NULL, sequences INTEGER NOT NULL, metrics TEXT NOT NULL,
    environment TEXT NOT NULL REFERENCES environments(digest), code TEXT NOT NULL,
    started TEXT NOT NULL, finished TEXT NOT NULL,
    PRIMARY KEY (run_id, replicate)) WITHOUT ROWID;
CREATE TABLE members (
    experiment TEXT NOT NULL, scale TEXT NOT NULL, run_id TEXT NOT NULL, label TEXT NOT NULL,
    PRIMARY KEY (experiment, scale, run_id, label)) WITHOUT ROWID;
"""
_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
# In the order of the fields of a record.
_SELECT = """
SELECT r.run_id, r.replicate, r.seed, r.status, r.sequences, c.config, r.metrics, e.environment,
       r.code, r.started, r.finished
FROM results r JOIN configs c ON c.run_id = r.run_id JOIN environments e ON e.digest = r.environment
"""


class StoreUnwritable(KrohnError, OSError):
    """The store cannot be written (full disk, read-only file); its content is unchanged."""


class Store:
    """Runs by (run id, replicate) with config, seed, metrics, environment, code version, times and status.

    Every method is one transaction. Opening refuses what is not a store of this version or older.
    """

    def __init__(self, path: Path, *, writable: bool = True) -> None:
        self.path = path
        # A store that is only read is a copy that does not change: each run is parsed once.
        self._parsed: dict[str, list[Record]] | None = None if writable else {}
        with _in_words(path):
            self._connection = self._connect(writable)
            try:
                self._check(writable)
            except BaseException:
                self.close()
                raise

    def _connect(self, writable: bool) -> sqlite3.Connection:
        if writable:
            if self.path.exists() and not self.path.is_file():
                raise StoreUnwritable(
                    f"a store must be a regular file; {self.path} is not one: give another with --store"
                )
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return sqlite3.connect(self.path, timeout=60, isolation_level=None)
        if not self.path.is_file():
            raise InvalidFile(
                f"a store must exist to be read; there is no file {self.path}: name another with --store, or "
                "make one with krohn reproduce"
            )
        # A copy in memory, which SQLite makes of whole transactions, even while another process writes.
        copy = sqlite3.connect(":memory:", isolation_level=None)
        place = f"{self.path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=60)) as opened:
            opened.backup(copy)
        return copy

    def _check(self, writable: bool) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        owner = self._connection.execute("PRAGMA application_id").fetchone()[0]
        empty = not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if owner != APPLICATION_ID and not (empty and owner == 0):
            raise InvalidFile(
                f"a store must be an SQLite file made by krohn; {self.path} is another program's"
            )
        if version > SCHEMA_VERSION:
            raise InvalidFile(
                f"a store must have schema version {SCHEMA_VERSION} or older; {self.path} has {version}, "
                "made by a newer krohn: update krohn to read it"
            )
        if empty or not version:
            self._create()
        result = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if result != "ok":
            raise InvalidFile(_corrupt(self.path, result))
        self._connection.execute("PRAGMA query_only=" + ("0" if writable else "1"))

    def _create(self) -> None:
        script = f"PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={SCHEMA_VERSION};"
        # Race: another process may create the same store now; the second one then uses it.
        with self._transaction():
            if self._connection.execute("PRAGMA user_version").fetchone()[0]:
                return
            for statement in (_SCHEMA + script).split(";"):
                self._connection.execute(statement)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def put(self, records: Iterable[Record], members: Iterable[Member] = ()) -> list[Conflict]:
        """Adds all or none; for a known replicate the better record stays."""
        conflicts = []
        with self._transaction():
            for record in records:
                conflict = self._put_record(record)
                if conflict is not None:
                    conflicts.append(conflict)
            for member in members:
                row = (member.experiment, member.scale, member.run_id, canonical(dict(member.label)))
                self._connection.execute("INSERT OR IGNORE INTO members VALUES (?, ?, ?, ?)", row)
        return conflicts

    def _put_record(self, record: Record) -> Conflict | None:
        known = self._select("WHERE r.run_id = ? AND r.replicate = ?", record.key)
        if known == [record]:
            return None
        kept, conflict = survivor(known[0], record) if known else (record, None)
        environment = canonical(dict(kept.environment))
        name = digest(dict(kept.environment))
        self._connection.execute(
            "INSERT OR IGNORE INTO configs VALUES (?, ?)", (kept.run_id, canonical(dict(kept.config)))
        )
        self._connection.execute("INSERT OR IGNORE INTO environments VALUES (?, ?)", (name, environment))
        self._connection.execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(kept.run_id, kept.replicate, kept.seed, kept.status, kept.sequences),
                *(canonical(dict(kept.metrics)), name, kept.code, kept.started, kept.finished),
            ),
        )
        return conflict

    def records(self, run_ids: Sequence[str] | None = None) -> list[Record]:
        """All records, or those of the given runs, ordered by run id and replicate."""
        with _in_words(self.path):
            if run_ids is None:
                return self._select("", ())
            return [record for run_id in sorted(set(run_ids)) for record in self.of_run(run_id)]

    def of_run(self, run_id: str) -> list[Record]:
        """The records of one run, by replicate."""
        if self._parsed is not None and run_id in self._parsed:
            return list(self._parsed[run_id])
        with _in_words(self.path):
            records = self._select("WHERE r.run_id = ?", (run_id,))
        if self._parsed is not None:
            self._parsed[run_id] = records
        return list(records)

    def members(self, experiment: str | None = None, scale: str | None = None) -> list[Member]:
        """Which runs belong to which experiment, ordered by experiment, scale and run id."""
        with _in_words(self.path):
            rows = self._connection.execute(
                "SELECT experiment, scale, run_id, label FROM members WHERE "
                "(:experiment IS NULL OR experiment = :experiment) AND (:scale IS NULL OR scale = :scale) "
                "ORDER BY experiment, scale, run_id, label",
                {"experiment": experiment, "scale": scale},
            ).fetchall()
        return [
            Member(experiment=name, scale=size, run_id=run_id, label=json.loads(label))
            for name, size, run_id, label in rows
        ]

    def _select(self, where: str, values: tuple[Any, ...]) -> list[Record]:
        rows = self._connection.execute(
            f"{_SELECT} {where} ORDER BY r.run_id, r.replicate", values
        ).fetchall()
        return [_record(row) for row in rows]


def _record(row: Sequence[Any]) -> Record:
    named = dict(zip((item.name for item in fields(Record)), row, strict=True))
    objects = {name: json.loads(named[name]) for name in ("config", "metrics", "environment")}
    return Record(**named | objects)


def _corrupt(path: Path, detail: str) -> str:
    return (
        f"a store must be an intact SQLite file; {path} is not ({' '.join(detail.split())}): "
        "move it away and run `krohn results import` on the exported text"
    )


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Turns SQLite's error into one line a user can act on."""
    try:
        yield
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidFile(_corrupt(path, str(error))) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", "") or ""
        if code.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
            raise StoreUnwritable(
                f"the disk must have room for {path}; got: {error}; nothing was added, nothing is lost"
            ) from error
        if code.startswith(_UNWRITABLE):
            raise StoreUnwritable(
                f"the store must be writable; {path} is not ({error}): give another with --store"
            ) from error
        if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreUnwritable(
                f"the store must be free to be written; {path} was held by another process for a minute"
            ) from error
        raise InvalidFile(_corrupt(path, str(error))) from error


# Results as text that can be committed: JSON lines in one fixed order, read back without loss.


FORMAT_VERSION = 1


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
    write_text(path, "".join(canonical(line) + "\n" for line in _lines(records, members)))
    return len(records)


def store_of_text(path: Path) -> Store:
    """A store in memory of the results in a file."""
    store = Store(Path(":memory:"))
    import_text(store, path)
    return store


def import_text(store: Store, path: Path) -> int:
    """Reads an exported file into ``store`` in one transaction and returns the number of records."""
    records, members = parse_text(path)
    store.put(records, members)
    return len(records)


def parse_text(path: Path) -> tuple[list[Record], list[Member]]:
    """The records and memberships in an exported file."""
    try:
        lines = read_bytes(path).decode("utf-8").removesuffix("\n").split("\n")
    except (KrohnError, UnicodeDecodeError) as error:
        raise InvalidFile(f"results must be a readable text file; {path}: {error}") from error
    configs: dict[str, Any] = {}
    environments: dict[str, Any] = {}
    records: list[Record] = []
    members: list[Member] = []
    for number, line in enumerate(lines, start=1):
        try:
            value = parse_json(line)
            canonical(value).encode()  # a lone surrogate such as "\\ud800" cannot be stored
            _read(value, configs, environments, records, members)
        except (ValueError, KeyError, TypeError, AttributeError, KrohnError) as error:
            raise InvalidFile(
                f"each line must be a record as `krohn results export` writes it; {path}, line {number}: "
                f"{error if isinstance(error, KrohnError) else f'{type(error).__name__} {error}'}"
            ) from error
    return records, members


def _lines(records: Iterable[Record], members: Iterable[Member]) -> Iterable[dict[str, Any]]:
    rows = sorted(records, key=lambda record: record.key)
    yield {"krohn-results": FORMAT_VERSION}
    for name, environment in sorted({digest(row.environment): row.environment for row in rows}.items()):
        yield {"environment": name, "value": environment}
    for run_id, config in sorted({row.run_id: row.config for row in rows}.items()):
        yield {"config": run_id, "value": config}
    for member in sorted(members, key=_place):
        yield {"member": asdict(member)}
    for row in rows:
        fields_of = {field.name: getattr(row, field.name) for field in fields(row) if field.name != "config"}
        yield {"result": fields_of | {"environment": digest(row.environment)}}


def _read(
    line: Any,
    configs: dict[str, Any],
    environments: dict[str, Any],
    records: list[Record],
    members: list[Member],
) -> None:
    match line:
        case {"krohn-results": int(version)}:
            if version > FORMAT_VERSION:
                raise InvalidFile(f"format {version} was written by a newer krohn: update krohn to read it")
        case {"environment": str(name), "value": dict(value)}:
            environments[name] = value
        case {"config": str(name), "value": dict(value)}:
            configs[name] = value
        case {"member": dict(value)}:
            members.append(Member(**value))
        case {"result": dict(value)}:
            filled = {"config": configs[value["run_id"]], "environment": environments[value["environment"]]}
            records.append(Record(**(value | filled)))
        case _:
            raise InvalidFile("the line is of an unknown kind")


def _place(member: Member) -> tuple[str, str, str, str]:
    return member.experiment, member.scale, member.run_id, canonical(dict(member.label))

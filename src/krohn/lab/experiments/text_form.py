"""Results as text that can be committed: JSON lines in one fixed order, read back without loss."""

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from krohn.base.atomic import check_output, write_text
from krohn.base.strict_json import parse_json, read_bytes
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.lab.experiments.record import Member, Record, canonical, digest
from krohn.lab.experiments.store import Store

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

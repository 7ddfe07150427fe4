"""Results as lines of JSON, read and written; each line says by its first key what it is."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from krohn.base.files import parse_json, read_bytes
from krohn.errors import InvalidFile, KrohnError
from krohn.lab.experiments.record import Member, Record, canonical, digest

FORMAT_VERSION = 1
HEADER = b'{"krohn-results":'
"""How a file of results begins; others in the folder are left alone."""


@dataclass
class Part:
    """What is known of one file: how far it was read, and what its lines refer to."""

    configs: dict[str, Any] = field(default_factory=dict)
    environments: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    lines: int = 0


def bytes_of(path: Path) -> bytes:
    """The content of a file of results."""
    try:
        return read_bytes(path)
    except KrohnError as error:
        raise InvalidFile(f"results must be a readable text file; {path}: {error}") from error


def parse(path: Path, data: bytes, part: Part, records: list[Record], members: list[Member]) -> None:
    """Reads whole lines; an error names file and line."""
    try:
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidFile(f"results must be a readable text file; {path}: {error}") from error
    for line in lines if data else ():
        part.lines += 1
        try:
            value = parse_json(line)
            canonical(value).encode()  # a lone surrogate such as "\\ud800" cannot be stored
            _read(value, part, records, members)
        except (ValueError, KeyError, TypeError, AttributeError, KrohnError) as error:
            raise InvalidFile(
                f"each line must be a record as `krohn results export` writes it; {path}, line {part.lines}: "
                f"{error if isinstance(error, KrohnError) else f'{type(error).__name__} {error}'}"
            ) from error


def _read(line: Any, part: Part, records: list[Record], members: list[Member]) -> None:
    match line:
        case {"krohn-results": int(version)}:
            if version > FORMAT_VERSION:
                raise InvalidFile(f"format {version} was written by a newer krohn: update krohn to read it")
        case {"environment": str(name), "value": dict(value)}:
            part.environments[name] = value
        case {"config": str(name), "value": dict(value)}:
            part.configs[name] = value
        case {"member": dict(value)}:
            members.append(Member(**value))
        case {"result": dict(value)}:
            config, environment = part.configs[value["run_id"]], part.environments[value["environment"]]
            records.append(Record(**(value | {"config": config, "environment": environment})))
        case _:
            raise InvalidFile("the line is of an unknown kind")


def lines_of(records: Iterable[Record], members: Iterable[Member]) -> Iterator[dict[str, Any]]:
    """Configs and environments once each, before what refers to them, all in a fixed order."""
    rows = sorted(records, key=lambda record: record.key)
    yield {"krohn-results": FORMAT_VERSION}
    for name, environment in sorted({digest(row.environment): row.environment for row in rows}.items()):
        yield {"environment": name, "value": environment}
    for run_id, config in sorted({row.run_id: row.config for row in rows}.items()):
        yield {"config": run_id, "value": config}
    for member in sorted(members, key=place_of):
        yield {"member": asdict(member)}
    for row in rows:
        fields_of = {item.name: getattr(row, item.name) for item in fields(row) if item.name != "config"}
        yield {"result": fields_of | {"environment": digest(row.environment)}}


def place_of(member: Member) -> tuple[str, str, str, str]:
    """What tells members apart, and their order."""
    return member.experiment, member.scale, member.run_id, canonical(dict(member.label))

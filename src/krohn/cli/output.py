"""What commands print: one JSON object for machines, aligned tables for people, one line for an error."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import click

from krohn.cli.status_line import make_room

MAX_ERROR = 300
"""Characters of an error line: what is longer loses its middle."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")


def emit(payload: dict[str, Any], *, as_json: bool, text: Callable[[], str]) -> None:
    """Prints ``payload`` as JSON, or the text for people; a closed pipe is not an error."""
    shown = _as_json(payload) if as_json else text()
    make_room()
    try:
        click.echo(shown)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def _as_json(payload: dict[str, Any]) -> str:
    plain = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8"
    return json.dumps(payload, ensure_ascii=plain, allow_nan=False)


def refuse(message: str, *, as_json: bool = False) -> int:
    """One line ``error: …`` on stderr, with ``--json`` an object on stdout too; the exit status, 2."""
    line = error_line(message)
    note(f"error: {line}")
    if as_json:
        emit({"error": line}, as_json=True, text=str)
    return 2


def error_line(message: str) -> str:
    """The message in one line of bounded length, without terminal control characters."""
    line = " ".join(message.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    if len(line) <= MAX_ERROR - len("error: "):
        return line
    tail = 80
    return f"{line[: MAX_ERROR - tail - len('error:  … ')]} … {line[-tail:]}"


def silence(stream: TextIO) -> None:
    """Discards whatever is written to the stream from now on: its reader is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def note(message: str) -> None:
    """Prints a remark to stderr, so that stdout stays clean for the result."""
    make_room()
    click.echo(message, err=True)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Aligns columns: numbers to the right, text to the left."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    numeric = [
        bool(rows) and all(isinstance(row[column], (int, float)) for row in rows)
        for column in range(len(header))
    ]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])

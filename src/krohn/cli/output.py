"""What commands print: one JSON object for machines, aligned tables for people."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")


def emit(payload: dict[str, Any], *, as_json: bool, text: Callable[[], str]) -> None:
    """Prints ``payload`` as JSON, or the text a person reads."""
    click.echo(json.dumps(payload, ensure_ascii=False, allow_nan=False) if as_json else text())


def note(message: str) -> None:
    """Prints a remark to stderr, so that stdout stays clean for the result."""
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

"""``krohn doctor``: installed packages, the machine, and how to install what is missing."""

from typing import Any

import click

from krohn.base.notebook import table
from krohn.cli.output import emit, json_option, note
from krohn.installation import doctor


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List versions, the accelerator, and every optional part with how to install it.

    Exit status 0: everything krohn needs is there. 1: a package it cannot do without is missing.

    \b
    Example:  krohn doctor
    """
    result = doctor()
    if not result.parts:
        note("krohn runs from its sources and is not installed, so what it needs is not known: pip install .")
    payload = result.to_json()
    emit(payload, as_json=as_json, text=lambda: _text(payload))
    if not result.complete:
        raise click.exceptions.Exit(1)


def _text(payload: dict[str, Any]) -> str:
    head = "\n".join(f"{name:12} {payload[name]}" for name in ("krohn", "python", "system", "accelerator"))
    rows = [
        (
            f"[{part['extra']}]" if part["extra"] else "krohn",
            part["for"],
            f"missing {', '.join(part['missing'])}: {part['get']}" if part["missing"] else "complete",
        )
        for part in payload["parts"]
    ]
    packages = {name: result for part in payload["parts"] for name, result in part["installed"].items()}
    tables = [
        table(("part", "what for", "state"), rows),
        table(("package", "version"), list(packages.items())),
    ]
    return "\n\n".join([head, *tables]) if rows else head

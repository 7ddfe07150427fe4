"""``krohn doctor``: installed packages, the machine, and how to install what is missing."""

import click

import krohn
from krohn.cli.output import emit, json_option, note


@click.command()
@json_option
def command(as_json: bool) -> int:
    """List versions, the accelerator, and every optional part with how to install it.

    Exit status 0: everything krohn needs is there. 1: a package it cannot do without is missing.

    \b
    Example:  krohn doctor
    """
    result = krohn.doctor()
    if not result.parts:
        note("krohn runs from its sources and is not installed, so what it needs is not known: pip install .")
    emit(result.to_json(), as_json=as_json, text=result.text)
    return int(not result.complete)

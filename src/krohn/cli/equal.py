"""``krohn equal``: do two automata show the same after every word?"""

from pathlib import Path

import click

import krohn
from krohn.cli.options import SPEC, reading
from krohn.cli.output import emit, json_option


@click.command()
@click.argument("one", type=SPEC)
@click.argument("other", type=SPEC)
@reading
@json_option
def command(one: str, other: str, as_json: bool) -> int:
    """Say whether ONE and OTHER show the same after every word; if not, print a shortest word that tells.

    OTHER may be a folder of automaton files, such as the answers of a class: each is compared with ONE.

    Exit status 0 if they are equal, 1 if they are not.

    \b
    Example:  krohn equal 'regex:(ab)*a' 'regex:a(ba)*'
    """
    if Path(other).is_dir():
        from krohn.for_commands import grade  # needs numpy

        graded = grade(one, Path(other))
        emit(graded.to_json(), as_json=as_json, text=graded.text)
        return int(graded.right < len(graded.answers))
    result = krohn.equal(one, other)
    emit(result.to_json(), as_json=as_json, text=result.text)
    return int(not result.equal)

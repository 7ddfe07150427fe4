"""``krohn simulate``: words in, states out, by the automaton itself."""

import click

import krohn
from krohn.cli.options import SPEC, reading
from krohn.cli.output import emit_lines, json_option
from krohn.cli.words_on_stdin import given_words


@click.command()
@click.argument("spec", type=SPEC)
@reading
@click.argument("word", nargs=-1, metavar="[LETTER]...")
@click.option("--observe", is_flag=True, help="Print the observations φ(q) instead of the states.")
@json_option
def command(spec: str, word: tuple[str, ...], observe: bool, as_json: bool) -> None:
    """Print the state after each letter of a word, or of words from standard input, one on each line.

    Letters are separated by spaces, or written together if each is one character (abb).

    \b
    Example:  krohn simulate abab a b a b
              echo "a b a b" | krohn simulate abab
    """
    from krohn.for_commands import simulated_names

    automaton = krohn.parse_spec(spec)
    if observe and automaton.observe is None:
        raise click.UsageError(
            f"--observe needs an automaton with an observation map; {automaton.name} has none"
        )
    lines = simulated_names(automaton, given_words(automaton.numbers, word), observe=observe)
    emit_lines({"automaton": automaton.name}, "states", lines, as_json=as_json)

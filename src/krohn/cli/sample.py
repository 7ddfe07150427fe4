"""``krohn sample``: a data set of random words and their states."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import PATH, SPEC, reading
from krohn.cli.output import emit, json_option, word_bar


@click.command()
@click.argument("spec", type=SPEC)
@reading
@click.option("--length", "-T", type=int, required=True, help="Letters per word.")
@click.option("--count", type=int, required=True, help="Number of words.")
@click.option("--out", type=PATH, required=True, help="F.parquet, F.npz or F.jsonl.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["repl", "tokens"]),
    help="For next-token language models, F.jsonl: the text of a session, or tokens.",
)
@click.option(
    "--distribution",
    help="uniform, feasible, bernoulli:P, abab:P or periodic:WORD:P; default: the paper's choice.",
)
@click.option("--seed", type=int, default=0, help="The same seed gives the same file.")
@json_option
def command(
    spec: str, length: int, count: int, out: Path, form: str | None, as_json: bool, **options: Any
) -> None:
    """Write random words with the states after each letter, as 0-based integers.

    \b
    Example:  krohn sample S5 --length 100 --count 100000 --out s5.npz
              krohn sample S3 --length 64 --count 1000 --format repl --out s3.jsonl
    """
    from krohn.for_commands import write_sample

    automaton = krohn.parse_spec(spec)
    shown = form is None and sys.stderr.isatty()
    with word_bar(count, out.name) if shown else nullcontext() as progress:
        result = write_sample(automaton, length, count, out, form=form, **options, progress=progress)
    emit(result.to_json(), as_json=as_json, text=result.text)

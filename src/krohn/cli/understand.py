"""``krohn understand``: which variables a network holds after which block, found by interventions."""

from pathlib import Path

import click

import krohn
from krohn.cli.options import SPEC, TOKENS, NetworkFolder, OutputFile, effort, reading
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--length",
    "-T",
    type=int,
    help="Letters of the words.  [default: the longest of which 99% are right, at most 40]",
)
@click.option(
    "--automaton", "spec", type=SPEC, help="For a GPT-2 of transformers: the automaton it should compute."
)
@TOKENS
@click.option("--out", type=OutputFile(".html"), help="Write the page, F.html.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, help="Seed of the words.")
@effort("How many words and swaps.")
@reading
@json_option
def command(
    directory: Path,
    length: int | None,
    spec: str | None,
    tokens: Path | None,
    out: Path | None,
    seed: int,
    effort: float,
    as_json: bool,
) -> None:
    """Swap variables of the automaton's algebra between words, block by block, to see if the output follows.

    DIRECTORY is a run of krohn train (GPT), a network of krohn compile, an export of krohn export --to hf, or
    a GPT-2 that transformers saved: that one needs --automaton.
    The table shows the share of swaps that the output follows. * marks variables that the block holds, =
    those that no pair of words tells apart from the state itself, and a dot those without a counterfactual.
    The JSON has intervals, controls and probes.

    \b
    Example:  krohn compile Grid4 --length 8 --method scan --out nets/scan
              krohn understand nets/scan --out scan.html
    """
    report = krohn.understand(
        directory, automaton=spec, tokens=tokens, length=length, seed=seed, effort=effort
    )
    if out is not None:
        report.save(out)
        note(f"written: {out}")
    emit(report.to_json(), as_json=as_json, text=report.text)

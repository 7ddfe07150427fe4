"""``krohn verify``: whether a network of any kind is proved right, and its certificate."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.base.progress import shown_by
from krohn.cli.options import PATH, SPEC, TOKENS, FloatType, NetworkFolder, device, effort, reading
from krohn.cli.output import emit, json_option, note, show_share

OWN = (
    "krohn.json",
    "recurrent.json",
    "looped.json",
    "config.json",
    "export.json",
    "automaton.json",
    "result.json",
)
"""Files of a network, beside its tensors, that a certificate must not replace."""


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--dtype",
    type=FloatType(["float64", "float32", "bfloat16", "float16"]),
    help="The float format.  [default: that of config.json for GPT-2s; for compiled networks the one they "
    "were proved in, or float64; else float32]",
)
@click.option("--length", "-T", type=int, help="Certify only words up to this length.  [default: as built]")
@click.option(
    "--automaton",
    "--spec",
    "spec",
    type=SPEC,
    help="The automaton you mean.  [default: the one the file claims]",
)
@click.option(
    "--input",
    type=SPEC,
    help="For module.py:NAME, .onnx, .pt2: the automaton that accepts the inputs.  [default: all words]",
)
@click.option(
    "--renamed", is_flag=True, help="Allow other names of states and letters than those of --automaton."
)
@click.option("--explain", "as_argument", is_flag=True, help="Print the proof lemma by lemma.")
@click.option("--out", type=PATH, help="Write the certificate to this JSON file.")
@click.option(
    "--recheck",
    "certificate",
    type=PATH,
    help="Check this certificate against the network again; without --tokens its own tokens hold.",
)
@click.option(
    "--as-claimed", is_flag=True, help="With --recheck: ask for the words that the certificate claims alone."
)
@click.option(
    "--order",
    type=click.Choice(["left"]),
    help="With --recheck: ask for sums added from left to right and not fused alone.  [default: any order]",
)
@click.option("--chunks", is_flag=True, help="For a recurrent network: the chunked form must be proved, too.")
@effort("For a trained network: how many words to run, with --recheck too; 10 allows ten times the work.")
@device("Where a trained network is run.")
@TOKENS
@click.option(
    "--kernel",
    is_flag=True,
    help="For a compiled network or a trained LSTM: have Coq's checker prove it, as the program krohn-kernel "
    "where make kernel-checker built it, else by Coq.",
)
@click.option("--coqc", is_flag=True, help="With --kernel: by Coq itself.")
@click.option(
    "--largest", is_flag=True, help="Where the proof fails: find the largest length that is proved; slow."
)
@reading
@json_option
def command(
    directory: Path,
    spec: str | None,
    renamed: bool,
    as_argument: bool,
    out: Path | None,
    kernel: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Decide from the files in DIRECTORY whether the network is proved right on every word.

    DIRECTORY may be module.py:NAME, a torch module of yours (that file is run), or a file .onnx or .pt2: what
    runs is proved against --spec on all inputs of --input, laid out as --tokens says, or an input that it
    gets wrong is found.

    DIRECTORY is a compiled network, an export, recurrent weights, a training run (its best replicate), or a
    GPT-2 that transformers saved: that one needs --automaton, and is proved on all words up to a length that
    can be enumerated.
    Compiled networks and exports (of a trained GPT too) are proved up to a length, recurrent networks and
    trained LSTMs and GRUs for words of every length. A trained network is also run: all words of the largest
    length that --effort allows, and samples of longer ones; words without an error are no proof.

    Exit status 0: proved. 1: not proved, with a counterexample where one was found. 2: bad files.

    \b
    Example:  krohn compile S4 --length 128 --out s4 && krohn verify s4 --automaton S4 --dtype float32
    """
    if out is not None:
        _check_target(out, directory)
    if kernel and as_argument:
        raise click.UsageError(
            "--explain prints krohn's own proof, lemma by lemma; with --kernel leave it out"
        )
    with shown_by(show_share):
        verdict = krohn.verify(directory, automaton=spec, renamed=renamed, out=out, kernel=kernel, **options)
    if out is not None:
        note(verdict.written(out))
    emit(verdict.to_json(), as_json=as_json, text=verdict.argument if as_argument else verdict.text)
    return int(not verdict.certified)


def _check_target(out: Path, directory: Path) -> None:
    """Refuses a file of the network itself, and a directory."""
    own = [*(directory / name for name in OWN), *directory.glob("*.safetensors")]
    if any(out.exists() and file.exists() and out.samefile(file) for file in own):
        raise click.UsageError("--out must not be a file of the network itself")
    if out.is_dir():
        raise click.UsageError(f"--out must be a file; {out} is a directory")

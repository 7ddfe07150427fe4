"""``krohn export``: a network in standard formats."""

from pathlib import Path
from typing import Any

import click

from krohn.cli.options import FOLDER, FloatType, NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.for_commands import attempt_export, export_formats


def _formats(ctx: click.Context, parameter: click.Parameter, given: str) -> tuple[str, ...]:
    """The formats in a list with commas, each once."""
    names, known = tuple(dict.fromkeys(given.split(","))), export_formats()
    for name in names:
        if name not in known:
            raise click.BadParameter(
                f"{name!r:.60} is not one of {', '.join(known)} (TransformerLens opens the folder of hf)"
            )
    return names


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--to",
    "formats",
    callback=_formats,
    required=True,
    help=f"{', '.join(export_formats())}; several with commas.",
)
@click.option(
    "--out",
    type=FOLDER,
    required=True,
    help="Directory to write, one folder in it for each of several formats; an export in it is replaced.",
)
@click.option("--replicate", type=int, help="Which replicate of a training run.  [default: the best]")
@click.option("--length", "-T", type=int, help="For a training run: the longest word.  [default: as trained]")
@click.option(
    "--dtype",
    type=FloatType(["float32", "bfloat16", "float16"]),
    default="float32",
    help="The float type it will be loaded in; the export must be right in it.",
)
@click.option("--unchecked", is_flag=True, help="Write it even if it fails the test of rounding.")
@click.option(
    "--no-proof", is_flag=True, help="Test the export but do not prove it; a proof takes a second to minutes."
)
@json_option
def command(
    directory: Path, formats: tuple[str, ...], out: Path, no_proof: bool, as_json: bool, **options: Any
) -> int:
    """Write the network in a directory of krohn compile or krohn train as a stock model.

    hf: a GPT-2 that transformers and TransformerLens load, with its tokenizer. onnx: one graph.
    README.md beside the files shows how to load them.
    A compiled network is first run on words, also with more rounding than float32 has; if one comes
    out wrong, nothing is written. --unchecked skips the test with more rounding, and README.md says so. Then
    krohn tries to prove the files for all words; if it cannot, README.md says "tested, not proved", and up to
    which length it is proved.

    \b
    Example:  krohn compile S4 --length 100 --dtype float64 --out nets/s4
              krohn export nets/s4 --to hf --out nets/s4-gpt2
              krohn export nets/s4 --to hf,onnx --out nets/s4-exports
    """
    exports = attempt_export(directory, formats, out, proof=not no_proof, announce=note, **options)
    if exports.written:
        for one in exports:
            note(f"written: {', '.join(str(one.out / name) for name in one.files)}")
    emit(exports.to_json(), as_json=as_json, text=exports.text)
    return 0 if exports.written else 1

"""``krohn export``: a network in standard formats."""

from pathlib import Path
from typing import Any

import click

from krohn.cli.options import FOLDER, NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.functions import attempt_export, export_formats


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--to",
    type=click.Choice(export_formats.names()),
    required=True,
    help="The format.",
)
@click.option(
    "--out",
    type=FOLDER,
    required=True,
    help="Directory to write; an export in it is replaced.",
)
@click.option("--replicate", type=int, help="Which replicate of a training run.  [default: the best]")
@click.option("--length", "-T", type=int, help="For a training run: the longest word.  [default: as trained]")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    help="The float type it will be loaded in; the export must be right in it.",
)
@click.option("--unchecked", is_flag=True, help="Write it even if it fails the test of rounding.")
@click.option(
    "--no-proof", is_flag=True, help="Test the export but do not prove it; a proof takes a second to minutes."
)
@json_option
def command(directory: Path, to: str, out: Path, no_proof: bool, as_json: bool, **options: Any) -> int:
    """Write the network in a directory of krohn compile or krohn train as a stock model.

    hf: a GPT-2 that transformers loads, with its tokenizer. transformer-lens: the native model of
    TransformerBridge. onnx: one graph. README.md beside the files shows how to load them.
    A compiled network is first run on words, also with more rounding than float32 has; if one comes
    out wrong, nothing is written. --unchecked skips the test with more rounding, and README.md says so. Then
    krohn tries to prove the files for all words; if it cannot, README.md says "tested, not proved", and up to
    which length it is proved.

    \b
    Example:  krohn compile S4 --length 100 --dtype float64 --out nets/s4
              krohn export nets/s4 --to hf --out nets/s4-gpt2
              krohn export nets/s4 --to onnx --out nets/s4-onnx
    """
    exported = attempt_export(directory, to, out, proof=not no_proof, announce=note, **options)
    if exported.refusal is None:
        note(f"written: {', '.join(str(out / name) for name in exported.files)}")
    emit(exported.to_json(out), as_json=as_json, text=exported.text)
    return 0 if exported.refusal is None else 1

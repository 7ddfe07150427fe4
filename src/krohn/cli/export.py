"""``krohn export``: a network in standard formats."""

from pathlib import Path
from typing import Any

import click

from krohn.base.notebook import table
from krohn.cli.options import NetworkFolder
from krohn.cli.output import emit, json_option, note
from krohn.exporting.card import outcome
from krohn.exporting.driver import ALL_FORMATS, Exported, check_target, prepare, refusal, write
from krohn.exporting.from_compiled import HALF_TYPES


def _formats(ctx: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The formats asked for, each once; the option may be repeated or hold a list with commas."""
    names = tuple(dict.fromkeys(name.strip() for text in given for name in text.split(",")))
    for name in names:
        if name not in ALL_FORMATS.names():
            raise click.BadParameter(f"{name!r:.60} is not one of {', '.join(ALL_FORMATS.names())}")
    return names


@click.command()
@click.argument("directory", type=NetworkFolder())
@click.option(
    "--to",
    "formats",
    callback=_formats,
    multiple=True,
    required=True,
    help=f"{', '.join(ALL_FORMATS.names())}; several with commas.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Directory to write, one folder in it for each of several formats; an export in it is replaced.",
)
@click.option("--replicate", type=int, help="Which replicate of a training run.  [default: the best]")
@click.option("--length", "-T", type=int, help="For a training run: the longest word.  [default: as trained]")
@click.option(
    "--dtype",
    type=click.Choice(["float32", *HALF_TYPES]),
    default="float32",
    show_default=True,
    help="The float type it will be loaded in; the export must be right in it.",
)
@click.option("--unchecked", is_flag=True, help="Write it even if it fails the test of rounding.")
@click.option(
    "--no-proof", is_flag=True, help="Test the export but do not prove it; a proof takes a second to minutes."
)
@json_option
def command(
    directory: Path,
    formats: tuple[str, ...],
    out: Path,
    replicate: int | None,
    length: int | None,
    dtype: str,
    unchecked: bool,
    no_proof: bool,
    as_json: bool,
) -> int:
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
              krohn export nets/s4 --to hf,onnx --out nets/s4-exports
    """
    folders = {to: out if len(formats) == 1 else out / to for to in formats}
    for folder in folders.values():
        check_target(folder)  # fail early
    result = prepare(
        directory,
        formats,
        replicate=replicate,
        length=length,
        dtype=dtype,
        proof=not no_proof,
        announce=note,
    )
    failed = any(refusal(exported, unchecked=unchecked) is not None for exported in result.values())
    payloads = []
    for to, exported in result.items():
        if not failed:
            write(exported, folders[to])
            note(f"written: {', '.join(str(folders[to] / name) for name in exported.files)}")
        payloads.append(_payload(to, exported, folders[to], written=not failed))
    payload = payloads[0] if len(payloads) == 1 else {"written": not failed, "exports": payloads}
    texts = (
        _text(to, exported, unchecked) if len(result) == 1 else f"{to}\n{_text(to, exported, unchecked)}\n"
        for to, exported in result.items()
    )
    emit(payload, as_json=as_json, text=lambda: "\n".join(texts))
    return 1 if failed else 0


def _payload(to: str, exported: Exported, folder: Path, *, written: bool) -> dict[str, Any]:
    return {
        "format": to,
        "directory": str(folder),
        "written": written,
        "files": list(exported.files) if written else [],
        **exported.decoder.sizes(),
        **exported.findings,
    }


def _text(to: str, exported: Exported, unchecked: bool) -> str:
    sizes, result = exported.decoder.sizes(), exported.findings
    shown = {name: f"{value:,.0f}" for name, value in sizes.items()}
    lines = [table(list(shown), [list(shown.values())]), ""]
    if "compared" in result:
        compared = result["compared"]
        lines.append(
            f"replicate {result['replicate']}; logits differ by at most {compared['difference']:.1g} "
            f"(largest {compared['largest']:.3g}) on {compared['words']} held-out words"
        )
        return "\n".join(lines)
    checked, rounding = result["checked"], result["rounding"]
    lines.append(f"{checked['words']:,} words run in float32: {outcome(checked)}")
    if rounding is not None:
        lines.append(
            f"{rounding['words']:,} words at {rounding['factor']:g} times its rounding: {outcome(rounding)}"
        )
        lines += [_types(result["types"]), _proof(result["certificate"])]
    reason = refusal(exported, unchecked=unchecked)
    if reason is not None:
        lines.append(f"not written; {reason}")
        lines.append(
            "if krohn verify certifies the network: compile it with --dtype float64 or for shorter words"
        )
    elif refusal(exported) is not None:
        lines.append("written although it fails the test with more rounding; README.md says so")
    return "\n".join(lines)


def _proof(proof: dict[str, Any]) -> str:
    if proof["certified"]:
        subject = "its numbers are proved" if proof["covers"] == "numbers" else "proved"
        lead = f"the right state leads by {proof['margin']} or more"
        return f"{subject} in {proof['dtype']}: on every word up to its length {lead}"
    some = f" beyond {proof['largest']} letters" if proof.get("largest") else ""
    return f"tested, not proved{some}: {proof['reason']}"


def _types(types: dict[str, dict[str, int]]) -> str:
    right = [name for name, seen in types.items() if not seen["wrong"]]
    wrong = [name for name, seen in types.items() if seen["wrong"]]
    return f"right in {', '.join(right)}" + (f"; wrong in {', '.join(wrong)}" if wrong else "")

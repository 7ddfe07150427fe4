"""``krohn export``: a network in other people's formats."""

import math
from pathlib import Path
from typing import Any

import click

from krohn.cli.output import emit, json_option, note, table
from krohn.exporting.export import FORMATS, Exported, check_target, prepare, refusal, write


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(list(FORMATS)), required=True, help="The format.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Directory to write; an export in it is replaced.",
)
@click.option("--replicate", type=int, help="Of a training run.  [default: the best]")
@click.option("--length", type=int, help="Of a training run: the longest word.  [default: as trained]")
@json_option
def command(
    directory: Path, to: str, out: Path, replicate: int | None, length: int | None, as_json: bool
) -> int:
    """Writes the network of a directory (of krohn compile or krohn train) as a stock model.

    hf: a GPT-2 that transformers loads, with its tokenizer. transformer-lens: the native model of
    TransformerBridge. onnx: one graph. The page README.md beside the files shows how to load them.
    A compiled network is run on words first, also with more rounding than float32 has; if one comes
    out wrong, nothing is written.

    \b
    Example:  krohn compile S4 --length 100 --dtype float64 --out nets/s4
              krohn export nets/s4 --to hf --out nets/s4-gpt2
    """
    check_target(out)  # before the work
    exported = prepare(directory, to, replicate=replicate, length=length)
    failed = refusal(exported) is not None
    if not failed:
        write(exported, out)
        note(f"written: {', '.join(str(out / name) for name in exported.files)}")
    payload = {
        "format": to,
        "directory": str(out),
        "written": not failed,
        "files": [] if failed else list(exported.files),
        **exported.decoder.sizes(),
        **exported.findings,
    }
    emit(payload, as_json=as_json, text=lambda: _text(exported, payload))
    return 1 if failed else 0


def _text(exported: Exported, payload: dict[str, Any]) -> str:
    sizes = exported.decoder.sizes()
    shown = {name: f"{value:,.0f}" for name, value in sizes.items()}
    lines = [table(list(shown), [list(shown.values())]), ""]
    if "compared" in payload:
        compared = payload["compared"]
        lines.append(
            f"replicate {payload['replicate']}; logits differ by at most {compared['difference']:.1g} "
            f"(largest {compared['largest']:.3g}) on {compared['words']} held-out words"
        )
        return "\n".join(lines)
    checked, rounding = payload["checked"], payload["rounding"]
    lines.append(f"{checked['words']:,} words run in float32: {_outcome(checked)}")
    if rounding is not None:
        lines.append(
            f"{rounding['words']:,} words at {rounding['factor']:g} times its rounding: {_outcome(rounding)}"
        )
    reason = refusal(exported)
    if reason is not None:
        lines.append(f"not written; {reason}")
        lines.append(
            "if krohn verify certifies the network: compile it with --dtype float64 or for shorter words"
        )
    return "\n".join(lines)


def _outcome(checked: dict[str, Any]) -> str:
    if checked["wrong"]:
        return f"{checked['wrong']:,} wrong"
    return f"0 wrong; the right state leads by {math.floor(100 * checked['least_lead']) / 100} or more"

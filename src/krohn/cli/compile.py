"""``krohn compile``: an automaton as a Transformer with explicit weights."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import EFFORT, FOLDER, SPEC, choice, reading, typed_options
from krohn.cli.output import emit, json_option, note

SHOWN = 3
"""Names of other files in the folder that are listed."""


@click.command()
@click.argument("spec", type=SPEC)
@reading
@click.option(
    "--length", "-T", type=click.IntRange(min=1), help="Letters of the longest word; for Transformers only."
)
@click.option(
    "--architecture",
    type=click.Choice(
        ["transformer", "deltaproduct", "deltanet", "diagonal", "rankone", "lstm", "gru", "looped"]
    ),
    default="transformer",
    help="Recurrent ones read words of every length; deltanet is deltaproduct with one step for each letter; "
    "looped is one block of a Transformer for all loops, ⌈log₂ T⌉ for T letters.",
)
@choice("method", "How to build it; auto: the best of scan, cascade and features.", default="auto")
@click.option("--out", type=FOLDER, help="Directory to write; a network in it is replaced, other files stay.")
@choice("activation", "Activation of the counters, for methods paper and grid.", default="relu")
@choice(
    "objective",
    "What to keep small, among the networks that are proved: layers, then blocks of GPT-2, then parameters; "
    "or blocks at any depth, or parameters, or width.",
    default="depth",
)
@click.option(
    "--unproved", is_flag=True, help="Take a network without a proof: quicker, and perhaps not right."
)
@choice(
    "target",
    "What the network outputs: the state, or what the automaton shows, such as whether a regex matches.",
    default="state",
)
@choice("dtype", "Float format to be proved in.  [default: float32, else float64]")
@choice("gadget", "For method scan: how maps are composed.  [default: direct]")
@choice("variant", "For method grid: heads and last MLP.  [default: mod]")
@EFFORT
@json_option
def command(
    spec: str, length: int | None, architecture: str, out: Path | None, as_json: bool, **options: Any
) -> None:
    """Build the weights, prove them, print their sizes beside the paper's, and write them to --out.

    Of the networks that the checker accepts in float32 it takes the one of least depth, then of the fewest
    blocks of GPT-2 (attention and an MLP of one hidden layer), then of the fewest parameters; if it accepts
    none, the same in float64; if none again, a network without a proof, and the output says so.

    \b
    Example:  krohn compile S4 --length 128 --out nets/s4
              krohn compile Grid9 --length 100 --method grid --out nets/grid9
              krohn compile S5 --architecture deltaproduct --out nets/s5
    """
    from krohn.for_commands import cost_of_proof  # needs numpy

    automaton = krohn.parse_spec(spec)
    if architecture != "transformer":
        _refuse(typed_options("spec", "architecture", "out", "as_json"))
        options = {}
    elif length is None:
        raise click.UsageError("a Transformer is built for words up to a length; choose it with --length")
    given: dict[str, Any] = options | {"length": length, "architecture": architecture}
    if length is not None and not options.get("unproved") and (cost := cost_of_proof(length)):
        note(cost)
    network = krohn.compile(automaton, out=out, **given)
    report = krohn.report(network, options.get("dtype"), architecture)
    if out is not None:
        meaning = {"transformer": "krohn.json", "looped": "looped.json"}.get(architecture, "recurrent.json")
        note(f"written: {out / 'model.safetensors'}, {out / meaning}")
        others = sorted(
            file.name for file in out.iterdir() if file.name not in ("model.safetensors", meaning)
        )
        if others:
            more = f" and {len(others) - SHOWN} more" if len(others) > SHOWN else ""
            note(f"{out} holds other things too, left as they are: {', '.join(others[:SHOWN])}{more}")
    for text in report.notes:
        note(text)
    emit(report.to_json(out), as_json=as_json, text=report.text)


def _refuse(given: list[str]) -> None:
    """Refuses Transformer options for a recurrent network, by name, instead of ignoring them."""
    if given:
        raise click.UsageError(
            f"{given[0]} is for Transformers; a recurrent network reads words of every length"
        )

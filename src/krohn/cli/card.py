"""``krohn card``: can a layer track automata, does it learn to, and up to which length."""

from pathlib import Path
from typing import Any

import click

import krohn
from krohn.cli.options import PATH, FiniteFloat
from krohn.cli.output import emit, json_option, note


@click.command()
@click.argument("layer")
@click.option("--tasks", help="Automata, separated by commas.  [default: all eight]")
@click.option("--seeds", type=click.IntRange(min=1), default=3, help="Networks for each automaton.")
@click.option(
    "--first-seed", type=click.IntRange(min=0), default=0, help="Seed of the first; the others follow."
)
@click.option(
    "--preset",
    type=click.Choice(["quick", "papers"]),
    default="quick",
    help="quick: 16 letters, minutes on a laptop; papers: 128, tested on 512, for a device.",
)
@click.option("--length", "-T", type=click.IntRange(min=2), help="Letters in training.  [default: preset's]")
@click.option("--steps", type=click.IntRange(min=1), help="Steps of training.  [default: preset's]")
@click.option("--batch", type=click.IntRange(min=1), help="Words in a step.  [default: preset's]")
@click.option("--lr", type=FiniteFloat(min=0, min_open=True), help="Learning rate.  [default: preset's]")
@click.option("--width", type=click.IntRange(min=1), help="Width of a layer.  [default: preset's]")
@click.option("--optimizer", type=click.Choice(["adamw", "muon"]), default="adamw", help="Optimiser.")
@click.option(
    "--minutes",
    type=FiniteFloat(min=0, min_open=True),
    help="Stop after this many minutes; the card lists what is missing.",
)
@click.option("--device", default="cpu", help="Where to train: cpu or cuda.")
@click.option("--out", type=PATH, metavar="DIR", help="Write card.json, card.html, badge.svg here.")
@click.option(
    "--control", is_flag=True, help="Run exact weights in LAYER (fla:GatedDeltaProduct) instead of training."
)
@json_option
def command(
    layer: str, tasks: str | None, as_json: bool, out: Path | None, control: bool, **options: Any
) -> None:
    """Train LAYER on automata: what it can track, what it learns, and up to which length it is right.

    Where it fails though no theorem forbids it, a linear layer that can is trained in the same way: only if
    that one learns is the failure the layer's. All automata get one network before any gets a second.

    LAYER is one of krohn's architectures, with options after commas (deltaproduct,householders=4),
    fla:CLASS, a layer of flash-linear-attention, or FILE.py:FACTORY of your own. FACTORY(width) makes a
    layer, [batch, T, width] to the same; FACTORY(letters, states) makes a network, letters [batch, T] to
    logits [batch, T, states]. PKG:FACTORY is looked up in the current folder and among installed packages.

    \b
    Example:  krohn card lstm --tasks C2,S3 --seeds 1
              krohn card fla:GatedDeltaProduct --control --tasks C2,S3
    """
    if control and options["device"] == "cpu":
        note("no GPU: the layer's arithmetic is run one letter after the other, not by its kernels")
    chosen: dict[str, Any] = {} if tasks is None else {"tasks": tasks}
    result = krohn.card(layer, out=out, control=control, tell=note, **chosen, **options)
    if out is not None:
        written = ("control.json", "control.svg") if control else ("card.html",)
        note(f"written: {', '.join(str(out / name) for name in written)}")
    emit(result.to_json(), as_json=as_json, text=result.text)

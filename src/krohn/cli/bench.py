"""``krohn bench``: tests a layer of your own on state tracking."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from krohn.cli.output import emit, json_option, note
from krohn.errors import InvalidInput


@click.command()
@click.option(
    "--module", "name", required=True, metavar="PKG:FACTORY", help="A function that makes the module."
)
@click.option(
    "--task", "tasks", multiple=True, help="An automaton; repeat for several.  [default: C2, C3, D6]"
)
@click.option("--family", help="A row of krohn analyze, such as 'diagonal complex', for the verdict.")
@click.option(
    "--layers", type=click.IntRange(min=1), default=1, show_default=True, help="Its layers, for the verdict."
)
@click.option(
    "--letter-steps",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Its steps for each letter (Householder or rank-one), for the verdict.",
)
@click.option(
    "--length",
    "-T",
    type=click.IntRange(min=2),
    default=16,
    show_default=True,
    help="Letters of a training word.",
)
@click.option(
    "--steps", type=click.IntRange(min=1), default=300, show_default=True, help="Steps of training."
)
@click.option(
    "--seeds", type=click.IntRange(min=1), default=3, show_default=True, help="Networks for each automaton."
)
@click.option("--dim", type=click.IntRange(min=1), default=32, show_default=True, help="Width of a layer.")
@click.option("--lr", type=float, default=3e-3, show_default=True, help="Learning rate.")
@click.option("--device", default="cpu", show_default=True, help="Where to train: cpu or cuda.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write a figure to this file name, as svg and png."
)
@json_option
def command(
    name: str,
    tasks: tuple[str, ...],
    family: str | None,
    layers: int,
    letter_steps: int,
    length: int,
    steps: int,
    seeds: int,
    dim: int,
    lr: float,
    device: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Train the module that FACTORY makes on automata, and test it on words four times as long.

    FACTORY(width) makes a layer, [batch, T, width] to the same; FACTORY(letters, states) makes a network,
    letters [batch, T] to logits [batch, T, states]. The module is found in the current folder or among what
    is installed.

    \b
    Example:  krohn bench --module my_layer:make --task C2 --family "diagonal [-1, 1]"
    """
    from krohn.evaluate.harness import TASKS, Effort, state_tracking

    effort = Effort(length=length, steps=steps, seeds=seeds, dim=dim, lr=lr)
    found = state_tracking(
        _factory(name),
        tasks or TASKS,
        family=family,
        layers=layers,
        steps=letter_steps,
        effort=effort,
        device=device,
    )
    payload = found.to_json() | {"module": name}
    if out is not None:
        payload["figures"] = [str(path) for path in _figure(payload, out)]
        note(f"figure: {', '.join(payload['figures'])}")
    emit(payload, as_json=as_json, text=found.text)


def _factory(name: str) -> Any:
    package, _, attribute = name.partition(":")
    if not package or not attribute:
        raise InvalidInput(f"--module must be PKG:FACTORY; got {name[:60]!r}")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = getattr(import_module(package), attribute, None)
    except Exception as error:  # whatever somebody else's module does when it is imported
        raise InvalidInput(
            f"--module {name[:60]} must load; {type(error).__name__}: {str(error)[:120]}"
        ) from error
    if not callable(found):
        raise InvalidInput(f"--module must name a function in {package[:40]}; there is no {attribute[:40]}")
    return found


def _figure(payload: dict[str, Any], out: Path) -> list[Path]:
    from krohn.figures.lines import Line, Panel, line_chart
    from krohn.figures.saving import save

    panels = [
        Panel(
            title=row["task"],
            x_axis="length of the word",
            y_axis="letters right",
            lines=[
                Line(name=f"seed {seed}", x=row["lengths"], y=values)
                for seed, values in enumerate(row["accuracies"])
            ],
            guides=[(payload["length"], "trained")],
        )
        for row in payload["tasks"]
    ]
    return save(line_chart(panels), out.with_suffix(""))

"""`krohn train`: one training job, several replicates at once."""

from pathlib import Path
from typing import Any

import click

from krohn import functions
from krohn.cli.options import FiniteFloat, typed_options
from krohn.cli.output import emit, json_option, note
from krohn.cli.train_settings import setting_options
from krohn.errors import Unsupported

# Execution options, not part of the run's configuration.
_AROUND = ("config", "spec", "device", "out", "checkpoint_seconds", "tensorboard", "provable", "as_json")


@click.command()
@click.argument("spec", required=False)
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Take the whole run from this config.json; give no other setting of the run.",
)
@setting_options
@click.option(
    "--option",
    "extra",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any option of the architecture; repeat for several.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: the GPU if there is one]")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Run directory; resumed if it exists."
)
@click.option(
    "--checkpoint-seconds",
    type=FiniteFloat(min=0),
    help="Least time between two checkpoints.  [default: 120.0]",
)
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard files in the run directory.")
@click.option(
    "--provable",
    is_flag=True,
    help="lstm, gru: then fine-tune until a proof for words of every length succeeds; writes OUT/provable.",
)
@json_option
def command(spec: str | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Train networks to simulate the automaton SPEC.

    \b
    Example:  krohn train Grid4 --length 20 --layers 2 --dim 64 --heads 4 --mlp 64 --lr 1e-3 --steps 2000
    """
    if (spec is None) == (config is None):
        raise click.UsageError("give either an automaton SPEC or --config FILE")
    # The config is complete, and no option may be silently ignored.
    if config is not None and (typed := typed_options(*_AROUND)):
        raise Unsupported(f"--config holds the whole run; leave out {', '.join(typed)}")
    result = functions.train_as_typed(spec, config, options, progress=not as_json, tell=note)
    emit(result.to_json(), as_json=as_json, text=result.text)
    if result.failed:
        raise click.exceptions.Exit(1)

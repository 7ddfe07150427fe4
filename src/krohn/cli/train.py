"""`krohn train`: one training job, several replicates at once."""

from pathlib import Path
from typing import Any

import click

from krohn import for_commands
from krohn.cli.options import FILE, FOLDER, SPEC, FiniteFloat, reading, typed_options
from krohn.cli.output import emit, json_option, note
from krohn.cli.train_options import setting_options
from krohn.errors import Unsupported

# Execution options, not part of the run's configuration.
_AROUND = ("config", "spec", "device", "out", "checkpoint_seconds", "provable", "as_json", "each", "together")


@click.command()
@click.argument("spec", type=SPEC, required=False)
@reading
@click.option(
    "--config", type=FILE, help="Take the whole run from this config.json; give no other setting of the run."
)
@click.option(
    "--each",
    type=click.Path(path_type=Path),
    help="Train a network for each automaton of this folder, or of this file with one in each line.",
)
@click.option("--together", type=click.IntRange(min=1), help="--each: networks in one graph.  [default: 256]")
@setting_options
@click.option(
    "--option",
    "extra",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any option of the architecture; repeat for several.",
)
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: the GPU if there is one]")
@click.option("--out", type=FOLDER, help="Run directory; resumed if it exists.")
@click.option(
    "--checkpoint-seconds",
    type=FiniteFloat(min=0),
    help="Least time between two checkpoints.  [default: 120.0]",
)
@click.option(
    "--provable",
    is_flag=True,
    help="lstm, gru: then train until a proof for words of every length succeeds; looped: find codes that "
    "prove it. Writes OUT/provable.",
)
@json_option
def command(spec: str | None, config: Path | None, each: Path | None, as_json: bool, **options: Any) -> int:
    """Train networks to simulate the automaton SPEC, or each of many automata.

    \b
    Example:  krohn train Grid4 --length 20 --layers 2 --dim 64 --heads 4 --mlp 64 --lr 1e-3 --steps 2000
    """
    if [spec, config, each].count(None) != 2:
        raise click.UsageError("give one of an automaton SPEC, --config FILE and --each FILE|FOLDER")
    if each is not None:
        many = for_commands.train_each_as_typed(each, options, progress=not as_json, tell=note)
        emit(many.to_dict(), as_json=as_json, text=many.text)
        return 0
    if options.pop("together") is not None:
        raise Unsupported("--together needs --each")
    # The config is complete, and no option may be silently ignored.
    if config is not None and (typed := typed_options(*_AROUND)):
        raise Unsupported(f"--config holds the whole run; leave out {', '.join(typed)}")
    result = for_commands.train_as_typed(spec, config, options, progress=not as_json, tell=note)
    emit(result.to_dict(), as_json=as_json, text=result.text)
    return int(result.failed)

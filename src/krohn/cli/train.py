"""`krohn train`: one training job, several replicates at once."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from krohn.cli.output import emit, json_option, note, table
from krohn.errors import InvalidFile, KrohnError, Unsupported

_TASK = ("length", "target", "reveal", "scratchpad", "distribution")
_GPT = ("layers", "dim", "heads", "mlp", "positions", "context", "recency", "dropout")
_LSTM = ("embedding", "hidden")
_OPTIMIZER = (
    "lr", "weight_decay", "warmup", "schedule", "patience", "ema", "clip", "batch",
)  # fmt: skip


@click.command()
@click.argument("spec", required=False)
@click.option(
    "--config", type=click.Path(dir_okay=False, path_type=Path), help="A run's config.json; no other."
)
@click.option("--length", default=100, show_default=True, help="Letters per sequence.")
@click.option("--target", type=click.Choice(["state", "observation"]), default="state", show_default=True)
@click.option("--reveal", default=1.0, show_default=True, help="Probability that a label is shown.")
@click.option("--scratchpad", is_flag=True, help="Interleave inputs and states.")
@click.option(
    "--distribution", default="auto", show_default=True, help="Of the inputs; see docs/training.md."
)
@click.option("--model", default="gpt", show_default=True, help="gpt, lstm, or another registered kind.")
@click.option("--layers", type=int, help="gpt: blocks.  [default: 4]")
@click.option("--dim", type=int, help="gpt: width.  [default: 512]")
@click.option("--heads", type=int, help="gpt: attention heads.  [default: 8]")
@click.option("--mlp", type=int, help="gpt: hidden width.  [default: 512]")
@click.option("--positions", help="gpt: sinusoidal, linear, none, shifted or learned.")
@click.option("--context", type=int, help="gpt: number of learned positions.")
@click.option("--recency", is_flag=True, default=None, help="gpt: recency bias, as in ALiBi.")
@click.option("--dropout", type=float, help="gpt: rate.  [default: 0]")
@click.option("--embedding", type=int, help="lstm: embedding width.  [default: 64]")
@click.option("--hidden", type=int, help="lstm: state width.  [default: 128]")
@click.option("--lr", type=float, multiple=True, help="Learning rate; repeat for a grid over replicates.")
@click.option("--weight-decay", type=float)
@click.option("--warmup", type=int, help="Steps.  [default: 300]")
@click.option("--schedule", help="constant, cosine or plateau.")
@click.option("--patience", type=int, help="plateau: evaluations before a cut.")
@click.option("--ema", type=float, help="Decay of the averaged weights.  [default: 0.9]")
@click.option("--clip", type=float, help="Largest gradient norm.  [default: 1]")
@click.option("--batch", type=int, help="Sequences per replicate and step.  [default: 16]")
@click.option(
    "--curriculum", is_flag=True, help="Let the loss count on a window that grows with what is solved."
)
@click.option(
    "--halving", type=int, help="Steps after which the worse half of the replicates is given up, repeatedly."
)
@click.option("--replicates", default=1, show_default=True)
@click.option("--steps", default=10_000, show_default=True)
@click.option("--eval-every", default=500, show_default=True, help="Steps between evaluations.")
@click.option("--eval-sequences", default=2048, show_default=True, help="Held-out sequences.")
@click.option("--stop-at", type=float, help="Token accuracy at which a replicate is frozen as solved.")
@click.option("--precision", default="auto", show_default=True, help="bf16, fp32, fp64; auto: bf16 on a GPU.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), help="[default: the GPU if there is one]")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Run directory; resumed if it exists."
)
@click.option(
    "--checkpoint-seconds",
    type=click.FloatRange(min=0),
    default=120.0,
    show_default=True,
    help="Least time between two checkpoints.",
)
@click.option("--tensorboard", is_flag=True, help="Write TensorBoard files in the run directory.")
@json_option
def command(spec: str | None, config: Path | None, as_json: bool, **options: Any) -> None:
    """Trains networks to simulate the automaton SPEC.

    \b
    Example:  krohn train Grid4 --length 20 --layers 2 --dim 64 --heads 4 --mlp 64 --lr 1e-3 --steps 2000
    """
    # torch takes a second to import: only when something is to be trained.
    from krohn.training.config import RunConfig
    from krohn.training.loop import train

    if (spec is None) == (config is None):
        raise click.UsageError("give either an automaton SPEC or --config FILE")
    if config is not None:
        _refuse_beside_config()
        try:
            run = RunConfig.from_json(config.read_text())
        except OSError as error:
            raise InvalidFile(f"--config must be a readable file; {error}") from error
    else:
        assert spec is not None
        run = RunConfig(**_checked(spec, options))
    note(
        f"run {run.run_id}: {run.task.spec}, {run.model.kind}, {run.replicates} replicates, {run.steps} steps"
    )
    result = train(
        run,
        directory=options["out"],
        device=options["device"],
        progress=not as_json,
        checkpoint_seconds=options["checkpoint_seconds"],
        tensorboard=options["tensorboard"],
    )
    emit(result.to_dict(), as_json=as_json, text=lambda: _text(result.to_dict()))


def _refuse_beside_config() -> None:
    """A config is complete: an option that would change it must not be ignored in silence."""
    context = click.get_current_context()
    allowed = {"config", "spec", "device", "out", "checkpoint_seconds", "tensorboard", "as_json"}
    typed = [
        option.opts[0]
        for option in context.command.params
        if option.name is not None
        and option.name not in allowed
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise Unsupported(f"--config holds the whole run; leave out {', '.join(typed)}")


def _checked(spec: str, options: dict[str, Any]) -> dict[str, Any]:
    """The parts of the run, if nothing speaks against them; all reasons at once otherwise."""
    from krohn.automata.spec import parse_spec
    from krohn.models.architectures.gpt import GptConfig
    from krohn.tasks.batches import task_reasons
    from krohn.training.config import model_config, run_reasons
    from krohn.training.device import device_reasons

    # Only what was typed reaches the model, so that an option of another architecture is refused by name.
    typed = {name: options[name] for name in (*_GPT, *_LSTM) if options[name] is not None}
    parts, found = _parts(spec, options), []
    try:
        parts["model"] = model_config(options["model"], **typed)
    except KrohnError as error:
        parts["model"] = GptConfig()
        found.append(str(error))
    found += run_reasons(**parts)
    try:
        found += task_reasons(parts["task"], parse_spec(spec))
    except KrohnError as error:
        found.append(str(error))
    found += device_reasons(options["precision"], options["device"])
    if options["tensorboard"] and options["out"] is None:
        found.append("TensorBoard files need a directory: give --out")
    if found:
        raise Unsupported("; ".join(dict.fromkeys(found)))
    return parts


def _parts(spec: str, options: dict[str, Any]) -> dict[str, Any]:
    """All of the run but the model."""
    from krohn.training.config import (
        CurriculumConfig,
        EvaluationConfig,
        HalvingConfig,
        OptimizerConfig,
        TaskConfig,
    )

    given = {name: value for name, value in options.items() if value is not None and value != ()}
    return {
        "task": TaskConfig(spec=spec, **{name: options[name] for name in _TASK}),
        "optimizer": OptimizerConfig(**{name: given[name] for name in _OPTIMIZER if name in given}),
        "evaluation": EvaluationConfig(
            every=options["eval_every"], sequences=options["eval_sequences"], stop_at=options["stop_at"]
        ),
        "curriculum": CurriculumConfig() if options["curriculum"] else None,
        "halving": None if options["halving"] is None else HalvingConfig(every=options["halving"]),
        **{name: options[name] for name in ("replicates", "steps", "precision", "seed")},
    }


def _text(result: dict[str, Any]) -> str:
    rows = [
        (
            index,
            entry["status"],
            f"{entry['learning_rate']:g}",
            f"{entry['accuracy']:.4f}",
            f"{entry['sequence_accuracy']:.4f}",
            entry["step"],
        )
        for index, entry in enumerate(result["replicates"])
    ]
    header = ("replicate", "status", "lr", "token accuracy", "sequence accuracy", "at step")
    speed = f"{result['seconds']:.1f} s, {result['sequences_per_second']:,.0f} sequences/s"
    return f"{table(header, rows)}\n{speed}"

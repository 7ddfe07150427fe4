"""`krohn train`: one training job, several replicates at once."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from krohn.base.notebook import table
from krohn.base.strict_json import read_json
from krohn.cli.options import FiniteFloat
from krohn.cli.output import emit, json_option, note
from krohn.cli.train_settings import setting_options, typed_settings, without_effect, written_down
from krohn.errors import KrohnError, Unsupported, counted

if TYPE_CHECKING:
    from krohn.automata.semiautomaton import Semiautomaton
    from krohn.lab.training.config import RunConfig

CHECKPOINT_SECONDS = 120.0
# Execution options, not part of the run's configuration.
_AROUND = {"config", "spec", "device", "out", "checkpoint_seconds", "tensorboard", "provable", "as_json"}


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
    help=f"Least time between two checkpoints.  [default: {CHECKPOINT_SECONDS}]",
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
    _refuse_early(spec, config, options)
    # Lazy import: torch takes seconds and is only needed for training.
    from krohn.automata.zoo import parse_spec
    from krohn.lab.training.device import start_reasons
    from krohn.lab.training.loop import train

    run = _run_in(config) if config is not None else run_of(str(spec), options)
    automaton = parse_spec(run.task.spec)
    outcome = [*start_reasons(run, automaton, options["device"]), *_directory_reasons(options)]
    _refuse([*outcome, *(_provable_reasons(run, automaton) if options["provable"] else [])])
    note(
        f"run {run.run_id}: {run.task.spec}, {run.model.kind}, {counted(run.replicates, 'replicate')}, "
        f"{counted(run.steps, 'step')}"
    )
    if run.optimizer.warmup >= run.steps:
        note(f"the warm-up of {run.optimizer.warmup} steps never ends: see --warmup")
    seconds = options["checkpoint_seconds"]
    result = train(
        run,
        directory=options["out"],
        device=options["device"],
        progress=not as_json,
        checkpoint_seconds=CHECKPOINT_SECONDS if seconds is None else seconds,
        tensorboard=options["tensorboard"],
        automaton=automaton,
    )
    payload, lines = result.to_dict(), [_text(result.to_dict())]
    if options["provable"]:
        payload["provable"] = _made_provable(options["out"])
        lines.append(_provable_text(payload["provable"]))
    emit(payload, as_json=as_json, text=lambda: "\n".join(lines))
    if options["provable"] and not payload["provable"]["proved"]:
        raise click.exceptions.Exit(1)


def _provable_reasons(run: "RunConfig", automaton: "Semiautomaton") -> list[str]:
    from krohn.lab.provable.provable_run import provable_reasons

    return provable_reasons(run, automaton)


def _made_provable(out: Path) -> dict[str, Any]:
    """Fine-tunes the trained network, and reports how far the boxes are from closing."""
    from krohn.lab.provable.provable_run import make_provable

    def tell(step: int, violation: float) -> None:
        if step % 500 == 0:
            note(f"fine-tune: step {step}, worst violation of the boxes {violation:.3g}")

    return make_provable(out, tell=tell).to_json()


def _provable_text(proof: dict[str, Any]) -> str:
    if proof["proved"]:
        return (
            f"proved for words of every length: {proof['boxes']} boxes, logit margin {proof['margin']:.3g}, "
            f"{proof['steps']} steps in {proof['seconds']:.0f} s: {proof['folder']}"
        )
    reason = f"not proved after {proof['steps']} steps ({proof['failure']})"
    return f"{reason}: try a larger --hidden or another --seed"


def _refuse_early(spec: str | None, config: Path | None, options: dict[str, Any]) -> None:
    """Reports all errors that can be detected before torch is imported."""
    from krohn.lab.training.sections import early_reasons

    typed = typed_settings(options)
    if config is not None:
        _refuse_beside_config()
        result = early_reasons(read_json(config))
    else:
        result = early_reasons(written_down(str(spec), typed, {}))
        result += [] if options["extra"] else without_effect(typed, {})  # --option may give what is needed
    _refuse([*result, *_directory_reasons(options)])


def _refuse_beside_config() -> None:
    """Refuses options beside --config: the config is complete, and no option may be silently ignored."""
    context = click.get_current_context()
    typed = [
        option.opts[0]
        for option in context.command.params
        if option.name is not None
        and option.name not in _AROUND
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]
    if typed:
        raise Unsupported(f"--config holds the whole run; leave out {', '.join(typed)}")


def _run_in(file: Path) -> "RunConfig":
    """The run in a file."""
    from krohn.lab.training.config import RunConfig

    return RunConfig.from_dict(read_json(file))


def run_of(spec: str, options: dict[str, Any]) -> "RunConfig":
    """The run from the command line; if invalid, all errors at once."""
    from krohn.lab.training.config import RunConfig, examined, read_parts

    typed = typed_settings(options)
    model, result = _extra(options["extra"], typed)
    plain = written_down(spec, typed, model)
    parts, unread = read_parts(plain)
    result += [*unread, *examined(parts)[1], *without_effect(typed, model)]
    result += [*_place_reasons(parts, options), *_directory_reasons(options)]
    _refuse(result)
    return RunConfig.from_dict(plain)


def _extra(given: tuple[str, ...], typed: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The architecture's options given by --option NAME=VALUE."""
    from krohn.lab.models.registry import architecture
    from krohn.lab.training.field_types import Misfit, annotations, parsed

    model: dict[str, Any] = {}
    result: list[str] = []
    kind = typed.get("model.kind", "gpt")
    try:
        known = annotations(architecture(kind)) if given else {}
    except KrohnError:
        return {}, []  # reported once, when the model is built
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            result.append(f"--option must be NAME=VALUE; got {text!r}")
        elif name not in known:
            result.append(f"options of {kind} must be among {', '.join(sorted(known))}; got {name}")
        elif name in model or f"model.{name}" in typed:
            result.append(f"{name} must be given once; it is given twice")
        else:
            try:
                model[name] = parsed(value, known[name])
            except Misfit as misfit:
                result.append(f"--option {name} must be {misfit}; got {value!r}")
    return model, result


def _place_reasons(parts: dict[str, Any], options: dict[str, Any]) -> list[str]:
    """Reasons why this automaton or this machine cannot run it, whatever else is wrong."""
    from krohn.automata.zoo import parse_spec
    from krohn.lab.tasks.batches import task_reasons
    from krohn.lab.training.device import device_reasons

    result = device_reasons(parts.get("precision", "auto"), options["device"])
    try:
        result += task_reasons(parts["task"], parse_spec(parts["task"].spec))
    except KrohnError as error:
        result.append(str(error))
    return result


def _directory_reasons(options: dict[str, Any]) -> list[str]:
    if options["out"] is not None:
        return []
    reasons = {
        "TensorBoard files need a directory: give --out": options["tensorboard"],
        "--checkpoint-seconds needs a directory: give --out": options["checkpoint_seconds"] is not None,
        "--provable needs a directory: give --out": options["provable"],
    }
    return [reason for reason, holds in reasons.items() if holds]


def _refuse(reasons: list[str]) -> None:
    if reasons:
        raise Unsupported("; ".join(dict.fromkeys(reasons)))


def _text(result: dict[str, Any]) -> str:
    rows = [
        (
            index,
            entry["status"],
            f"{entry['learning_rate']:g}",
            f"{entry['accuracy']:.4f}",
            f"{entry['test']['accuracy']:.4f}",
            f"{entry['test']['sequence_accuracy']:.4f}",
            entry["step"],
        )
        for index, entry in enumerate(result["replicates"])
    ]
    header = ("replicate", "status", "lr", "token accuracy", "on test words", "word accuracy", "at step")
    speed = f"{result['seconds']:.1f} s, {result['sequences_per_second']:,.0f} sequences/s"
    return f"{table(header, rows)}\n{speed}"

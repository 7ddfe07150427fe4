"""A run from settings as they are typed: all errors at once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krohn.base.files import read_json
from krohn.errors import KrohnError, Unsupported, counted
from krohn.lab.training.settings import SETTINGS, without_effect, written_down

if TYPE_CHECKING:
    from krohn.lab.provable.coded_run import CodedRun
    from krohn.lab.provable.provable_run import ProvableRun
    from krohn.lab.training.config import RunConfig
    from krohn.lab.training.loop import TrainResult
    from krohn.lab.training.many_runs import ManyResult

CHECKPOINT_SECONDS = 120.0


def train_as_typed(
    spec: str | None,
    config: Path | None,
    options: dict[str, Any],
    *,
    progress: bool,
    tell: Callable[[str], object],
) -> "TrainResult":
    """Trains the run that the options describe, or that of a ``config.json``."""
    # Lazy imports: torch takes seconds and is only needed for training.
    from krohn.automata.zoo import parse_spec
    from krohn.lab.training.config import RunConfig
    from krohn.lab.training.directory import RunDirectory
    from krohn.lab.training.loop import train
    from krohn.lab.training.start import start_reasons

    run = run_of(str(spec), options) if config is None else RunConfig.from_dict(read_json(config))
    automaton = parse_spec(run.task.spec)
    faults = [*start_reasons(run, automaton, options["device"]), *_directory_reasons(options)]
    if options["provable"]:
        from krohn.lab.provable.provable_run import provable_reasons

        faults += provable_reasons(run, automaton)
    _refuse(faults)
    if options["out"] is not None:
        RunDirectory(options["out"]).check(run)
    tell(
        f"run {run.run_id}: {run.task.spec}, {run.model.kind}, {counted(run.replicates, 'replicate')}, "
        f"{counted(run.steps, 'step')}"
    )
    if run.optimizer.warmup >= run.steps:
        tell(f"the warm-up of {run.optimizer.warmup} steps never ends: see --warmup")
    seconds = options["checkpoint_seconds"]
    result = train(
        run,
        directory=options["out"],
        device=options["device"],
        progress=progress,
        checkpoint_seconds=CHECKPOINT_SECONDS if seconds is None else seconds,
        automaton=automaton,
    )
    return replace(result, provable=_made_provable(options["out"], tell)) if options["provable"] else result


def train_each_as_typed(
    each: Path, options: dict[str, Any], *, progress: bool, tell: Callable[[str], object]
) -> "ManyResult":
    """Trains a network for each automaton of a file or folder, with the settings of the options."""
    from krohn.lab.training.many_runs import TOGETHER, automata_of, train_many

    values = {setting.name: options[setting.name] for setting in SETTINGS}
    typed = {name: value for name, value in values.items() if value is not None and value != ()}
    extra, faults = _extra(options["extra"], typed)
    faults += without_effect(typed | extra)
    given = {"--provable": options["provable"], "--checkpoint-seconds": options["checkpoint_seconds"]}
    faults += [f"{flag} is for one automaton; leave it out beside --each" for flag in given if given[flag]]
    _refuse(faults)
    automata = automata_of(each)
    together = options["together"] or TOGETHER
    tell(f"{counted(len(automata), 'automaton', 'automata')}, up to {together} networks in one graph")
    return train_many(
        automata, together=together, directory=options["out"], device=options["device"], progress=progress,
        **typed | extra,
    )  # fmt: skip


def _made_provable(out: Path, tell: Callable[[str], object]) -> "ProvableRun | CodedRun":
    """Trains the run's cell to a code that can be proved, or finds codes; reports how far boxes are open."""
    from krohn.lab.provable.provable_run import make_provable

    def report(step: int, violation: float) -> None:
        if step % 500 == 0:
            tell(f"code: step {step}, worst violation of the boxes {violation:.3g}")

    return make_provable(out, tell=report)


def run_of(spec: str, options: dict[str, Any]) -> "RunConfig":
    """The run from the command line; if invalid, all errors at once."""
    from krohn.lab.training.config import RunConfig, examine, read_parts

    values = {setting.name: options[setting.name] for setting in SETTINGS}
    typed = {name: value for name, value in values.items() if value is not None and value != ()}
    extra, faults = _extra(options["extra"], typed)
    plain = written_down(spec, typed)
    plain["model"] |= extra
    parts, unread = read_parts(plain)
    faults += [*unread, *examine(parts)[1], *without_effect(typed | extra)]
    faults += [*_place_reasons(parts, options), *_directory_reasons(options)]
    _refuse(faults)
    return RunConfig.from_dict(plain)


def _extra(given: tuple[str, ...], typed: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The architecture's options given by --option NAME=VALUE."""
    from krohn.base.typed import Misfit, Types, annotations
    from krohn.lab.models.registry import architecture

    model: dict[str, Any] = {}
    faults: list[str] = []
    kind = typed.get("model", "gpt")
    try:
        known = annotations(architecture(kind)) if given else {}
    except KrohnError:
        return {}, []  # reported once, when the model is built
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            faults.append(f"--option must be NAME=VALUE; got {text!r}")
        elif name not in known:
            faults.append(f"options of {kind} must be among {', '.join(sorted(known))}; got {name}")
        elif name in model or name in typed:
            faults.append(f"{name} must be given once; it is given twice")
        else:
            try:
                model[name] = Types().parse(value, known[name])
            except Misfit as misfit:
                faults.append(f"--option {name} must be {misfit}; got {value!r}")
    return model, faults


def _place_reasons(parts: dict[str, Any], options: dict[str, Any]) -> list[str]:
    """Reasons why this automaton or this machine cannot run it, whatever else is wrong."""
    from krohn.automata.zoo import parse_spec
    from krohn.lab.tasks.batches import task_reasons
    from krohn.lab.training.device import device_reasons

    faults = device_reasons(parts.get("precision", "auto"), options["device"])
    try:
        faults += task_reasons(parts["task"], parse_spec(parts["task"].spec))
    except KrohnError as error:
        faults.append(str(error))
    return faults


def _directory_reasons(options: dict[str, Any]) -> list[str]:
    if options["out"] is not None:
        return []
    reasons = {
        "--checkpoint-seconds needs a directory: give --out": options["checkpoint_seconds"] is not None,
        "--provable needs a directory: give --out": options["provable"],
    }
    return [reason for reason, holds in reasons.items() if holds]


def _refuse(reasons: list[str]) -> None:
    if reasons:
        raise Unsupported("; ".join(dict.fromkeys(reasons)))

"""A run as a value: frozen, complete, saved whole; its hash is the run's name."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import AutomatonLike, true_name
from krohn.base.files import parse_json, shown
from krohn.base.typed import Misfit, Types, annotations, fit_fields
from krohn.errors import InvalidInput, KrohnError, Unsupported
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.network import ModelConfig
from krohn.lab.models.registry import architecture, model_config
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.sections import (
    SECTIONS,
    CurriculumConfig,
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    TeachConfig,
    read_section,
)
from krohn.lab.training.settings import OPTIONAL, SETTINGS, written_down

__all__ = [
    "CurriculumConfig",
    "EvaluationConfig",
    "HalvingConfig",
    "OptimizerConfig",
    "RunConfig",
    "TaskConfig",
    "TeachConfig",
    "model_config",
]

# Upper bound on integer model settings (widths, depths, …): anything larger is a mistake, and listing the
# parameters alone would take minutes.
MAX_MODEL_SIZE = 2**16

# Settings added later are omitted while off, so that earlier runs keep their ids.
_LATER: dict[str, dict[str, Any]] = {
    "task": {"bos": False},
    "model": {"attention_dropout": 0.0},
    "optimizer": {"method": "adamw"},
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that determines a run's result on a given machine.

    Attributes:
        task: what is learned.
        model: which network learns it.
        optimizer: how.
        evaluation: when and on what it is evaluated.
        replicates: networks trained side by side.
        steps: optimiser steps of every replicate.
        precision: ``bf16`` (compute; the master weights stay fp32), ``fp32`` or ``fp64``; ``auto`` is bf16 on
            a GPU and fp32 elsewhere.
        seed: replicate r draws its weights and data from (seed, r).
        curriculum: a loss window that grows with the solved prefix; ``None`` for whole words.
        halving: successive halving, in search of one solution; ``None`` to train all replicates to the end.
        teach: hints after blocks; ``None`` for none.
    """

    task: TaskConfig
    model: ModelConfig = field(default_factory=GptConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    replicates: int = 1
    steps: int = 10_000
    precision: Literal["auto", "bf16", "fp32", "fp64"] = "auto"
    seed: int = 0
    curriculum: CurriculumConfig | None = None
    halving: HalvingConfig | None = None
    teach: TeachConfig | None = None

    def __post_init__(self) -> None:
        """Canonicalises the settings; reports all that is wrong with the run at once."""
        values, result = examine({item.name: getattr(self, item.name) for item in dataclasses.fields(self)})
        if result:
            raise Unsupported("; ".join(result))
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def learning_rates(self) -> tuple[float, ...]:
        """One learning rate per replicate."""
        rates = self.optimizer.lr
        return tuple(rates[replicate % len(rates)] for replicate in range(self.replicates))

    @property
    def run_id(self) -> str:
        """Sixteen hexadecimal digits of the SHA-256 of the whole configuration."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; the model carries its ``kind``."""
        plain = dataclasses.asdict(self)
        plain["model"] = {"kind": self.model.kind, **plain["model"]}
        for name in OPTIONAL:
            if plain[name] is None:
                del plain[name]  # so that earlier runs keep their ids
        for section, settings in _LATER.items():
            for name, off in settings.items():
                if plain[section].get(name, off) == off:
                    plain[section].pop(name, None)
        return plain

    def to_json(self) -> str:
        """Canonical JSON: equal runs give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "RunConfig":
        """Inverse of ``to_dict``; a missing or unknown key is refused by name."""
        parts, result = read_parts(plain)
        if result:
            raise InvalidInput("; ".join([*result, *examine(parts)[1]]))
        return cls(**parts)

    @classmethod
    def from_json(cls, text: str) -> "RunConfig":
        """Inverse of ``to_json``."""
        return cls.from_dict(parse_json(text))


def _defaults() -> dict[str, Any]:
    """The defaults of all parts; the task is a placeholder while the others are checked."""
    result = {
        item.name: item.default if item.default_factory is dataclasses.MISSING else item.default_factory()
        for item in dataclasses.fields(RunConfig)
    }
    return result | {"task": TaskConfig(spec="C2")}


def read_parts(plain: Any) -> tuple[dict[str, Any], list[str]]:
    """Parses the parts of a run from plain values; returns the valid ones and the errors of the others."""
    if not isinstance(plain, Mapping):
        return {}, [f"a run configuration must be an object of named settings; got {shown(plain)}"]
    known = annotations(RunConfig)
    faults = [
        f"a run configuration has no {name!r}; its keys are {', '.join(known)}"
        for name in plain
        if name not in known
    ]
    parts: dict[str, Any] = {}
    for name in known:
        given = plain.get(name)
        if name == "task" and given is None:
            faults.append('a run configuration must have a task: {"spec": …}')
        elif name in plain and not (given is None and name in OPTIONAL):
            try:
                parts[name] = _read(name, given)
            except KrohnError as error:
                faults.append(str(error))
    return parts, faults


def _read(name: str, given: Any) -> Any:
    """Parses one part: a section, the model, or a plain value, unchanged."""
    if name in SECTIONS:
        return read_section(name, given)
    if name != "model":
        return given
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be an object of named settings; got {shown(given)}")
    options = dict(given)
    kind = options.pop("kind", None)
    if not isinstance(kind, str):
        raise InvalidInput(f"model.kind must be the name of an architecture; got {shown(kind)}")
    return model_config(kind, **options)


def examine(parts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Validates the parts of a run: the valid ones, canonical, and every error.

    Missing parts get their defaults. The automaton and the machine are not checked.
    """
    parts = {**_defaults(), **parts}
    values: dict[str, Any] = {}
    faults = []
    for name, annotation in annotations(RunConfig).items():
        try:
            value = Types().fit(parts[name], annotation)
        except Misfit as misfit:
            faults.append(f"{name} must be {misfit}; got {shown(parts[name])}")
            continue
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fit, reasons = fit_fields(value, f"{name}.")
            faults += reasons
            if reasons:
                continue
            value = dataclasses.replace(value, **fit)
        values[name] = value
    return values, [*faults, *_reasons(values)]


def _reasons(values: Mapping[str, Any]) -> list[str]:
    """Every error in well-typed values, each alone and in combination."""
    parts = [values[name] for name in SECTIONS if values.get(name) is not None]
    faults = [reason for part in parts for reason in part.reasons()]
    if {"model", "task"} <= values.keys():
        wrong = _too_large(values["model"]) or values["model"].reasons(values["task"].num_tokens)
        faults += wrong or [*_muon_reasons(values), *_hint_reasons(values)]
    for name in ("replicates", "steps"):
        if values.get(name, 1) < 1:
            faults.append(f"{name} must be at least 1; got {values[name]}")
    if values.get("seed", 0) < 0:
        faults.append(f"seed must lie in [0, 2^63); got {values['seed']}")
    return faults + _too_few_replicates(values)


def _too_few_replicates(values: Mapping[str, Any]) -> list[str]:
    """Errors if there are too few replicates for halving or for the learning rates."""
    replicates, faults = values.get("replicates", 0), []
    if values.get("halving") is not None and replicates == 1:
        faults.append(f"halving needs at least 2 replicates; got {replicates}")
    rates = values["optimizer"].lr if "optimizer" in values else ()
    if len(rates) > replicates > 0:
        faults.append(
            f"every learning rate needs a replicate; got {len(rates)} rates and {replicates} replicates"
        )
    return faults


def _muon_reasons(values: Mapping[str, Any]) -> list[str]:
    """An error if the optimizer is Muon and the network has no block matrices."""
    optimizer, model = values.get("optimizer"), values["model"]
    if optimizer is None or optimizer.method != "muon":
        return []
    if any(parameter.matrices for parameter in model.build(2, 2).layout.parameters):
        return []
    return [f"optimizer muon needs a model with matrices of blocks, as gpt has; got {model.kind}: use adamw"]


def _hint_reasons(values: Mapping[str, Any]) -> list[str]:
    """Why there can be no such hints in this model and task."""
    teach, model, task = values.get("teach"), values["model"], values["task"]
    if teach is None or teach.reasons():
        return []
    if not isinstance(model, GptConfig):
        return [f"hints need a model with blocks, as gpt has; got {model.kind}: leave them out"]
    if task.scratchpad:
        return ["hints need words without a scratchpad: leave one of them out"]
    if teach.kind == "cascade":
        return []
    places = teach.places(task.length)
    last = max(block for block, _ in places)
    if last <= model.layers:
        return []
    return [
        f"hints {teach.hints} need a layer for each, {last} for words of {task.length} letters; got "
        f"{model.layers}: give more layers or a part, as doubling:2,4"
    ]


def _too_large(model: ModelConfig) -> list[str]:
    sizes = {item.name: getattr(model, item.name) for item in dataclasses.fields(model)}
    return [
        f"model.{name} must be at most {MAX_MODEL_SIZE:,}; got {size}"
        for name, size in sizes.items()
        if type(size) is int and size > MAX_MODEL_SIZE
    ]


def typed_run(automaton: AutomatonLike, settings: dict[str, Any]) -> RunConfig:
    """The run for settings such as ``length=20, layers=2, lr=1e-3, steps=2000``, as ``krohn train`` has them.

    Whole sections may be given, too: ``evaluation={"every": 100}``.
    """
    plain = written_down(spec_of(automaton), settings)
    options = {"kind", *annotations(architecture(plain["model"]["kind"]))}
    unknown = [name for name in plain["model"] if name not in options]
    if unknown:
        known = sorted({*(setting.name for setting in SETTINGS), *SECTIONS, *options} - {"kind"})
        raise InvalidInput(f"settings of a run must be among {', '.join(known)}; got {', '.join(unknown)}")
    return RunConfig.from_dict(plain)


def spec_of(automaton: AutomatonLike) -> str:
    """How a run names its automaton, so that it can be resumed: a name or a file."""
    if not isinstance(automaton, Semiautomaton):
        return str(automaton)
    name = true_name(automaton)
    if not name:
        raise InvalidInput(
            "a run must be able to name its automaton; save it with krohn.dump_automaton and give the path"
        )
    return name

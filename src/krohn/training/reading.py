"""The sections of a run from plain values, and what is wrong with them: what can be said without torch."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from krohn.automata.spec import parse_spec
from krohn.errors import InvalidInput, KrohnError
from krohn.tasks.config import TaskConfig
from krohn.training.field_types import annotations, fitted_fields, shown
from krohn.training.sections import CurriculumConfig, EvaluationConfig, HalvingConfig, OptimizerConfig

SECTIONS: dict[str, type[Any]] = {
    "task": TaskConfig,
    "optimizer": OptimizerConfig,
    "evaluation": EvaluationConfig,
    "curriculum": CurriculumConfig,
    "halving": HalvingConfig,
}


def read_section(name: str, given: Any) -> Any:
    """A section from its named settings; a missing or unknown key is refused by name."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"{name} must be an object of named settings; got {shown(given)}")
    section = SECTIONS[name]
    unknown = [key for key in given if key not in annotations(section)]
    if unknown:
        keys = ", ".join(annotations(section))
        raise InvalidInput(f"{name} has no {', '.join(map(repr, unknown))}; its keys are {keys}")
    if name == "task" and "spec" not in given:
        raise InvalidInput("task must have a spec, the automaton")
    return section(**given)


def early_reasons(plain: Any) -> list[str]:
    """Reasons against a run that neither the network nor the machine gives: its automaton, its sections."""
    if not isinstance(plain, Mapping):
        return [f"a run configuration must be an object of named settings; got {shown(plain)}"]
    found: list[str] = []
    sound: dict[str, Any] = {"replicates": plain.get("replicates", 1)}
    for name in SECTIONS:
        if plain.get(name) is None:
            continue
        try:
            section = read_section(name, plain[name])
            fit, misfits = fitted_fields(section, f"{name}.")
            if not misfits:
                sound[name] = dataclasses.replace(section, **fit)
            found += misfits or sound[name].reasons()
            if name == "task" and isinstance(section.spec, str):
                parse_spec(section.spec)
        except KrohnError as error:
            found.append(str(error))
    return found + shared_out(sound)


def shared_out(values: Mapping[str, Any]) -> list[str]:
    """Replicates must suffice for what is dealt out to them."""
    replicates, found = values.get("replicates"), []
    if type(replicates) is not int or replicates < 1:
        return []
    if values.get("halving") is not None and replicates < 2:
        found.append(f"halving needs at least 2 replicates; got {replicates}")
    rates = values["optimizer"].lr if "optimizer" in values else ()
    if len(rates) > replicates:
        found.append(
            f"every learning rate needs a replicate; got {len(rates)} rates and {replicates} replicates"
        )
    return found

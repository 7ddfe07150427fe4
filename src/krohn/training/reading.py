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
    for name in SECTIONS:
        if plain.get(name) is None:
            continue
        try:
            section = read_section(name, plain[name])
            fit, misfits = fitted_fields(section, f"{name}.")
            found += misfits or dataclasses.replace(section, **fit).reasons()
            if name == "task" and isinstance(section.spec, str):
                parse_spec(section.spec)
        except KrohnError as error:
            found.append(str(error))
    return found

"""A run as it is typed in Python: settings by their names, each put into the section that has it."""

import dataclasses
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.spec import AutomatonLike, true_name
from krohn.errors import InvalidInput
from krohn.models.registry import architecture
from krohn.tasks.config import TaskConfig
from krohn.training.config import RunConfig
from krohn.training.sections import OptimizerConfig


def typed_run(automaton: AutomatonLike, settings: dict[str, Any]) -> RunConfig:
    """The run for settings such as ``length=20, layers=2, lr=1e-3, steps=2000``; ``model`` names the kind.

    Sections may be given whole, too: ``evaluation={"every": 100}``.
    """
    kind = settings.get("model", "gpt")
    sections = {"task": TaskConfig, "model": architecture(kind), "optimizer": OptimizerConfig}
    plain: dict[str, Any] = {"task": {"spec": spec_of(automaton)}, "model": {"kind": kind}}
    whole = {item.name for item in dataclasses.fields(RunConfig)} - {"task", "model"}
    for name, value in settings.items():
        homes = [key for key, section in sections.items() if name in _fields(section)]
        if name in whole:
            plain[name] = value
        elif homes:
            plain.setdefault(homes[0], {})[name] = value
        elif name != "model":
            known = sorted({"model", *whole, *(f for section in sections.values() for f in _fields(section))})
            raise InvalidInput(f"settings of a run must be among {', '.join(known)}; got {name}")
    return RunConfig.from_dict(plain)


def spec_of(automaton: AutomatonLike) -> str:
    """How a run names its automaton, so that it can be resumed: a name or a file."""
    if not isinstance(automaton, Semiautomaton):
        return str(automaton)
    name = true_name(automaton)
    if not name:
        raise InvalidInput(
            "a run must be able to name its automaton; write it with krohn.dump_automaton and give the path"
        )
    return name


def _fields(section: Any) -> set[str]:
    return {item.name for item in dataclasses.fields(section)} - {"spec"}

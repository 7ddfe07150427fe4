"""Python can do what the command line can: every option of every command has its place there.

A parameter of the function of the same name, another name for it, or another function or method that does
what the option does. An option that has none of them fails here.
"""

import inspect
from importlib import import_module
from typing import Any, get_type_hints

import click
import pytest

import krohn
from krohn.cli.app import COMMANDS, CommandTable, app
from krohn.construct.request import TransformerOptions

ALIKE = {
    "spec": "automaton",
    "specs": "automata",
    "directory": "network",
    "claim": "certificate",
    "formats": "to",
    "no_proof": "proof",
    "unproved": "proved",
    "store_path": "store",
    "run_id": "run",
    "name": "experiment",
}
"""Options and arguments that are parameters of another name."""

ELSEWHERE: dict[str, str] = {
    **{
        f"{command}.{option}": place
        for command in (
            *("zoo", "analyze", "decompose", "compile", "simulate", "sample", "equal"),
            *("explore", "extract", "train", "understand", "verify"),
        )
        for option, place in (
            ("match", "krohn:from_regex"),
            ("textbook", "krohn:from_regex"),
            ("outputs", "krohn:load_automaton"),
        )
    },
    "zoo.spec": "krohn:zoo",
    "zoo.svg": "krohn:Semiautomaton.svg",
    "zoo.out": "krohn:dump_automaton",
    "analyze.eggbox": "krohn:Analysis.eggbox",
    "analyze.svg": "krohn:Analysis.eggbox",
    "analyze.verbose": "krohn:Analysis.text",
    "decompose.svg": "krohn:Decomposition.svg",
    "verify.as_argument": "krohn:Verification.argument",
    "explain.out": "krohn:Explanation.save",
    "understand.out": "krohn:Report.save",
    "run.device": "krohn:CompiledNetwork.to_torch",
    "run.word": "krohn:run",  # words=
    "run.online": "krohn.automata.reader:Reader.online",
    "simulate.word": "krohn:simulate",  # words=
    "simulate.observe": "krohn:Semiautomaton.observe",
    "sample.out": "krohn.for_commands:write_sample",
    "sample.form": "krohn.for_commands:write_sample",
    "sample.export": "krohn.for_commands:write_sample",
    "train.config": "krohn:RunConfig",
    "train.out": "krohn:train",  # directory=
    "train.each": "krohn:train_many",  # automata=
    "atlas.out": "krohn.construct.learnability:Networks.save",
    "train.provable": "krohn.lab.provable.provable_run:make_provable",
    "extract.out": "krohn:dump_automaton",
    "barrington.assign": "krohn.paper.barrington:BarringtonProgram.accepts",
    "barrington.with_network": "krohn:compile",
    "circuit.target": "krohn:compile",
    "circuit.seed": "krohn.paper.gate_circuit:Circuit",
    "reproduce.markdown": "krohn:Reproduction.markdown",
}
"""What does the same in Python; ``module:name``."""

ONLY_HERE = {"as_json"}
"""About printing."""

OPEN = ("train", "reproduce")
"""Functions that take the settings of a run or a sweep by name, and refuse unknown ones."""


def commands() -> dict[str, click.Command]:
    context = click.Context(app)
    result = {name: CommandTable().get_command(context, name) for name in COMMANDS}
    return {name: command for name, command in result.items() if command is not None}


EVERY = commands()


def test_every_command_is_a_function_or_a_group_of_them() -> None:
    """No command is left out: each has a public name, and each member of a group is a method of it."""
    assert set(EVERY) == set(COMMANDS)
    for name, command in EVERY.items():
        assert name in krohn.__all__, f"krohn {name} has no krohn.{name}"
        if not isinstance(command, click.Group):
            assert callable(getattr(krohn, name)), name
        for inner in getattr(command, "commands", {}):
            assert callable(method(name, inner)), f"{name} {inner}"


def method(name: str, inner: str) -> Any:
    return getattr(getattr(krohn, name), inner)


def resolved(place: str) -> Any:
    module, _, path = place.partition(":")
    result = import_module(module)
    for name in path.split("."):
        fields = getattr(result, "__dataclass_fields__", {})
        result = fields[name] if name in fields else getattr(result, name)
    return result


def parameters(name: str, inner: str = "") -> set[str]:
    function = method(name, inner) if inner else getattr(krohn, name)
    known = set(inspect.signature(function).parameters)
    return known | set(get_type_hints(TransformerOptions)) if name == "compile" else known


@pytest.mark.parametrize("name", EVERY)
def test_every_option_of_a_command_has_its_place_in_python(name: str) -> None:
    command = EVERY[name]
    if isinstance(command, click.Group):
        for inner, each in command.commands.items():
            known = parameters(name, inner)
            for option in (str(option.name) for option in each.params):
                assert option in known | ONLY_HERE or ALIKE.get(option) in known, f"{name} {inner}: {option}"
        return
    known = parameters(name)
    for option in (str(option.name) for option in command.params):
        if option in ONLY_HERE or option in known or ALIKE.get(option) in known:
            continue
        if f"{name}.{option}" in ELSEWHERE:
            assert resolved(ELSEWHERE[f"{name}.{option}"]) is not None
        else:
            assert name in OPEN, f"krohn {name} has {option}; krohn.{name} has not"


@pytest.mark.parametrize("place", ELSEWHERE.values())
def test_what_python_has_instead_is_there(place: str) -> None:
    assert resolved(place) is not None


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(krohn.KrohnError, match="nonsense"):
        krohn.train("C2", nonsense=1)

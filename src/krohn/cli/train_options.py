"""The settings of a run as options of click."""

from collections.abc import Callable
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

import click

from krohn.for_commands import train_settings

F = TypeVar("F", bound=Callable[..., Any])


def number_or_none(text: str) -> float | str:
    """A number, or the word none, which ``written_down`` converts."""
    try:
        return text if text == "none" else float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is neither a number nor none") from error


def step_or_solved(text: str) -> int | str:
    """A number of steps, or the word solved."""
    try:
        return text if text == "solved" else int(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is neither a step nor solved") from error


def option_of(setting: Any) -> Callable[[F], F]:
    """The click option; a value that was not given is ``None``, to distinguish it from the default."""
    kind: Any = setting.typed if setting.field is None else setting.field.type
    if kind in (None, bool):
        return click.option(setting.flag, setting.name, is_flag=True, default=None, help=setting.help)
    arguments = get_args(kind)
    repeated = arguments[1:] == (...,)
    if get_origin(kind) is tuple:
        kind = arguments[0]
    elif get_origin(kind) is Literal:
        kind = click.Choice(arguments)
    elif NoneType in arguments:
        kind = number_or_none if float in arguments else step_or_solved
    return click.option(
        *((setting.flag, "-T") if setting.flag == "--length" else (setting.flag,)),
        setting.name,
        type=kind,
        multiple=repeated,
        nargs=len(arguments) if kind is float and arguments and not repeated else 1,
        metavar={number_or_none: "FLOAT|none", step_or_solved: "STEP|solved"}.get(kind),
        help=setting.help,
    )


def setting_options(command: F) -> F:
    """Adds every setting to a command."""
    for setting in reversed(train_settings()):
        command = option_of(setting)(command)
    return command

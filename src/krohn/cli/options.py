"""Options that several commands share: folders of networks, named choices, limits, what was typed."""

import math
import os
import re
import shlex
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import krohn
from krohn.base.files import NO_PATH, check_output
from krohn.cli.output import note
from krohn.errors import InvalidInput

Option = Callable[[Any], Any]


class NamedPath(click.Path):
    """A file or folder by its name: none, as of an unset variable, would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, refused if it is empty."""
        if not value:
            self.fail(NO_PATH, param, ctx)
        return super().convert(value, param, ctx)


PATH = NamedPath(path_type=Path)
FILE = NamedPath(dir_okay=False, path_type=Path)
FOLDER = NamedPath(file_okay=False, path_type=Path)


class OutputFile(NamedPath):
    """A file to write; a wrong ending, or a file that krohn did not write, is refused before the work."""

    def __init__(self, *endings: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, checked."""
        path = super().convert(value, param, ctx)
        check_output(Path(os.fsdecode(path)), *self.endings)
        return path


class FiniteFloat(click.FloatRange):
    """A number within bounds; click's own range accepts nan, which is neither too small nor too large."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, refused if it is nan or infinite."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


class Spec(click.types.StringParamType):
    """The name of an automaton, a pattern or a file, with what the options of ``reading`` say about it."""

    name = "spec"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text that ``parse_spec`` reads."""
        from krohn.for_commands import spec_as_read  # needs numpy

        meta = {} if ctx is None else ctx.meta
        text, remark = spec_as_read(
            str(value),
            match=meta.get("krohn.match", "full"),
            outputs=meta.get("krohn.outputs", "show") == "show",
            textbook=bool(meta.get("krohn.textbook")),
        )
        if remark:
            note(remark)
        return text

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Names of automata, then files."""
        names = [CompletionItem(name) for name in krohn.zoo() if name.startswith(incomplete)]
        return [*names, CompletionItem(incomplete, type="file")]


SPEC = Spec()


def reading(command: Any) -> Any:
    """Adds the options that say how a pattern or a file is read; their values belong to the SPEC."""

    def kept(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        ctx.meta[f"krohn.{param.name}"] = value

    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "callback": kept}
    match = click.Choice(["full", "search"])
    outputs = click.Choice(["show", "drop"])
    for option in (
        click.option("--textbook", is_flag=True, help="Read + ∪ · ε in a pattern as textbooks do.", **common),
        click.option(
            "--outputs",
            type=outputs,
            default="show",
            help="Outputs of a file's machine: show, drop.",
            **common,
        ),
        click.option(
            "--match", type=match, default="full", help="A pattern matches whole words, or inside.", **common
        ),
    ):
        command = option(command)
    return command


class NetworkFolder(NamedPath):
    """A directory with a network; the name of an automaton instead says how to make one."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path, refused if it is not there but an automaton of that name is."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if isinstance(value, str) and not path.exists() and _names_automaton(value):
            out = re.sub(r"\W+", "-", value).strip("-").lower()
            raise InvalidInput(
                f"{value[:60]} is an automaton, not a network; compile it first: "
                f"krohn compile {shlex.quote(value)[:80]} --length 64 --out {out[:40]}"
            )
        return path


def _names_automaton(text: str) -> bool:
    try:
        return bool(krohn.parse_spec(text).num_states)
    except krohn.KrohnError:
        return False


def default_of(function: Callable[..., Any], parameter: str) -> Any:
    """What a public function takes if nothing else is said."""
    return signature(function).parameters[parameter].default


class FloatType(click.Choice[str]):
    """A float format, by its name or a short one (``bf16``), as in Python."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name."""
        from krohn.base.portable import float_name  # needs numpy

        return super().convert(float_name(value), param, ctx)


def choice(name: str, help: str, default: str | None = None) -> Option:
    """An option whose values are those that a request allows."""
    values = (FloatType if name == "dtype" else click.Choice)(krohn.choices(name))
    return click.option(f"--{name}", type=values, default=default, help=help)


def typed_options(*without: str) -> list[str]:
    """The options typed on this command line, as they are written, but for those ``without``."""
    context = click.get_current_context()
    return [
        option.opts[0]
        for option in context.command.params
        if option.name is not None
        and option.name not in without
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]


def device(help: str) -> Option:
    """Where a network is run."""
    values = click.Choice(["cpu", "cuda"])
    return click.option("--device", type=values, default="cpu", help=help)


def effort(help: str) -> Option:
    """How much work may be done, 1 by default."""
    above = FiniteFloat(min=0, min_open=True)
    return click.option("--effort", type=above, default=1.0, help=help)


STORE = click.option(
    "--store",
    "store_path",
    type=PATH,
    default=Path("runs/results"),
    help="The folder that keeps the results, files of JSON lines; or one such file, to be read.",
)
EFFORT = effort("How hard to search; 10 allows ten times the work.")
TOKENS = click.option(
    "--tokens",
    type=FILE,
    help="For a GPT-2 of transformers or a module: JSON with the tokens of letters and states.  "
    "[default: their numbers]",
)

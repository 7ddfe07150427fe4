"""The pages of all commands and of all public names, written from the code itself."""

import inspect
import re
from pathlib import Path

import click

import krohn
from krohn.cli.app import COMMANDS, app


def write_reference(folder: Path) -> None:
    """Writes the pages that are not there yet or say something else."""
    folder.mkdir(exist_ok=True)
    for name, text in {"commands.md": commands_page(), "python.md": python_page()}.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def python_page() -> str:
    """Signature and docstring of every public function, and one line for every class."""
    names = [name for name in krohn.__all__ if not name.startswith("_")]
    values = {name: getattr(krohn, name) for name in names}
    parts = [
        "# Python\n\nWritten from the code when the site is built. Every command is a function of `krohn`.\n"
    ]
    parts.append("## Functions\n")
    for name, value in values.items():
        if not inspect.isclass(value):
            text = inspect.getdoc(value) if inspect.isfunction(value) else inspect.getdoc(type(value))
            parts.append(f"### {name}\n\n```text\n{name}{_parameters(value)}\n\n{text}\n```\n")
    parts.append("## Results and other classes\n\n| name | what it is |\n| --- | --- |")
    for name, value in values.items():
        if inspect.isclass(value):
            line = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
            parts.append(f"| `{name}` | {line} |")
    return "\n".join(parts) + "\n"


def _parameters(value: object) -> str:
    """The signature without annotations, which the docstring says better."""
    if not inspect.isfunction(value):
        return ""
    plain = [one.replace(annotation=one.empty) for one in inspect.signature(value).parameters.values()]
    return re.sub(r"<function .*? at 0x\w+>", "…", str(inspect.Signature(plain)))


def commands_page() -> str:
    """Usage, what it does, arguments and options of every command."""
    context = click.Context(app, info_name="krohn")
    sections = ["# Commands\n\nWritten from the code when the site is built.\n"]
    for name, line in COMMANDS.items():
        command = app.get_command(context, name)
        assert command is not None
        sections.append(_section(name, line, command, context))
    return "\n".join(sections)


def _section(name: str, line: str, command: click.Command, parent: click.Context) -> str:
    own = click.Context(command, info_name=name, parent=parent)
    parts = [f"## krohn {name}\n", f"{line}\n", f"```text\n{command.get_help(own)}\n```\n"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(own):
            found = command.get_command(own, inner)
            assert found is not None
            text = found.get_help(click.Context(found, info_name=inner, parent=own))
            parts.append(f"### krohn {name} {inner}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)

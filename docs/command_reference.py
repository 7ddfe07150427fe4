"""The page of all commands, written from the commands themselves."""

from pathlib import Path

import click

from krohn.cli.app import COMMANDS, app


def write_reference(path: Path) -> None:
    """Writes the page if it is not there yet or says something else."""
    text = reference()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def reference() -> str:
    """Usage, what it does, arguments and options of every command."""
    context = click.Context(app, info_name="krohn")
    sections = ["# Commands\n\nWritten from the code when the site is built.\n"]
    for name, (_, line) in COMMANDS.items():
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

"""The `krohn` command: a table of commands loaded on use, and the one error boundary."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from krohn.errors import Interrupted, KrohnError

# Command -> (module in krohn.cli that holds a click command called `command`, one line of help).
COMMANDS: dict[str, tuple[str, str]] = {
    "zoo": ("zoo", "List the named automata, or show one."),
    "analyze": ("analyze", "Semigroup, groups, and the circuit class of the word problem."),
    "decompose": ("decompose", "The Krohn–Rhodes cascade, proved, drawn and shortened."),
    "compile": ("compile", "Explicit weights of a Transformer that simulates the automaton."),
    "verify": ("verify", "A certificate from the weights: right on every word up to the length."),
    "run": ("run", "Words on stdin to states, by a compiled network."),
    "simulate": ("simulate", "Words on stdin to states, by the automaton itself."),
    "sample": ("sample", "Random words and their states, as a data set."),
    "train": ("train", "Train networks on an automaton, several replicates at once."),
    "reproduce": ("reproduce", "One experiment of the paper: sweep, store, table and figure."),
    "results": ("results", "List, show, merge, export and import stored runs."),
    "export": ("export", "A network as a stock GPT-2, for TransformerLens, or as ONNX."),
    "barrington": ("barrington", "A Boolean formula as a word problem over A5."),
}


class CommandTable(click.Group):
    """Imports a command's module only when that command is asked for, so `--help` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the pipeline."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command's click object, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"krohn.cli.{COMMANDS[cmd_name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with an error that lists the known commands."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            known = ", ".join(COMMANDS)
            raise click.UsageError(f"a command must be one of {known}; got {args[0]!r}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="krohn", prog_name="krohn")
def app() -> None:
    """Finite automata, their algebra, and the shallow Transformers that simulate them.

    \b
    Example:  krohn analyze S4
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status: 0 done, 1 decided and false, 2 bad input."""
    try:
        # Not `app.main`: it would turn a broken pipe into exit status 1, which means "does not hold" here.
        with app.make_context("krohn", list(sys.argv[1:] if arguments is None else arguments)) as context:
            result = app.invoke(context)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "krohn"
        return _refuse(f"{error.format_message().rstrip('.')}: see {where} --help")
    except click.ClickException as error:
        return _refuse(error.format_message())
    except Interrupted as ended:
        click.echo(str(ended), err=True)
        return ended.status
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader went away (`krohn zoo | head`): nothing is wrong with us.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KrohnError, OSError, MemoryError, UnicodeDecodeError) as error:
        return _refuse(str(error) or type(error).__name__)


def _refuse(message: str) -> int:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    return 2


def entry_point() -> None:
    """The console script."""
    sys.exit(run())

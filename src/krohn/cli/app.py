"""The `krohn` command: a table of commands loaded on use, and the one error boundary."""

import errno
import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from difflib import get_close_matches
from importlib import import_module

import click

from krohn import __version__
from krohn.base.extras import missing
from krohn.cli.output import OWN, Elapsed, error_line, note, refuse, silence
from krohn.errors import Interrupted, KrohnError

TRACEBACK = "KROHN_TRACEBACK"
"""The environment variable that asks for the traceback of an error."""

# By what the reader has, a line of help for each command. The module of that name holds it, as `command`.
SECTIONS: dict[str, dict[str, str]] = {
    "You have a machine": {
        "zoo": "List the named automata; draw one, or write it as a file.",
        "analyze": "Find its class, its algebra, the layers it needs, and which architectures can track it.",
        "equal": "Compare two automata on all words.",
        "decompose": "Find the Krohn–Rhodes cascade, shorten it, prove it and draw it.",
        "compile": "Write the weights of a network that simulates it, and prove them where it can.",
        "simulate": "Read words and print their states, by the automaton itself.",
        "sample": "Write random words and their states as a data set.",
        "explore": "Write a page that runs its network in the browser, and open it.",
    },
    "You have a network": {
        "verify": "Prove that it is right on every input, or show one on which it is wrong.",
        "run": "Read words and print their states.",
        "explain": "Explain heads, registers and tables of a compiled one, and their values on a word.",
        "understand": "Find which variables it holds after which block, shown by swaps.",
        "extract": "Learn the automaton that it computes.",
        "export": "Write it as a stock GPT-2 or as ONNX.",
    },
    "You have a method, or design layers": {
        "suite": "Build networks whose algorithm is known; score circuits against them.",
        "card": "Find what a layer can track, what it learns, and up to which length it is right.",
    },
    "You train": {
        "train": "Train networks on an automaton, several replicates at once; or on many automata.",
        "reproduce": "Rerun an experiment of the paper: runs, table and figures.",
        "results": "List, show and export stored runs.",
        "atlas": "Show what networks trained on thousands of automata learned, and the layers of small ones.",
    },
    "Besides": {
        "barrington": "Turn a Boolean formula into a word problem over an automaton.",
        "circuit": "Turn a compiled network into a circuit of threshold gates.",
        "doctor": "Check versions, the accelerator, and extras that are missing.",
    },
}
COMMANDS = {name: text for section in SECTIONS.values() for name, text in section.items()}


class CommandTable(click.Group):
    """Imports a command's module only when that command is asked for, so `--help` stays instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command's click object, imported now."""
        if cmd_name not in COMMANDS:
            return None
        command = import_module(f"krohn.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with an error that names the nearest command, or all of them."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = get_close_matches(args[0][:40], COMMANDS, n=1)
            known = f"did you mean {near[0]}?" if near else f"must be one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"no command {args[0][:40]!r}: {known}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands by what the reader has, without importing them."""
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))


@click.command(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="krohn")
def app() -> None:
    """Prove small Transformers right on every input: compiled from your automaton, or trained by you.

    \b
    Example:  krohn compile S4 --length 100 --out s4
              krohn verify s4
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit status: 0 done, 1 decided and false, 2 bad input."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json, name = "--json" in given, next((word for word in given if word in COMMANDS), "")
    # Unless the command shows its own progress.
    progress: AbstractContextManager[object] = nullcontext() if name in OWN else Elapsed(f"krohn {name}")
    try:
        # Not `app.main`: it would turn a broken pipe into exit status 1, which means "does not hold" here.
        with app.make_context("krohn", given) as context, progress:
            result = app.invoke(context)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 2
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else f"krohn {name}".rstrip()
        line = error_line(_plainly(error.format_message().rstrip(".")))
        joint = "" if line.endswith("?") else ":"
        return refuse(f"{line}{joint} see {where} --help", as_json=as_json)
    except click.ClickException as error:
        return refuse(error.format_message(), as_json=as_json)
    except Interrupted as ended:
        note(str(ended))
        return ended.status
    except (click.Abort, KeyboardInterrupt):
        note("interrupted")
        return 130
    except BrokenPipeError:
        # The reader closed the pipe (`krohn simulate … | head`): not an error.
        silence(sys.stdout)
        return 0
    except ModuleNotFoundError as error:
        _show_traceback()
        known = error if isinstance(error, KrohnError) else missing(error, f"krohn {name}".strip())
        return refuse(str(known or f"internal error, please report it: {error}"), as_json=as_json)
    except (KrohnError, OSError, UnicodeDecodeError) as error:
        _show_traceback()
        return refuse(_describe(error) or type(error).__name__, as_json=as_json)
    except (Exception, SystemExit) as error:
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
            return refuse(_too_large(str(error)), as_json=as_json)
        # An internal error is never exit status 1.
        shown = _show_traceback()
        how = "" if shown else f"; {TRACEBACK}=1 in the environment shows where"
        return refuse(f"internal error, please report it: {error_line(repr(error))}{how}", as_json=as_json)


def _describe(error: KrohnError | OSError | UnicodeDecodeError) -> str:
    """The error in words; where the system names a file, that file comes first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        name = str(error.filename)
        shown = name if len(name) <= 120 else f"… {name[-118:]}"
        return f"{shown} must be a place that can be used: {error.strerror}; choose another"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"there must be room for the output: {error.strerror}; free some, or choose another place"
    return str(error)


def _too_large(message: str) -> str:
    """The line for memory that is not there, with what numpy or torch asked for last, if they say it."""
    need = ""
    if found := re.search(r"allocate ([\d.]+) ?(bytes|[KMGTP]iB)", message):
        power = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"].index(found[2])
        need = f" ({float(found[1]) * 1024**power / 1e9:,.1f} GB at once)"
    return f"this needs more memory than there is{need}: use a shorter --length, or a smaller input"


def _plainly(message: str) -> str:
    """Rewords click's "not a valid integer range" for text that is not a number."""
    message = re.sub(r"is not a valid integer( range)?", "is not a whole number", message)
    return re.sub(r"is not a valid float( range)?", "is not a number", message)


def _show_traceback() -> bool:
    """Prints the traceback if the environment asks for it."""
    wanted = bool(os.environ.get(TRACEBACK))
    if wanted:
        note(traceback.format_exc())
    return wanted

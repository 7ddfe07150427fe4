"""Every command and every option: examples parse, help exists, errors are one line."""

import json
import re
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import click
import pytest

from every import every
from krohn.cli.app import COMMANDS, CommandTable, app, run

ROOT = Path(__file__).parents[2]

# Arguments a command needs before options are parsed; they are never read.
ARGUMENTS = {
    "analyze": ["C2"],
    "atlas": ["--states", "2", "--letters", "2"],
    "barrington": ["x"],
    "card": ["a:b"],
    "circuit": ["C2"],
    "compile": ["C2"],
    "decompose": ["C2"],
    "equal": ["C2", "C3"],
    "explain": ["net"],
    "export": ["net", "--to", "hf", "--out", "there"],
    "extract": ["net", "--length", "3"],
    "reproduce": ["depth"],
    "run": ["net"],
    "sample": ["C2", "--length", "3", "--count", "2", "--out", "x.npz"],
    "simulate": ["C2"],
    "train": ["C2"],
    "understand": ["net"],
    "verify": ["net"],
    "results export": ["--out", "x.jsonl"],
    "suite locks": ["--count", "1", "--seed", "1", "--out", "x"],
    "results show": ["aa"],
    "suite build": ["--out", "there"],
    "suite score": ["net", "--circuit", "x.json"],
}


def every_command() -> Iterator[tuple[str, click.Command]]:
    """All commands and the commands of groups, by what is typed."""
    context = click.Context(app)
    for name in COMMANDS:
        command = CommandTable().get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", result) for inner, result in command.commands.items())
        else:
            yield name, command


EVERY = dict(every_command())
OPTIONS = [
    (name, option)
    for name, command in EVERY.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and option.nargs == 1
]


def wrong_values(option: click.Option) -> list[str]:
    """Values that the type of an option excludes."""
    kind = option.type
    if isinstance(kind, click.IntRange | click.FloatRange):
        below = [] if kind.min is None else [f"{kind.min - 1}"]
        never = ["zebra"] if isinstance(kind, click.IntRange) else ["zebra", "nan", "inf"]
        return [*never, *below, *([] if kind.max is None else [f"{kind.max + 1}"])]
    if isinstance(kind, click.Choice) or kind in (click.INT, click.FLOAT):
        return ["zebra", ""]
    if isinstance(kind, click.Path) and kind.exists:
        return ["no/such/place"]
    return []


REFUSED = [(name, option.opts[0], value) for name, option in OPTIONS for value in wrong_values(option)]


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words) == 2, words
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert len(captured.err) <= 301
    return captured.err


@every(("name", "option", "value"), REFUSED)
def test_a_value_outside_the_type_is_refused_by_the_option_s_name(
    name: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, *name.split(), *ARGUMENTS.get(name, []), f"{option}={value}")
    assert f"Invalid value for '{option}'" in message
    assert f"see krohn {name} --help" in message


def test_many_options_are_tried() -> None:
    assert len(REFUSED) > 120
    assert {name.split()[0] for name, _ in OPTIONS} >= set(COMMANDS) - {"doctor", "simulate"}


@every("name", EVERY)
def test_an_unknown_option_is_reported_as_text_and_as_json(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*name.split(), *ARGUMENTS.get(name, [])]
    message = refused(capsys, *words, "--no-such-option")
    assert "No such option: --no-such-option" in message or "No such option '--no-such-option'" in message
    assert run([*words, "--json", "--no-such-option"]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"error: {json.loads(captured.out)['error']}\n"


@every("name", [name for name in EVERY if ARGUMENTS.get(name) and name not in ("sample", "train", "atlas")])
def test_a_command_without_what_it_needs_says_what_is_missing(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "Missing " in refused(capsys, *name.split())


@every("name", EVERY)
def test_a_word_too_many_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    takes_all = any(isinstance(p, click.Argument) and p.nargs == -1 for p in EVERY[name].params)
    if not takes_all:
        words = [*ARGUMENTS.get(name, []), *(["one"] if name == "zoo" else []), "surplus"]
        assert "unexpected extra argument" in refused(capsys, *name.split(), *words)


@every("name", EVERY)
def test_every_option_says_what_it_is_for(name: str) -> None:
    for option in EVERY[name].params:
        if isinstance(option, click.Option):
            assert option.help, f"krohn {name} {option.opts[0]} has no help"
    assert EVERY[name].help
    assert any(option.name == "as_json" for option in EVERY[name].params)


@pytest.mark.parametrize("name", sorted({name.split()[0] for name in EVERY if " " in name}))
def test_what_a_group_lists_is_not_cut_off(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


def examples(name: str) -> list[list[str]]:
    """The commands after ``Example:`` in the help, as a shell reads them."""
    _, _, after = (EVERY[name].help or "").partition("Example:")
    result: list[list[str]] = []
    for line in after.splitlines():
        for operator, words in groupby(shlex.split(line), key=lambda word: word in ("&&", "|")):
            part = [] if operator else list(words)
            result += [part[1:]] if part[:1] == ["krohn"] else []
    return result


@pytest.mark.parametrize("name", EVERY)
def test_the_examples_in_the_help_are_accepted_as_they_stand(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = examples(name)
    assert any(words[: len(name.split())] == name.split() for words in result)
    for words in result:
        inner = " ".join(words[:2]) if words[0] in ("results", "suite") else words[0]
        EVERY[inner].make_context(inner, words[len(inner.split()) :])


def test_every_command_is_in_the_help_of_krohn_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    places = [text.index(f"\n  {name} ") for name in COMMANDS]
    assert places == sorted(places)
    assert run(["--version"]) == 0
    assert re.fullmatch(r"krohn, version \d+\.\d+\.\d+.*\n", capsys.readouterr().out)
    assert run([]) == 2
    assert capsys.readouterr().out.startswith("Usage: krohn")

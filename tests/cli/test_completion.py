"""Completion in shells, as the documentation says it is switched on."""

import os
import subprocess
import sys

import pytest


def ask(instruction: str, **words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "krohn"]
    environment = {**os.environ, "_KROHN_COMPLETE": instruction, **words}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("krohn ex", {"explore", "export"}),
        ("krohn explore --gal", {"--gallery"}),
        ("krohn analyze Grid", {"Grid4", "Grid9"}),
        ("krohn train Grid", {"Grid4", "Grid9"}),
        ("krohn equal S4 Grid", {"Grid4", "Grid9"}),
    ],
)
def test_commands_and_options_are_completed(words: str, expected: set[str]) -> None:
    count = str(len(words.split()) - 1)
    done = ask("bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert done.returncode == 0
    offered = {line.split(",")[1] for line in done.stdout.splitlines()}
    assert expected <= offered
    assert all(offer.startswith(words.split()[-1]) for offer in offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_of_the_documentation_defines_the_completion(shell: str) -> None:
    done = ask(f"{shell}_source")
    assert done.returncode == 0
    assert "_KROHN_COMPLETE" in done.stdout


def test_an_unknown_shell_is_an_error_and_not_a_verdict() -> None:
    assert ask("cobol_source").returncode == 2

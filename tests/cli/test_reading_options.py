"""How a pattern or a file is read can be said wherever a command takes an automaton."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from every import every
from krohn.cli.app import run

LIGHT = 'digraph { off -> on [label="push/click"]; on -> off [label="push/clack"]; __start0 -> off }'
TAKERS = "analyze compile decompose equal explore extract sample simulate train understand verify zoo"


@every("name", TAKERS.split())
def test_every_command_that_names_an_automaton_says_how_it_is_read(name: str) -> None:
    module = import_module(f"krohn.cli.{name}")
    options = {option for each in module.command.params for option in each.opts}
    assert {"--match", "--outputs", "--textbook"} <= options


@pytest.fixture
def light(tmp_path: Path) -> str:
    path = tmp_path / "light.dot"
    path.write_text(LIGHT)
    return str(path)


def test_a_network_is_verified_against_the_automaton_as_it_is_read(light: str, tmp_path: Path) -> None:
    net = str(tmp_path / "net")
    assert run(["compile", light, "--outputs", "drop", "-T", "4", "--out", net]) == 0
    assert run(["verify", net, "--automaton", light, "--outputs", "drop"]) == 0
    assert run(["verify", net, "--automaton", light]) == 1  # that one has three states


def test_a_page_and_a_comparison_read_textbooks(
    light: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert run(["explore", "regex:a+b", "--textbook", "-T", "3", "--out", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machines"] == ["regex:a|b"]
    assert run(["equal", "regex:a+b", "regex:b+a", "--textbook"]) == 0
    assert run(["equal", "regex:fo", "regex:.*fo.*", "--match", "search"]) == 0
    assert run(["equal", "regex:fo", "regex:.*fo.*"]) == 1
    assert run(["equal", light, "C2:01", "--outputs", "drop"]) in (1, 2)  # C2 has no outputs to drop
    assert "observations" not in capsys.readouterr().err

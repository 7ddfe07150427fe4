"""The map of the paper: no command on it fails, no name on it is missing, and it is complete and in order."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from krohn.cli.app import run
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import Scale

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "paper.md").read_text()
SPANS = re.findall(r"(▸ )?`([^`]+)`", PAGE)
TYPED = [(bool(mark), text) for mark, text in SPANS if text.startswith("krohn ")]
SCRIPTS = [(bool(mark), text) for mark, text in SPANS if text.startswith("python ")]
NAMES = sorted({text for _, text in SPANS if re.fullmatch(r"krohn(\.\w+)+", text)})
OUT = {"compile": ("--unproved",), "explore": ("--out", "page.html")}
"""What is added so that a command is quick, and writes nowhere else."""


def test_the_page_names_commands_scripts_and_functions() -> None:
    assert len(TYPED) >= 45
    assert len(NAMES) > 25
    assert sum(mark for mark, _ in TYPED) > 25


@pytest.mark.parametrize("text", sorted({text for _, text in TYPED}))
def test_every_command_is_read(text: str) -> None:
    name, *words = shlex.split(text)[1:]
    command = importlib.import_module(f"krohn.cli.{name}").command
    assert isinstance(command, click.Command), name
    words = [word.replace("results/networks/RUN", str(ROOT / "results" / "lasting" / "c3")) for word in words]
    command.make_context(name, [*words])  # refuses unknown options and values


def test_chosen_cells_are_planned() -> None:
    chosen = re.findall(r'krohn reproduce (\w+) --scale small --where "(\w+)=([^"]+)"', PAGE)
    assert len(chosen) == 2
    for name, part, value in chosen:
        assert any(run.label.get(part) == value for run in EXPERIMENTS[name].plan(Scale.SMALL))


@pytest.mark.parametrize("text", sorted({text for mark, text in TYPED if mark}))
def test_every_marked_command_runs(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(text)[1:]
    more = [] if "--architecture" in words or "--unproved" in words else OUT.get(name, ())
    assert run([name, *words, *more]) == 0


@pytest.mark.parametrize("text", sorted({text for mark, text in SCRIPTS}))
def test_every_script_is_there_and_the_marked_run(text: str) -> None:
    script = ROOT / text.split()[1]
    assert script.exists()
    if (True, text) in SCRIPTS:
        done = subprocess.run([sys.executable, *text.split()[1:]], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_there(name: str) -> None:
    module, _, word = name.rpartition(".")
    assert callable(getattr(importlib.import_module(module), word))


def test_statements_of_the_paper_are_there_in_its_order() -> None:
    wanted = [
        "Definition: shortcut", "Figure 1", "Figure 2", "Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4",
        "Figures 3a, 8", "Figure 9", "Figures 3b, 3c", "Figures 4, 10", "Figure 5a", "Figure 5b", "Figure 6a",
        "Figure 6b", "Figure 15", "interpolation", "threshold, softmax", "function composition",
        "modular counter", "memory", "Jordan–Hölder", "permutation-reset; Krohn–Rhodes", "solvable",
        "direct, semidirect, wreath", "solvable groups", "transformation cascade", "Theorem 3 restated",
        "boundary, decreasing", "Theorem 4, proof", "best of both worlds",
    ]  # fmt: skip
    places = []
    for text in wanted:
        start = places[-1] if places else 0
        found = re.compile(rf"^\|[^|\n]*{re.escape(text)}", re.MULTILINE).search(PAGE, start)
        assert found, text
        places.append(found.start())

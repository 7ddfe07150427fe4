"""A small part of the fuzzing: command lines and damaged files of every format end as they should."""

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SAID = "error: must be even; got 3\n"


def test_seeded_command_lines_and_damaged_files_end_as_they_should() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "research" / "fuzz.py"), "--count", "60"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("60 inputs (")
    assert done.stdout.endswith("findings: 0\n")


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "research"))
    spec = importlib.util.spec_from_file_location("fuzz", ROOT / "research" / "fuzz.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fuzz", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("words", "outcome", "complaint"),
    [
        (["zoo"], (0, "C2\n", "", set()), None),
        (["zoo", "X"], (2, "", SAID, set()), None),
        (["verify", "net"], (1, "not certified: layer 1\n", "", set()), None),
        (["zoo", "--json"], (2, '{"error": "must be even; got 3"}\n', SAID, set()), None),
        (["compile", "--out", "new"], (0, "", "", {"new", "new/krohn.json"}), None),
        (["zoo"], (-signal.SIGSEGV, "", "", set()), "exit status -11"),
        (["zoo"], (99, "", "", set()), "exit status 99"),
        (["verify", "net"], (-signal.SIGXCPU, "", "", set()), "time"),
        (["zoo"], (2, "", f"Traceback (most recent call last)\n{SAID}", set()), "traceback"),
        (["zoo"], (2, "", "error: internal error, please report it: KeyError(3)\n", set()), "traceback"),
        (["zoo"], (2, "", "error: this needs more memory than there is\n", set()), "memory"),
        (["zoo"], (2, "", "error: this needs more memory than there is (0.9 GB at once)\n", set()), "memory"),
        (["zoo"], (2, "", "error: this needs more memory than there is (5.4 GB at once)\n", set()), None),
        (["suite", "locks"], (-signal.SIGXCPU, "", "", set()), None),
        (["zoo"], (2, "", "", set()), "no single error line"),
        (["zoo"], (2, "", SAID + SAID, set()), "no single error line"),
        (["zoo"], (2, "", f"error: {'x' * 294}\n", set()), "no single error line"),
        (["analyze"], (1, "S4: 24 states\n", "", set()), "status 1 without"),
        (["zoo", "--json"], (0, "C2\n", "", set()), "not one JSON object"),
        (["zoo", "--json"], (2, '{"automata": []}\n', SAID, set()), "no error in JSON"),
        (["compile", "--out", "new"], (0, "", "", {"net/krohn.json"}), "changed net/krohn.json"),
        (["zoo"], (2, "", SAID, {"x.svg"}), "changed x.svg"),
    ],
)
def test_the_judge_sees_what_is_wrong(
    fuzz: ModuleType, words: list[str], outcome: tuple[Any, ...], complaint: str | None
) -> None:
    case = fuzz.Case("made up", words, allowed=["new"] if "new" in words else [])
    complaints = fuzz.complaints(case, fuzz.Outcome(*outcome, seconds=0.0, megabytes=0))
    if complaint is None:
        assert complaints == []
    else:
        assert [text for text in complaints if complaint in text], complaints

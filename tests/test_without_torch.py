"""Without torch: algebra, compiler, certificates and pages work, and what needs more says which extra."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

import krohn
from krohn.base.extras import EXTRAS, to_install

ROOT = Path(__file__).parents[1]
STATED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# A Python that finds nothing but what `pip install krohn` brings.
BARE = """
import sys
from importlib import util
from importlib.abc import MetaPathFinder

class Gone(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {gone}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Gone())
found = util.find_spec
util.find_spec = lambda name, *more: None if name.split(".")[0] in {gone} else found(name, *more)
"""
GONE = {*EXTRAS, "triton", "pandas", "scipy"}


def bare(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    text = BARE.format(gone=sorted(GONE)) + code
    return subprocess.run(
        [sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, timeout=300
    )


SEVERAL = """
import contextlib, io, json
from krohn.cli.app import run
for line in json.loads(LINES):
    sys.stdin, out, err = io.StringIO("0 1\\n"), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(line.split())
    print(json.dumps([status, err.getvalue()]))
"""


def answers(lines: Sequence[str], folder: Path) -> list[tuple[int, str]]:
    """Exit status and errors of each command line, one after the other in one such Python."""
    done = bare(f"LINES = {json.dumps(lines)!r}{SEVERAL}", folder)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    krohn.save(krohn.compile("C2", length=6, unproved=True), folder / "net")
    return folder


def test_the_core_asks_for_nothing_heavy_and_every_extra_is_named() -> None:
    core = " ".join(STATED["dependencies"])
    assert not any(package in core for package in ("torch", "matplotlib", "transformers", "onnx", "pandas"))
    extras = STATED["optional-dependencies"]
    assert "torch" in " ".join(extras["train"])
    for package, extra in EXTRAS.items():
        assert any(each.lower().startswith(package) for each in extras[extra]), (package, extra)


BARE_COMMANDS = [
    "zoo S4",
    "analyze D6",
    "decompose Grid4",
    "compile C3 -T 4 --out made",
    "verify net",
    "run net",
    "explain net 0 1",
    "simulate C2",
    "circuit C2 -T 3",
    "explore C2 -T 4 --out page.html",
    "sample C2 -T 3 --count 4 --out words.npz",
    "compile C2 --architecture gru --out gru",
    "atlas --states 2 --letters 2",
    "export net --to hf --no-proof --out gpt2",
    f"results list --store {ROOT / 'results' / 'curves-small.jsonl'}",
    "suite list",
]


def test_these_commands_need_no_extra(place: Path) -> None:
    result = answers(BARE_COMMANDS, place)
    assert {line: error for line, (status, error) in zip(BARE_COMMANDS, result, strict=True) if status} == {}


MORE_COMMANDS = {
    "train C2 --steps 1": "train",
    "understand net": "train",
    "reproduce depth": "train",
    "run net --device cpu": "train",
    "extract net -T 2": "train",
    "export net --to onnx --no-proof --out onnx": "hf",
    "sample C2 -T 3 --count 4 --out words.parquet": "parquet",
}


def test_a_command_that_needs_more_says_which_extra_in_one_line(place: Path) -> None:
    result = answers(list(MORE_COMMANDS), place)
    for (line, extra), (status, error) in zip(MORE_COMMANDS.items(), result, strict=True):
        (shown,) = [text for text in error.splitlines() if text.startswith("error: ")]
        assert status == 2, line
        assert to_install(extra, "onnx" if extra == "hf" else "") in shown
        assert "internal error" not in shown


def test_python_says_it_too(place: Path) -> None:
    code = """
import krohn
for name in ("train", "understand", "card"):
    try:
        getattr(krohn, name)
    except krohn.KrohnError as error:
        print(isinstance(error, ImportError), error)
"""
    done = bare(code, place)
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stderr
    assert all(line.startswith("True ") and to_install("train") in line for line in lines)

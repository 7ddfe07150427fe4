"""Without torch: algebra, compiler, certificates and pages work, and what needs more says which extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import krohn
from krohn.errors import EXTRAS

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


def bare(code: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    text = BARE.format(gone=sorted(GONE)) + code
    return subprocess.run(
        [sys.executable, "-c", text], cwd=folder, input=given, capture_output=True, text=True, timeout=300
    )


def command(line: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    return bare(f"from krohn.cli.app import run\nsys.exit(run({line.split()!r}))", folder, given)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    krohn.save(krohn.compile("C2", length=6), folder / "net")
    return folder


def test_the_core_asks_for_nothing_heavy_and_every_extra_is_named() -> None:
    core = " ".join(STATED["dependencies"])
    assert not any(package in core for package in ("torch", "matplotlib", "transformers", "onnx", "pandas"))
    extras = STATED["optional-dependencies"]
    assert "torch" in " ".join(extras["train"])
    for package, extra in EXTRAS.items():
        name = {"automata": "automata-lib"}.get(package, package)
        assert any(each.lower().startswith(name) for each in extras[extra]), (package, extra)


@pytest.mark.parametrize(
    "line",
    [
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
        f"results import {ROOT / 'results' / 'curves-small.jsonl'} --store runs.sqlite",
        "suite list",
    ],
)
def test_these_commands_need_no_extra(line: str, place: Path) -> None:
    done = command(line, place, "0 1\n")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("train C2 --steps 1", "train"),
        ("understand net", "train"),
        ("reproduce depth", "train"),
        ("run net --device cpu", "train"),
        ("extract net -T 2", "extract"),
        ("export net --to onnx --no-proof --out onnx", "hf"),
        ("sample C2 -T 3 --count 4 --out words.parquet", "parquet"),
        ("explore C2", "explore"),
    ],
)
def test_a_command_that_needs_more_says_which_extra_in_one_line(line: str, extra: str, place: Path) -> None:
    done = command(line, place, "0 1\n")
    assert done.returncode == 2
    lines = [text for text in done.stderr.splitlines() if text.startswith("error: ")]
    assert len(lines) == 1
    assert f"pip install 'krohn[{extra}]'" in lines[0]
    assert "internal error" not in lines[0]


@pytest.mark.parametrize("name", ["train", "understand", "card"])
def test_python_says_it_too(name: str, place: Path) -> None:
    code = f"""
import krohn
try:
    krohn.{name}
except krohn.KrohnError as error:
    print(isinstance(error, ImportError), error)
"""
    done = bare(code, place)
    assert done.stdout.startswith("True "), done.stderr
    assert "pip install 'krohn[train]'" in done.stdout

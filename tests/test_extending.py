"""docs/extending.md as a reader follows it: files and changes in a copy, then its tests and commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text()
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def apply(change: str, root: Path) -> None:
    """Finds the lines without a plus, which must be there once, and puts those without a minus there.

    Where a line ends with an ellipsis, the rest of it is whatever it is.
    """
    head, *lines = change.splitlines()
    path = root / head.removeprefix("--- ")
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    text = path.read_text()
    matches = re.findall(f"^{re.escape(old).replace('…', '(.*)')}", text, flags=re.M)
    assert len(matches) == 1, f"{path.name} must have these lines once: {old!r}"
    rest = matches[0] if "…" in old else ""
    path.write_text(text.replace(old.replace("…", rest), new.replace("…", rest)))


TITLES = ["An automaton family", "An experiment", "An export format", "An attention operation"]


def follow(title: str, root: Path) -> list[Path]:
    """Writes the files of a section, makes its changes, and returns the files."""
    written = []
    for block in blocks(SECTIONS[title], "python"):
        head, _, code = block.partition("\n")
        path = root / head.removeprefix("# file: ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
        written.append(path)
    for change in blocks(SECTIONS[title], "diff"):
        apply(change, root)
    return written


@pytest.mark.parametrize("title", TITLES)
def test_the_section_goes_from_nothing_to_green(title: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src")  # with its bytecode
    shutil.copytree(ROOT / "tests" / "network", tmp_path / "tests" / "network")
    written = follow(title, tmp_path)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}:{tmp_path / 'tests'}"}
    tests = [str(path) for path in written if path.name.startswith("test_")]
    commands = [f"{sys.executable} -m pytest -q -p no:cacheprovider {' '.join(tests)}"] if tests else []
    for command in [*commands, *"".join(blocks(SECTIONS[title], "text")).splitlines()]:
        typed = re.sub(r"\bkrohn (?=[a-z]+ )", f"{sys.executable} -m krohn ", command)
        typed = re.sub(r"^python\b", sys.executable, typed)
        done = subprocess.run(
            ["bash", "-c", typed], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_what_the_page_writes_passes_every_check(tmp_path: Path) -> None:
    """All sections in one copy: formatter, linter, types and architecture, as ``make test`` runs them."""
    for folder in ("src", "tests", "docs", "tools", "research", "benchmarks"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for title in TITLES:
        follow(title, tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    checks = [
        "ruff format --check src tests",
        "ruff check --output-format concise src tests",
        "pytest -q -p no:cacheprovider tests/test_architecture.py",
        "mypy",
    ]
    complaints = {}
    for check in checks:
        done = subprocess.run(
            [sys.executable, "-m", *check.split()],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            complaints[check] = done.stdout[-2000:] + done.stderr[-2000:]
    assert not complaints


def test_the_page_names_every_kind_of_extension() -> None:
    # tests/base/test_plugins.py has the first one.
    assert list(SECTIONS) == ["From a package of your own", *TITLES]
    for title in TITLES:
        assert blocks(SECTIONS[title], "diff")
        assert blocks(SECTIONS[title], "text")

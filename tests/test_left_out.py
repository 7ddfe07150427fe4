"""Tests are skipped and named for a missing package, and for nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import conftest

TESTS = Path(__file__).parent


def test_every_name_is_a_file_or_a_folder_of_tests() -> None:
    stems = {path.stem for path in TESTS.rglob("*") if path.suffix == ".py" or path.is_dir()}
    assert set(conftest.NEEDS) <= stems


WITHOUT_SELENIUM = """
import importlib.metadata as metadata
import sys

known = metadata.version


def version(name):
    if name == "selenium":
        raise metadata.PackageNotFoundError(name)
    return known(name)


metadata.version = version
sys.modules["selenium"] = sys.modules["selenium.webdriver"] = None
"""


def test_files_that_are_named_are_skipped_with_the_reason(tmp_path: Path) -> None:
    """By the folder, by the file, and beside a file that can run: never an error of an import."""
    (tmp_path / "without_selenium.py").write_text(WITHOUT_SELENIUM)
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-p", "without_selenium", "-p", "no:cacheprovider", "-q"]
    names = ("explorer/test_draw.py", "explorer", "test_every.py")
    done = subprocess.run(
        [*command, "-rs", *(str(TESTS / name) for name in names)],
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stdout
    for name in ("test_draw", "test_screens"):
        assert f"{name} needs selenium, which is not installed (make setup)" in done.stdout
    assert "3 passed" in done.stdout
    assert "NOT RUN: explorer, for selenium" in done.stdout


def test_a_missing_package_leaves_out_its_files_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "_is_there", lambda package: package != "aalpy")
    assert conftest.missing() == {"test_objects": "aalpy"}


def test_a_missing_package_skips_the_tests_that_call_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "_is_there", lambda package: package != "ray")
    test = "test_every_run_is_finished_once_though_a_node_dies"
    name = f"tests/lab/experiments/test_cluster.py::{test}"
    assert "ray" in (conftest.left_out(name) or "")
    assert conftest.left_out("tests/test_public_examples.py::test_the_docstring[sample]") is None
    sources = {path: path.read_text() for path in TESTS.rglob("test_*.py")}
    for _, parts in conftest.NEEDED_BY_TESTS.values():
        for part in parts:
            word = (
                part.strip("[]").partition("::")[2] or part.strip("[]").partition("[")[2] or part.strip("[]")
            )
            assert any(word in text for text in sources.values()), part


def test_a_package_is_there_or_not() -> None:
    assert conftest._is_there("pytest")
    assert not conftest._is_there("no-such-package")


def test_looking_for_packages_imports_none() -> None:
    """An empty folder `sphinx` among the modules, once imported, breaks scipy, and with it transformers."""
    before = set(sys.modules)
    conftest.missing()
    conftest.left_out("[extract net")
    assert {name.partition(".")[0] for name in set(sys.modules) - before}.isdisjoint(
        {"sphinx", "automata", "transformer_lens", "ray", "nbclient"}
    )


def test_the_summary_names_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []

    class Reporter:
        def write_line(self, line: str, **_: object) -> None:
            lines.append(line)

    monkeypatch.setattr(conftest, "_is_there", lambda package: package != "ray")
    conftest.pytest_terminal_summary(Reporter())  # type: ignore[arg-type]
    assert lines == ["NOT RUN: tests of a cluster, for ray is not installed (make setup)"]

"""The wheel as people install it: it holds all that the commands read, and works from any folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a wheel built from the sources, in this environment and without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys, hatchling.build as build; print(build.build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, "dist"], cwd=folder, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_every_file_of_the_package(unpacked: Path) -> None:
    source = ROOT / "src"
    wanted = {path.relative_to(source) for path in source.rglob("*") if path.is_file()}
    held = {path.relative_to(unpacked) for path in unpacked.rglob("*") if path.is_file()}
    assert {path for path in wanted if "__pycache__" not in path.parts} <= held


def test_what_is_installed_writes_a_page_in_an_empty_folder(unpacked: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "krohn", "explore", "C2", "--length", "4", "--out", "page.html"]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert "krohn.Explorer" in (tmp_path / "page.html").read_text(encoding="utf-8")
    shown = [sys.executable, "-m", "krohn", "reproduce", "curves", "--scale", "small", "--show"]
    done = subprocess.run(shown, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("error: there must be results to show")

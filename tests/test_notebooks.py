"""The notebooks run from the first cell to the last, and what they assert holds."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", []))
    assert not re.search(r"\b(\w+ \w+) \1\b", printed), "a phrase stands twice"
    assert sum("assert" in cell.source for cell in notebook.cells) >= 2


def test_there_are_two_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["ground_truth", "tour"]

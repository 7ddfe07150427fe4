"""The notebooks run from the first cell to the last, and what they assert holds."""

import re
import sys
import tomllib
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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_install_cell_brings_every_package_that_is_imported(path: Path) -> None:
    """On a hosted notebook nothing else is there: imports must be what the named extra brings."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    (line,) = re.findall(r'%pip install --quiet "(krohn(?:\[\w+\])?)"', cells[0])
    (asked,) = re.findall(r"for name in \((.*?)\)", cells[0])
    code = "\n".join(cells[1:])
    roots = {
        node.split(".")[0] for node in re.findall(r"^(?:from|import) ([\w.]+)", code, flags=re.MULTILINE)
    }
    imported = {name for name in roots if name not in sys.stdlib_module_names}
    brought = {"krohn"} | {name.replace("-", "_") for name in required(line)}
    assert imported <= brought, f"{line} does not bring {sorted(imported - brought)}"
    assert set(re.findall(r"\w+", asked)) <= brought
    # The cell asks for whatever is heavy; what krohn itself needs comes with it.
    assert imported - {name.replace("-", "_") for name in required("krohn")} <= set(re.findall(r"\w+", asked))


def required(line: str) -> set[str]:
    """Packages that ``krohn[extra]`` installs, extras of krohn inside extras followed."""
    stated = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    result = set(stated["dependencies"])
    extras = re.findall(r"\[([\w,]+)\]", line)
    waiting = [extra for each in extras for extra in each.split(",")]
    while waiting:
        for each in stated["optional-dependencies"][waiting.pop()]:
            inner = re.fullmatch(r"krohn\[([\w,]+)\]", each)
            if inner:
                waiting += inner[1].split(",")
            else:
                result.add(each)
    return {re.split(r"[^\w-]", each)[0] for each in result}


def test_there_is_a_tour_and_a_notebook_for_each_reader() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "can_my_layer",
        "ground_truth",
        "lesson",
        "theory",
        "tour",
        "verification",
    ]

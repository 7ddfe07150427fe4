"""The notebooks run from the first cell to the last, what they assert holds, what they show is kept."""

import os
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
    kept = shape_of(notebook)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(out.get("text", "") for cell in notebook.cells for out in cell.get("outputs", []))
    assert not re.search(r"\b(\w+ \w+) \1\b", printed), "a phrase stands twice"
    assert sum("assert" in cell.source for cell in notebook.cells) >= 2
    if os.environ.get("KROHN_WRITE_NOTEBOOKS"):
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)
            cell.update({"outputs": said(cell)} if "outputs" in cell else {})
        nbformat.write(notebook, path)
    else:
        assert kept == shape_of(notebook), "run it again with KROHN_WRITE_NOTEBOOKS=1 and keep what it shows"


def said(cell: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """The outputs of a cell without warnings, which name the machine."""
    return [out for out in cell.get("outputs", []) if out.get("name") != "stderr"]


def shape_of(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell prints, without its digits: numbers may differ between machines, words may not.

    A busy machine cuts what a cell prints into several outputs; only the whole is compared.
    """
    shown = [
        [out.get("text", out.get("data", {}).get("text/plain", "")) for out in said(cell)]
        for cell in notebook.cells
    ]
    return [re.sub(r"[\d.e-]+", "#", "".join("".join(text) for text in texts)) for texts in shown]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_install_cell_brings_every_package_that_is_imported(path: Path) -> None:
    """Where nothing else is there, imports must be what the named extra brings."""
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    (line,) = re.findall(r'%pip install --quiet "\.\.((?:\[\w+\])?)"', cells[0])
    (asked,) = re.findall(r"for name in \((.*?)\)", cells[0])
    code = "\n".join(cells[1:])
    roots = {
        node.split(".")[0] for node in re.findall(r"^(?:from|import) ([\w.]+)", code, flags=re.MULTILINE)
    }
    imported = {name for name in roots if name not in sys.stdlib_module_names}
    brought = {"krohn"} | {name.replace("-", "_") for name in required(line)}
    assert imported <= brought, f"krohn{line} does not bring {sorted(imported - brought)}"
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
        "lasting",
        "lesson",
        "theory",
        "tour",
        "verification",
    ]

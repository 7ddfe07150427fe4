"""The shape of the package, proved from its imports: one direction, no cycles, heavy packages at the edge."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "krohn"

# What each part may import. The order is the pipeline; a part not listed here is refused.
GROUND = {
    "errors",
    "strict_json",
    "atomic",
    "svg",
    "notebook",
    "random_streams",
    "budget",
    "nearest_float",
    "plugins",
    "folder",
}
CORE = GROUND | {"automata", "algebra", "cascade", "network"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "strict_json": {"errors", "check"},
    "atomic": {"errors"},
    "svg": {"errors"},
    "notebook": {"errors"},
    "random_streams": {"errors"},
    "budget": {"errors"},
    "nearest_float": set(),
    "plugins": {"errors"},
    "folder": {"errors", "strict_json"},
    "automata": GROUND,
    "algebra": GROUND | {"automata"},
    "cascade": GROUND | {"automata", "algebra"},
    "depth": GROUND | {"automata"},
    "network": GROUND | {"automata"},
    "construct": CORE | {"depth"},
    "recurrent": CORE | {"certify", "check"},
    "check": {"errors"},
    "certify": GROUND | {"automata", "algebra", "network", "check"},
    "kernel": CORE | {"recurrent", "certify", "check"},
    "models": GROUND,
    "tasks": GROUND | {"automata"},
    "bridge": {"errors", "network"},
    "training": GROUND | {"automata", "check", "models", "tasks"},  # check: which files hold the weights
    "figures": GROUND,
    "exporting": CORE | {"certify", "check", "models", "tasks", "training"},
    "study": CORE | {"bridge", "certify", "check", "models", "recurrent", "tasks", "training", "exporting"},
    "experiments": CORE | {"models", "recurrent", "tasks", "training", "study", "figures"},
    "testbed": CORE | {"bridge", "construct", "exporting", "study"},
    "compilation": CORE | {"construct", "recurrent"},
    "verification": CORE
    | {"construct", "certify", "check", "exporting", "kernel", "recurrent", "study", "training"},
    "web": CORE | {"construct", "certify", "verification"},
    "cli": CORE
    | {
        "construct",
        "depth",
        "certify",
        "check",
        "verification",
        "models",
        "tasks",
        "bridge",
        "training",
        "figures",
        "study",
        "experiments",
        "exporting",
        "installation",
        "kernel",
        "recurrent",
        "testbed",
        "web",
    },
    "installation": GROUND | {"training"},
    "functions": CORE | {"construct", "experiments", "recurrent", "study", "training", "web"},
    "__init__": set(),
    "__main__": {"cli"},
}

# Packages that cost start-up time or are optional, and the only parts that may name them.
HEAVY: dict[str, set[str]] = {
    "torch": {
        "random_streams",
        "models",
        "tasks",
        "bridge",
        "training",
        "study",
        "experiments",
        "exporting",
        "testbed",
    },
    "triton": {"models", "training"},
    "matplotlib": {"figures"},
    "click": {"cli"},
    "transformers": {"models"},
    "onnx": {"exporting"},
    "ray": {"experiments"},
    "pyarrow": {"automata", "network", "testbed"},
    "starlette": {"web"},
    "uvicorn": {"web"},
    "tensorboard": {"training"},
    "aalpy": {"study"},
    "pandas": {"notebook"},
}
NEVER = {"pickle", "dill", "cloudpickle", "sympy", "libsemigroups_pybind11", "polars"}


# The picture of docs/architecture.md, from the bottom, each row from the left.
PICTURE = """
errors nearest_float atomic svg random_streams budget plugins notebook strict_json folder
automata algebra cascade network check models tasks figures
depth construct bridge certify recurrent kernel training
exporting study experiments testbed
compilation verification web installation functions cli
"""
EXCEPTION = ("strict_json", "check")


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # Of a package its modules; a name that is no module is none of the graph below.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


def test_a_module_imports_only_from_parts_before_its_own() -> None:
    for path in modules():
        part = part_of(path)
        assert part in MAY_IMPORT, f"{part} has no place in the pipeline"
        used = {name.split(".")[1] for name in imports(path) if name.startswith("krohn.")} - {"__version__"}
        assert used <= MAY_IMPORT[part] | {part}, f"{path} imports {used - MAY_IMPORT[part] - {part}}"


def test_heavy_packages_are_named_only_where_they_belong() -> None:
    for path in modules():
        for name in imports(path):
            root = name.split(".")[0]
            assert root not in NEVER, f"{path} imports {root}"
            assert part_of(path) in HEAVY.get(root, {part_of(path)}), f"{path} imports {root}"


def test_a_part_uses_those_below_it_and_to_its_left() -> None:
    order = PICTURE.split()
    assert {part for part in MAY_IMPORT if not part.startswith("__")} == set(order)
    for part, others in MAY_IMPORT.items():
        for other in others - {part}:
            below = part.startswith("__") or order.index(other) < order.index(part)
            assert below or (part, other) == EXCEPTION, f"{part} may import {other}, which comes after it"
    page = (SOURCE.parents[1] / "docs" / "architecture.svg").read_text()
    pictured = {name for text in re.findall(r">([^<]+)</text>", page) for name in re.split(r"[ ·,]+", text)}
    assert set(order) <= pictured


def test_there_is_no_cycle_of_modules() -> None:
    graph = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): {
            name for name in imports(path) if name.startswith("krohn")
        }
        for path in modules()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module in done:
            return
        for target in graph.get(module, set()):
            visit(target, (*trail, module))
        done.add(module)

    for module in graph:
        visit(module, ())


def test_modules_and_functions_stay_small() -> None:
    for path in modules():
        assert len(path.read_text().splitlines()) <= 500, path
        for node in ast.walk(syntax(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno < 60, f"{node.name} in {path} is too long to see whole"


@pytest.mark.parametrize("statement", ["import krohn", "import krohn.cli.app"])
def test_start_up_loads_nothing_heavy(statement: str) -> None:
    heavy = ["torch", "matplotlib", "pandas", "pyarrow", "transformers", "networkx", "automata"]
    check = f"{statement}; import sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_tests_use_nothing_private() -> None:
    """Neither by an import nor by the dotted name of what is patched."""
    tests = Path(__file__).parent
    private = []
    for path in tests.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "krohn":
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Constant) and re.fullmatch(r"krohn(\.\w+)+", str(node.value)):
                names = [str(node.value)]
            private += [f"{path.relative_to(tests)}: {n}" for n in names if re.search(r"\._(?!_)", n)]
    assert private == []


def defined_in(module: str) -> set[str] | None:
    """The names that a module of the package defines at any level, imports included; ``None``: no module."""
    path = SOURCE.joinpath(*module.split(".")[1:])
    file, inside = path.with_suffix(".py"), set[str]()
    if not file.exists():
        file, inside = path / "__init__.py", {one.stem for one in path.glob("*")}
    if not file.exists():
        return inside or None
    for node in ast.walk(syntax(file)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            inside.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            inside |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            inside.add(node.id)
    return inside


@pytest.mark.parametrize("folder", ["tools", "research", "benchmarks"])
def test_names_that_scripts_import_exist(folder: str) -> None:
    """Most scripts are run by no test, and some of the modules they import need a GPU."""
    missing, root = [], SOURCE.parents[1]
    for path in (root / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("krohn."):
                names = defined_in(str(node.module))
                absent = [alias.name for alias in node.names if names is None or alias.name not in names]
                missing += [f"{path.relative_to(root)}: {node.module} has no {name}" for name in absent]
    assert missing == []

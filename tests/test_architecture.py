"""The shape of the package, proved from its imports: one direction, no cycles, heavy packages at the edge."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "krohn"

# What each room may import at import time, beside `errors` and itself. Rooms stand in the order of the
# picture of docs/architecture.md, from the bottom; a room that is not listed here is refused.
CORE = {"base", "automata", "algebra", "cascade", "network"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "check": set(),
    "base": {"check"},  # strict_json reads files with the checker's reader
    "automata": {"base"},
    "algebra": {"base", "automata"},
    "cascade": {"base", "automata", "algebra"},
    "network": {"base", "automata", "check"},  # check: how an export's files are read
    "depth": {"base", "automata", "algebra"},
    "paper": CORE,
    "recurrent": CORE | {"check"},
    "coq": CORE | {"check", "recurrent"},
    "proving": CORE | {"check", "recurrent", "coq", "paper"},  # paper: `builds_again` alone
    "construct": CORE | {"depth", "paper", "check", "recurrent", "proving"},  # `compile` asks the checker
    "exporting": CORE | {"check", "proving"},
    "explorer": CORE | {"construct", "paper", "proving"},
    "lab": CORE | {"check", "construct", "paper", "recurrent", "proving", "exporting"},
    "installation": {"base"},
    "functions": CORE | {"construct", "paper", "recurrent", "proving"},
    "for_commands": CORE | {"proving"},
    "cli": {
        "base",
        "functions",
        "for_commands",
    },  # and `krohn`: commands parse, call a public function, print the result
    "__init__": set(),
    "__main__": set(),
}
# Imports inside functions, of rooms that come later or need torch: what is called on use alone.
ON_USE: dict[str, set[str]] = {
    "network": {"lab"},  # `to_torch`, see UPSTAIRS
    "proving": {"lab", "exporting"},  # kinds.py: what a kind can do
    "exporting": {"lab"},
    "explorer": {"lab"},
    "functions": {"lab", "exporting", "explorer"},
    "for_commands": {"lab", "exporting"},
    "installation": {"lab"},
    "lab": {"explorer"},  # the page's style sheet, for reports
    "__main__": {"cli"},
}
UPSTAIRS = ("krohn.network.compiled", "krohn.lab.bridge")
"""The one value with a method that needs a room above: users of torch look for `to_torch` on the network."""
# The rooms of the lab, in order: each may import those before it.
LAB = [
    "random_streams",
    "bridge",
    "models",
    "figures",
    "tasks",
    "training",
    "provable",
    "interpret",
    "cards",
    "experiments",
    "suite",
]

# Packages that cost start-up time or are optional, and the only parts that may name them.
HEAVY: dict[str, set[str]] = {
    "torch": {"lab"},
    "triton": {"lab"},
    "matplotlib": {"lab"},
    "click": {"cli"},
    "transformers": {"lab"},
    "onnx": {"exporting"},
    "ray": {"lab"},
    "pyarrow": {"automata", "network", "lab"},
    "pandas": {"base"},
}
NEVER = {"pickle", "dill", "cloudpickle", "sympy", "libsemigroups_pybind11", "polars"}


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(SOURCE.rglob("*.py")))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def blocks_of(node: ast.AST) -> Iterator[ast.AST]:
    """The statements right inside a node: imports are nowhere else, and expressions are most of a tree."""
    blocks = (ast.stmt, ast.ExceptHandler, ast.match_case)
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, blocks))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node."""
    for child in blocks_of(node):
        yield child
        yield from statements(child)


def modules_in_strings(path: Path) -> Iterator[str]:
    """Modules that are named by strings, as for `import_module`; but not those of the table of public names,
    which the package itself does not use.
    """
    if path != SOURCE / "__init__.py":
        for node in ast.walk(syntax(path)):
            named = ast.literal_eval(node) if isinstance(node, ast.Constant) else None
            known = re.fullmatch(r"(krohn(?:\.\w+)+)(?::\w+)?", named) if isinstance(named, str) else None
            if known and defined_in(known[1]) is not None:
                yield known[1]


@cache
def imports(path: Path) -> tuple[str, ...]:
    names: list[str] = [*modules_in_strings(path)]
    for node in statements(syntax(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # Of a package its modules; a name that is no module is none of the graph below.
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(names)


@cache
def imports_at_once(path: Path) -> tuple[str, ...]:
    """What is imported when the module is: not inside functions, nor for the type checker alone."""
    names: list[str] = []

    def visit(node: ast.AST) -> None:
        typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or typing:
            return
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.extend([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
        for child in blocks_of(node):
            visit(child)

    visit(syntax(path))
    return tuple(names)


def rooms_of(names: tuple[str, ...]) -> set[str]:
    return {name.split(".")[1] for name in names if name.startswith("krohn.")} - {"__version__", "errors"}


def test_a_module_imports_only_what_its_room_may() -> None:
    for path in modules():
        part = part_of(path)
        assert part in MAY_IMPORT, f"{part} has no place in the pipeline"
        at_once = rooms_of(imports_at_once(path)) - MAY_IMPORT[part] - {part}
        assert not at_once, f"{path} imports {at_once}"
        later = rooms_of(imports(path)) - MAY_IMPORT[part] - ON_USE.get(part, set()) - {part}
        assert not later, f"{path} imports {later} on use"


def test_the_rooms_of_the_lab_import_those_before_them() -> None:
    lab = SOURCE / "lab"
    assert {path.stem for path in lab.iterdir()} - {"__init__", "__pycache__"} == set(LAB)
    for path in lab.rglob("*.py"):
        room = path.relative_to(lab).parts[0].removesuffix(".py")
        for name in imports_at_once(path):
            other = name.removeprefix("krohn.lab.").split(".")[0]
            if name.startswith("krohn.lab.") and room != "__init__":
                assert LAB.index(other) <= LAB.index(room), f"{path} imports {name}"


def test_nothing_outside_the_lab_names_torch() -> None:
    """The core runs where torch is not installed; `krohn.lab` is loaded on use."""
    for path in modules():
        if part_of(path) not in ("lab", "cli"):
            at_once = {name.split(".")[0] for name in imports_at_once(path)} | rooms_of(imports_at_once(path))
            assert not at_once & {"torch", "lab"}, path


def test_heavy_packages_are_named_only_where_they_belong() -> None:
    for path in modules():
        for name in imports(path):
            root = name.split(".")[0]
            assert root not in NEVER, f"{path} imports {root}"
            assert part_of(path) in HEAVY.get(root, {part_of(path)}), f"{path} imports {root}"


def test_a_room_uses_those_before_it_in_the_picture() -> None:
    order = [part for part in MAY_IMPORT if not part.startswith("__")]
    for part, others in MAY_IMPORT.items():
        for other in others:
            assert part.startswith("__") or order.index(other) < order.index(part), f"{part} imports {other}"
    page = (SOURCE.parents[1] / "docs" / "architecture.svg").read_text()
    pictured = {name for text in re.findall(r">([^<]+)</text>", page) for name in re.split(r"[ ·,]+", text)}
    assert set(order) | set(LAB) <= pictured


def test_there_is_no_cycle_of_modules() -> None:
    graph = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): {
            name for name in imports(path) if name.startswith("krohn")
        }
        for path in modules()
    }
    graph[UPSTAIRS[0]].remove(UPSTAIRS[1])
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


def test_a_command_parses_calls_and_prints() -> None:
    """It imports krohn, the ground, its own output and click; what is printed is a method of the result."""
    for path in (SOURCE / "cli").glob("*.py"):
        packages = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names)
        assert packages <= {"krohn", "click", "tqdm"}, f"{path} imports {packages}"


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
    hint = re.compile(r"krohn[\w.]*\._|import [^\n]*\b_[a-z]|^\s+_[a-z]\w*( as \w+)?,$", re.MULTILINE)
    hinted = [path for path in tests.rglob("*.py") if hint.search(path.read_text(encoding="utf-8"))]
    assert hinted, "this file holds one"
    for path in hinted:
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


def _texts(tree: ast.AST) -> Iterator[str]:
    """Strings of the code, docstrings aside; holes of a format as a star."""
    aside = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = [
                getattr(part, "value", "*") if isinstance(part, ast.Constant) else "*" for part in node.values
            ]
            aside |= {id(part) for part in node.values}
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            yield node.value


def test_a_wheel_names_pages_of_the_repository_as_such() -> None:
    """A text that is printed where there is only the package says whose docs/ and results/ it means."""
    end = r"[\s,;:()'`\"]"
    folders = "docs|results|research|tools|benchmarks"
    page = re.compile(rf"(?<!/)\b(?:{folders})/[^{end[1:]}+(?! of the repository)(?={end}|$)")
    lost, named = [], 0
    for file in sorted(SOURCE.rglob("*.py")):
        text = file.read_text()
        if not re.search(rf"(?:{folders})/", text):
            continue
        for said in _texts(ast.parse(text)):
            named += "of the repository" in said
            lost += [(file.name, found[0]) for found in page.finditer(said)]
    assert not lost
    assert named >= 6

"""Which definitions of the package a user can reach: by a command, a public name or a documented example."""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "krohn"
sys.path.insert(0, str(PACKAGE.parent))  # import from this tree, not from an installed package

ALL = "*"
Definition = tuple[str, str]
"""A module and the name of a function, class or constant in it; no name: the module's other lines."""


def definitions(module: str, text: str) -> dict[Definition, set[Definition]]:
    """What each definition of a module uses: (module, name) pairs, resolved through its imports."""
    tree = ast.parse(text)
    bound: dict[str, Definition] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("krohn"):
            bound |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    own = {name for statement in tree.body for name in bound_names(statement)}
    uses: dict[Definition, set[Definition]] = {(module, name): {place} for name, place in bound.items()}
    uses[module, ""] = set()
    for statement in tree.body:
        result = set()
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                result |= (
                    {bound[node.id]} if node.id in bound else {(module, node.id)} if node.id in own else set()
                )
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id in bound
            ):
                part, name = bound[node.value.id]
                result.add((f"{part}.{name}", node.attr))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "krohn." in node.value:
                part, _, name = node.value.partition(":")
                result.add((part, name or ALL))  # a module imported by name: whatever of it is used
        names = bound_names(statement) or {""}
        if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
            uses[module, ""] |= {(module, name) for name in names}  # a decorator may register and call it
        for name in names:
            uses.setdefault((module, name), set()).update(result - {(module, name)})
    return uses


def bound_names(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign):
        return {
            node.id for target in statement.targets for node in ast.walk(target) if isinstance(node, ast.Name)
        }
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def entrances() -> set[Definition]:
    """Entry points of users: the commands, the public names, and the Python code in the documentation."""
    from krohn import _PUBLIC
    from krohn.cli.app import COMMANDS

    result = {(f"krohn.cli.{module}", "command") for module, _ in COMMANDS.values()}
    result |= {
        ("krohn", ""),
        ("krohn.__main__", ""),
        ("krohn.cli.demo", ""),
        ("krohn.cli.app", "entry_point"),
    }
    for place in _PUBLIC.values():
        module, _, name = place.partition(":")
        result.add((module, name))
    # The registry of models finds these by listing the folder.
    result |= {
        (f"krohn.lab.models.architectures.{path.stem}", "ARCHITECTURE")
        for path in (PACKAGE / "lab" / "models" / "architectures").glob("*.py")
        if "ARCHITECTURE" in path.read_text()
    }
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for module in re.findall(r"python (?:-I )?-m (krohn[\w.]*)", page.read_text()):
            result.add((f"{module}.__main__", "main"))
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            for uses in definitions("page", block).values():
                result |= uses
    return result


def reached(sources: dict[str, str]) -> set[Definition]:
    """Every definition reachable from the entry points, also by a registry's strings or decorators."""
    arrows: dict[Definition, set[Definition]] = {}
    for name, text in sources.items():
        arrows |= definitions(name, text)
    done: set[Definition] = set()
    waiting = list(entrances())
    while waiting:
        place = waiting.pop()
        if place in done:
            continue
        done.add(place)
        if place[1] == ALL:
            waiting += [other for other in arrows if other[0] == place[0]]
        elif place in arrows:
            waiting += [*arrows[place], (place[0], "")]
        elif ".".join(place) in sources:  # a module used as a value: all of it
            waiting += [other for other in arrows if other[0] == ".".join(place)]
    return done

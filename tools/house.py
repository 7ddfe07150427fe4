"""Size of the code base, and how many files a reader meets on the way of a command.

    python tools/house.py                # all numbers, beside their aims
    python tools/house.py --no-trace     # only what can be read from the sources, in a second
    python tools/house.py --names        # also what is behind each number
    python tools/house.py --write        # into results/house.json

A file counts as met when one of its functions is called during the work; what only runs because a module is
imported (definitions, class bodies, tables) does not count. A comment line is one that holds nothing else.
A function is named by a participle if that is its whole name (``_joined``); properties do not count.
"""

import argparse
import ast
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from types import FrameType

from reachable import PACKAGE, ROOT, reached

FUNCTION = 0x1  # inspect.CO_OPTIMIZED: set for functions, not for the bodies of modules and classes
PAGE = ROOT / "results" / "house.json"

AIMS = {
    "lines of the core": 41_000,
    "lines of the lab": 20_000,
    "rooms": 16,
    "loose modules": 6,
    "class names that stand for two things": 10,
    "lines of the longest command": 120,
    "lines of the checker": 6_000,
    "words in docs": 60_000,
    "modules that nothing reaches": 0,
    "files met by compile S4": 35,
    "files met by verify": 35,
    "files met by train": 25,
    "files met by the checker alone": 25,
}
"""At most; numbers without an aim are listed all the same."""

WAYS = {
    "compile S4": "import krohn; krohn.compile(krohn.zoo('S4'), length=100)",
    "compile S4 --unproved": "import krohn; krohn.compile(krohn.zoo('S4'), length=100, unproved=True)",
    "verify": "import krohn; krohn.verify('net')",
    "train": "from krohn.lab.training.config import RunConfig, TaskConfig, model_config; import krohn; "
    "krohn.train(RunConfig(task=TaskConfig(spec='Grid4', length=10), "
    "model=model_config('gpt', layers=1, dim=16, heads=2, mlp=16), steps=4), device='cpu')",
    "the checker alone": "from krohn.check.__main__ import main; assert main(['net', 'proof.json']) == 0",
}
"""Statements to trace; ``the checker alone`` is what a certificate relies on."""

BEFORE = (
    "import krohn; net = krohn.compile('S4', length=100); krohn.save(net, 'net'); "
    "krohn.verify(net).save('proof.json')"
)
"""Setup: writes the files that the statements read."""


def traced(way: str) -> set[str]:
    """The package's files in which some function runs during the statement ``way``."""
    files: set[str] = set()
    seen: set[object] = set()

    def importing(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(PACKAGE)):
                return True
            frame = frame.f_back
        return False

    def profile(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if code in seen or event != "call":
            return
        if not code.co_filename.startswith(str(PACKAGE)) or not code.co_flags & FUNCTION:
            seen.add(code)
        elif not importing(frame):
            seen.add(code)
            files.add(code.co_filename)

    sys.setprofile(profile)
    try:
        exec(way, {})
    finally:
        sys.setprofile(None)
    return {str(Path(name).relative_to(PACKAGE)) for name in files}


def trace_all() -> dict[str, set[str]]:
    """Traces each statement in its own process, so that caches are not shared."""
    files = {}
    with tempfile.TemporaryDirectory() as place:
        for name, statement in {"": BEFORE, **WAYS}.items():
            command = [sys.executable, str(Path(__file__).resolve()), "--trace-one", statement]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name}: {done.stderr}")
            files[name] = set(json.loads(done.stdout.splitlines()[-1]))
    return {name: files[name] for name in WAYS}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """The modules of the package that each module names, in imports or in strings such as ``krohn.a.b:c``."""
    result = {}
    for module, text in sources.items():
        names = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value.partition(":")[0])
        result[module] = (names & set(sources)) - {module}
    return result


def lines(text: str) -> int:
    return len(text.splitlines())


def by_folder(sources: dict[str, str]) -> dict[str, int]:
    """Lines of the package by its rooms; those of loose modules under ``krohn``."""
    total: dict[str, int] = defaultdict(int)
    folders = {name.split(".")[1] for name in sources if name.count(".") > 1}
    for name, text in sources.items():
        room = name.split(".")[1] if "." in name else "krohn"
        total[room if room in folders else "krohn"] += lines(text)
    return dict(total)


def clashes(sources: dict[str, str]) -> dict[str, list[str]]:
    """Names of top-level classes that more than one module defines, and these modules."""
    places: dict[str, list[str]] = defaultdict(list)
    for module, text in sources.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    return {name: modules for name, modules in sorted(places.items()) if len(modules) > 1}


def comment_lines(text: str) -> int:
    return sum(line.lstrip().startswith("#") for line in text.splitlines())


NO_PARTICIPLE = ("embed", "exceed", "feed", "need", "seed")


def participles(text: str) -> list[str]:
    """Functions whose whole name is a participle: they do something, and their name says what was done."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            read = {getattr(mark, "id", "") for mark in node.decorator_list}
            name = node.name.strip("_")
            if name.endswith("ed") and "_" not in name and name not in NO_PARTICIPLE:
                found += [] if read & {"property", "cached_property"} else [node.name]
    return found


def code_lines(text: str) -> int:
    """Lines that are neither blank nor comments nor part of a docstring."""
    left: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    rows = enumerate(text.splitlines(), 1)
    return sum(n not in left and bool(row.strip()) and not row.lstrip().startswith("#") for n, row in rows)


def words_in_docs() -> int:
    """Of the pages that somebody wrote: building the site leaves copies of records and a reference there."""
    docs = ROOT / "docs"
    pages = [
        path for path in docs.rglob("*.md") if path.relative_to(docs).parts[0] not in ("records", "reference")
    ]
    return sum(len(path.read_text(encoding="utf-8").split()) for path in pages)


def count_all(sources: dict[str, str], hidden: Collection[str]) -> dict[str, float]:
    """The numbers that can be read off the sources."""
    from krohn.cli.app import COMMANDS  # of this tree: `reachable` has put it first on the path

    rooms = by_folder(sources)
    total = sum(rooms.values())
    commands = [sources[f"krohn.cli.{module}"] for module, _ in COMMANDS.values()]
    tests = sum(lines(path.read_text()) for path in (ROOT / "tests").rglob("*.py"))
    return {
        "lines": total,
        "lines of code alone": sum(map(code_lines, sources.values())),
        "modules": len(sources),
        "lines of the core": total - rooms["lab"],
        "lines of the lab": rooms["lab"],
        "rooms": len(rooms) - 1,
        "loose modules": sum(name.count(".") <= 1 and name.split(".")[-1] not in rooms for name in sources)
        + 1,
        "class names that stand for two things": len(clashes(sources)),
        "functions named by a participle": sum(len(participles(text)) for text in sources.values()),
        "lines of the longest command": max(map(lines, commands)),
        "lines of the checker": rooms["check"],
        "comment lines for each 100 lines": round(100 * sum(map(comment_lines, sources.values())) / total, 1),
        "lines of tests for each line of the package": round(tests / total, 2),
        "words in docs": words_in_docs(),
        "modules that nothing reaches": len(hidden),
    }


def report(*, trace: bool, names: bool, write: bool) -> None:
    sources = {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    used = reached(sources)
    hidden = sorted(name for name, text in sources.items() if lines(text) > 1 and (name, "") not in used)
    numbers = count_all(sources, hidden)
    traces = trace_all() if trace or write else {}
    numbers |= {f"files met by {name}": len(files) for name, files in traces.items()}
    numbers |= {
        f"lines in files met by {name}": sum(lines((PACKAGE / file).read_text()) for file in files)
        for name, files in traces.items()
    }
    for name, value in numbers.items():
        aim = f"  (aim: at most {AIMS[name]:,})" if name in AIMS else ""
        print(f"{value:>9,}  {name}{aim}")
    for room, count in sorted(by_folder(sources).items()):
        print(f"{count:>9,}  {room}")
    if names:
        print("nothing reaches:", *hidden)
        print(*(f"{name}: {', '.join(places)}" for name, places in clashes(sources).items()), sep="\n")
        print(*(f"{name}: {', '.join(sorted(files))}" for name, files in traces.items()), sep="\n")
    if write:
        rows = {name: {"now": value, "aim": AIMS.get(name)} for name, value in numbers.items()}
        page = {"numbers": rows, "rooms": by_folder(sources), "clashes": clashes(sources)}
        PAGE.write_text(json.dumps(page, indent=1, sort_keys=False) + "\n")


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--no-trace", action="store_true", help="read the sources only")
    parser.add_argument("--names", action="store_true", help="list what is behind each number")
    parser.add_argument("--write", action="store_true", help="write results/house.json")
    parser.add_argument("--trace-one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trace_one:
        print("\n" + json.dumps(sorted(traced(options.trace_one))))
        return
    report(trace=not options.no_trace, names=options.names, write=options.write)


if __name__ == "__main__":
    main()

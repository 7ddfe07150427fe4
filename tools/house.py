"""Size of the code base, and how many files a reader meets on the way of a command.

    python tools/house.py                # everything
    python tools/house.py --no-trace     # only what can be read from the sources, in a second
    python tools/house.py --names        # also the files behind each number
    python tools/house.py --write        # the table of research/house.md, in a clone with its history

The aims first: 50,000 lines in 290 modules, capabilities that came later apart; a reader who follows
`compile S4` meets at most 30 files, `verify` and `train` at most 25; the
tests have at least 0.75 lines for each line of the package, and no folder under 0.5; every module is reached
by a command, a public name or a documented example; a module with one importer is a concept of its own.

A file counts as run when one of its functions is called during the work; what only runs because a module is
imported (definitions, class bodies, tables) does not count.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from types import FrameType

from reachable import PACKAGE, ROOT, bound_names, reached

FUNCTION = 0x1  # inspect.CO_OPTIMIZED: set for functions, not for the bodies of modules and classes

LATER = {
    "certificates for Coq": "kernel",
    "networks whose algorithm is known, and the scorer": "testbed cli.suite",
    "cards of layers": "study.card study.card_files study.certified_letters study.layers cli.card cli.bench",
    "patched prefixes, learned subspaces": "study.carrying study.hybrids study.learned study.prefixes",
    "JFLAP files": "automata.jflap",
    "Muon": "training.muon training.kernels.muon",
    "the explorer in plain words, drawn automata": "web.plain_words",
    "the same bytes on every machine": "nearest_float",
    "what other packages add": "plugins",
}
"""Capabilities added after ``THEN``, with the modules that serve only them."""

THEN = "53a13e8"
"""The commit that the aims refer to: 57,817 lines in 383 modules."""

ROOMS = {
    "the ground": (
        700,
        "errors strict_json atomic folder svg notebook random_streams budget nearest_float plugins",
    ),
    "`automata`, `algebra`, `cascade`": (10_200, "automata algebra cascade"),
    "`construct` with the paper, `depth`": (9_000, "construct depth compilation"),
    "`network`, `bridge`": (2_900, "network bridge"),
    "`check`": (3_500, "check"),
    "`certify`": (2_600, "certify verification"),
    "`recurrent`": (1_900, "recurrent"),
    "`models`, `tasks`, `training`": (6_100, "models tasks training"),
    "`study`": (3_800, "study"),
    "exports, experiments, pictures, explorer, commands": (
        10_700,
        "exporting experiments figures web cli functions installation __main__ krohn",
    ),
}
"""Lines that were aimed at, room by room, and the folders and modules of each room."""

WAYS = {
    "compile S4": (30, "import krohn; krohn.compile(krohn.zoo('S4'), length=100)"),
    "verify": (25, "import krohn; krohn.verify(krohn.load('net'))"),
    "train": (
        25,
        "from krohn.lab.training.config import RunConfig, TaskConfig, model_config; import krohn; "
        "krohn.train(RunConfig(task=TaskConfig(spec='Grid4', length=10), "
        "model=model_config('gpt', layers=1, dim=16, heads=2, mlp=16), steps=4), device='cpu')",
    ),
    "the checker alone": (
        25,
        "from krohn.check.__main__ import main; assert main(['net', 'proof.json']) == 0",
    ),
}
"""Statements to trace, each with its aim; ``the checker alone`` is what a certificate relies on."""

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
        for name, statement in {"": BEFORE, **{name: way for name, (_, way) in WAYS.items()}}.items():
            command = [sys.executable, str(Path(__file__).resolve()), "--trace-one", statement]
            done = subprocess.run(command, cwd=place, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name}: {done.stderr}")
            files[name] = set(json.loads(done.stdout.splitlines()[-1]))
    return {name: files[name] for name in WAYS}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def named_in(text: str, known: set[str]) -> set[str]:
    """The modules of the package that a source names, in imports or in strings such as ``krohn.a.b:c``."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.partition(":")[0])
    return names & known


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    known = set(sources)
    return {name: named_in(text, known) - {name} for name, text in sources.items()}


def lines(text: str) -> int:
    return len(text.splitlines())


def folder_of(name: str) -> str:
    """The part of the package that a module belongs to."""
    return name.split(".")[1] if "." in name else "krohn"


def by_folder(sources: dict[str, str]) -> dict[str, int]:
    """Lines of the package by its first folder."""
    total: dict[str, int] = defaultdict(int)
    for name, text in sources.items():
        total[folder_of(name)] += lines(text)
    return total


def tested_part(path: str, parts: Collection[str]) -> str:
    """The part under test: construct_paper tests construct, test_main __main__, test_public_… krohn."""
    name = path.partition("/")[0].removesuffix(".py").removeprefix("test_")
    if name.startswith(("public_", "python_")):
        return "krohn"
    return next((part for part in parts if part in (name, f"__{name}__")), name.partition("_")[0])


def test_lines(parts: Collection[str]) -> dict[str, int]:
    """Lines of the tests by the folder of the package they test."""
    total: dict[str, int] = defaultdict(int)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        total[tested_part(path.relative_to(ROOT / "tests").as_posix(), parts)] += lines(path.read_text())
    return total


def belongs(name: str, parts: str) -> bool:
    """Whether a module is one of those that ``LATER`` names."""
    return any(fnmatch(name, f"krohn.{part}") or name.startswith(f"krohn.{part}.") for part in parts.split())


def later_lines(sources: dict[str, str]) -> dict[str, int]:
    """Lines of each capability of ``LATER``."""
    return {
        what: sum(lines(text) for name, text in sources.items() if belongs(name, parts))
        for what, parts in LATER.items()
    }


def written_since(revision: str, sources: dict[str, str]) -> int:
    """Lines of more than 12 characters that were nowhere in the package at that revision."""
    packed = subprocess.run(
        ["git", "archive", revision, "src/krohn"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    old: set[str] = set()
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        for member in archive:
            if member.name.endswith(".py") and (file := archive.extractfile(member)):
                old |= {line.strip() for line in file.read().decode().splitlines()}
    every = (line.strip() for text in sources.values() for line in text.splitlines())
    return sum(len(line) > 12 and line not in old for line in every)


def page_table(traces: dict[str, set[str]], sources: dict[str, str], hidden: int) -> str:
    """The rows of research/house.md."""
    parts, later = by_folder(sources), later_lines(sources)
    tests, total = test_lines(parts), sum(parts.values())
    rest = {n: text for n, text in sources.items() if not any(belongs(n, p) for p in LATER.values())}
    few = sorted((tests.get(part, 0) / count, part) for part, count in parts.items())
    below = ", ".join(f"`{part}` {ratio:.2f}" for ratio, part in few if ratio < 0.5)
    added = sorted(((count, what) for what, count in later.items()), reverse=True)
    rows = []
    for name, files in traces.items():
        long = sum(lines(sources[module_name(PACKAGE / file)]) for file in files)
        rows.append(
            f"files in which something runs: {name} | {WAYS[name][0]} | {len(files)}, with {long:,} lines"
        )
    new = written_since(THEN, rest)
    left = total - sum(later.values())
    rows += [
        f"modules for what there was then | 290 | {len(rest)}",
        f"lines for what there was then | 50,000 | {left:,}; {new:,} of them stood nowhere then",
        f"later capabilities | | {len(sources) - len(rest)} modules, {sum(later.values()):,} lines: "
        + "; ".join(f"{what} {count:,}" for count, what in added),
        f"lines of tests for each line of the package | 0.75 | {sum(tests.values()) / total:.2f}",
        f"folders and modules with less than half | 0 | {below or 0}",
        f"modules that no command, public name or documented example reaches | 0 | {hidden}",
    ]
    return "\n".join(f"| {row} |" for row in ["| aim | now", "--- | --- | ---", *rows])


def room_table(sources: dict[str, str]) -> str:
    """Lines of each room beside what was aimed at; capabilities that came later are left out."""
    rest = {n: text for n, text in sources.items() if not any(belongs(n, p) for p in LATER.values())}
    rows = ["| room | aim | now | stood nowhere then |", "| --- | --- | --- | --- |"]
    for room, (aim, names) in ROOMS.items():
        own = {n: rest.pop(n) for n in [*rest] if folder_of(n) in names.split()}
        rows.append(f"| {room} | {aim:,} | {sum(by_folder(own).values()):,} | {written_since(THEN, own):,} |")
    assert not rest, f"every part must be in a room; {sorted(rest)} are in none"
    return "\n".join(rows)


def write_page(table: str, mark: str) -> None:
    """Replaces the table between the page's marks."""
    page = ROOT / "research" / "house.md"
    text, count = re.subn(
        rf"(<!-- {mark} -->\n).*?(\n<!-- end -->)",
        lambda match: match[1] + table + match[2],
        page.read_text(),
        flags=re.DOTALL,
    )
    assert count == 1, f"the page must have one table {mark}"
    page.write_text(text)


def ratios(package: dict[str, int], tests: dict[str, int]) -> Iterator[str]:
    yield f"{'folder':14} {'lines':>7} {'tests':>7} {'ratio':>6}"
    for part, count in sorted(package.items()):
        yield f"{part:14} {count:7,} {tests.get(part, 0):7,} {tests.get(part, 0) / count:6.2f}"


def report(*, trace: bool, names: bool, write: bool) -> None:
    sources = {module_name(path): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    arrows = graph(sources)
    importers = {name: [other for other, targets in arrows.items() if name in targets] for name in sources}
    used = reached(sources)
    hidden = sorted(name for name, text in sources.items() if lines(text) > 1 and (name, "") not in used)
    single = sorted(name for name in sources if len(importers[name]) == 1)
    parts = by_folder(sources)
    total, tests = sum(parts.values()), test_lines(parts)
    print(f"package: {total:,} lines in {len(sources)} modules")
    written = sum(tests.values())
    print(f"tests: {written:,} lines, {written / total:.2f} of the package (aim 0.75)")
    print(f"modules with a single importer: {len(single)}")
    print(
        f"reached by no command, public name or documented example: {len(hidden)} modules, "
        f"{sum(lines(sources[name]) for name in hidden):,} lines"
    )
    if names:
        print("  single importer:", *(f"{name} <- {min(importers[name])}" for name in single), sep="\n    ")
    for name in hidden:
        print(f"    {name}  {lines(sources[name])}")
    if names:
        print("  definitions nothing reaches, in modules that something does:")
        for module in sorted(set(sources) - set(hidden)):
            own = {name for part in ast.parse(sources[module]).body for name in bound_names(part)}
            for name in sorted(name for name in own if (module, name) not in used):
                print(f"    {module} {name}")
    print("\n".join(ratios(parts, tests)))
    later = later_lines(sources)
    for what, count in later.items():
        print(f"{count:7,}  {what}")
    print(f"{total - sum(later.values()):7,}  the rest (57,817 at first, aim 50,000)")
    if trace or write:
        traces = trace_all()
        for name, files in traces.items():
            print(f"{name}: {len(files)} files run (aim {WAYS[name][0]})")
            if names:
                print("   ", "\n    ".join(sorted(files)))
        if write:
            write_page(page_table(traces, sources, len(hidden)), "house")
            write_page(room_table(sources), "rooms")


def main() -> None:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--no-trace", action="store_true", help="read the sources only")
    parser.add_argument("--names", action="store_true", help="list the files behind each number")
    parser.add_argument("--write", action="store_true", help="write the table of research/house.md")
    parser.add_argument("--trace-one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trace_one:
        files = traced(options.trace_one)
        print("\n" + json.dumps(sorted(files)))
        return
    report(trace=not options.no_trace, names=options.names, write=options.write)


if __name__ == "__main__":
    main()

"""Plugins by entry points: an automaton family, a construction, an export format."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import krohn
from every import every
from krohn.automata import zoo
from krohn.automata.groups import cyclic
from krohn.automata.zoo import Family
from krohn.base.plugins import Plugins, instance_of
from krohn.errors import InvalidInput

PACKAGE = """
import json

from krohn.automata.groups import cyclic
from krohn.automata.zoo import Family
from krohn.construct.request import ProposalSource
from krohn.errors import Unsupported
from krohn.exporting.formats import ExportFormat


def refuse(request, budget):
    raise Unsupported("the outsider was asked")


CLOCKS = Family("Clockn", "Clock([0-9]+)", lambda n: cyclic(int(n)), "a clock of n hours", ("Clock12",))
NOTHING = ProposalSource("outsider", ("auto",), refuse, lambda request: 0)
TENSORS = ExportFormat(
    False,
    lambda decoder, about: {"shapes.json": json.dumps(sorted(decoder.tensors)).encode()},
    "json",
    "open('{directory}/shapes.json')",
)
"""
ENTRIES = """[krohn.automata]
clock = outsider:CLOCKS
[krohn.constructions]
outsider = outsider:NOTHING
[krohn.exports]
shapes = outsider:TENSORS
"""


def install(folder: Path, entries: str, source: str = PACKAGE) -> None:
    """A package as pip leaves it: a module, and metadata that names the entry points."""
    metadata = folder / "outsider-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "outsider.py").write_text(source)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(entries)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder}:{Path(krohn.__file__).parents[1]}"
    return subprocess.run(
        [sys.executable, "-m", "krohn", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_a_family_and_a_format_of_another_package_work_like_our_own(tmp_path: Path) -> None:
    install(tmp_path, ENTRIES)
    listed = json.loads(run(tmp_path, "zoo", "--json").stdout)
    assert {"Clock12", "S4"} <= {row["name"] for row in listed["automata"]}
    assert run(tmp_path, "compile", "Clock3", "--length", "4", "--out", "net").returncode == 0
    done = run(tmp_path, "export", "net", "--to", "shapes", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "lm_head.weight" in json.loads((tmp_path / "out" / "shapes.json").read_text())
    again = run(tmp_path, "export", "net", "--to", "shapes", "--out", "out")
    assert again.returncode == 0, again.stderr
    other = tmp_path / "other"
    other.mkdir()
    (other / "shapes.json").write_text("mine")
    refused = run(tmp_path, "export", "net", "--to", "shapes", "--out", "other")
    assert refused.returncode == 2
    assert (other / "shapes.json").read_text() == "mine"


def test_a_construction_of_another_package_is_asked(tmp_path: Path) -> None:
    install(tmp_path, ENTRIES)
    script = (
        "from krohn.automata.zoo import as_automaton\n"
        "from krohn.construct.sources import ADDED, proposals\n"
        "from krohn.construct.request import Request\n"
        "request = Request(automaton=as_automaton('C2'), length=4)\n"
        "assert proposals(request, request.budget())\n"
        "(source,) = ADDED.added().values()\n"
        "try:\n    proposals(request, request.budget(), [source])\n"
        "except Exception as error:\n    print(error)\n"
    )
    path = f"{tmp_path}:{Path(krohn.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.stdout == "the outsider was asked\n", done.stderr


@every(
    ("entries", "source", "reason"),
    [
        ("[krohn.automata]\nclock = outsider:NONE\n", PACKAGE, "must load from outsider:NONE"),
        ("[krohn.automata]\nclock = outsider:TENSORS\n", PACKAGE, "'clock' must be a Family"),
        ("[krohn.automata]\nclock = outsider:CLOCKS\n", "1 / 0\n", "must load from outsider:CLOCKS"),
    ],
)
def test_a_broken_package_is_named_in_one_line_and_only_where_it_is_needed(
    entries: str, source: str, reason: str, tmp_path: Path
) -> None:
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    install(folder, entries, source)
    done = run(folder, "zoo", "Clock12")
    assert done.returncode == 2
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert source is PACKAGE or run(folder, "zoo", "S4").returncode == 0


def test_names_are_registered_once() -> None:
    family = Family("Clockn", "Clock([0-9]+)", lambda n: cyclic(int(n)), "a clock", ("Clock12",))
    zoo.ADDED.register("clock", family)
    try:
        assert krohn.zoo("Clock12").num_states == 12
        with pytest.raises(InvalidInput, match="'clock' is taken"):
            zoo.ADDED.register("clock", Family("x", "x", lambda: cyclic(2), "x", ()))
    finally:
        zoo.ADDED.forget()
    own: Plugins[int] = Plugins("krohn.nothing", "a number", lambda: {"one": 1}, instance_of(int, "a number"))
    with pytest.raises(InvalidInput, match="'one' is taken"):
        own.register("one", 2)
    with pytest.raises(InvalidInput, match="a number 'two' must be a int"):
        own.register("two", "2")  # type: ignore[arg-type]

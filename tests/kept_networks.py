"""Compiled networks, and what pages show of them, kept on disk while the suite runs: many tests need them.

Tests of the compiler itself compile anew, and so does every test while some part of krohn is patched: what
is kept must be what the sources, as they are, build. A change of any source begins with nothing. Pickle can
run code, which is why krohn never loads it; here the suite reads back what it wrote into its own checkout,
and who can write there can change the tests as well.
"""

import hashlib
import os
import pickle
import pkgutil
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct import compiling
from krohn.construct.request import Request
from krohn.explorer import page_data
from krohn.explorer.page_data import LENGTH
from krohn.network.compiled import CompiledNetwork

ROOT = Path(__file__).parents[1]
USERS = (
    *("exporting/", "proving/", "check/", "network/", "lab/", "explorer/", "coq/"),
    *("test_docs.py", "cli/test_texts.py::test_the_demo_fits_on_a_screen"),
)
"""Tests that take networks as given, by the beginning of their names; five pages and the demo compile S4."""
BUILDERS = (
    "algebra",
    "automata",
    "base",
    "cascade",
    "check",
    "construct",
    "depth",
    "network",
    "paper",
    "proving",
)
"""Rooms whose code decides which network is built."""
SHOWN_BY = ("krohn.explorer.page_data",)
"""Modules whose code decides what a page shows of it."""

Build = Callable[[Request], CompiledNetwork]
Describe = Callable[[Semiautomaton, int], dict[str, Any]]


class KeptNetworks:
    """The networks of one state of the sources, in a folder that all workers share."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.on = folder, False
        self._known: dict[str, dict[str, int]] = {}

    def remember(self) -> None:
        """Takes the builders as they are now for unpatched."""
        names = [*(name for room in BUILDERS for name in _modules(f"krohn.{room}")), *SHOWN_BY]
        self._known = {name: _members(import_module(name)) for name in names}

    def unpatched(self) -> bool:
        """Whether every function, class and constant of the builders is what it was at the start."""
        return all(_members(sys.modules[name]) == members for name, members in self._known.items())

    def keeping(self, build: Build) -> Build:
        """The same function, which looks first for a network that was built before."""

        @wraps(build)
        def kept(request: Request) -> CompiledNetwork:
            if not self.on or not self.unpatched():
                return build(request)
            file = self.folder / f"{key_of(build.__name__, request)}.pickle"
            try:
                network: CompiledNetwork = pickle.loads(file.read_bytes())
            except FileNotFoundError:
                network = build(request)
                self._keep(network, file)
                return network
            freeze(network)
            return replace(network, automaton=request.automaton)

        return kept

    def keeping_machines(self, build: Describe) -> Describe:
        """The same for what a page shows of an automaton's network: four test files open S4."""

        @wraps(build)
        def kept(automaton: Semiautomaton, length: int = LENGTH) -> dict[str, Any]:
            if not self.on or not self.unpatched():
                return build(automaton, length)
            file = self.folder / f"{_hash((build.__name__, _about(automaton), length))}.pickle"
            try:
                machine: dict[str, Any] = pickle.loads(file.read_bytes())
            except FileNotFoundError:
                machine = build(automaton, length)
                self._keep(machine, file)
            return machine

        return kept

    def _keep(self, what: object, file: Path) -> None:
        """Whole or not at all: other workers may look for it now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(what))
        part.replace(file)


def key_of(name: str, request: Request) -> str:
    """All that decides the network: the automaton with its names, and every option."""
    options = {item.name: getattr(request, item.name) for item in fields(request) if item.name != "automaton"}
    return _hash((name, _about(request.automaton), sorted(options.items())))


def _about(automaton: Semiautomaton) -> tuple[object, ...]:
    names = (automaton.name, automaton.state_names, automaton.letter_names)
    return automaton.digest, *names, automaton.start, automaton.observe, automaton.target


def _hash(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def freeze(network: CompiledNetwork) -> None:
    """Matrices that were read back can be written to; those of a built network cannot."""
    for array in _arrays(network.transformer):
        array.flags.writeable = False


def _arrays(value: Any) -> list[Any]:
    if hasattr(value, "flags"):
        return [value]
    inside = value if isinstance(value, tuple) else getattr(value, "__dict__", {}).values()
    return [array for part in inside for array in _arrays(part)]


def _modules(package: str) -> list[str]:
    """The package and all that is below it."""
    below = pkgutil.walk_packages(import_module(package).__path__, f"{package}.")
    return [package, *(one.name for one in below)]


def _members(module: ModuleType) -> dict[str, int]:
    """Everything in a module by identity, methods too; what is imported from elsewhere counts as well."""
    members = {
        name: id(value)
        for name, value in vars(module).items()
        if not name.startswith("__") and not isinstance(value, ModuleType)
    }
    for name, value in vars(module).items():
        if isinstance(value, type) and value.__module__ == module.__name__:
            own = {key: id(item) for key, item in vars(value).items() if callable(item)}
            members |= {f"{name}.{key}": item for key, item in own.items()}
    return members


def install() -> KeptNetworks:
    """Keeps what is compiled from now on, where ``on`` says so."""
    state = hashlib.sha256()
    for path in sorted(Path(krohn.__file__).parent.rglob("*.py")):
        state.update(path.read_bytes())
    place = ROOT / ".pytest_cache" / "compiled"
    folder = place / state.hexdigest()[:16]
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for other in place.iterdir() if place.exists() else ():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    result = KeptNetworks(folder)
    compiling.find_accepted = result.keeping(compiling.find_accepted)
    compiling.build = result.keeping(compiling.build)
    page_data.build_machine = result.keeping_machines(page_data.build_machine)
    result.remember()
    return result

"""Coq for the tests of certificates: without ``coqc`` they are skipped, and fail where CI must have it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from krohn.automata.zoo import parse_spec
from krohn.coq.coqc import INSTALL, coq_version, development
from krohn.coq.program import INSTALL as NEEDS
from krohn.coq.program import build_program
from krohn.coq.stored import StoredNetwork, stored_network
from krohn.recurrent.recurrent_network import RecurrentNetwork, save
from krohn.recurrent.recurrent_weights import WEIGHTS


@pytest.fixture(scope="session")
def coq() -> Path:
    """The compiled development."""
    if coq_version() is None:
        message = f"no coqc is installed, so no certificate is checked: {INSTALL}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return development()


@pytest.fixture(scope="session")
def program(coq: Path) -> Path:
    """krohn-kernel."""
    if shutil.which("ocamlfind") is None:
        message = f"no OCaml is installed, so no checker is built: {NEEDS}"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(message)
    return build_program()


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], StoredNetwork]:
    """The network of an automaton and an architecture, written to disk and read again."""

    def make(name: str, architecture: str) -> StoredNetwork:
        folder = tmp_path_factory.mktemp("network") / architecture
        automaton = parse_spec(name)
        save(RecurrentNetwork(WEIGHTS[architecture](automaton), automaton), folder)
        return stored_network(folder)

    return make

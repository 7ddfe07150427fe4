"""What editors and type checkers see of ``import krohn``: the types of public functions, and mistakes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import public_types
import pytest

import krohn

PROGRAM = """import krohn

net = krohn.compile("S4", length=8)
reveal_type(net)
reveal_type(krohn.verify(net).certified)
reveal_type(krohn.analyze("S4"))
reveal_type(krohn.zoo("S4"))
reveal_type(krohn.equal("S4", "S4").equal)
reveal_type(krohn.decompose("S4"))
reveal_type(krohn.extract(net))
reveal_type(krohn.understand(net))
reveal_type(krohn.load_automaton("a.json"))
krohn.compile("S4", lenght=8)
krohn.nothing
"""
TYPES = (
    *("CompiledNetwork", "bool", "Analysis", "Semiautomaton", "bool", "Decomposition", "Extracted"),
    *("Report", "Semiautomaton"),
)
WRONG = [13, 14]


def test_the_file_of_types_names_every_public_name() -> None:
    assert public_types.STUB.read_text() == public_types.generate()
    for name in krohn.__all__:
        assert f" as {name}\n" in public_types.generate() or name == "__version__"


@pytest.mark.slow
def test_mypy_knows_the_types_of_a_users_program(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert tuple(re.findall(r'Revealed type is "(?:[\w.]*\.)?(\w+)"', found)) == TYPES
    assert sorted({int(line) for line in re.findall(r":(\d+): error", found)}) == WRONG


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_knows_them_too(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    given = ["pyright", "--pythonpath", sys.executable, str(file)]
    found = subprocess.run(given, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert tuple(re.findall(r'Type of ".*" is "(\w+)"', found)) == TYPES
    assert sorted({int(line) for line in re.findall(r":(\d+):\d+ - error", found)}) == WRONG

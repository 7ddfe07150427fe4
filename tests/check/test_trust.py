"""The page on what must be trusted, line by line: files, lines, assumptions, and errors of torch."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import trust

import krohn
from krohn.check.arithmetic.format import ASSUMPTIONS

ROOT = Path(__file__).parents[2]
LOADED = """
import sys
from krohn.check.__main__ import main
assert main([sys.argv[1], sys.argv[2]]) == 0
names = [name for name in sys.modules if name.split(".")[0] == "krohn"]
print(sorted(sys.modules[name].__file__ for name in names))
"""
KINDS = [*trust.KINDS]
LOADS = [kind for kind in KINDS if not re.search("compared|others|in parts", kind)]
"""Those that are run here; the others load one file more."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A network of each kind for which a certificate is quickly made or kept, and its certificate."""
    base = tmp_path_factory.mktemp("trust")
    scan = krohn.compile("C2", 4, method="scan")
    for name, network in (("cascade", krohn.compile("C2", 4, method="cascade")), ("scan", scan)):
        krohn.save(network, base / name)
        krohn.verify(network, second_opinion=False).save(base / name / "certificate.json")
    krohn.export(scan, "hf", base / "export")
    return {
        "a cascade, compiled": base / "cascade",
        "a scan": base / "scan",
        "an export of these as a GPT-2": base / "export",
        "recurrent networks, trained LSTMs and GRUs": ROOT / "results" / "networks" / "c2-lstm-proved",
        "one block in loops": ROOT / "results" / "lasting" / "c2",
    }


@pytest.mark.parametrize("kind", [*LOADS])
def test_no_other_file_of_krohn_is_loaded(kind: str, made: dict[str, Path]) -> None:
    net = made[kind]
    command = [sys.executable, "-c", LOADED, str(net), str(net / "certificate.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(map(Path, ast.literal_eval(done.stdout.splitlines()[-1])))
    said = trust.trusted(trust.PROGRAM, *(f"krohn.check.{module}" for module in trust.KINDS[kind]))
    # A claim about an export may be about a cascade or a scan: the page counts both.
    assert loaded <= said
    assert {path.stem for path in said - loaded} <= {"order", "parts"}


def test_the_page_has_the_files_and_about_the_lines() -> None:
    rows = re.compile(r"^\| (.+) \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
    _, said, *_ = trust.parts(trust.PAGE.read_text())
    now, then = (rows.findall(table) for table in (trust.table_of_files(), said))
    assert [row[0] for row in now] == [row[0] for row in then] == KINDS
    for (kind, files, lines), (_, files_then, lines_then) in zip(now, then, strict=True):
        assert files == files_then, f"{kind}: run python tools/trust.py --write --files"
        one, other = (int(count.replace(",", "")) for count in (lines, lines_then))
        assert abs(one - other) <= 0.05 * one, f"{kind}: run python tools/trust.py --write --files"


def test_the_page_names_each_assumption_once() -> None:
    text = trust.PAGE.read_text()
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted(ASSUMPTIONS)
    assert len(text.splitlines()) <= 60


def test_functions_of_torch_are_as_near_as_is_assumed() -> None:
    """On this machine; the page has what was found on another, on more numbers."""
    *_, said, _ = trust.parts(trust.PAGE.read_text())
    for one in trust.FUNCTIONS:
        found = trust.largest_error(one, 1 << 18)
        assert 0 < found <= one.allowed, one.name
        (then,) = re.findall(
            rf"^\| {one.name} \| .* \| {one.allowed:.0f} \| ([\d.]+) \|$", said, re.MULTILINE
        )
        assert float(then) <= one.allowed


def test_an_error_that_is_too_large_is_found() -> None:
    """One part in 2^18 of exp is twice as much as is allowed."""

    def rough(x: torch.Tensor) -> torch.Tensor:
        return x.exp() if x.dtype == torch.float64 else x.exp() * (1 + 2.0**-18)

    wrong = trust.FUNCTIONS[0]._replace(of=rough)
    assert trust.largest_error(wrong, 1 << 12) > wrong.allowed

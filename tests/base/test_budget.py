"""Budgets: units decide what is built, clocks only end it, and the same request gives the same bytes."""

import ast
from pathlib import Path

import pytest

import krohn
from every import every
from krohn.base.portable import Budget, BudgetSpent, unlimited
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.network.compiled import save

SOURCE = Path(krohn.__file__).parent
SEARCHING = ("automata", "algebra", "cascade", "construct", "network")

SPECS = ["regex:(a|b){2}-(a|ba)", "Add", "T3"]


def test_units_are_counted_and_end_with_a_word() -> None:
    budget = Budget(10)
    budget.spend(7)
    with pytest.raises(BudgetSpent, match="10 units of work; raise --effort"):
        budget.spend(4)
    assert (budget.done, budget.left) == (7, 3)
    budget.spend(3)
    assert budget.left == 0


def test_a_part_spends_its_own_units_and_those_of_the_whole() -> None:
    whole = Budget(10)
    part = whole.part(6)
    part.spend(5)
    assert (part.left, whole.left) == (1, 5)
    with pytest.raises(BudgetSpent):
        part.spend(2)
    whole.spend(5)
    with pytest.raises(BudgetSpent):
        part.spend(1)
    part.give_up("something")
    part.give_up("something")
    assert whole.given_up == ["something"]


def test_pieces_are_what_can_be_paid_for() -> None:
    assert Budget(100).pieces(30, 50) == 3
    assert Budget(100).pieces(30, 2) == 2
    assert unlimited().pieces(30, 50) == 50


@pytest.mark.parametrize("units", [0, -1, float("nan")])
def test_no_units_are_refused(units: float) -> None:
    with pytest.raises(InvalidInput, match="units of work"):
        Budget(units)


@every("path", [p for part in SEARCHING for p in sorted((SOURCE / part).rglob("*.py"))])
def test_no_search_looks_at_a_clock(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {"time", "datetime", "signal", "threading"} & {name.split(".")[0] for name in names}


@pytest.mark.parametrize("spec", SPECS)
def test_a_slow_machine_builds_the_same_bytes(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(krohn.compile(krohn.parse_spec(spec), 20, effort=0.05), tmp_path / "fast")
    late = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("time.monotonic", lambda: next(late))
    monkeypatch.setattr("time.perf_counter", lambda: next(late))
    save(krohn.compile(krohn.parse_spec(spec), 20, effort=0.05), tmp_path / "slow")
    for name in ("model.safetensors", "krohn.json"):
        assert (tmp_path / "fast" / name).read_bytes() == (tmp_path / "slow" / name).read_bytes()


def test_an_abandoned_search_is_reported_with_the_option_that_continues_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    command = ["compile", "Add", "--length", "16"]
    assert run([*command, "--effort", "0.001"]) == 0
    streams = capfd.readouterr()
    assert (
        "the search for plans of fewer layers was given up; --effort 0.01 (effort=0.01) would continue it"
        in streams.err
    )
    assert run([*command, "--effort", "0.001", "--json"]) == 0
    assert '"given_up": ["the search' in capfd.readouterr().out
    assert run([*command]) == 0
    assert "given up" not in capfd.readouterr().err

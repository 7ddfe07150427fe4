"""The list of source mutants is valid: files and tests exist, and the text occurs once."""

from pathlib import Path

import pytest
from source_mutants import MUTANTS, main, unfit

from every import every

ROOT = Path(__file__).parents[1]
Mutant = tuple[str, str, str, str]


def test_every_mistake_can_be_put_in_and_its_tests_exist() -> None:
    assert [why for mutant in MUTANTS if (why := unfit(ROOT, mutant))] == []
    assert len(MUTANTS) >= 90


GOOD = ("base/portable.py", "to_integral_value(ROUND_FLOOR)", "0", "tests/base/test_nearest_float.py")


@every(
    ("place", "other", "says"),
    [
        (0, "base/gone.py", "no such file"),
        (1, "no such text", "it has it 0 times"),
        (1, "import", "times"),
        (2, GOOD[1], "must become something else"),
        (3, "tests/base/test_gone.py", "there must be tests"),
        (3, "-k nearest", "there must be tests"),
        (3, "tests/base/test_nearest_float.py -k gone_since", "has 'gone_since' in its name"),
    ],
)
def test_what_no_longer_fits_is_named(place: int, other: str, says: str) -> None:
    assert unfit(ROOT, GOOD) is None
    assert says in str(unfit(ROOT, (*GOOD[:place], other, *GOOD[place + 1 :])))  # type: ignore[arg-type]


def test_the_command_checks_without_running_anything(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["source_mutants.py", "--check"])
    monkeypatch.setattr("subprocess.run", None)
    assert main() == 0
    assert capsys.readouterr().out == f"{len(MUTANTS)} of {len(MUTANTS)} can be applied\n"
    monkeypatch.setattr("source_mutants.MUTANTS", [GOOD, ("base/gone.py", *GOOD[1:])])
    assert main() == 1
    assert "1 of 2 can be applied" in capsys.readouterr().out

"""The list of source mutants is valid: files and tests exist, and the text occurs once."""

from pathlib import Path

from source_mutants import MUTANTS

from every import every

ROOT = Path(__file__).parents[1]


@every("file, old, new, tests", MUTANTS)
def test_a_mistake_can_be_put_in_and_its_tests_exist(file: str, old: str, new: str, tests: str) -> None:
    assert (ROOT / "src" / "krohn" / file).read_text().count(old) == 1
    assert old != new
    named = [part for part in tests.split() if part.startswith("tests/")]
    assert named
    assert [part for part in named if not (ROOT / part.partition("::")[0]).exists()] == []

"""Results as text: one order, small, and nothing lost on the way back."""

from pathlib import Path
from typing import Any

import pytest

from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.experiments.store import Store, export_text
from lab.experiments.made_up_records import member, record

ROWS = [record("b", 1), record("a", 0), record("b", 0, environment={"torch": "2.11", "device": "H200"})]
MEMBERS = [member("a"), member("b", experiment="length", label={"task": "Dyck4,2"})]


def test_text_goes_there_and_back(tmp_path: Path) -> None:
    with Store(tmp_path / "one") as one:
        one.put(ROWS, MEMBERS)
        assert export_text(one, tmp_path / "all.jsonl") == 3
        with Store(tmp_path / "all.jsonl", writable=False) as two:
            assert two.records() == one.records()
            assert two.members() == one.members()


def test_text_does_not_depend_on_the_order_of_putting(tmp_path: Path) -> None:
    texts = []
    for name, rows in (("one", ROWS), ("two", ROWS[::-1])):
        with Store(tmp_path / name) as store:
            for row in rows:
                store.put([row], MEMBERS)
            export_text(store, tmp_path / f"{name}.jsonl")
        texts.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert texts[0] == texts[1]


def test_one_experiment_is_exported_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "one") as one:
        one.put(ROWS, MEMBERS)
        assert export_text(one, tmp_path / "part.jsonl", experiment="length", scale="smoke") == 2
    with Store(tmp_path / "part.jsonl", writable=False) as two:
        assert [row.run_id for row in two.records()] == ["b", "b"]
        assert [result.experiment for result in two.members()] == ["length"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 3: it must be JSON"),
        ('{"result":{"run_id":"zz"}}', "line 3: KeyError 'zz'"),
        ('{"surprise":1}', "an unknown kind"),
        ('{"krohn-results":2}', "newer krohn"),
        ("[1]", "an unknown kind"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    with Store(tmp_path / "s") as store:
        store.put([record("a")])
        export_text(store, path)
        good = path.read_text().splitlines()
        path.write_text("\n".join([*good[:2], line, *good[2:]]) + "\n")
    with pytest.raises(InvalidFile, match=message):
        Store(path, writable=False)


def test_a_file_of_results_must_be_whole(tmp_path: Path) -> None:
    """Alone it has no writer that was killed."""
    with Store(tmp_path / "s") as store:
        store.put([record("a")])
        export_text(store, tmp_path / "cut.jsonl")
    (tmp_path / "cut.jsonl").write_bytes((tmp_path / "cut.jsonl").read_bytes()[:-9])
    with pytest.raises(InvalidFile, match="it must be JSON"):
        Store(tmp_path / "cut.jsonl", writable=False)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("seed", 2**63, r"seed must be a whole number below 2\^63"),
        ("sequences", -(2**64), r"sequences must be a whole number below 2\^63"),
        ("replicate", True, "replicate must be a whole number; got True"),
        ("metrics", 3, "metrics must be an object; got 3"),
        ("metrics", {"test": {"accuracy": None}}, "an accuracy on test words, from 0 to 1; got None"),
        ("metrics", {"test": {"accuracy": 1.5}}, "from 0 to 1; got 1.5"),
        ("code", None, "code must be a text; got None"),
    ],
)
def test_values_of_other_types_are_refused(name: str, value: Any, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        record(**{name: value})

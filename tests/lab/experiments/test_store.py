"""The store keeps every record once, and no failure costs a record."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.experiments.record import Record, conflict_lines, survivor
from krohn.lab.experiments.store import APPLICATION_ID, Store, StoreUnwritable
from lab.experiments.made_up_records import member, record


def test_what_is_put_comes_back_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store.sqlite"
    rows = [record("b", 1), record("a", 0), record("b", 0, status="partial")]
    with Store(path) as store:
        store.put(rows, [member("a"), member("b", label={"task": "S5", "depth": 2})])
    with Store(path, writable=False) as store:
        assert store.records() == sorted(rows, key=lambda row: row.key)
        assert store.of_run("b") == [rows[2], rows[0]]
        assert [result.label["task"] for result in store.members("depth", "smoke")] == ["C2", "S5"]
        assert store.members("length") == []


def test_putting_twice_doubles_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        assert store.put([record()]) == []
        assert store.put([record(), record()]) == []
        assert store.records() == [record()]


def test_a_finished_record_replaces_a_partial_one_and_never_the_reverse(tmp_path: Path) -> None:
    partial = record(status="partial", sequences=500, metrics={"accuracy": 0.4})
    with Store(tmp_path / "s") as store:
        store.put([partial])
        assert store.put([record()]) == []
        assert store.put([partial]) == []
        assert store.records() == [record()]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_partial_records_the_one_further_along_stays_and_nothing_is_in_conflict(
    tmp_path: Path, turned: bool
) -> None:
    less = record(status="partial", sequences=500, metrics={"accuracy": 0.4}, finished="2025-01-01T00:00:00Z")
    more = record(status="partial", sequences=900, metrics={"accuracy": 0.3})
    with Store(tmp_path / "s") as store:
        for row in (more, less) if turned else (less, more):
            assert store.put([row]) == []
        assert store.records() == [more]


def test_a_diverged_record_stands_before_a_partial_one_and_behind_a_finished_one(tmp_path: Path) -> None:
    partial = record(status="partial", sequences=900)
    diverged = record(status="diverged", sequences=100)
    finished = record(sequences=50)
    with Store(tmp_path / "s") as store:
        for row, standing in ((partial, partial), (diverged, diverged), (partial, diverged)):
            store.put([row])
            assert store.records() == [standing]
        store.put([finished])
        assert store.records() == [finished]


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_results_the_one_with_more_evaluations_stays_though_it_came_later(
    tmp_path: Path, turned: bool
) -> None:
    bare = record(metrics={"accuracy": 0.5})
    fuller = record(
        metrics={"accuracy": 0.5, "evaluations": {"ones": 1}}, finished="2027-01-01T00:00:00Z", code="9"
    )
    with Store(tmp_path / "s") as store:
        for row in (fuller, bare) if turned else (bare, fuller):
            assert store.put([row]) == []
        assert store.records() == [fuller]


def test_merge_joins_without_loss_or_doubles(tmp_path: Path) -> None:
    with Store(tmp_path / "here") as here, Store(tmp_path / "there") as there:
        here.put([record("a"), record("b")], [member("a"), member("b")])
        there.put([record("b"), record("c")], [member("b"), member("c", experiment="length")])
        assert here.put(there.records(), there.members()) == []
        assert here.records() == [record("a"), record("b"), record("c")]
        assert len(here.members()) == 3


def test_merge_reports_results_that_disagree(tmp_path: Path) -> None:
    later = record(metrics={"accuracy": 0.9}, finished="2026-02-01T00:00:00Z")
    with Store(tmp_path / "here") as here, Store(tmp_path / "there") as there:
        here.put([later])
        there.put([record()])
        (conflict,) = here.put(there.records(), there.members())
        assert (conflict.run_id, conflict.replicate) == ("aa", 0)
        assert conflict.kept != conflict.dropped
        assert here.records() == [record()]


def test_results_that_differ_in_time_and_place_alone_do_not_disagree(tmp_path: Path) -> None:
    again = record(
        metrics={**record().metrics, "seconds": 9.5},
        environment={"torch": "2.13", "device": "cpu", "threads": 3},
        started="2026-03-01T00:00:00Z",
        finished="2026-03-01T00:02:00Z",
    )
    with Store(tmp_path / "s") as store:
        store.put([record(metrics={**record().metrics, "seconds": 3.0})])
        assert store.put([again]) == []
        assert store.records()[0].metrics["seconds"] == 3.0


def test_results_with_other_evaluations_disagree_only_where_both_measured(tmp_path: Path) -> None:
    def with_evaluations(**evaluations: list[float]) -> Record:
        return record(metrics={**record().metrics, "evaluations": evaluations})

    with Store(tmp_path / "s") as store:
        store.put([with_evaluations(length=[1])])
        assert store.put([with_evaluations(length=[1], ones=[0.5])]) == []
        assert store.records() == [with_evaluations(length=[1], ones=[0.5])]
        assert len(store.put([with_evaluations(length=[0.9])])) == 1


def test_conflicts_are_reported_once_for_each_run(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put([record("a", 0), record("a", 1), record("b", 0)])
        changed = [record(run, replicate, metrics={"accuracy": 0.1}) for run, replicate in
                   (("b", 0), ("a", 0), ("a", 1))]  # fmt: skip
        lines = conflict_lines(store.put(changed))
    assert [line.split(";")[0] for line in lines] == [
        "run a: two different results of 2 replicates",
        "run b: two different results of 1 replicate",
    ]


records_of_one_replicate = st.builds(
    record,
    status=st.sampled_from(["partial", "diverged", "done"]),
    sequences=st.integers(0, 2),
    metrics=st.sampled_from(
        [{"accuracy": 0.1}, {"accuracy": 0.2}, {"accuracy": 0.1, "evaluations": {"length": []}}]
    ),
    finished=st.sampled_from(["2026-01-01", "2026-01-02"]),
    code=st.sampled_from(["1", "2"]),
)


@given(st.permutations(range(3)), st.lists(records_of_one_replicate, min_size=3, max_size=3))
def test_the_survivor_does_not_depend_on_the_order_of_merging(
    order: list[int], candidates: list[Record]
) -> None:
    def last_one(rows: list[Record]) -> Record:
        winner = rows[0]
        for row in rows[1:]:
            winner, _ = survivor(winner, row)
        return winner

    assert last_one([candidates[index] for index in order]) == last_one(candidates)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), max_size=8), st.integers(0, 8))
def test_merging_parts_gives_the_whole(
    tmp_path_factory: pytest.TempPathFactory, keys: list[tuple[str, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("merge")
    rows = [record(run_id, replicate) for run_id, replicate in keys]
    with Store(folder / "left") as left, Store(folder / "right") as right:
        left.put(rows[:cut])
        right.put(rows[cut:])
        left.put(right.records(), right.members())
        assert {row.key for row in left.records()} == set(keys)
        assert len(left.records()) == len(set(keys))


def test_a_store_from_a_newer_krohn_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record()])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version=2")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidFile, match="has 2, made by a newer krohn: update krohn"):
        Store(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "photos.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE photos (name TEXT)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(InvalidFile, match="another program's"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["not a database at all" * 60, "header", "middle"])
def test_a_corrupt_store_is_refused_in_one_line_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record("run", replicate) for replicate in range(60)])
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:64] = b"\xff" * 64
    elif damage == "middle":
        data[4096 : 4096 * 3] = b"\x5a" * (4096 * 2)
    else:
        data = bytearray(damage.encode())
    path.write_bytes(data)
    for writable in (True, False):
        with pytest.raises(InvalidFile, match="must be an intact SQLite file") as caught:
            Store(path, writable=writable)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == data


def test_a_full_disk_adds_nothing_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record("old")])
        # SQLite's own page limit fails a write exactly as a full disk does: SQLITE_FULL in mid-transaction.
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages + 1}")
        big = [
            record("new", index, metrics={"accuracy": 0.5, "curve": [0.123456789] * 2000})
            for index in range(50)
        ]
        with pytest.raises(StoreUnwritable, match="is full; nothing was added, nothing is lost") as caught:
            store.put(big)
        assert "\n" not in str(caught.value)
        assert store.records() == [record("old")]
        store._connection.execute("PRAGMA max_page_count=100000")
        store.put(big)
    with Store(path) as store:
        assert len(store.records()) == 51


def test_a_store_opened_for_reading_refuses_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record()])
    with Store(path, writable=False) as store, pytest.raises(StoreUnwritable, match="must be writable"):
        store.put([record("b")])
    with Store(path) as store:
        assert store.records() == [record()]


def test_a_store_where_none_can_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StoreUnwritable, match="give another with --store"):
        Store(tmp_path)
    with pytest.raises(InvalidFile, match="must exist to be read"):
        Store(tmp_path / "nothing", writable=False)


def test_a_store_left_by_a_killed_process_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "s"
    script = (
        "import os, sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path\nfrom lab.experiments.made_up_records import record\n"
        "from krohn.lab.experiments.store import Store\n"
        "store = Store(Path(sys.argv[1])); store.put([record('a')]); store.put([record('b')]); os._exit(9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(Path(__file__).parents[2])], check=False
    )
    assert done.returncode == 9
    with Store(path, writable=False) as store:
        assert [row.run_id for row in store.records()] == ["a", "b"]
    with Store(path) as store:
        assert [row.run_id for row in store.records()] == ["a", "b"]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_store_is_read_as_it_stands_though_another_process_is_writing(journal: str, tmp_path: Path) -> None:
    """Also one with a write-ahead log, as stores had once."""
    with Store(tmp_path / "s") as writer:
        writer._connection.execute(f"PRAGMA journal_mode={journal}")
        writer.put([record("a")])
        with writer._transaction():
            writer._put_record(record("b"))
            with Store(tmp_path / "s", writable=False) as reader:
                assert reader.records() == [record("a")]
        with Store(tmp_path / "s", writable=False) as reader:
            writer.put([record("c")])
            assert reader.records() == [record("a"), record("b")]


def test_a_store_in_a_read_only_folder_is_read_and_not_written(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "s"
    with Store(path) as store:
        store.put([record()])
    path.parent.chmod(0o500)
    try:
        with Store(path, writable=False) as store:
            assert store.records() == [record()]
        assert [file.name for file in path.parent.iterdir()] == ["s"]
    finally:
        path.parent.chmod(0o700)


def test_a_store_locked_by_another_process_is_one_line(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as here, Store(tmp_path / "s") as there:
        there._connection.execute("PRAGMA busy_timeout=0")
        # From its beginning: what a transaction has looked at must still hold when it writes.
        with here._transaction(), pytest.raises(StoreUnwritable, match="held by another process"):
            there.put([record()])
        there.put([record()])
        assert here.records() == [record()]


def test_two_stores_on_one_file_write_in_turn(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as first, Store(tmp_path / "s") as second:
        for index in range(5):
            first.put([record("first", index)])
            second.put([record("second", index)])
        assert len(first.records()) == 10


def test_a_store_that_another_process_makes_at_the_same_moment_is_taken_as_it_is(tmp_path: Path) -> None:
    class Late(Store):
        def _create(self) -> None:
            with Store(self.path) as other:
                other.put([record()])
            super()._create()

    with Late(tmp_path / "s") as store:
        assert store.records() == [record()]


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / "s"):
        pass
    assert int.from_bytes((tmp_path / "s").read_bytes()[68:72], "big") == APPLICATION_ID


@pytest.mark.parametrize(
    "changes", [{"status": "finished"}, {"replicate": -1}, {"sequences": -5}, {"run_id": ""}]
)
def test_a_record_is_checked_when_made(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="record"):
        record(**changes)  # type: ignore[arg-type]

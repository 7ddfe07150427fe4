"""The store keeps every record once, and no failure costs a record."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.experiments.record import Record, conflict_lines, survivor
from krohn.lab.experiments.store import Store, StoreUnwritable
from lab.experiments.made_up_records import member, record


def test_what_is_put_comes_back_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "store"
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


def only_file(store: Path) -> Path:
    (file,) = store.glob("*.jsonl")
    return file


@pytest.mark.parametrize("writable", [True, False])
@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (b'{"krohn-results":2}\n', "line 7: format 2 was written by a newer krohn: update krohn"),
        (b"\xff\xfe\n", "readable text file"),
        (b'{"photos":1}\n', "line 7: the line is of an unknown kind"),
        (b'{"result":{"run_id":"zz"}}\n', "line 7: KeyError 'zz'"),
        (b"{\n", "line 7: it must be JSON"),
    ],
)
def test_a_broken_line_is_refused_in_one_line_and_left_as_it_is(
    tmp_path: Path, damage: bytes, says: str, writable: bool
) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record("run", replicate) for replicate in range(3)])
    data = only_file(path).read_bytes() + damage
    only_file(path).write_bytes(data)
    with pytest.raises(InvalidFile, match=re.escape(says)) as caught:
        Store(path, writable=writable)
    assert "\n" not in str(caught.value)
    assert only_file(path).read_bytes() == data


def test_a_torn_last_line_is_ignored_wherever_it_is_torn(tmp_path: Path) -> None:
    """What a killed writer leaves: the lines before are whole; a later writer has its own file."""
    whole = tmp_path / "whole"
    with Store(whole) as store:
        store.put([record("a")])
        store.put([record("b")], [member("b")])
    data = only_file(whole).read_bytes()
    ends = [place for place in range(len(data)) if data[place : place + 1] == b"\n"]
    first = next(end for end in ends if b'"result"' in data[:end])
    for cut in (0, 5, first, *range(first + 1, len(data), 37), len(data) - 1):
        torn = tmp_path / f"torn-{cut}"
        torn.mkdir()
        (torn / "killed.jsonl").write_bytes(data[:cut])
        with Store(torn, writable=False) as store:
            expected = ["a"] if first < cut < len(data) else []
            assert [row.run_id for row in store.records()] == expected, cut
        with Store(torn) as store:
            store.put([record("b")])
            assert [row.run_id for row in store.records()] == [*expected, "b"]
        assert (torn / "killed.jsonl").read_bytes() == data[:cut]


def test_a_line_that_another_process_is_writing_is_read_once_it_is_whole(tmp_path: Path) -> None:
    with Store(tmp_path / "whole") as store:
        store.put([record("a")])
    data = only_file(tmp_path / "whole").read_bytes()
    with Store(tmp_path / "s") as reader:
        assert reader.records() == []
        (tmp_path / "s" / "other.jsonl").write_bytes(data[:-20])
        assert reader.records() == []
        (tmp_path / "s" / "other.jsonl").write_bytes(data)
        assert reader.records() == reader.of_run("a") == [record("a")]


def test_a_full_disk_adds_nothing_and_loses_nothing(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "s"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(path) as store:
        store.put([record("old")])
        before = only_file(path).read_bytes()
        big = [
            record("new", index, metrics={"accuracy": 0.5, "curve": [0.123456789] * 2000})
            for index in range(50)
        ]
        try:  # a write fails in the middle, as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9_000, limits[1]))
            with pytest.raises(StoreUnwritable, match="nothing was added, nothing is lost") as caught:
                store.put(big)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "\n" not in str(caught.value)
        assert store.records() == [record("old")]
        assert only_file(path).read_bytes() == before
        store.put(big)
    with Store(path) as store:
        assert len(store.records()) == 51


def test_a_store_opened_for_reading_refuses_to_be_written_and_does_not_change(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store(path) as store:
        store.put([record()])
        with Store(path, writable=False) as seen:
            with pytest.raises(StoreUnwritable, match="must be writable"):
                seen.put([record("b")])
            store.put([record("c")])
            assert seen.records() == [record()]
    with Store(path) as store:
        assert store.records() == [record(), record("c")]


def test_a_store_where_none_can_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="give another with --store"):
        Store(tmp_path / "file")
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
    for writable in (False, True):
        with Store(path, writable=writable) as store:
            assert [row.run_id for row in store.records()] == ["a", "b"]


def test_every_writer_has_a_file_of_its_own_and_sees_the_others(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as first, Store(tmp_path / "s") as second:
        for index in range(5):
            first.put([record("first", index)])
            second.put([record("second", index)])
        assert first.records() == second.records()
        assert len(first.records()) == 10
    assert len([*(tmp_path / "s").iterdir()]) == 2


def test_a_writer_begins_another_file_where_one_grows_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.lab.experiments.store.LARGEST", 2_000)
    rows = [record("run", index, metrics={"accuracy": 0.5, "curve": [0.5] * 300}) for index in range(5)]
    with Store(tmp_path / "s") as store:
        for row in rows:
            store.put([row], [member("run")])
    assert len([*(tmp_path / "s").iterdir()]) > 1
    with Store(tmp_path / "s", writable=False) as store:
        assert store.records() == rows


def test_files_of_two_stores_in_one_folder_are_one_store(tmp_path: Path) -> None:
    """In any order; disagreement is found while reading."""
    for name, accuracy in (("here", 0.9), ("there", 0.5)):
        with Store(tmp_path / name) as store:
            store.put([record("aa", metrics={"accuracy": accuracy}), record(name)], [member(name)])
    joined = []
    for order in (("1", "2"), ("2", "1")):
        folder = tmp_path / "".join(order)
        folder.mkdir()
        for number, name in zip(order, ("here", "there"), strict=True):
            (folder / f"{number}.jsonl").write_bytes(only_file(tmp_path / name).read_bytes())
        with Store(folder, writable=False) as store:
            joined.append(
                (store.records(), store.members(), {conflict.run_id for conflict in store.conflicts})
            )
    assert joined[0] == joined[1]
    assert [row.run_id for row in joined[0][0]] == ["aa", "here", "there"]
    assert joined[0][2] == {"aa"}


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "words.jsonl").write_text('{"letters":[1]}\n')
    (tmp_path / "notes.txt").write_text("by hand")
    with Store(tmp_path) as store:
        store.put([record()])
        assert store.records() == [record()]
    assert (tmp_path / "words.jsonl").read_text() == '{"letters":[1]}\n'


def test_published_results_are_read_as_a_store() -> None:
    folder = Path(__file__).parents[3] / "results"
    with Store(folder, writable=False) as every, Store(folder / "curves-small.jsonl", writable=False) as one:
        assert {row.key for row in one.records()} < {row.key for row in every.records()}
        assert every.members("curves", "small") == one.members()


@pytest.mark.parametrize(
    "changes", [{"status": "finished"}, {"replicate": -1}, {"sequences": -5}, {"run_id": ""}]
)
def test_a_record_is_checked_when_made(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="record"):
        record(**changes)  # type: ignore[arg-type]

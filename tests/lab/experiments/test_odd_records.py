"""Unusual records: odd characters, partial configs, mixed labels; merge orders."""

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest

from every import every
from krohn.cli.app import run as krohn
from krohn.errors import InvalidFile, UnknownName
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.experiment import PlannedRun, ResultCell, Selection, cells_of
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Record, survivor
from krohn.lab.experiments.store import Store, export_text
from krohn.lab.experiments.summary import best_of, caption_of, mean_and_error, mean_series
from lab.experiments.made_up_records import member, read_results, record
from lab.experiments.quick_experiment import quick_run

WHOLE = {"steps": 10, "optimizer": {"batch": 4, "lr": [0.1, 0.2]}, "task": {"spec": "C2", "length": 5}}


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\n", "\r", '"', "\\", "ü"])
def test_text_keeps_every_character_that_a_name_may_have(mark: str, tmp_path: Path) -> None:
    label = {"task": f"one{mark}two", mark: 1}
    with Store(tmp_path / "one") as one, Store(tmp_path / "two") as two:
        one.put([record("a", config={"spec": mark * 2})], [member("a", label=label)])
        export_text(one, tmp_path / "text")
        two.put(*read_results(tmp_path / "text"))
        assert [dict(result.label) for result in two.members()] == [label]
        assert two.records() == one.records()
        export_text(two, tmp_path / "again")
    assert (tmp_path / "text").read_bytes() == (tmp_path / "again").read_bytes()


def test_half_a_character_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON can spell it, but no file in UTF-8 can hold it."""
    path = tmp_path / "text"
    path.write_text('{"krohn-results":1}\n{"config":"a","value":{"spec":"\\ud800"}}\n')
    with pytest.raises(InvalidFile, match="line 2"):
        read_results(path)
    assert krohn(["results", "list", "--store", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_blank_line_is_no_record_and_a_last_newline_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text('{"krohn-results":1}')
    assert read_results(path) == ([], [])
    path.write_text('{"krohn-results":1}\n\n{"krohn-results":1}\n')
    with pytest.raises(InvalidFile, match="line 2"):
        read_results(path)


def pool(seed: int) -> list[Record]:
    """Records of one replicate that agree in most things, so that late rules decide."""
    dice = random.Random(seed)
    return [
        record(
            seed=dice.choice([1, 2]),
            status=dice.choice(["done", "done", "diverged", "partial"]),
            sequences=dice.choice([100, 200]),
            code=dice.choice(["1", "2"]),
            config={"spec": dice.choice(["C2", "C3"])},
            finished=dice.choice(["2026-01-01", "2026-01-02"]),
            metrics={"accuracy": dice.choice([0.5, 0.75])}
            | dice.choice([{}, {"test": {"accuracy": 0.5}}, {"evaluations": {"a": 1}}]),
        )
        for _ in range(5)
    ]


@every("seed", range(12))
def test_every_order_of_merging_ends_in_the_same_record(seed: int) -> None:
    ends = []
    for order in itertools.permutations(pool(seed)):
        winner = order[0]
        for other in order[1:]:
            winner = survivor(winner, other)[0]
        ends.append(winner)
    assert all(end == ends[0] for end in ends)
    rank = {"done": 2, "diverged": 1, "partial": 0}
    best = max((rank[one.status], one.sequences) for one in pool(seed))
    assert (rank[ends[0].status], ends[0].sequences) == best


@pytest.mark.parametrize(
    ("one", "other"), [({"seed": 1}, {"seed": 2}), ({"config": {}}, {"config": {"a": 1}})]
)
def test_records_that_differ_in_one_thing_alone_have_one_survivor(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = record(**one), record(**other)
    assert survivor(first, second)[0] == survivor(second, first)[0]


def mixed() -> list[PlannedRun]:
    """Runs of which some have a part of the label that the others lack."""
    plain = [quick_run(task, depth) for task in ("C2", "Grid4") for depth in (1, 2)]
    odd = quick_run("C2", 3)
    return [*plain, PlannedRun(config=odd.config, label={**odd.label, "words": "whole"})]


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"words": ("whole",)}, [4]),
        ({"words": ()}, [0, 1, 2, 3, 4]),
        ({"task": ("C2",), "depth": ("2", "3")}, [1, 4]),
        ({"task": ("Grid4",), "words": ("whole",)}, []),
    ],
)
def test_a_part_that_only_some_labels_have_chooses_those(
    where: dict[str, tuple[str, ...]], wanted: list[int]
) -> None:
    planned = mixed()
    chosen = Selection(where=where).of(planned)
    assert [planned.index(run) for run in chosen] == wanted


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"words": ("half",)}, "must be one of .*whole; got 'half'"),
        ({"colour": ("red",)}, "differ in task, depth; got 'colour'"),
        ({"depth": ("4",)}, "1; 2; 3; got '4'"),
    ],
)
def test_what_no_run_has_is_refused(where: dict[str, tuple[str, ...]], says: str) -> None:
    with pytest.raises(UnknownName, match=says):
        Selection(where=where).of(mixed())


@every("name", sorted(EXPERIMENTS))
@every("scale", list(Scale))
def test_every_part_of_every_label_chooses_the_runs_that_have_it(name: str, scale: Scale) -> None:
    planned = EXPERIMENTS[name].plan(scale)
    for part in {part for run in planned for part in run.label}:
        value = next(str(run.label[part]) for run in planned if part in run.label)
        wanted = [run for run in planned if part in run.label and str(run.label[part]) == value]
        assert Selection(where={part: (value,)}).of(planned) == wanted


@every("sequences", [1, 3, 4, 23, 24, 25, 240, 10_000])
def test_other_numbers_of_sequences_keep_the_number_of_evaluations(sequences: int) -> None:
    planned = quick_run("C2", 1, steps=60, every=20)  # three evaluations, batches of four
    (resized,) = Selection(sequences=sequences).of([planned])
    config = resized.config
    assert config.steps == max(1, sequences // 4)
    assert config.evaluation.every >= 1
    if config.steps >= 3:
        assert config.steps // config.evaluation.every in (3, 4, 5)
    assert (config.run_id == planned.config.run_id) == (config.steps == 60)


def broken(**changes: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"config": WHOLE, "metrics": {"accuracy": 0.5}} | changes, {"task": "C2", "depth": 1}


BROKEN = {
    "no config": broken(config={}),
    "no steps": broken(config={key: WHOLE[key] for key in ("optimizer", "task")}),
    "steps in words": broken(config=WHOLE | {"steps": "many"}),
    "no rates": broken(config=WHOLE | {"optimizer": {"batch": 4, "lr": []}}),
    "one rate": broken(config=WHOLE | {"optimizer": {"batch": 4, "lr": 0.1}}),
    "a list for a task": broken(config=WHOLE | {"task": ["C2"]}),
    "tested, never judged": broken(metrics={"test": {"accuracy": 0.9}}),
    "an accuracy that is true": broken(metrics={"accuracy": True, "test": {"accuracy": 0.9}}),
    "no task": (broken()[0], {"depth": 1}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_records_without_what_tables_ask_are_refused(name: str, tmp_path: Path) -> None:
    fields, label = BROKEN[name]
    with Store(tmp_path / "store") as store:
        store.put([record("r", **fields)], [member("r", label=label)])
        with pytest.raises(InvalidFile, match="run 'r' must have") as refused:
            cells_of(store, "depth", "smoke")
    assert len(str(refused.value)) <= 300
    assert "\n" not in str(refused.value)


def test_whole_records_fill_a_cell_with_the_task_first(tmp_path: Path) -> None:
    fields, _ = broken()
    with Store(tmp_path / "store") as store:
        store.put([record("r", **fields)], [member("r", label={"depth": 1, "task": "C2"})])
        (cell,) = cells_of(store, "depth", "smoke")
    assert list(cell.label.items()) == [("task", "C2"), ("depth", 1)]


def test_a_broken_file_of_results_is_one_line_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = EXPERIMENTS["depth"].plan(Scale.SMOKE)[0].config.run_id
    store = tmp_path / "store"
    with Store(store) as result:
        result.put([record(run_id, config={})], [member(run_id)])
    assert krohn(["reproduce", "depth", "--scale", "smoke", "--store", str(store), "--show"]) == 2
    text = capsys.readouterr().err
    assert "internal error" not in text
    assert f"run '{run_id}' must have a config" in text


def cell_of(*rows: tuple[float, int]) -> ResultCell:
    """For each replicate its validation accuracy and number of sequences."""
    records = tuple(
        record(
            "r",
            number,
            config=WHOLE,
            sequences=seen,
            metrics={
                "accuracy": held_out,
                "test": {"accuracy": 1 - held_out},
                "evaluations": {"by length": {"at": [3, 6], "token": [held_out, held_out / 2]}},
            },
        )
        for number, (held_out, seen) in enumerate(rows)
    )
    return ResultCell(label={"task": "C2"}, records=records)


def test_a_caption_says_what_really_was() -> None:
    one, two = cell_of((0.5, 1000), (0.25, 2500)), cell_of((0.5, 300))
    assert caption_of([], Scale.SMOKE) == "scale smoke: no runs yet"
    assert caption_of([one], Scale.SMOKE) == "scale smoke, 2 replicates, 2,500 sequences each, T = 5"
    assert (
        caption_of([one, two], Scale.SMOKE) == "scale smoke, 1–2 replicates, 300–2,500 sequences each, T = 5"
    )


def test_means_along_a_change_are_over_replicates_and_the_held_out_words_choose() -> None:
    cell = cell_of((0.5, 10), (0.75, 10), (1.0, 10))
    places, means, errors = mean_series(cell, "by length")
    assert places == [3, 6]
    assert means == pytest.approx([0.75, 0.375])
    # Squares .0625 + 0 + .0625 over 2, the root of it over the root of 3; half of that for half the values.
    assert errors == pytest.approx([(0.0625 / 3) ** 0.5, (0.0625 / 3) ** 0.5 / 2])
    assert mean_series(cell, "another") == ([], [], [])
    assert best_of(cell.records).replicate == 2  # although it is the worst on the test set
    assert mean_and_error([0.25]) == (0.25, 0.0)


def test_the_order_of_keys_does_not_show_in_the_text(tmp_path: Path) -> None:
    texts = []
    for turn in (list, reversed):
        label, config = (dict(turn(given.items())) for given in ({"task": "C2", "depth": 1, "ß": 2}, WHOLE))
        with Store(tmp_path / f"store{len(texts)}") as store:
            store.put([record("r", config=config)], [member("r", label=label)])
            export_text(store, tmp_path / "text.jsonl")
        texts.append((tmp_path / "text.jsonl").read_bytes())
    assert texts[0] == texts[1]
    assert json.loads(texts[0].split(b"\n")[0]) == {"krohn-results": 1}

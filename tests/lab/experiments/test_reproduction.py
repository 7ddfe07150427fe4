"""All experiments at scale smoke through the command line, from runs to table and figure."""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from krohn import functions
from krohn.cli.app import run
from krohn.errors import KrohnError
from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.engines import Job, Outcome, Work
from krohn.lab.experiments.experiment import Experiment, PlannedRun
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.reproduction import split_names
from krohn.lab.experiments.result_table import cell_text
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.sweep import ENGINES
from lab.experiments.made_up_records import member, record


def krohn(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert isinstance(payload, dict)
    return payload


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def thinned(experiment: Experiment) -> Experiment:
    """Runs of its first and its last task, at most twelve; test_recipes.py builds all of them."""

    @cache  # a plan is asked for by every command
    def few(scale: Scale) -> list[PlannedRun]:
        runs = experiment.plan(scale)
        ends = (runs[0].label["task"], runs[-1].label["task"])
        runs = [run for run in runs if run.label["task"] in ends]
        return runs[:: -(-len(runs) // 12)]

    return replace(experiment, plan=few)


SHOWN_AGAIN = ("curves", "attention", "ood")
"""One for each kind of chart; how a store is shown does not depend on the experiment."""


def test_all_run_at_smoke_and_their_results_can_be_handled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test, because everything after needs the runs."""
    for name, experiment in EXPERIMENTS.items():
        monkeypatch.setitem(EXPERIMENTS, name, thinned(experiment))
    for name in EXPERIMENTS:
        an_experiment_runs_and_can_be_shown_again(name, tmp_path, capsys)
    with monkeypatch.context() as undrawn:  # the figures were drawn above
        for name, experiment in EXPERIMENTS.items():
            undrawn.setitem(EXPERIMENTS, name, replace(experiment, draw=lambda cells, caption: {}))
        the_depth_table_has_the_promised_keys(tmp_path, capsys)
        the_table_is_printed_for_people(tmp_path, capsys)
    results_can_be_listed_shown_and_exported(tmp_path, tmp_path / "out", capsys)


def an_experiment_runs_and_can_be_shown_again(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(folder / "results"), "--scale", "smoke"]
    result = krohn(capsys, "reproduce", name, *store, "--device", "cpu", "--checkpoints", "none")
    assert result["runs"] == result["done"] > 0
    assert result["errors"] == []
    assert result["table"]
    assert "scale smoke, 2 replicates" in result["caption"]
    before = {path: Path(path).read_bytes() for path in result["figures"]}
    if name == "taught":
        assert result["figure"] is None  # nothing passes at this scale, so there are no words to draw
    else:
        assert result["figure"] in before
    for path in before:
        if path.endswith(".svg"):
            assert result["caption"].split(",")[0] in "".join(ElementTree.parse(path).getroot().itertext())
    if name not in SHOWN_AGAIN:
        return
    shown = krohn(capsys, "reproduce", name, *store, "--show")
    assert shown == result
    assert {path: Path(path).read_bytes() for path in shown["figures"]} == before


def the_depth_table_has_the_promised_keys(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(folder / "results")]
    table = krohn(capsys, "reproduce", "depth", *store, "--show")["table"]
    assert {(row["task"], row["depth"]) for row in table} == {
        (task, depth) for task in ("Grid4", "S5") for depth in (1, 2)
    }
    for row in table:
        assert 0 <= row["median_accuracy"] <= 1
        assert 0 <= row["word_accuracy"] <= row["max_accuracy"] <= 1
        assert row["reached_low"] <= row["reached"] / row["replicates"] <= row["reached_high"]
        assert (row["replicates"], row["sequences"]) == (2, 96)


def the_table_is_printed_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "indirect", "--store", str(folder / "results"), "--show"]) == 0
    captured = capsys.readouterr()
    assert "the paper: at least 99.6% in every column; LSTM 100%" in captured.out
    assert "99.60%" in captured.out
    runs = len(EXPERIMENTS["indirect"].plan(Scale.SMOKE))
    assert f"{runs} of {runs} runs done" in captured.err
    store = ["--store", str(folder / "results"), "--show", "--markdown"]
    assert run(["reproduce", "depth", *store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["| task | L = 1 | L = 2 |", "| --- | --- | --- |"]
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| Grid4, Muon", "| S5, Muon"]
    assert re.fullmatch(r"\| Grid4, Muon( \| [\d.]+ / [\d.]+ \(\d/2\)){2} \|", lines[2])
    assert "letters / words of the test set that the best replicate has right" in lines[-1]
    assert "95% intervals: 0/2 0–66%" in lines[-1]
    assert run(["reproduce", "length", *store]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| task | model | max accuracy |")
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) > 4
    assert {line.count("|") for line in rows} == {lines[0].count("|")}


def results_can_be_listed_shown_and_exported(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(folder / "results")
    listed = krohn(capsys, "results", "list", "--store", store)
    assert {row["experiment"] for row in listed["runs"]} == set(EXPERIMENTS)
    first = listed["runs"][0]
    shown = krohn(capsys, "results", "show", first["run"][:10], "--store", store)
    assert shown["run"] == first["run"]
    assert len(shown["replicates"]) == first["replicates"]
    text = str(tmp_path / "depth.jsonl")
    krohn(
        capsys,
        "results",
        "export",
        "--experiment",
        "depth",
        "--scale",
        "smoke",
        "--out",
        text,
        "--store",
        store,
    )
    other = text
    deep = sum(row["replicates"] for row in listed["runs"] if row["experiment"] == "depth")
    assert krohn(capsys, "results", "list", "--store", other)["records"] == deep >= 24
    copied = krohn(capsys, "reproduce", "depth", "--store", other, "--show")
    original = krohn(capsys, "reproduce", "depth", "--store", store, "--show")
    assert copied["table"] == original["table"]
    assert Path(copied["figure"]).read_bytes() == Path(original["figure"]).read_bytes()
    for arguments in (["list"], ["show", first["run"]]):
        assert run(["results", *arguments, "--store", store]) == 0
        assert first["run"] in capsys.readouterr().out


def test_replicates_that_were_given_up_have_no_median() -> None:
    row = {"median_accuracy": 0.5, "mean_accuracy": 0.6, "halved": False}
    assert [cell_text(name, row) for name in row if "accuracy" in name] == ["50.00%", "60.00%"]
    assert {cell_text(name, row | {"halved": True}) for name in row if "accuracy" in name} == {""}


def test_a_part_of_an_experiment_can_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = ["--store", str(tmp_path / "s"), "--checkpoints", "none"]
    result = krohn(
        capsys,
        "reproduce",
        "depth",
        *store,
        "--only",
        "Dyck4,2,C2",
        "--where",
        "depth=2",
        "--sequences",
        "16",
    )
    assert [(row["task"], row["depth"], row["sequences"]) for row in result["table"]] == [
        ("Dyck4,2", 2, 16),
        ("C2", 2, 16),
    ]
    assert not (tmp_path / "checkpoints").exists()


def test_parts_that_are_given_twice_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = krohn(
        capsys,
        *("reproduce", "depth", "--store", str(tmp_path / "s"), "--sequences", "8"),
        *("--only", "C2", "--where", "task=C3", "--where", "depth=1", "--where", " depth = 2"),
    )
    assert result["runs"] == result["done"] == 4
    assert {(row["task"], row["depth"]) for row in result["table"]} == {
        (task, depth) for task in ("C2", "C3") for depth in (1, 2)
    }
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_store_whose_folder_takes_no_figures_still_shows_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(tmp_path / "s"), "--json"]
    assert run(["reproduce", "curves", *store, "--only", "C2", "--sequences", "8"]) == 0
    figures = sorted((tmp_path / "figures").iterdir())
    assert [path.name for path in figures] == ["curves-smoke.png", "curves-smoke.svg"]
    for path in figures:
        path.unlink()
    (tmp_path / "figures").rmdir()
    (tmp_path / "figures").write_text("in the way")
    capsys.readouterr()
    assert run(["reproduce", "curves", *store, "--show"]) == 0
    captured = capsys.readouterr()
    shown = json.loads(captured.out)
    assert (len(shown["table"]), shown["figure"], shown["figures"]) == (1, None, [])
    assert "no figures: " in captured.err
    asked_for = ["--figures", str(tmp_path / "figures")]
    assert run(["reproduce", "curves", *store, "--show", *asked_for]) == 2


def test_a_failing_run_is_reported_and_ends_with_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
        yield from (Outcome(job=job, error="RuntimeError: the node caught fire") for job in jobs)

    monkeypatch.setitem(ENGINES, "local", wrong)
    assert run(["reproduce", "curves", "--store", str(tmp_path / "s"), "--only", "C2"]) == 2
    text = capsys.readouterr().err
    assert "run failed: " in text
    assert "(task C2, depth 2): RuntimeError: the node caught fire" in text
    assert "0 of 1 runs done, 0 begun" in text


def test_the_folder_of_checkpoints_means_the_same_on_every_worker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path | None] = []

    def look(jobs: Iterable[Job], work: Work) -> Iterator[Outcome]:
        seen.extend(job.directory for job in jobs)
        yield from ()

    monkeypatch.setitem(ENGINES, "local", look)
    monkeypatch.chdir(tmp_path)
    for extra in ([], ["--checkpoints", "here"], ["--checkpoints", "none"]):
        krohn(capsys, "reproduce", "curves", "--store", "runs/s", "--only", "C2", *extra)
    assert seen == [tmp_path / "runs" / "checkpoints", tmp_path / "here", None]


def test_partial_runs_are_counted_starred_and_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (planned, _) = EXPERIMENTS["curves"].plan(Scale.SMOKE)
    metrics = {"accuracy": 0.99, "curve": {"step": [1], "accuracy": [0.5], "loss": [1.0]}}
    rows = [
        record(
            planned.config.run_id,
            index,
            status=status,
            config=planned.config.to_dict(),
            metrics=metrics,
        )
        for index, status in enumerate(("done", "partial"))
    ]
    with Store(tmp_path / "s") as store:
        store.put(rows, [member(planned.config.run_id, experiment="curves", label=planned.label)])
    place = ["--store", str(tmp_path / "s")]
    shown = krohn(capsys, "reproduce", "curves", *place, "--show")
    assert (shown["runs"], shown["done"], shown["partial"]) == (2, 0, 1)
    assert run(["reproduce", "curves", *place, "--show"]) == 0
    text = capsys.readouterr().out
    assert "1,000*" in text
    assert "* stopped before its last sequence" in text
    assert run(["reproduce", "curves", *place, "--show", "--markdown"]) == 0
    assert "| 1,000* |" in capsys.readouterr().out
    (listed,) = krohn(capsys, "results", "list", *place)["runs"]
    assert (listed["done"], listed["replicates"]) == (1, 2)


def test_a_list_tells_what_disagrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, accuracy in (("here", 0.9), ("there", 0.5)):
        with Store(tmp_path / name) as store:
            store.put([record("aa", metrics={"accuracy": accuracy}), record(name)], [member("aa")])
        for number, file in enumerate((tmp_path / name).iterdir()):
            (tmp_path / "both").mkdir(exist_ok=True)
            file.rename(tmp_path / "both" / f"{name}-{number}.jsonl")
    assert run(["results", "list", "--store", str(tmp_path / "both"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["records"] == 3
    assert "run aa: two different results of 1 replicate" in captured.err
    assert "known: aa, here" in refused(capsys, "results", "show", "zz", "--store", str(tmp_path / "both"))


def test_nothing_is_run_when_there_is_no_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = krohn(capsys, "reproduce", "curves", "--store", str(tmp_path / "s"), "--time-limit", "0")
    assert (result["runs"], result["done"], result["table"], result["figure"]) == (2, 0, [], None)
    assert "no runs yet" in result["caption"]


def test_bad_input_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = ["--store", str(tmp_path / "s")]
    assert "one of depth, curves" in refused(capsys, "reproduce", "heat", *place)
    assert "one of smoke, small, paper" in refused(capsys, "reproduce", "depth", "--scale", "huge", *place)
    assert "one of local, ray" in refused(capsys, "reproduce", "depth", "--engine", "slurm", *place)
    assert "task must be one of Grid4;" in refused(capsys, "reproduce", "depth", "--only", "S9", *place)
    assert "there is no folder" in refused(
        capsys, "reproduce", "depth", "--show", "--store", str(tmp_path / "no")
    )
    (tmp_path / "broken").write_bytes(b"not a store" * 100)
    broken = ["--store", str(tmp_path / "broken")]
    assert "a store must be a folder" in refused(capsys, "reproduce", "depth", *broken)
    assert "each line must be a record" in refused(capsys, "results", "list", *broken)
    with Store(tmp_path / "s"):
        pass
    assert "start of one id; got 'ff'" in refused(capsys, "results", "show", "ff", *place)
    text = ["results", "export", "--out", str(tmp_path / "x"), *place]
    assert "one of depth" in refused(capsys, *text, "--experiment", "heat")
    assert "one of smoke" in refused(capsys, *text, "--scale", "huge")
    with Store(tmp_path / "s") as store:
        store.put([record()])
    assert "has none of depth" in refused(capsys, *text, "--experiment", "depth")
    assert not (tmp_path / "x").exists()
    shown = ["reproduce", "depth", "--show", *place]
    for part in (["--only", "C2"], ["--where", "depth=1"], ["--sequences", "8"]):
        assert "without it" in refused(capsys, *shown, *part)
    assert "not a finite number" in refused(capsys, "reproduce", "depth", "--time-limit", "nan", *place)
    assert "depth must be one of 1; 2; got ''" in refused(
        capsys, "reproduce", "depth", "--where", "depth", *place
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("C2,C3", ("C2", "C3")),
        ("Dyck4,2", ("Dyck4,2",)),
        ("C2,Dyck4,2,S5", ("C2", "Dyck4,2", "S5")),
        ("GPT,GPT, shifted positions,LSTM", ("GPT", "GPT, shifted positions", "LSTM")),
        ("S9", ("S9",)),
    ],
)
def test_names_with_commas_are_kept_whole(text: str, names: tuple[str, ...]) -> None:
    known = {"C2", "C3", "Dyck4,2", "S5", "GPT", "GPT, shifted positions", "LSTM"}
    assert split_names(text, known) == names


def test_a_refused_selection_leaves_no_store(tmp_path: Path) -> None:
    for only, where in (("Nope", ()), ("", "depth=four"), ("", "layers=4")):
        with pytest.raises(KrohnError, match=r"must be one of|differ in"):
            functions.reproduce("depth", store=tmp_path / "runs" / "results", only=only, where=where)
    assert list(tmp_path.iterdir()) == []

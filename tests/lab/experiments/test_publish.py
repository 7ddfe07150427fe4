"""Results from elsewhere become text files, in every experiment that plans the run."""

import runpy
from pathlib import Path

import pytest

from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Member
from krohn.lab.experiments.store import Store
from lab.experiments.made_up_records import read_results, record

SCRIPT = Path(__file__).parents[3] / "tools" / "publish_results.py"


def test_a_run_is_published_with_every_experiment_that_plans_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = {"task": "C2", "depth": 2, "sheet": "whole words"}
    (run,) = (run for run in EXPERIMENTS["depth"].plan(Scale.SMALL) if run.label == wanted)
    name, config = run.config.run_id, run.config.to_dict()
    metrics = {"accuracy": 0.99, "test": {"accuracy": 0.98, "sequence_accuracy": 0.5}}
    actual = [record(run_id=name, config=config, metrics=metrics, replicate=one) for one in range(6)]
    with Store(tmp_path / "new") as store:
        store.put(actual, [Member(experiment="depth", scale="small", run_id=name, label=wanted)])
    script = runpy.run_path(str(SCRIPT))
    monkeypatch.setitem(script["main"].__globals__, "RESULTS", tmp_path)
    monkeypatch.setattr("sys.argv", ["publish", str(tmp_path / "new"), "--no-figures"])
    script["main"]()
    assert sorted(path.name for path in tmp_path.glob("*.jsonl")) == [
        "depth-small.jsonl",
        "incomplete-small.jsonl",
    ]
    for file in tmp_path.glob("*.jsonl"):
        records, (member,) = read_results(file)
        assert {one.run_id for one in records} == {member.run_id} == {name}
    assert member.label["task"] == "C2"
    assert "depth, small: 6 records, 1 of" in capsys.readouterr().out

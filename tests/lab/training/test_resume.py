"""A run killed at random points and started again ends with the bits of a run that was left alone."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from krohn.errors import InvalidFile
from krohn.lab.training.config import EvaluationConfig, HalvingConfig, OptimizerConfig, RunConfig
from krohn.lab.training.loop import train
from krohn.lab.training.run import Run
from lab.training.small_runs import LINE, small_run

SCRIPT = """
import sys, torch
torch.set_num_threads(1)
from lab.training.small_runs import LINE
from krohn.lab.training.config import RunConfig
from krohn.lab.training.loop import train
config = RunConfig.from_json(open(sys.argv[1]).read())
train(config, directory=sys.argv[2], device="cpu", checkpoint_seconds=0.0, automaton=LINE)
"""


def launch(config: Path, directory: Path, *, kill_after: float | None = None) -> int:
    """Trains in a process of its own; returns its exit status.

    Args:
        kill_after: seconds from its first own checkpoint to its end by SIGKILL.
    """
    paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-c", SCRIPT, str(config), str(directory)]
    before = written(directory)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        if kill_after is not None:
            while written(directory) == before:
                assert process.poll() is None
                time.sleep(0.001)
            time.sleep(kill_after)
            process.kill()
        return process.wait(timeout=100)


def written(directory: Path) -> int | None:
    """When the last checkpoint was written."""
    state = directory / "state.safetensors"
    return state.stat().st_mtime_ns if state.exists() else None


def outcome(directory: Path) -> tuple[bytes, str, object]:
    result = json.loads((directory / "result.json").read_text())
    return (
        (directory / "weights.safetensors").read_bytes(),
        (directory / "metrics.jsonl").read_text(),
        result["replicates"],
    )


def test_killed_at_a_random_point_and_resumed_a_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    run = small_run(
        replicates=2,
        steps=320,
        optimizer=OptimizerConfig(lr=(3e-3, 1e-3), schedule="plateau", patience=2, warmup=5, batch=4),
        evaluation=EvaluationConfig(every=10, sequences=16),
    )
    config = tmp_path / "run.json"
    config.write_text(run.to_json())
    assert launch(config, tmp_path / "whole") == 0
    killed = launch(config, tmp_path / "broken", kill_after=random.Random(0).uniform(0.0, 0.1))
    assert killed == -signal.SIGKILL
    assert not (tmp_path / "broken" / "result.json").exists()
    assert launch(config, tmp_path / "broken") == 0
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def interrupted(config: RunConfig, directory: Path, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Run._judge

    def stop(self: Run) -> object:
        if self.standing.step == step:
            raise KeyboardInterrupt
        return judge(self)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "_judge", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config, directory=directory, device="cpu", checkpoint_seconds=0.0, automaton=LINE)


def test_interrupted_between_checkpoints_a_run_repeats_the_lost_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_run(replicates=2, steps=40)
    train(config, directory=tmp_path / "whole", device="cpu", automaton=LINE)
    interrupted(config, tmp_path / "broken", 10, monkeypatch)  # before anything was saved
    interrupted(config, tmp_path / "broken", 30, monkeypatch)
    train(config, directory=tmp_path / "broken", device="cpu", automaton=LINE)
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_a_run_stopped_by_its_deadline_is_resumed_later(tmp_path: Path) -> None:
    config = small_run(replicates=2, steps=40)
    train(config, directory=tmp_path / "whole", device="cpu", automaton=LINE)
    options = {"directory": tmp_path / "broken", "device": "cpu", "automaton": LINE}
    first = train(config, deadline=0.0, evaluate=lambda *_: {"judged": True}, **options)  # type: ignore[arg-type]
    assert not first.finished
    assert first.extra == {}
    assert [row["step"] for row in first.curves] == [10]
    assert not (tmp_path / "broken" / "result.json").exists()
    assert train(config, **options).finished  # type: ignore[arg-type]
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    config = small_run(steps=20)
    first = train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    second = train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    assert second.curves == first.curves
    assert second.seconds == first.seconds


@pytest.mark.parametrize("lost", ["weights.safetensors", "metrics.jsonl", "result.json", "environment.json"])
def test_what_follows_from_a_finished_run_is_written_again(lost: str, tmp_path: Path) -> None:
    config = small_run(steps=20)
    train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    whole = outcome(tmp_path / "run")
    (tmp_path / "run" / lost).unlink()
    train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    assert (tmp_path / "run" / lost).exists()
    assert outcome(tmp_path / "run") == whole


@pytest.mark.parametrize("stopped_at", range(8))
def test_a_run_can_be_started_again_after_a_crash_at_any_file(
    stopped_at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the power failed before the rename of file number ``stopped_at``: its temporary file stays."""
    config = small_run(steps=20)
    train(config, directory=tmp_path / "whole", device="cpu", automaton=LINE)
    rename, done = os.replace, []

    def crash(source: str, target: Path) -> None:
        if len(done) == stopped_at:
            shutil.copy(source, f"{source}.kept")
            raise SystemExit
        done.append(target)
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crash)
        with pytest.raises(SystemExit):
            train(config, directory=tmp_path / "run", device="cpu", checkpoint_seconds=0.0, automaton=LINE)
    assert len(done) == stopped_at
    train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("file", ["state.safetensors", "weights.safetensors", "metrics.jsonl"])
def test_a_crash_before_a_file_gets_its_name_leaves_the_former_one(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"directory": tmp_path / "run", "device": "cpu", "automaton": LINE, "deadline": 0.0}
    train(small_run(), **options)  # type: ignore[arg-type]
    before = (tmp_path / "run" / file).read_bytes()
    rename, sync = os.replace, os.fsync
    synced: list[int] = []

    def crash(source: str, target: Path) -> None:
        assert synced == [os.stat(source).st_size], "the whole of it must be on the disk"
        if Path(target).name == file:
            raise SystemExit
        rename(source, target)

    def note(descriptor: int) -> None:
        synced[:] = [os.fstat(descriptor).st_size]
        sync(descriptor)

    monkeypatch.setattr(os, "replace", crash)
    monkeypatch.setattr(os, "fsync", note)
    with pytest.raises(SystemExit):
        train(small_run(), **options)  # type: ignore[arg-type]
    assert (tmp_path / "run" / file).read_bytes() == before


def test_rows_that_have_moved_are_found_again(tmp_path: Path) -> None:
    """The two better replicates are the second and the fourth; every buffer must follow them."""
    rates = OptimizerConfig(lr=(1e-7, 1e-2, 1e-7, 3e-3), warmup=5, batch=8)
    config = small_run(replicates=4, steps=50, optimizer=rates, halving=HalvingConfig(every=20))
    whole = train(config, device="cpu", automaton=LINE)
    orders = set()
    for _ in range(5):
        again = train(config, device="cpu", automaton=LINE, directory=tmp_path / "run", deadline=0.0)
        with safe_open(tmp_path / "run" / "state.safetensors", framework="pt") as file:
            orders.add(tuple(json.loads(file.metadata()["progress"])["order"]))
    assert again.finished
    assert (1, 3, 0, 2) in orders
    assert again.replicates == whole.replicates
    assert again.curves == whole.curves
    assert all(torch.equal(again.weights[name], whole.weights[name]) for name in whole.weights)


def test_a_checkpoint_without_its_tensors_is_refused(tmp_path: Path) -> None:
    config = small_run(steps=20)
    train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)
    file = tmp_path / "run" / "state.safetensors"
    with safe_open(file, framework="pt") as old:
        tensors = {name: old.get_tensor(name) for name in old.keys() if name != "first"}  # noqa: SIM118
        save_file(tensors, file, old.metadata())
    with pytest.raises(InvalidFile, match="missing first"):
        train(config, directory=tmp_path / "run", device="cpu", automaton=LINE)

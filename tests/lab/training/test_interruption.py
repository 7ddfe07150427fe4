"""Ctrl-C and SIGTERM save a run between two steps; it goes on to the bits of a run left alone."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from krohn.errors import Interrupted, InvalidFile
from krohn.lab.training.checkpoint_clock import CheckpointClock
from krohn.lab.training.config import (
    CurriculumConfig,
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    RunConfig,
    TaskConfig,
    model_config,
)
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.interruption import Interruption
from krohn.lab.training.interval import Interval
from krohn.lab.training.loop import train
from krohn.lab.training.run import Run
from krohn.lab.training.step import Stepper
from lab.training.small_runs import LINE, small_run
from lab.training.test_resume import outcome


@pytest.fixture(autouse=True)
def listens_to_interrupts() -> Iterator[None]:
    """A shell starts what it puts into the background deaf to SIGINT, and children inherit that."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


# The average starts afresh inside each interval, windows grow, rates are cut, replicates are given up, and
# the network makes noise.
RICH = small_run(
    task=TaskConfig(spec="Grid3", length=20),
    model=model_config("gpt", layers=1, dim=16, heads=2, mlp=16, dropout=0.1),
    optimizer=OptimizerConfig(
        lr=(1e-7, 1e-2, 1e-7, 3e-3), warmup=5, batch=8, ema=0.1, schedule="plateau", patience=1
    ),
    curriculum=CurriculumConfig(start=2),
    halving=HalvingConfig(every=16),
    evaluation=EvaluationConfig(every=16, sequences=16),
    replicates=4,
    steps=48,
)


def start(config: RunConfig, directory: Path, **options: object) -> object:
    return train(config, directory=directory, device="cpu", automaton=LINE, **options)  # type: ignore[arg-type]


def after_each_piece(action: Callable[[int], None], patch: pytest.MonkeyPatch) -> None:
    """Calls ``action`` with the number of steps done, after every piece of training."""
    run = Stepper.run

    def spy(self: Stepper, first: int, count: int, *rest: object, **options: object) -> None:
        run(self, first, count, *rest, **options)  # type: ignore[arg-type]
        action(first + count)

    patch.setattr(Stepper, "run", spy)


def number_of(step: int) -> signal.Signals:
    return signal.SIGTERM if step % 2 else signal.SIGINT


def saved_step(directory: Path) -> int:
    with safe_open(directory / "state.safetensors", framework="pt") as file:
        return int(json.loads(file.metadata()["progress"])["step"])


def test_interrupted_after_every_piece_a_run_ends_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(RICH, tmp_path / "whole")
    stops: list[int] = []
    with monkeypatch.context() as patch:
        after_each_piece(lambda step: signal.raise_signal(number_of(step)), patch)
        while not stops or stops[-1] < RICH.steps:
            with pytest.raises(Interrupted) as ended:
                start(RICH, tmp_path / "broken")
            stops.append(saved_step(tmp_path / "broken"))
            assert ended.value.status == 128 + number_of(stops[-1])
            saved = f"at step {stops[-1]}, saved in {tmp_path / 'broken'}"
            assert str(ended.value) == f"interrupted {saved}; the same command continues it"
    start(RICH, tmp_path / "broken")
    # One step at a time, before and after the average starts afresh at the 8th of an interval.
    assert stops == list(range(1, 49))
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")
    order = json.loads((tmp_path / "whole" / "metrics.jsonl").read_text().splitlines()[-1])["status"]
    assert order.count("given up") == 3, "rows must have moved"


def test_interrupted_in_an_evaluation_a_run_repeats_the_evaluation_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_run(replicates=2, steps=20)
    start(config, tmp_path / "whole")
    watch, trained = HeldOut.watch, []

    def interrupted(self: HeldOut, *arguments: object) -> object:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("the evaluation must end at once")

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(HeldOut, "watch", interrupted)
            after_each_piece(trained.append, patch)
            with pytest.raises(Interrupted, match="at step 10, saved"):
                start(config, tmp_path / "broken")
    assert trained[-1] == 10
    assert trained.count(10) == 1, "no step is repeated"
    assert HeldOut.watch is watch
    start(config, tmp_path / "broken")
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_a_signal_at_the_very_end_is_obeyed_after_saving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_run(steps=20)
    start(config, tmp_path / "whole")
    save = Run.save

    def interrupted(self: Run) -> None:
        signal.raise_signal(signal.SIGINT)
        save(self)

    with monkeypatch.context() as patch:
        patch.setattr(Run, "save", interrupted)
        with pytest.raises(Interrupted, match="at step 20"):
            start(config, tmp_path / "broken")
    start(config, tmp_path / "broken")
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_a_second_signal_ends_at_once_and_leaves_the_checkpoint_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = small_run(steps=40)
    start(config, tmp_path / "whole")

    def twice(step: int) -> None:
        if step == 30:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        after_each_piece(twice, patch)
        with pytest.raises(Interrupted, match="at once") as ended:
            start(config, tmp_path / "broken", checkpoint_seconds=0.0)
    assert ended.value.status == 143
    assert saved_step(tmp_path / "broken") == 20
    start(config, tmp_path / "broken")
    assert outcome(tmp_path / "broken") == outcome(tmp_path / "whole")


def test_handlers_are_put_back_and_those_of_others_are_left_alone(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    seen = []

    def mine(number: int, frame: object) -> None:
        seen.append(number)

    former = signal.signal(signal.SIGTERM, mine)
    try:
        with Interruption() as interruption:
            assert signal.getsignal(signal.SIGINT) == interruption._note
            assert signal.getsignal(signal.SIGTERM) is mine
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, former)
    assert seen == [signal.SIGTERM]
    assert interruption.signal is None
    start(small_run(steps=10), tmp_path / "run")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_without_a_directory_nothing_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    after_each_piece(lambda step: signal.raise_signal(signal.SIGINT), monkeypatch)
    with pytest.raises(KeyboardInterrupt) as ended:
        train(small_run(), device="cpu", automaton=LINE)
    assert not isinstance(ended.value, Interrupted)


def test_training_in_another_thread_takes_no_signals(tmp_path: Path) -> None:
    result: list[object] = []
    config = small_run(steps=10)
    thread = threading.Thread(target=lambda: result.append(start(config, tmp_path / "run")))
    thread.start()
    thread.join()
    assert len(result) == 1
    assert saved_step(tmp_path / "run") == 10


@pytest.mark.parametrize(
    ("every", "first", "expected"),
    [
        # ema 0.1 forgets in 8 steps: 12 without the average, then 8 with it
        (20, 40, [(40, 7, False), (47, 5, False), (52, 7, True), (59, 1, True)]),
        (8, 0, [(0, 7, True), (7, 1, True)]),
        (20, 90, [(90, 2, False), (92, 7, True), (99, 1, True)]),  # the run ends at 100
    ],
)
def test_an_interval_is_cut_into_pieces_of_one_kind(
    every: int, first: int, expected: list[tuple[int, int, bool]]
) -> None:
    config = small_run(
        steps=100, evaluation=EvaluationConfig(every=every), optimizer=OptimizerConfig(ema=0.1)
    )
    interval = Interval.after(first, config)
    step, pieces = first, []
    while step < interval.end:
        length, average = interval.piece(step, 7)
        pieces.append((step, length, average))
        step += length
    assert pieces == expected
    fresh = [step for step in range(first, interval.end) if interval.restarts_average(step)]
    assert fresh == ([interval.averaged] if not expected[0][2] else [])


def test_checkpoints_between_evaluations_change_no_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(RICH, tmp_path / "whole")
    steps: list[int] = []
    save = Run.save

    def spy(self: Run) -> None:
        steps.append(self.standing.step)
        save(self)

    monkeypatch.setattr(Run, "save", spy)
    monkeypatch.setattr(CheckpointClock, "due", lambda self, *, evaluated: True)
    start(RICH, tmp_path / "often")
    assert steps[0] == 1
    assert 8 in steps
    assert steps[-1] == 48
    assert outcome(tmp_path / "often") == outcome(tmp_path / "whole")


def test_a_checkpoint_between_evaluations_must_hold_its_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        after_each_piece(lambda step: signal.raise_signal(signal.SIGINT), patch)
        with pytest.raises(Interrupted, match="at step 1,"):
            start(small_run(), tmp_path / "run")
    file = tmp_path / "run" / "state.safetensors"
    with safe_open(file, framework="pt") as old:
        tensors = {name: old.get_tensor(name) for name in old.keys() if name != "loss_sum"}  # noqa: SIM118
        save_file(tensors, file, old.metadata())
    with pytest.raises(InvalidFile, match="missing loss_sum"):
        start(small_run(), tmp_path / "run")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_says_where_it_stopped_and_ends_with_the_signal_s_status(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    sizes = ["--length", "5", "--layers", "1", "--dim", "16", "--heads", "2", "--mlp", "16", "--batch", "2"]
    endless = ["--steps", "100000000", "--eval-every", "50", "--eval-sequences", "8", "--device", "cpu"]
    out = ["--out", str(tmp_path / "run"), "--checkpoint-seconds", "0", "--json"]
    command = [sys.executable, "-m", "krohn", "train", "Grid3", *sizes, *endless, *out]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        while not (tmp_path / "run" / "state.safetensors").exists():
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        try:
            printed, text = process.communicate(timeout=100)
        finally:
            process.kill()
    assert process.returncode == status
    assert printed == ""
    begun, ended = text.splitlines()
    assert begun.startswith("run ")
    match = re.fullmatch(
        rf"interrupted at step (\d+), saved in {tmp_path}/run; the same command continues it", ended
    )
    assert match is not None
    assert int(match[1]) == saved_step(tmp_path / "run")

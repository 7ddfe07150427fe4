"""A signal saves the current run and ends the sweep; the next sweep resumes it."""

import signal
from pathlib import Path

import pytest

from krohn.errors import Interrupted
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.sweep import SweepOptions, sweep
from krohn.lab.training.step import Stepper
from lab.experiments.quick_experiment import QUICK


def outcome(record: Record) -> object:
    timeless = {name: value for name, value in record.metrics.items() if name != "seconds"}
    return record.key, record.status, record.sequences, timeless


def test_a_sweep_ends_at_a_signal_and_resumes_to_the_same_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "whole") as store:
        sweep(QUICK, Scale.SMOKE, store, SweepOptions(device="cpu"))
        expected = sorted(map(outcome, store.records()), key=str)
    options = SweepOptions(device="cpu", directory=tmp_path / "checkpoints")
    run, done = Stepper.run, []

    def spy(self: Stepper, first: int, count: int, *rest: object, **named: object) -> None:
        run(self, first, count, *rest, **named)  # type: ignore[arg-type]
        done.append(first)
        if len(done) == 6:
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Stepper, "run", spy)
    with Store(tmp_path / "broken") as store:
        with pytest.raises(
            Interrupted, match=r"at step \d+, saved in .*checkpoints.*the same command continues it"
        ):
            sweep(QUICK, Scale.SMOKE, store, options)
        assert len(store.records()) == 2, "the first of four runs was done"
        assert len(list((tmp_path / "checkpoints").glob("*/state.safetensors"))) == 1
    with Store(tmp_path / "broken") as store:
        assert sweep(QUICK, Scale.SMOKE, store, options).done == 4
        assert sorted(map(outcome, store.records()), key=str) == expected
    assert list((tmp_path / "checkpoints").iterdir()) == []

"""When checkpoints are due."""

import time

import pytest

from krohn.lab.training.checkpoint_clock import CheckpointClock


class Time:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock_time(monkeypatch: pytest.MonkeyPatch) -> Time:
    result = Time()
    monkeypatch.setattr(time, "monotonic", result)
    return result


def test_a_checkpoint_is_due_after_its_time_at_an_evaluation_or_between(clock_time: Time) -> None:
    clock = CheckpointClock(120.0)
    clock_time.passes(119.0)
    assert not clock.due(evaluated=True)
    clock_time.passes(1.0)
    assert clock.due(evaluated=True)
    assert clock.due(evaluated=False)
    clock.write(lambda: clock_time.passes(2.0))
    clock_time.passes(119.0)
    assert not clock.due(evaluated=False)
    clock_time.passes(1.0)
    assert clock.due(evaluated=False)


def test_writing_takes_at_most_a_tenth_of_the_time(clock_time: Time) -> None:
    clock = CheckpointClock(120.0)
    clock.write(lambda: clock_time.passes(100.0))
    clock_time.passes(899.0)
    assert not clock.due(evaluated=True)
    clock_time.passes(1.0)
    assert clock.due(evaluated=True)


def test_no_time_at_all_means_every_evaluation_and_nothing_between(clock_time: Time) -> None:
    clock = CheckpointClock(0.0)
    for _ in range(2):
        assert clock.due(evaluated=True)
        assert not clock.due(evaluated=False)
        clock.write(lambda: clock_time.passes(100.0))

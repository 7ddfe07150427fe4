"""Progress of a run: a bar between evaluations, lines without a terminal."""

import io
import json
import re
import sys
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from krohn.cli.app import run as krohn
from krohn.lab.training.loop import train
from krohn.lab.training.progress import Lines, ProgressBar, TimeLeft
from lab.training.small_runs import LINE, small_run

VALUES = {"loss": 0.51234, "best": 0.875, "median": 0.5, "sequences_per_second": 1234.4}
WORDS = "loss 0.512, best 87.50%, median 50.00%, 1,234 seq/s"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that is advanced by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_the_pace_up_to_the_last_evaluation() -> None:
    clock = Clock()
    left = TimeLeft(1000, 400, now=clock)  # 400 steps were made before: they took no time here
    clock.now += 10.0
    assert left.text() == "", "steps handed to a GPU are not done"
    left.evaluate(500)
    assert left.text() == ", 00:50 left"
    clock.now += 5.0
    assert left.text() == ", 00:45 left"
    left.evaluate(600)  # 15 seconds for 200 steps
    assert left.text() == ", 00:30 left"
    clock.now += 1000.0
    assert left.text() == ", 00:00 left"


def last_line(terminal: Terminal) -> str:
    return terminal.getvalue().split("\r")[-1].strip()


def test_the_bar_moves_with_every_piece_and_shows_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, clock = Terminal(), Clock()
    monkeypatch.setattr(sys, "stderr", terminal)
    bar = ProgressBar(TimeLeft(1000, 400, now=clock))
    bar._bar.mininterval = 0.0
    bar.advance(64)
    assert "464/1000" in last_line(terminal)
    assert last_line(terminal).startswith("46%|")
    bar.advance(36)
    clock.now += 10.0
    bar.report(500, VALUES)
    assert last_line(terminal).endswith(f", 00:50 left, {WORDS}")
    clock.now += 4.0
    bar.advance(64)
    assert "564/1000" in last_line(terminal)
    assert last_line(terminal).endswith(f", 00:46 left, {WORDS}")
    bar.close()


def test_lines_come_now_and_then_and_at_the_end_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    clock = Clock()
    lines = Lines(TimeLeft(1000, 0, now=clock), now=clock)
    for step in range(100, 600, 100):
        clock.now += 10.0
        lines.report(step, VALUES)
    lines.close()
    lines.close()
    assert capsys.readouterr().err.splitlines() == [
        f"step 100 of 1,000: {WORDS}, 01:30 left",
        f"step 400 of 1,000: {WORDS}, 01:00 left",
        f"step 500 of 1,000: {WORDS}, 00:50 left",
    ]


SIZES = ["--length", "5", "--layers", "1", "--dim", "16", "--heads", "2", "--mlp", "16", "--device", "cpu"]
QUICK = ["--warmup", "2", "--steps", "6", "--eval-every", "3", "--eval-sequences", "8", "--batch", "2"]


def test_the_command_writes_lines_into_files_and_a_bar_on_terminals(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert krohn(["train", "Grid3", *SIZES, *QUICK]) == 0
    captured = capsys.readouterr().err
    begun, *lines = captured.splitlines()
    assert begun.startswith("run ")
    assert [line.partition(":")[0] for line in lines] == ["step 3 of 6", "step 6 of 6"]
    assert not re.search(r"[\r\x1b]", captured)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert krohn(["train", "Grid3", *SIZES, *QUICK]) == 0
    assert "100%|" in last_line(terminal)
    assert "6/6" in last_line(terminal)


@pytest.mark.parametrize("stderr", [Terminal, io.StringIO])
def test_for_machines_nothing_is_shown(
    stderr: type[io.StringIO], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = stderr()
    monkeypatch.setattr(sys, "stderr", shown)
    assert krohn(["train", "Grid3", *SIZES, *QUICK, "--json"]) == 0
    assert shown.getvalue().count("\n") == 1
    assert shown.getvalue().startswith("run ")
    assert not re.search(r"[\r\x1b]|step 3", shown.getvalue())
    assert json.loads(capsys.readouterr().out)["finished"]


class Notebook:
    """A display that records its calls."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.reports: list[tuple[int, dict[str, float]]] = []
        self.closed = 0

    def advance(self, steps: int) -> None:
        self.steps.append(steps)

    def report(self, step: int, values: dict[str, float]) -> None:
        self.reports.append((step, values))

    def close(self) -> None:
        self.closed += 1


def shown_of(patch: pytest.MonkeyPatch, **options: object) -> tuple[Notebook, object]:
    notebook = Notebook()
    patch.setattr("krohn.lab.training.loop.display_of", lambda run, **_: notebook)
    result = train(small_run(replicates=2, steps=30), device="cpu", automaton=LINE, **options)  # type: ignore[arg-type]
    return notebook, result


def test_a_display_receives_every_step_and_the_run_s_own_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    notebook, result = shown_of(monkeypatch)
    assert sum(notebook.steps) == 30
    assert len(notebook.steps) > len(notebook.reports) == 3
    assert notebook.closed == 1
    curves = result.curves  # type: ignore[attr-defined]
    assert [step for step, _ in notebook.reports] == [row["step"] for row in curves]
    so_far = [[max(row["accuracy"][one] for row in curves[: n + 1]) for one in (0, 1)] for n in range(3)]
    for (_, values), row, best in zip(notebook.reports, curves, so_far, strict=True):
        assert values["loss"] == pytest.approx(min(row["loss"]))  # the lower of two is torch's median
        assert values["best"] == max(best)
        assert values["median"] == pytest.approx(sum(best) / 2)
    last = notebook.reports[-1][1]["sequences_per_second"]
    assert last == result.sequences_per_second  # type: ignore[attr-defined]


@pytest.mark.parametrize("interrupted", [False, True])
def test_sequences_per_second_count_all_replicates_and_all_parts_of_a_run(
    interrupted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = {"directory": tmp_path / "run"}
    if interrupted:
        shown_of(monkeypatch, deadline=0.0, **where)
        _pretend_it_took(1000.0, tmp_path / "run" / "state.safetensors")
    notebook, result = shown_of(monkeypatch, **where)
    assert sum(notebook.steps) == (20 if interrupted else 30)
    assert (result.seconds > 1000.0) == interrupted  # type: ignore[attr-defined]
    total = result.seconds * result.sequences_per_second  # type: ignore[attr-defined]
    assert total == pytest.approx(2 * 30 * 8)


def _pretend_it_took(seconds: float, state: Path) -> None:
    with safe_open(state, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        progress = json.loads(file.metadata()["progress"])
    save_file(tensors, state, {"progress": json.dumps(progress | {"seconds": seconds})})

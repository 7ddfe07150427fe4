"""A run that goes on elsewhere says that its bits may differ, notes it, and keeps its precision."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from krohn.errors import InvalidFile, Unsupported
from krohn.lab.training.device import changes, environment
from krohn.lab.training.loop import TrainResult, train
from lab.training.small_runs import LINE, small_run

CONFIG = small_run(steps=40)


def go_on(directory: Path, *, whole: bool = False) -> TrainResult:
    deadline = None if whole else 0.0
    return train(CONFIG, directory=directory, device="cpu", automaton=LINE, deadline=deadline)


def elsewhere(patch: pytest.MonkeyPatch, **changed: Any) -> None:
    patch.setattr(
        "krohn.lab.training.run.environment",
        lambda device, precision: environment(device, precision) | changed,
    )


def recorded(directory: Path) -> dict[str, Any]:
    report = json.loads((directory / "environment.json").read_text())
    assert isinstance(report, dict)
    return report


def test_a_run_in_one_place_says_nothing_and_lists_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        go_on(tmp_path / "run")
    assert caplog.records == []
    assert recorded(tmp_path / "run") == environment(torch.device("cpu"), "fp32")


def test_every_machine_is_recorded_once_with_its_step_and_reported_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_on(tmp_path / "run")
    with monkeypatch.context() as patch:
        elsewhere(patch, threads=77, torch="9.9")
        go_on(tmp_path / "run")
        go_on(tmp_path / "run")  # the same place again is not news
    go_on(tmp_path / "run", whole=True)
    here = environment(torch.device("cpu"), "fp32")
    there = here | {"threads": 77, "torch": "9.9"}
    resumed = [{"step": 10, **there}, {"step": 30, **here}]
    assert recorded(tmp_path / "run") == here | {"resumed": resumed}
    first, second = [record.getMessage() for record in caplog.records]
    assert first == (
        f"{tmp_path / 'run'} continues from step 10 with torch 9.9 (before: {torch.__version__}), "
        f"threads 77 (before: {torch.get_num_threads()}): the bits may differ from those of a run left alone "
        "(noted in environment.json)"
    )
    assert "from step 30" in second
    elsewhere(monkeypatch, threads=99)
    assert go_on(tmp_path / "run").finished
    assert len(caplog.records) == 2, "a finished run does not go on anywhere"


def test_before_the_first_checkpoint_a_run_may_begin_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "state.safetensors").unlink()
    elsewhere(monkeypatch, threads=77, precision="bf16")
    go_on(tmp_path / "run")
    assert recorded(tmp_path / "run")["threads"] == 77
    assert caplog.records == []


def test_a_run_begun_in_another_precision_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("krohn.lab.training.run.choose_precision", lambda config, device: "fp64")
        go_on(tmp_path / "run")
    before = (tmp_path / "run" / "state.safetensors").read_bytes()
    with pytest.raises(Unsupported, match=r"fp64 on cpu .* fp32 on cpu"):
        go_on(tmp_path / "run")
    assert (tmp_path / "run" / "state.safetensors").read_bytes() == before


def test_only_what_decides_the_bits_counts() -> None:
    here = environment(torch.device("cpu"), "fp32")
    assert changes(here, here | {"python": "2.7"}) == []
    assert changes(here, here | {"device": "cuda"}) == ["device cuda (before: cpu)"]
    old = {name: value for name, value in here.items() if name != "cpu"}
    assert changes(old, here) == [], "what an older version did not note is not compared"
    gpu = here | {"device": "cuda"}
    assert changes(gpu, gpu | {"threads": 77, "cpu": "AVX512"}) == [], "a GPU does not count CPU threads"
    assert changes(gpu, gpu | {"gpu": "H200"}) == ["gpu H200 (before: None)"]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_record_is_refused(text: str, tmp_path: Path) -> None:
    go_on(tmp_path / "run")
    (tmp_path / "run" / "environment.json").write_text(text)
    with pytest.raises(InvalidFile, match="must be"):
        go_on(tmp_path / "run")

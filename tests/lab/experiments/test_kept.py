"""A kept network is a run directory of one replicate that every command reads."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from krohn.lab.training.directory import read_config, read_weights
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import train
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.trained_network import read_run
from lab.experiments.quick_experiment import quick_run

keep = runpy.run_path(str(Path(__file__).parents[3] / "research" / "device_queue.py"))["keep"]


def test_the_best_replicate_is_kept_in_half_the_bytes_and_read_as_any_run(tmp_path: Path) -> None:
    config = quick_run("Grid4", 1, steps=20).config
    result = train(config, device="cpu")
    folder = keep(result, tmp_path / "grid4")
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json",
        "result.json",
        "weights.safetensors",
    ]
    assert read_config(folder) == config
    report = json.loads((folder / "result.json").read_text())
    assert report["replicates"] == [result.replicates[result.best]]
    assert report["replicate"] == result.best
    read = read_weights(folder, 0, result.network.layout)
    for name, value in result.replicate(result.best).items():
        assert torch.equal(read[name], value.to(torch.bfloat16).to(torch.float32))
    words = HeldOut(result.task, seed=TEST_SEED, count=64)
    share = (read_run(folder).forward(words.words[0].numpy()) == words.batch.targets[0].numpy()).mean()
    assert share == pytest.approx(result.replicates[result.best]["test"]["accuracy"], abs=0.05)


def test_others_that_solve_the_task_are_kept_beside_the_best_up_to_the_number_given(tmp_path: Path) -> None:
    config = replace(quick_run("Grid4", 1, steps=2).config, replicates=5)
    result = train(config, device="cpu")
    reached = [0.992, 0.999, 0.989, 0.995, 0.99]
    entries = [entry | {"accuracy": value} for entry, value in zip(result.replicates, reached, strict=True)]
    result = replace(result, replicates=entries)
    layout = result.network.layout
    for most, others in ((1, []), (3, [0, 3]), (9, [0, 3, 4])):
        folder = keep(result, tmp_path / str(most) / "g", most)
        names = ["g", *(f"g-replicate-{number}" for number in others)]
        assert sorted(path.name for path in folder.parent.iterdir()) == names
        for name, number in zip(names, [1, *others], strict=True):
            report = json.loads((folder.parent / name / "result.json").read_text())
            assert (report["replicate"], report["replicates"]) == (number, [entries[number]])
            read = read_weights(folder.parent / name, 0, layout)
            for part, value in result.replicate(number).items():
                assert torch.equal(read[part], value.to(torch.bfloat16).to(torch.float32))
    unsolved = replace(result, replicates=[entry | {"accuracy": 0.5} for entry in entries])
    keep(unsolved, tmp_path / "none" / "g", 5)
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["g"]

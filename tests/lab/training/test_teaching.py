"""Hints: heads of their own beside a network that stays as it is."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from every import every
from krohn.cli.app import run
from krohn.errors import Unsupported
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import EvaluationConfig, RunConfig, TaskConfig, TeachConfig, model_config
from krohn.lab.training.loop import train
from krohn.lab.training.state import TrainState
from krohn.lab.training.step import Stepper
from krohn.lab.training.teaching import PREFIX, Teaching, has_learned
from lab.training.small_runs import LINE, small_run

BLOCKS = model_config("gpt", layers=3, dim=16, heads=2, mlp=16)


def taught_run(hints: str = "doubling", **changes: Any) -> RunConfig:
    until = changes.pop("until", None)
    return small_run(**{"model": BLOCKS, "teach": TeachConfig(hints=hints, until=until), **changes})


def stepper_of(config: RunConfig) -> Stepper:
    task = Task(config.task, LINE, torch.device("cpu"))
    network = config.model.build(task.vocabulary, task.classes)
    teaching = Teaching(config, task, network)
    state = TrainState.start(config, teaching.layout, torch.device("cpu"), "fp32")
    return Stepper(config, network, task, state, teaching=teaching)


def test_a_hint_after_every_block_up_to_the_whole_word() -> None:
    teaching = stepper_of(taught_run()).teaching
    assert teaching is not None
    assert [(hint.block, hint.about) for hint in teaching.hints] == [
        (1, "last 2 letters"),
        (2, "last 4 letters"),
        (3, "last 8 letters"),
    ]


def test_the_network_begins_as_without_hints() -> None:
    stepper = stepper_of(taught_run(replicates=2))
    config = replace(stepper.config, teach=None)
    plain = TrainState.start(config, stepper.network.layout, torch.device("cpu"), "fp32")
    own = stepper.network.layout.views(stepper.state.weight)
    for name, value in stepper.network.layout.views(plain.weight).items():
        assert torch.equal(own[name], value), name


@every("bos", [False, True])
def test_the_losses_are_cross_entropies_of_a_norm_and_a_matrix(bos: bool) -> None:
    config = taught_run("doubling:2,8", replicates=2, task=TaskConfig(spec="Grid3", length=6, bos=bos))
    stepper = stepper_of(config)
    teaching, weights = stepper.teaching, dict(stepper.leaves)
    assert teaching is not None
    batch = stepper.task.batch(torch.tensor([3, 4]), 0, 5)
    streams: dict[int, torch.Tensor] = {}

    def look(block: int, x: torch.Tensor, ops: object) -> torch.Tensor:
        streams[block] = x
        return x

    stepper.network.logits(weights, batch.tokens, None, look)  # type: ignore[call-arg]
    labels, wanted = teaching.labels(batch.tokens), torch.zeros(2)
    for number, hint in enumerate(teaching.hints):
        name = f"{PREFIX}{number}."
        for row in range(2):
            norm = weights[f"{name}ln.weight"][row], weights[f"{name}ln.bias"][row]
            h = functional.layer_norm(streams[hint.block][row], (16,), *norm)
            scores = (h @ weights[f"{name}weight"][row])[:, : hint.classes]
            every_one = functional.cross_entropy(
                scores, labels[number, row].flatten().long(), reduction="none"
            )
            shown = batch.shown[row].flatten()
            wanted[row] += (every_one * shown).sum() / shown.sum()
    loss, hints = teaching.losses(weights, batch, labels)
    assert torch.allclose(hints, wanted, atol=1e-5)
    plain = stepper.network.loss(weights, batch.tokens, batch.targets, batch.shown)
    assert torch.allclose(loss, plain, atol=1e-6)


def test_hints_end_at_their_step() -> None:
    stepper = stepper_of(taught_run(until=2))
    cuts = torch.ones(1, dtype=torch.float64)
    hints = stepper.network.layout.size
    for step in range(4):
        stepper.run(step, 1, cuts, average=False)
        assert bool(stepper.state.gradient[:, hints:].any()) == (step < 2)
    stepper = stepper_of(taught_run(until=2))
    stepper.run(0, 4, cuts, average=False)
    assert not bool(stepper.state.gradient[:, hints:].any())


def test_hints_of_a_replicate_end_once_it_reads_them_all() -> None:
    rows = [{"hints": [[0.5, 1.0], [0.99, 0.98]]}, {"hints": [[1.0, 0.5], [0.99, 1.0]]}]
    assert [has_learned(rows, replicate) for replicate in range(2)] == [False, True]
    stepper = stepper_of(taught_run(until="solved", replicates=2))
    stepper.taught.copy_(torch.tensor([1.0, 0.0]))
    stepper.run(0, 1, torch.ones(2, dtype=torch.float64), average=False)
    hints = stepper.state.gradient[:, stepper.network.layout.size :]
    assert [bool(row.any()) for row in hints] == [True, False]


def test_hints_are_kept_beside_the_network(tmp_path: Path) -> None:
    result = train(taught_run(replicates=2), directory=tmp_path)
    assert set(load_file(tmp_path / "weights.safetensors")) == set(result.weights)
    heads = load_file(tmp_path / "hints.safetensors")
    assert set(heads) == set(result.hints)
    assert all(torch.equal(heads[name], value) for name, value in result.hints.items())
    assert all(name.startswith(PREFIX) for name in heads)
    (first, *_), *_ = [entry["hints"] for entry in result.replicates]
    assert first["block"] == 1
    assert 0.0 <= first["accuracy"] <= 1.0
    assert json.loads((tmp_path / "result.json").read_text())["replicates"][0]["hints"][0] == first


@every("until", [None, "solved"])
def test_a_taught_run_resumes_to_the_same_bits(until: Any, tmp_path: Path) -> None:
    config = taught_run(replicates=2, until=until)
    whole = train(config)
    part = train(config, directory=tmp_path / str(until), deadline=time.time())
    assert not part.finished
    assert part.curves[-1]["step"] < config.steps
    rest = train(config, directory=tmp_path / str(until))
    assert rest.curves == whole.curves
    for name, value in (*whole.weights.items(), *whole.hints.items()):
        assert torch.equal(value, (rest.weights | rest.hints)[name]), name  # type: ignore[operator]


def test_doubling_is_learned_and_the_hints_are_read() -> None:
    config = taught_run(steps=160, evaluation=EvaluationConfig(every=80, sequences=128))
    result = train(config)
    hints = [hint["accuracy"] for hint in result.replicates[0]["hints"]]
    assert hints[0] > 0.8
    assert result.curves[-1]["hints"][0][0] > result.curves[0]["hints"][0][0]


@every(
    ("words", "reason"),
    [
        ("--model lstm --teach doubling", "hints need a model with blocks"),
        ("--teach doubling --layers 3 --length 16", "4 for words of 16 letters; got 3"),
        ("--teach doubling:2,4,32 --layers 4 --length 16", "need a layer for each, 5"),
        ("--teach doubling:3 --layers 4", "2, 4, 8"),
        ("--teach doubling:1=2,1=4 --layers 4", "one hint for each block"),
        ("--teach tripling", "hints must be doubling"),
        ("--teach doubling:2 --scratchpad", "without a scratchpad"),
        ("--teach doubling:2 --teach-until 0", "at least 1"),
        ("--teach doubling:2 --teach-until never", "neither a step nor solved"),
        ("--teach none --teach-until 5", "--teach-until needs --teach"),
        ("--teach cascade --layers 4", "cascade hints need two levels or more; C2 has one"),
    ],
)
def test_what_cannot_be_taught_is_refused_in_one_line(
    words: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "C2", *words.split()]) == 2
    line = capsys.readouterr().err
    assert reason in line.strip().splitlines()[-1]


def test_hints_do_not_change_the_name_of_a_run_without_them() -> None:
    plain = small_run(model=BLOCKS)
    assert "teach" not in plain.to_dict()
    assert RunConfig.from_dict(taught_run().to_dict()) == taught_run()
    assert taught_run().run_id != plain.run_id
    with pytest.raises(Unsupported, match="hints must be"):
        taught_run("halving")

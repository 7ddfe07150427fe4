"""The beginning-of-sequence token: its effect on batches, and what it makes learnable."""

from pathlib import Path

import numpy as np
import torch

from krohn.automata.zoo import parse_spec
from krohn.lab.models.registry import model_config
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import CurriculumConfig, EvaluationConfig, OptimizerConfig, RunConfig
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import train
from krohn.lab.training.trained_network import read_run

CPU = torch.device("cpu")
C2 = parse_spec("C2")


def test_a_batch_with_a_beginning_is_the_same_batch_behind_one_more_token() -> None:
    plain, begun = (Task(TaskConfig(spec="C2", length=5, bos=bos), C2, CPU) for bos in (False, True))
    assert (plain.vocabulary, begun.vocabulary, begun.num_tokens, begun.classes) == (2, 3, 6, 2)
    one, other = (task.batch(torch.tensor([7]), 3, 4) for task in (plain, begun))
    assert torch.equal(other.tokens[..., 1:], one.tokens)
    assert torch.equal(other.targets[..., 1:], one.targets)
    assert other.tokens[..., 0].unique().tolist() == [2]
    assert other.shown[..., 0].unique().tolist() == [0]
    assert other.shown[..., 1:].unique().tolist() == [1]


def test_without_positions_only_a_beginning_tells_a_from_aa() -> None:
    for bos in (False, True):
        task = Task(TaskConfig(spec="C2", length=6, bos=bos), C2, CPU)
        model = model_config("gpt", layers=3, dim=16, heads=2, mlp=16, positions="none")
        network = model.build(task.vocabulary, task.classes)
        weights = network.layout.views(network.layout.initial(torch.tensor([5])))
        ones = torch.ones(1, 1, 6, dtype=torch.int64)
        logits = network.logits(weights, task.begun(ones))[0, 0, int(bos) :]
        apart = float((logits - logits[0]).abs().max())
        assert apart > 1e-4 if bos else apart < 1e-6


def test_a_run_with_a_beginning_is_judged_on_its_letters_and_read_back(tmp_path: Path) -> None:
    config = RunConfig(
        task=TaskConfig(spec="C2", length=6, bos=True),
        model=model_config("gpt", layers=1, dim=16, heads=2, mlp=16, positions="none"),
        optimizer=OptimizerConfig(lr=(1e-2,), batch=8, warmup=2),
        evaluation=EvaluationConfig(every=4, sequences=32),
        curriculum=CurriculumConfig(start=3),
        steps=12,
    )
    result = train(config, directory=tmp_path / "run", device="cpu")
    assert len(result.replicates[0]["position_accuracy"]) == 6
    held = HeldOut(result.task, seed=config.evaluation.seed, count=32)
    read = read_run(tmp_path / "run").forward(held.words[0].numpy())
    states = held.batch.targets[0, :, 1:].numpy()
    assert read.shape == states.shape
    assert np.mean(read == states) == result.replicates[0]["accuracy"]


def test_runs_without_one_keep_their_ids_and_those_with_one_have_others() -> None:
    without, with_one = (RunConfig(task=TaskConfig(spec="Grid4", bos=bos)) for bos in (False, True))
    assert without.run_id == "4ac81918782f460d"
    assert with_one.run_id != without.run_id
    assert RunConfig.from_json(with_one.to_json()) == with_one
    assert any(
        "scratchpad" in reason for reason in TaskConfig(spec="C2", bos=True, scratchpad=True).reasons()
    )

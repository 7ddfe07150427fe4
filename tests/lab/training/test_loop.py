import json
from itertools import product
from pathlib import Path

import pytest
import torch

from krohn.errors import InvalidFile, Unsupported
from krohn.lab.tasks.batches import Task
from krohn.lab.training.config import EvaluationConfig, OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.directory import read_config, read_weights
from krohn.lab.training.held_out import HeldOut, read_step_by_step
from krohn.lab.training.loop import TrainResult, train
from krohn.lab.training.metrics import History, scores_of
from krohn.lab.training.run import Run
from krohn.lab.training.state import TrainState
from krohn.lab.training.trained_network import TrainedNetwork
from lab.training.small_runs import LINE, run_steps, small_run, stepper_of


def run(config: RunConfig, **options: object) -> TrainResult:
    return train(config, device="cpu", automaton=LINE, **options)  # type: ignore[arg-type]


def test_a_replicate_does_not_depend_on_how_many_run_beside_it() -> None:
    """Float32 shows a difference of rounding; float64 shows that it is rounding."""
    gaps = {}
    for precision in ("fp32", "fp64"):
        alone = run_steps(stepper_of(small_run(replicates=1), precision), 0, 25)
        beside = run_steps(stepper_of(small_run(replicates=4), precision), 0, 25)
        gaps[precision] = max(abs(float(a[0]) - float(b[0])) for a, b in zip(alone, beside, strict=True))
    assert gaps["fp32"] < 1e-4
    assert gaps["fp64"] < 1e-12


def test_a_small_network_learns_a_line_and_its_best_weights_are_kept() -> None:
    config = small_run(
        replicates=2,
        steps=250,
        optimizer=OptimizerConfig(lr=(1e-2,), warmup=20, batch=16),
        evaluation=EvaluationConfig(every=50, sequences=128, stop_at=0.999),
    )
    result = run(config)
    best = result.replicates[result.best]
    assert best["accuracy"] > 0.95
    held = HeldOut(result.task, seed=config.evaluation.seed, count=128)
    again = held.judge(result.network, result.weights)
    assert again.token.tolist() == pytest.approx([entry["accuracy"] for entry in result.replicates])
    assert max(row["accuracy"][result.best] for row in result.curves) == pytest.approx(best["accuracy"])
    assert len(best["position_accuracy"]) == 6


def test_a_solved_replicate_is_frozen_and_a_run_ends_when_all_are_done() -> None:
    result = run(
        small_run(replicates=2, steps=1000, evaluation=EvaluationConfig(every=10, sequences=16, stop_at=0.1))
    )
    assert [entry["status"] for entry in result.replicates] == ["solved", "solved"]
    assert result.curves[-1]["step"] == 10


def test_a_diverged_replicate_ends_alone_with_its_last_good_weights() -> None:
    settings = {"warmup": 0, "batch": 8, "clip": None}
    wild = run(small_run(replicates=2, optimizer=OptimizerConfig(lr=(3e-3, 1e30), **settings)))  # type: ignore[arg-type]
    tame = run(small_run(replicates=2, optimizer=OptimizerConfig(lr=(3e-3, 3e-3), **settings)))  # type: ignore[arg-type]
    assert [entry["status"] for entry in wild.replicates] == ["finished", "diverged"]
    assert all(torch.isfinite(value).all() for value in wild.weights.values())
    for name, value in wild.weights.items():
        assert torch.equal(value[0], tame.weights[name][0])


def test_what_is_kept_of_a_diverged_replicate_can_still_be_run() -> None:
    """Answers of a network whose logits are not finite are the first state; they must not win."""
    config = small_run(
        replicates=2,
        optimizer=OptimizerConfig(lr=(1e-7, 1e9), warmup=0, batch=8),
        task=TaskConfig(spec="Grid3", length=6, distribution="bernoulli:0.02"),
    )
    result = run(config)
    assert result.replicates[1]["status"] == "diverged"
    answers = HeldOut(result.task, seed=config.evaluation.seed, count=64).judge(
        result.network, result.weights
    )
    assert torch.isfinite(answers.loss).all()
    for entry in result.replicates:
        assert entry["loss"] is not None or entry["accuracy"] == 0.0
    assert result.best == 0 or result.replicates[1]["loss"] is not None


def test_an_evaluation_without_a_finite_loss_counts_for_nothing() -> None:
    right, nothing = torch.ones(2, 3, 4, dtype=torch.bool), torch.tensor([0.5, float("nan")])
    scores = scores_of(right, nothing)
    assert scores.token.tolist() == [1.0, 0.0]
    history = History(2)
    assert history.add(10, {0: 0, 1: 1}, nothing, scores) == [True, False]
    finite = scores_of(torch.zeros_like(right), torch.tensor([0.5, 0.5]))
    assert history.add(20, {0: 0, 1: 1}, nothing, finite) == [False, True]


def test_the_same_seed_gives_the_same_bits_and_another_seed_others() -> None:
    one, same, other = (run(small_run(seed=seed)) for seed in (3, 3, 4))
    assert one.curves == same.curves
    assert all(torch.equal(one.weights[name], same.weights[name]) for name in one.weights)
    assert one.curves != other.curves


def test_an_lstm_trains_on_observations_with_hidden_labels() -> None:
    automaton = type(LINE)(LINE.table, observe=(1, 0, 1))
    task = TaskConfig(spec="line", length=6, target="observation", reveal=0.5)
    lstm = model_config("lstm", embedding=4, hidden=8)
    config = small_run(task=task, model=lstm, steps=60, optimizer=OptimizerConfig(lr=(1e-2,), batch=16))
    result = train(config, device="cpu", automaton=automaton)
    assert result.curves[-1]["loss"][0] < result.curves[0]["loss"][0]
    assert result.task.classes == 2


def test_a_scratchpad_network_is_judged_on_the_states_it_fills_in_itself() -> None:
    task = TaskConfig(spec="line", length=5, scratchpad=True)
    config = small_run(
        task=task, steps=20, model=model_config("gpt", layers=1, dim=16, heads=2, mlp=16, recency=True)
    )
    result = run(config)
    words, _ = result.task.held_out(config.evaluation.seed, 32)
    filled = read_step_by_step(result.network, result.weights, words, LINE.num_letters)
    for word, row in zip(words[0].tolist(), filled[0].tolist(), strict=True):
        tokens: list[int] = []
        for letter, state in zip(word, row, strict=True):
            tokens.append(letter)
            logits = result.network.logits(result.weights, torch.tensor([[tokens]]))
            assert int(logits[0, 0, -1].argmax()) == state
            tokens.append(LINE.num_letters + state)
    right = [a == b for w, row in zip(words[0].tolist(), filled[0].tolist(), strict=True)
             for a, b in zip(LINE.run(w), row, strict=True)]  # fmt: skip
    assert result.replicates[0]["accuracy"] == pytest.approx(sum(right) / len(right))


def test_a_scratchpad_is_judged_by_reading_the_network_s_own_states() -> None:
    """A network with wild weights errs, and then reads other states than the true ones."""
    task = Task(TaskConfig(spec="line", length=8, scratchpad=True), LINE, torch.device("cpu"))
    network = model_config("gpt", layers=1, dim=16, heads=2, mlp=16).build(task.vocabulary, task.classes)
    state = TrainState.start(small_run(replicates=2), network.layout, torch.device("cpu"), "fp32")
    weights = network.layout.views(state.weight * 20)
    held_out = HeldOut(task, seed=5, count=32)
    judged, own, taught = held_out.judge(network, weights), [], []
    for replicate, word in product(range(2), held_out.words[0].tolist()):
        alone = {name: value[replicate : replicate + 1] for name, value in weights.items()}
        read: list[int] = []
        lines: list[int] = []
        for letter, state_after in zip(word, LINE.run(word), strict=True):
            answers = []
            for tokens in (read, lines):
                tokens.append(letter)
                answers.append(int(network.logits(alone, torch.tensor([[tokens]]))[0, 0, -1].argmax()))
            own.append(answers[0] == state_after)
            taught.append(answers[1] == state_after)
            read.append(LINE.num_letters + answers[0])
            lines.append(LINE.num_letters + state_after)
    shares = torch.tensor(own).view(2, 32, 8).double().mean(1)
    assert torch.allclose(judged.position, shares)
    assert judged.token.tolist() == pytest.approx(shares.mean(1).tolist())
    assert own != taught
    assert sum(own) != sum(taught)


def test_what_is_watched_of_a_scratchpad_bounds_what_it_does_step_by_step() -> None:
    task = TaskConfig(spec="line", length=6, scratchpad=True)
    config = small_run(task=task, steps=40, replicates=3)
    result = run(config)
    held_out = HeldOut(result.task, seed=5, count=64)
    watched = held_out.watch(result.network, result.weights)
    judged = held_out.judge(result.network, result.weights)
    assert torch.equal(watched.sequence, judged.sequence)
    assert (watched.position <= judged.position).all()
    # The last letters before any mistake are the same by both readings.
    assert torch.equal(watched.position[:, 0], judged.position[:, 0])
    assert 0.0 < float(watched.token.max()) < 1.0
    for replicate, entry in enumerate(result.replicates):
        assert max(row["accuracy"][replicate] for row in result.curves) <= entry["accuracy"]
        assert entry["final"]["step"] == 40


def test_final_scores_of_a_scratchpad_are_those_of_the_final_weights(tmp_path: Path) -> None:
    """A rate that is too high: later weights are worse than the best ones, and have scores of their own."""
    config = small_run(
        task=TaskConfig(spec="line", length=6, scratchpad=True),
        optimizer=OptimizerConfig(lr=(0.3,), warmup=0, batch=8, clip=None),
        steps=60,
        replicates=3,
    )
    result = run(config, directory=tmp_path)
    again = Run(config, LINE, torch.device("cpu"), tmp_path)  # reads what was saved at the end
    weights = again.cast_weights(again.standing.by_replicate(again.standing.state.average))
    final = again.held_out.judge(again.network, weights)
    for replicate, entry in enumerate(result.replicates):
        assert entry["final"]["accuracy"] == pytest.approx(float(final.token[replicate]))
    assert any(entry["final"]["accuracy"] != entry["accuracy"] for entry in result.replicates)


def test_the_callers_evaluation_gets_the_best_weights() -> None:
    def evaluate(trained: TrainedNetwork) -> dict[str, object]:
        network, task = trained.network, trained.task
        return {"replicates": trained.replicates, "classes": network.classes, "letters": task.vocabulary}

    result = run(small_run(replicates=2), evaluate=evaluate)
    assert result.extra == {"replicates": 2, "classes": 3, "letters": 2}


def test_a_run_directory_holds_configuration_weights_metrics_environment_and_result(tmp_path: Path) -> None:
    config = small_run(replicates=2)
    result = run(config, directory=tmp_path / "run")
    assert read_config(tmp_path / "run") == config
    weights = read_weights(tmp_path / "run", 1)
    assert all(torch.equal(weights[name], value) for name, value in result.replicate(1).items())
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert rows == result.curves
    assert [row["step"] for row in rows] == [10, 20, 30]
    saved = json.loads((tmp_path / "run" / "result.json").read_text())
    assert saved["replicates"] == result.replicates
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["device"] == "cpu"
    with pytest.raises(InvalidFile, match=r"replicate must lie in \[0, 2\)"):
        read_weights(tmp_path / "run", 2)


def test_a_directory_of_another_run_is_refused(tmp_path: Path) -> None:
    run(small_run(steps=10), directory=tmp_path / "run")
    with pytest.raises(InvalidFile, match="choose another directory"):
        run(small_run(steps=20), directory=tmp_path / "run")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_with_all_other_reasons() -> None:
    config = small_run(task=TaskConfig(spec="line", target="observation"))
    with pytest.raises(Unsupported, match=r"observation map.*cuda needs a GPU"):
        train(config, device="cuda", automaton=LINE)

"""Probes, scores, runs and the harness against their definitions; early refusals."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import krohn
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidFile, InvalidInput, Unsupported
from krohn.lab.cards.harness import Effort, batch, check_causal
from krohn.lab.cards.recurrent_modules import in_training
from krohn.lab.interpret.attention import (
    HeadScore,
    best_heads,
    last_visit,
    score_from_row,
    score_heads,
    telling_words,
)
from krohn.lab.interpret.findings import wilson
from krohn.lab.interpret.packed_shares import pack_shares, unpack_shares
from krohn.lab.interpret.probe import LinearProbe
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training import trained_network as runs
from krohn.lab.training.trained_network import best_replicate, read_run
from krohn.recurrent.recurrent_weights import WEIGHTS
from lab.interpret.made_networks import knowing, untrained

KEPT = Path(__file__).parents[3] / "results" / "networks"


def test_a_probe_is_ridge_regression_on_the_first_half() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=(7, 4))
    activations = rng.normal(size=(7, 4, 5)) + labels[..., None] * rng.normal(size=5)
    fitted = activations[:3].reshape(-1, 5)
    features = (activations - fitted.mean(axis=0)) / fitted.std(axis=0, ddof=1)
    features = np.concatenate([features, np.ones((7, 4, 1))], axis=-1)
    x, y = features[:3].reshape(-1, 6), np.eye(3)[labels[:3].reshape(-1)]
    weights = np.linalg.inv(x.T @ x + 1e-3 * len(x) * np.eye(6)) @ x.T @ y
    answers = (features[3:].reshape(-1, 6) @ weights).argmax(axis=1)
    result = LinearProbe(torch.from_numpy(activations)).judge(torch.from_numpy(labels))
    assert result.accuracy == pytest.approx((answers == labels[3:].reshape(-1)).mean())
    commonest = np.bincount(labels[:3].reshape(-1)).argmax()
    assert result.baseline == pytest.approx((labels[3:] == commonest).mean())
    probe = LinearProbe(torch.from_numpy(activations))
    assert probe.judge(torch.from_numpy(labels)) == result
    assert probe.judge(torch.from_numpy(labels[:, ::-1].copy())) != result  # each labelling is fitted anew


def test_the_interval_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    for trials in (1, 5, 40):
        for hits in range(trials + 1):
            low, high = wilson(hits, trials)
            assert 0 <= low <= hits / trials <= high <= 1
            mirrored = wilson(trials - hits, trials)
            assert (1 - mirrored[1], 1 - mirrored[0]) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        ((0.95, 0.3, 0.26), "both"),
        ((0.95, 0.3, 0.1), "left"),
        ((0.95, 0.1, 0.3), "right"),
        ((0.95, 0.1, 0.1), "uniform"),
        ((0.5, 0.1, 0.1), ""),
    ],
)
def test_a_head_is_named_by_what_it_does_most(scores: tuple[float, float, float], kind: str) -> None:
    uniform, left, right = scores
    head = HeadScore(layer=1, head=2, uniform=uniform, left=left, right=right, before=0.0)
    assert head.kind == kind
    assert score_from_row([1, 2, uniform, left, right, 0.0]) == head
    other = HeadScore(layer=0, head=0, uniform=1.0, left=-1.0, right=-1.0, before=0.0)
    assert best_heads([other, head])["left"] is head
    assert best_heads([other, head])["uniform"] is other


def test_scores_of_a_head_word_by_word() -> None:
    rng = np.random.default_rng(2)
    states = np.array([krohn.zoo("Grid4").run(word) for word in rng.integers(2, size=(5, 8)).tolist()])
    attention = np.tril(rng.random((1, 1, 5, 8, 8)))
    attention /= attention.sum(-1, keepdims=True)
    (result,) = score_heads(attention, states, 3)
    maps = attention[0, 0]
    own, chance, before = {0: [], 3: []}, {0: [], 3: []}, []  # type: ignore[var-annotated]
    for word in range(5):
        for t in range(8):
            walls = [i for i in range(t + 1) if states[word, i] in (0, 3)]
            if walls and walls[-1] > 0:
                before.append(maps[word, t, : walls[-1]].sum())
            if walls and walls[-1] < t:
                own[int(states[word, walls[-1]])].append(maps[word, t, walls[-1]])
                chance[int(states[word, walls[-1]])].append(maps[word - 1, t, walls[-1]])
    assert result.before == pytest.approx(np.mean(before))
    for side, wall in (("left", 0), ("right", 3)):
        assert getattr(result, side) == pytest.approx(np.mean(own[wall]) - np.mean(chance[wall]))


def test_words_from_wall_to_wall_come_first() -> None:
    states = np.array([[0, 1, 0, 1], [0, 3, 0, 3], [3, 3, 0, 0], [1, 1, 2, 2], [3, 0, 0, 0]])
    assert telling_words(states, 3, 5) == [1, 2, 4, 0, 3]
    for row in states:
        walls = [state for state in row.tolist() if state in (0, 3)]
        assert sum(a != b for a, b in pairwise(walls)) <= 3
    assert last_visit(states, (3,)).tolist()[2] == [0, 1, 1, 1]
    assert last_visit(states, (3,)).tolist()[3] == [-1] * 4


def test_shares_are_packed_to_a_byte() -> None:
    values = np.random.default_rng(3).random((3, 4, 5))
    packed = json.loads(json.dumps(pack_shares(values)))
    assert np.abs(unpack_shares(packed) - values).max() <= 1 / 510
    assert unpack_shares(pack_shares(np.array([0.0, 1.0]))).tolist() == [0.0, 1.0]
    assert unpack_shares(pack_shares(np.zeros((0, 2)))).shape == (0, 2)


def test_other_tasks_keep_what_is_not_changed() -> None:
    trained = knowing(TaskConfig(spec="C2", length=8), reach=8)
    task = trained.task_with(length=5)
    assert (task.config.length, task.config.spec) == (5, "C2")
    assert trained.length == 8
    assert trained.replicates == 2
    three = untrained(TaskConfig(spec="C2", length=4), replicates=3)
    assert three.replicates == 3
    with pytest.raises(InvalidInput, match="one replicate; here are 3"):
        three.run([[0, 1]])


def test_many_words_are_run_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    trained = read_run(KEPT / "c2-lstm")
    words = np.random.default_rng(4).integers(2, size=(23, 10))
    whole = trained.forward(words)
    monkeypatch.setattr(runs, "PER_PASS", 5)
    assert (trained.forward(words) == whole).mean() > 0.99  # sums of other batches may be rounded differently
    alone = np.concatenate([trained.forward(word[None]) for word in words])
    assert (alone == whole).mean() > 0.99


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "{",
        "[]",
        "{}",
        '{"replicates": []}',
        '{"replicates": [{"accuracy": "high"}]}',
        '{"replicates": 3}',
    ],
)
def test_a_run_that_is_not_finished_is_refused(payload: str | None, tmp_path: Path) -> None:
    if payload is not None:
        (tmp_path / "result.json").write_text(payload)
    with pytest.raises(InvalidFile, match=r"result\.json"):
        best_replicate(tmp_path)


def test_the_best_replicate_is_the_first_with_the_highest_accuracy(tmp_path: Path) -> None:
    rows = [{"accuracy": share} for share in (0.5, 0.9, 0.9, 0.1)]
    (tmp_path / "result.json").write_text(json.dumps({"replicates": rows}))
    assert best_replicate(tmp_path) == 1
    with pytest.raises(Unsupported, match="cuda"):
        read_run(KEPT / "c2-lstm", device="cuda" if not torch.cuda.is_available() else "cuda:99")


def test_batches_are_runs_of_the_automaton() -> None:
    automaton = parse_spec("D6")
    words, states = batch(automaton, 20, 7, torch.Generator().manual_seed(0), "cpu")
    assert states.tolist() == [automaton.run(word) for word in words.tolist()]
    assert set(words.flatten().tolist()) == {0, 1}


class Last(nn.Module):
    """Answers the letter, ``ahead`` places later than it should."""

    def __init__(self, letters: int, states: int, ahead: int) -> None:
        super().__init__()
        self.table, self.ahead = nn.Embedding(letters, states), ahead

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        return torch.roll(self.table(words), -self.ahead, dims=1)


@pytest.mark.parametrize(("ahead", "causal"), [(0, True), (1, False), (3, False), (7, False)])
def test_a_module_must_not_see_what_comes_later(ahead: int, causal: bool) -> None:
    automaton = parse_spec("C3")
    torch.manual_seed(0)
    module = Last(3, 3, ahead)
    if causal:
        check_causal(module, automaton, 8, "cpu")
        return
    with pytest.raises(InvalidInput, match="must be causal"):
        check_causal(module, automaton, 8, "cpu")


def test_invalid_numbers_are_refused() -> None:
    module = Last(2, 2, 0)
    with torch.no_grad():
        module.table.weight[0, 0] = torch.nan
    with pytest.raises(InvalidInput, match="finite numbers"):
        check_causal(module, parse_spec("C2"), 8, "cpu")


@pytest.mark.parametrize(
    "change", [{"length": 1}, {"steps": 0}, {"lr": float("nan")}, {"tested": -3}, {"optimizer": "sgd"}]
)
def test_an_invalid_effort_is_refused(change: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(change))} must be"):
        Effort(**change)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [*WEIGHTS])
def test_a_witness_is_a_network_that_can_be_trained(kind: str) -> None:
    """Its tensors by the names of the architecture: the same answers, and a gradient."""
    automaton = parse_spec("FlipFlop")
    network, weights = in_training(WEIGHTS[kind](automaton))
    words = np.random.default_rng(6).integers(3, size=(4, 9))
    leaves = {name: value.clone().requires_grad_() for name, value in weights.items()}
    tokens = torch.from_numpy(words)[None]
    logits = network.logits(leaves, tokens)[0].argmax(-1)
    assert logits.tolist() == [automaton.run(word) for word in words.tolist()]
    targets = torch.tensor([automaton.run(word) for word in words.tolist()])[None]
    loss = network.loss(leaves, tokens, targets, torch.ones_like(tokens))
    (gradient,) = torch.autograd.grad(loss.sum(), leaves["head.bias"])
    assert gradient.shape == leaves["head.bias"].shape
    assert bool(gradient.any())

"""The test set is drawn once, at the end, from a seed of its own, and is never used for selection."""

import pytest
import torch

from krohn.errors import Unsupported
from krohn.lab.training.config import EvaluationConfig
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.loop import train
from krohn.lab.training.metrics import scores_of
from krohn.lab.training.sections import TEST_SEED
from lab.training.small_runs import LINE, small_run


def test_the_kept_weights_are_judged_on_words_of_another_seed() -> None:
    result = train(small_run(replicates=2), device="cpu", automaton=LINE, test_sequences=50)
    judged = HeldOut(result.task, seed=TEST_SEED, count=50)
    again = judged.judge(result.network, result.weights)
    assert [entry["test"]["accuracy"] for entry in result.replicates] == again.token.tolist()
    assert [entry["test"]["sequence_accuracy"] for entry in result.replicates] == again.sequence.tolist()
    assert {entry["test"]["words"] for entry in result.replicates} == {50}
    choosing = HeldOut(result.task, seed=result.config.evaluation.seed, count=50)
    assert not torch.equal(judged.words, choosing.words)


def test_the_test_words_change_nothing_else() -> None:
    one, other = (
        train(small_run(replicates=2), device="cpu", automaton=LINE, test_sequences=count)
        for count in (8, 64)
    )
    assert one.curves == other.curves
    assert [{**entry, "test": None} for entry in one.replicates] == [
        {**entry, "test": None} for entry in other.replicates
    ]
    assert train(small_run(), device="cpu", automaton=LINE).replicates[0]["test"]["words"] == 32


def test_no_choice_may_use_the_seed_of_the_test_words() -> None:
    with pytest.raises(Unsupported, match="must not be that of the test words"):
        small_run(evaluation=EvaluationConfig(seed=TEST_SEED))


def test_the_error_of_an_accuracy_counts_words_not_letters() -> None:
    # Of four words two are all right and two all wrong: the letters are eight, the independent parts four.
    right = torch.tensor([[[1, 1], [1, 1], [0, 0], [0, 0]]])
    scores = scores_of(right, torch.zeros(1))
    assert float(scores.token) == 0.5
    assert float(scores.error) == pytest.approx((0.25 / 4) ** 0.5)

"""Accuracy along lengths, shares of ones and counts of ones."""

import pytest
import torch

from krohn.lab.interpret.evaluation import AccuracyAlong, Evaluation
from krohn.lab.tasks.task_config import TaskConfig
from lab.interpret.made_networks import knowing, untrained

C2 = TaskConfig(spec="C2", length=8)


def test_accuracy_falls_where_the_network_forgets() -> None:
    evaluation = AccuracyAlong(name="length", at=(2, 4, 8, 16), sequences=5)
    knows, forgets = evaluation.measure(knowing(C2, reach=4))
    assert knows == {"at": [2, 4, 8, 16], "token": [1, 1, 1, 1], "sequence": [1, 1, 1, 1]}
    assert forgets == {"at": [2, 4, 8, 16], "token": [1, 1, 0.5, 0.25], "sequence": [1, 1, 0, 0]}


@pytest.mark.parametrize(
    ("evaluation", "places"),
    [
        (AccuracyAlong(name="probability", at=(0.05, 0.5, 0.95), sequences=5), [0.05, 0.5, 0.95]),
        (AccuracyAlong(name="ones", at=(0, 3, 8), sequences=5), [0, 3, 8]),
    ],
)
def test_other_distributions_keep_the_length(evaluation: Evaluation, places: list[float]) -> None:
    knows, forgets = evaluation.measure(knowing(C2, reach=6))
    assert knows["at"] == places
    assert knows["token"] == [1, 1, 1]
    assert forgets["token"] == [0.75, 0.75, 0.75]


def test_a_scratchpad_is_read_with_the_networks_own_states() -> None:
    """The naive way: predict with the full interleaved prefix, write the prediction down, go on."""
    trained = untrained(TaskConfig(spec="C3", length=4, scratchpad=True))
    result = AccuracyAlong(name="length", at=(6,), sequences=5, seed=9).measure(trained)
    words, batch = trained.task_with(length=6).held_out(9, 5)
    for replicate in range(2):
        right = 0
        for word in range(5):
            tokens: list[int] = []
            for t in range(6):
                tokens.append(int(words[0, word, t]))
                prefix = torch.tensor(tokens).int().expand(2, 1, -1).contiguous()
                guess = int(trained.network.logits(trained.weights, prefix)[replicate, 0, -1].argmax())
                tokens.append(guess + trained.automaton.num_letters)
                right += guess == int(batch.targets[0, word, 2 * t])
        assert result[replicate]["token"] == [pytest.approx(right / 30, abs=1e-5)]


def test_the_words_really_change() -> None:
    trained = knowing(C2, reach=8)
    for count in (0, 3, 8):
        words = trained.task_with(distribution=f"ones:{count}").held_out(1, 9)[0]
        assert set(words.sum(-1).flatten().tolist()) == {count}
    words = trained.task_with(distribution="bernoulli:0.95", length=200).held_out(1, 50)[0]
    assert words.double().mean().item() == pytest.approx(0.95, abs=0.01)

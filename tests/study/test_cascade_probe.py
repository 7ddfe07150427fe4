"""Probes for cascade coordinates: the coordinates are the cascade's, and what is written can be read."""

import pytest
import torch

from krohn.cascade.holonomy import holonomy_cascade
from krohn.study.probe import CascadeProbe, coordinates_along
from krohn.tasks.task_config import TaskConfig
from study.made_networks import untrained


@pytest.mark.parametrize("spec", ["Grid4", "S3", "FlipFlop", "abab"])
def test_coordinates_lead_to_the_states_of_the_automaton(spec: str) -> None:
    trained = untrained(TaskConfig(spec=spec, length=9))
    words, batch = trained.task_with().held_out(1, 5)
    cascade = holonomy_cascade(trained.automaton)
    found = coordinates_along(cascade, words[0])
    assert found.shape[1:] == (5, 9)
    for word in range(5):
        for t in range(9):
            coordinates = tuple(found[:, word, t].tolist())
            assert cascade.state(coordinates) == int(batch.targets[0, word, t])


def test_every_layer_is_probed_for_the_state_and_every_level() -> None:
    trained = untrained(TaskConfig(spec="FlipFlop", length=10))
    first, second = CascadeProbe(words=40).measure(trained)
    levels = holonomy_cascade(trained.automaton).num_levels
    assert set(first) == {"state", *(f"level {level}" for level in range(levels))}
    for result in (first, second):
        for probe in result.values():
            assert len(probe["accuracy"]) == 3
            assert all(0 <= value <= 1 for value in [*probe["accuracy"], probe["baseline"]])
    # The last letter of a flip-flop decides its state two times out of three, and the embedding shows it.
    assert first["state"]["accuracy"][0] > first["state"]["baseline"] + 0.1
    assert first != second


def test_words_to_fit_and_words_to_judge_are_not_the_same() -> None:
    trained = untrained(TaskConfig(spec="S3", length=12))
    (result, _) = CascadeProbe(words=4).measure(trained)
    # With 24 positions to fit, a probe of 17 weights would seem perfect if it were judged on them.
    assert result["state"]["accuracy"][1] < 0.9
    assert torch.tensor(result["state"]["accuracy"]).min() < 0.6

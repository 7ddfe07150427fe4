"""The small parts of a study against their naive meaning."""

from dataclasses import replace

import numpy as np
import torch

import krohn
from krohn.lab.interpret.findings import Finding, Share
from krohn.lab.interpret.lift import holonomy_lift, series_lift
from krohn.lab.interpret.readings import Pairs, Readings, draw_pairs
from krohn.lab.interpret.report import status
from krohn.lab.interpret.stages import Stages, stages_of_transformer
from krohn.lab.interpret.subspace import DIMENSIONS, Spread, Trial, choose, complement, random_directions
from krohn.lab.interpret.swaps import Bench, deal, shuffle_weights, telling_pairs
from krohn.lab.interpret.variables import candidates


def sample(spec: str, length: int = 8, count: int = 60) -> tuple[Readings, Pairs]:
    automaton, rng = krohn.zoo(spec), np.random.default_rng(1)
    readings = Readings(automaton, rng.integers(automaton.num_letters, size=(count, length)))
    return readings, draw_pairs(readings, rng, 400)


def scan(spec: str) -> Stages:
    return stages_of_transformer(krohn.compile(spec, length=8, method="scan").transformer)


def test_a_set_replaced_moves_the_interval_and_keeps_the_place_in_it() -> None:
    """On a line a stage set is an interval; the state keeps its distance from the interval's left end."""
    readings, pairs = sample("Grid5")
    lift = holonomy_lift(readings.automaton)
    (part,) = (part for part in lift.parts if part.name == "holonomy set 3")
    tuples = lift.along(readings)
    left = {value: int(lift.state[part.values == value].min()) for value in np.unique(part.values)}
    predicted = lift.predict_alone(part, readings, pairs)
    assert (predicted >= 0).sum() > 100
    for number in np.flatnonzero(predicted >= 0).tolist():
        base, source, at = (int(one[number]) for one in (pairs.base, pairs.source, pairs.at))
        own, other = (left[part.values[tuples[word, at + 1]]] for word in (base, source))
        assert predicted[number] == readings.states[base, at] - own + other
        before, after = (lift.coordinates[tuples[base, at + step]] for step in (0, 1))
        assert before[3] == after[3]


def test_an_unreduced_sum_reduces_to_its_section() -> None:
    readings, _ = sample("D6")
    lift = series_lift(readings.automaton)
    (total,) = (v for v in candidates(readings.automaton, 8)[0] if v.name.startswith("sum of derived"))
    values = total.values(readings)
    assert (values % 3 == lift.coordinates[lift.along(readings)[:, 1:], 1]).all()
    assert (np.diff(values, axis=1) >= 0).all()
    assert values.max() > 3


def test_pairs_against_a_variable_are_those_on_which_it_says_otherwise() -> None:
    readings, _ = sample("Grid5")
    named = {v.name: v for v in candidates(readings.automaton, 8)[0]}
    asked, other = named["map of the last 4 letters"], named["map of the last 2 letters"]
    rng = np.random.default_rng(0)
    telling = telling_pairs(asked, asked.roles["applied"], readings, rng, 80, [other])
    assert len(telling) >= 40
    assert (telling.predicted != other.roles["applied"](readings, telling.pairs)).all()
    assert len(telling_pairs(asked, asked.roles["applied"], readings, rng, 80, [asked])) == 0


def test_the_rest_and_the_subspace_are_the_whole() -> None:
    basis = random_directions(9, 4, seed=0)
    both = torch.cat([basis, complement(basis)], dim=1)
    assert torch.allclose(both.T @ both, torch.eye(9, dtype=torch.float64), atol=1e-12)


def test_an_untrained_network_has_the_same_entries_in_other_places() -> None:
    stages = scan("C3")
    mixed = shuffle_weights(stages, seed=0)
    for one, other in zip(stages.blocks, mixed.blocks, strict=True):
        before, after = one.matrices[0], other.matrices[0]
        assert torch.equal(before.flatten().sort()[0], after.flatten().sort()[0])
        assert not torch.equal(before, after)
    letters = np.random.default_rng(0).integers(3, size=(50, 8))
    assert (mixed.run(letters).answers != krohn.simulate("C3", letters)).mean() > 0.3


def test_answers_dealt_out_score_by_chance() -> None:
    answers, before = np.array([1, 1, 2, 2]), np.zeros(4, dtype=np.int64)
    assert deal(answers, answers, before) == 0.5
    assert deal(answers, answers, np.array([0, 0, 1, 1])) == 1.0


def test_the_chosen_subspace_is_the_channel_that_is_used() -> None:
    """A scan of C2 keeps its map in few channels: the choice finds them, and all pairs follow."""
    stages, (readings, _) = scan("C2"), sample("C2", count=100)
    (window,) = (v for v in candidates(readings.automaton, 8)[0] if v.name == "map of the last 2 letters")
    bench = Bench(stages, stages.run(readings.letters))
    telling = telling_pairs(window, window.roles["applied"], readings, np.random.default_rng(0), 48)
    spread = Spread(bench.passed.streams[1][:, len(stages.prompt) :])
    chosen = choose(1, spread.scatters(window.values(readings)), {"applied": Trial.of(bench, telling)})
    assert chosen is not None
    assert chosen.basis.shape[1] <= DIMENSIONS[3]
    answers = bench.swapping(telling.pairs).answers(1, [chosen.basis])[:, 0]
    assert (answers == telling.predicted).all()


def test_nothing_is_held_that_only_correlates() -> None:
    sure, never = Share(1.0, 0.97, 1.0), Share(0.0, 0.0, 0.03)

    def finding(causal: Share | None, stays: Share | None, *, final: bool = False) -> Finding:
        read = Finding(layer=1, probe=sure, baseline=0.5, selectivity=0.5, chance=0.3, final=final)
        return replace(read, causal=causal, stays=stays, controls={"random": never}, rest=never)

    assert status(finding(sure, sure)) == "held"
    assert status(finding(sure, never)) != "held"
    assert status(finding(never, sure)) == status(finding(None, None)) == "readable"
    assert status(finding(sure, sure, final=True)) == "read-out"

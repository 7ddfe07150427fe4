"""Theorem 3 as printed: orders of last visits, MLPs that compare them, and networks that get it wrong."""

from dataclasses import replace

import numpy as np
import pytest

import krohn
from certify.mutants import Mutant, is_wrong
from check.changes import CHANGES, changed
from krohn.certify.arithmetic import arithmetic
from krohn.certify.ordered_mlp import Ladder, evaluate_ordered
from krohn.certify.verification import attempt
from krohn.certify.walks import next_patterns, pattern_after_padding, ranks_of
from krohn.construct.paper.theorem3 import build_grid
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Head, Mlp, Transformer

FLOAT64 = arithmetic("float64")
VARIANTS = ["log_depth", "max_pool", "constant_depth", "count"]


def refused(network: Transformer, automaton: krohn.Semiautomaton, length: int) -> bool:
    return attempt(network, automaton, length, FLOAT64)[1] is not None


@pytest.mark.parametrize("reach", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_true_order_of_visits_is_always_among_those_that_may_follow(reach: int, seed: int) -> None:
    steps = np.random.default_rng(seed).integers(-1, 2, size=60)
    places = np.concatenate([[0], np.cumsum(steps)])
    for end in range(1, len(places)):
        before, after = (pattern_after_padding(places[:n], reach) for n in (end, end + 1))
        assert after in next_patterns(before, int(steps[end - 1]), reach)


@pytest.mark.parametrize("seed", range(5))
def test_a_head_finds_the_last_visit_of_the_nearest_place_that_was_visited(seed: int) -> None:
    places = np.cumsum(np.random.default_rng(seed).integers(-1, 2, size=40))
    here, times = int(places[-1]), {int(place): time for time, place in enumerate(places)}
    pattern = pattern_after_padding(places, 3)
    near = sorted((times[p] for p in times if abs(p - here) <= 3), reverse=True)
    for offset in range(-3, 4):
        towards = range(here, here + offset + (1 if offset >= 0 else -1), 1 if offset >= 0 else -1)
        wanted = [times[place] for place in towards if place in times][-1]
        assert near[int(ranks_of([pattern], [offset])[0, 0])] == wanted


@pytest.mark.parametrize("seed", range(10))
def test_bounds_over_a_region_hold_at_its_points(seed: int) -> None:
    dice = np.random.default_rng(seed)
    mlp = Mlp(
        (dice.normal(size=(4, 6)), dice.normal(size=(6, 5)), dice.normal(size=(5, 4))),
        (dice.normal(size=6), dice.normal(size=5), dice.normal(size=4)),
    )
    ranks = dice.integers(0, 3, size=(7, 4))
    ladder = Ladder(1.0, 2.0, 0.1, np.full(4, 0.01))
    centre, radius = evaluate_ordered(mlp, np.arange(4), ranks, ranks.max(axis=1), ladder, FLOAT64)
    for _ in range(200):
        numbers = 1.0 + np.cumsum(0.1 + 0.2 * dice.random(3))
        hidden = numbers[ranks] + dice.uniform(-0.01, 0.01, size=ranks.shape)
        for number, (weight, bias) in enumerate(zip(mlp.weights, mlp.biases, strict=True)):
            hidden = (np.maximum(hidden, 0) if number else hidden) @ weight + bias
        assert (np.abs(hidden - centre) <= radius).all()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("length", [1, 2, 7, 14])
def test_every_variant_is_certified(variant: str, length: int) -> None:
    network = build_grid(krohn.zoo("Grid4"), length, variant)
    assert not refused(network.transformer, network.automaton, length)


@pytest.mark.parametrize(("spec", "length"), [("Grid2x3", 8), ("Grid4:noop", 12), ("Grid2", 16)])
def test_grids_of_other_shapes_are_certified(spec: str, length: int) -> None:
    network = krohn.compile(krohn.zoo(spec), length, method="grid", variant="count")
    assert not refused(network.transformer, network.automaton, length)


def test_long_words_are_certified_with_the_clamped_circle() -> None:
    network = krohn.compile(krohn.zoo("Grid4"), 128, method="grid", variant="log_depth", dtype="float64")
    assert not refused(network.transformer, network.automaton, 128)


def with_last_layer(network: CompiledNetwork, **changes: object) -> Transformer:
    first, last = network.transformer.layers
    return replace(network.transformer, layers=(first, replace(last, **changes)))  # type: ignore[arg-type]


def broken(network: CompiledNetwork) -> dict[str, Transformer]:
    last = network.transformer.layers[1]
    heads, mlp = last.heads, last.mlp
    silent = Head(heads[0].query, heads[0].key, 0 * heads[0].value, heads[0].output)
    oldest = Head(heads[1].query * [[-1.0, 1.0, 1.0]], heads[1].key, heads[1].value, heads[1].output)
    weak = Head(heads[0].query / 40, heads[0].key / 40, heads[0].value, heads[0].output)
    bias = tuple(b + (2.0 if n == 0 else 0.0) for n, b in enumerate(mlp.biases))
    return {
        "swapped heads": with_last_layer(network, heads=(heads[-1], *heads[1:-1], heads[0])),
        "twice the same head": with_last_layer(
            network, heads=(Head(heads[1].query, heads[1].key, heads[0].value, heads[0].output), *heads[1:])
        ),
        "no value": with_last_layer(network, heads=(silent, *heads[1:])),
        "the oldest visit": with_last_layer(network, heads=(heads[0], oldest, *heads[2:])),
        "weak scores": with_last_layer(network, heads=(weak, *heads[1:])),
        "thresholds": with_last_layer(network, mlp=Mlp(mlp.weights, bias)),
    }


@pytest.mark.parametrize("variant", ["count", "log_depth"])
@pytest.mark.parametrize(
    "name",
    ["swapped heads", "twice the same head", "no value", "the oldest visit", "weak scores", "thresholds"],
)
def test_wrong_networks_are_refused(variant: str, name: str) -> None:
    network = build_grid(krohn.zoo("Grid4"), 9, variant)
    made = broken(network)[name]
    wrong = is_wrong(Mutant(name, "", made, network.automaton), 9, "float64")
    assert refused(made, network.automaton, 9) or not wrong
    if name in ("twice the same head", "no value", "thresholds"):
        assert wrong


def test_another_automaton_is_refused_with_a_word() -> None:
    network = build_grid(krohn.zoo("Grid4"), 9, "count")
    table = network.automaton.table.copy()
    table[3, 0], other = 1, network.automaton
    changed = krohn.Semiautomaton(table=table, start=other.start)
    certificate = krohn.verify(replace(network, automaton=changed))
    assert not certificate.certified
    assert certificate.counterexample is not None
    word = certificate.counterexample.word
    assert changed.run(word)[-1] != other.run(word)[-1]


def test_what_the_proof_stumbles_over_is_a_refusal() -> None:
    """A mutant whose rows do not fit once ended in an IndexError."""
    network = krohn.compile(krohn.zoo("FlipFlop"), 8, method="grid")
    seed = (0, 16, list(CHANGES).index("padding changed"), 1)
    mutant, automaton = changed(network.transformer, network.automaton, 8, "float32", "padding changed", seed)
    assert attempt(mutant, automaton, 8, arithmetic("float32"))[1] is not None

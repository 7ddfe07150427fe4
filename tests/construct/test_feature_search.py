"""The search for features against all subsets and all short words, and requests against their faults."""

from itertools import combinations, product
from math import lcm
from random import Random

import numpy as np
import pytest

from construct.small_automata import letters, shown_after
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.automata.zoo import zoo
from krohn.base.portable import UNITS, Budget
from krohn.construct.features.catalogue import moduli
from krohn.construct.features.cheapest_set import (
    MOST_FEATURES,
    DecisionTable,
    cheapest,
    choose,
    determine,
    unbeaten,
)
from krohn.construct.features.feature import Count, Feature, Latest, Place, annotate, common_rhythm, folded
from krohn.construct.features.plans import exact_length_period, exchange_conflict
from krohn.construct.request import MAX_LENGTH, Request
from krohn.errors import InvalidInput
from krohn.paper.gate_circuit import FALSE, TRUE
from krohn.paper.threshold_gates import Gates


@every("seed", range(40))
def test_the_cheapest_set_is_the_cheapest_of_all_subsets(seed: int) -> None:
    rng = Random(seed)
    count, options = rng.randint(1, 6), rng.randint(1, 7)
    costs = [rng.choice([0.5, 1.0, 1.1, 2.0]) for _ in range(options)]
    masks = [rng.randrange(1 << count) for _ in range(options)]
    most = rng.randint(1, MOST_FEATURES)
    everything = (1 << count) - 1

    def tells(chosen: tuple[int, ...]) -> bool:
        bits = 0
        for index in chosen:
            bits |= masks[index]
        return bits == everything

    subsets = [c for size in range(most + 1) for c in combinations(range(options), size) if tells(c)]
    result, nodes = cheapest(costs, masks, count, most)
    assert (result is None) == (not subsets)
    assert nodes >= 1
    if result is not None:
        assert tells(result)
        assert len(result) <= most
        best = min(sum(costs[i] for i in c) for c in subsets)
        assert sum(costs[i] for i in result) == pytest.approx(best)


@every("seed", range(20))
def test_a_feature_is_left_out_only_if_another_is_as_cheap_and_tells_as_much(seed: int) -> None:
    rng = Random(seed)
    costs, masks = [rng.choice([1.0, 2.0]) for _ in range(8)], [rng.randrange(16) for _ in range(8)]
    survivors = unbeaten(costs, masks)
    for index in range(8):
        beaten = any(costs[k] <= costs[index] and masks[k] | masks[index] == masks[k] for k in survivors)
        assert beaten or not masks[index]
    for one, other in combinations(survivors, 2):
        assert masks[one] | masks[other] not in (masks[one], masks[other]) or costs[one] != costs[other]


FEATURES: list[Feature] = [
    Count(frozenset([0]), 2, False, letters("a")),
    Count(frozenset([1]), 3, True, letters("b")),
    Latest(((0, 0), (1, 1)), letters("letters")),
    Place(1, 2),
]


def test_features_determine_the_state_exactly_where_no_two_short_words_look_alike() -> None:
    """All automata of two or three states; words of up to seven letters see every state of these products."""
    verdicts = set()
    words = [word for length in range(1, 8) for word in product(range(2), repeat=length)]
    for automaton in [*small_automata(2, 2), *small_automata(3, 2)[::6]]:
        annotated = annotate(automaton, ())
        for chosen in (FEATURES[:1], FEATURES[:2], FEATURES[1:3], FEATURES):
            result = determine(annotated, chosen, range(automaton.num_states))
            looks: dict[tuple[object, ...], set[int]] = {}
            for word in words:
                row = (word[-1], *(shown_after(f, word) for f in chosen))
                looks.setdefault(row, set()).add(automaton.run(word)[-1])
            alike = any(len(states) > 1 for states in looks.values())
            assert isinstance(result, DecisionTable) != alike
            verdicts.add(alike)
            if isinstance(result, DecisionTable):
                for (letter, *shown), states in looks.items():
                    key = (annotated.number[letter,], *(x for row in shown for x in row))
                    assert {result.rows[key]} == states
    assert verdicts == {True, False}


def test_a_choice_determines_the_state_and_no_feature_separates_a_hopeless_pair() -> None:
    parity = Semiautomaton(np.array([[1, 0], [0, 1]]))
    annotated = annotate(parity, ())
    result = choose(annotated, FEATURES, range(2), [], Budget(UNITS))
    assert result is not None
    assert [feature.meaning.name for feature in result[0]] == ["count[a] mod 2"]
    pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    assert choose(annotated, FEATURES[1:3], range(2), pairs, Budget(UNITS)) is None
    one, other = pairs[-1]
    assert parity.run(one)[-1] != parity.run(other)[-1]
    assert all(shown_after(f, one) == shown_after(f, other) for f in FEATURES[1:3])
    known = list(pairs)
    assert choose(annotated, FEATURES[1:3], range(2), pairs, Budget(UNITS)) is None  # known at once
    assert pairs == known


@every("early", [1, 2, 5])
@every("period", [1, 2, 3])
def test_folded_positions_repeat_and_keep_their_residue(early: int, period: int) -> None:
    for place in range(40):
        result = folded(place, early, period)
        assert result < early + period
        assert result == (place if place < early else result)
        assert (place - result) % period == 0
        assert folded(result, early, period) == result
    assert common_rhythm([Place(early, period), Place(3, 4)]) == (max(early, 3), lcm(period, 4))


def maps_of_length(automaton: Semiautomaton, length: int) -> set[tuple[int, ...]]:
    words = product(range(automaton.num_letters), repeat=length)
    return {tuple(automaton.run(w, q)[-1] for q in range(automaton.num_states)) for w in words}


def test_words_of_exact_lengths_repeat_their_maps_with_the_period_found() -> None:
    for automaton in [zoo("C3"), zoo("Counter5"), zoo("FlipFlop"), *small_automata(3, 2)[::15]]:
        period = exact_length_period(automaton)
        assert period is not None
        if automaton.num_letters ** (2 * period + 1) <= 3_000:
            for length in range(max(1, period - 1), period + 2):
                assert maps_of_length(automaton, length) == maps_of_length(automaton, length + period)
    assert exact_length_period(zoo("T5")) is None


def test_a_commutative_automaton_has_no_exchange_that_changes_its_state() -> None:
    for name in ("C3", "C2xC2", "Counter5", "Parity"):
        assert not exchange_conflict(zoo(name))
    assert exchange_conflict(zoo("Q8"))


def test_moduli_are_the_lengths_of_cycles() -> None:
    assert moduli(zoo("Counter5")) == [2, 3, 5]
    assert moduli(Semiautomaton.from_letters([(1, 2, 3, 0, 0)])) == [2, 3, 4]
    assert moduli(zoo("Counter13")) == [2, 3]  # beyond the largest that is tried


@pytest.mark.parametrize("seed", range(20))
def test_random_circuits_are_their_inequalities_gate_by_gate(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.paper.gate_circuit.CHUNK", 8)
    rng = Random(seed)
    gates = Gates(4)
    words = np.array(list(product((0, 1), repeat=4)), dtype=bool)
    values = {FALSE: np.zeros(16, int), TRUE: np.ones(16, int)}
    values |= {2 + i: words[:, i].astype(int) for i in range(4)}
    result = list(values)
    for _ in range(12):
        weights = {wire: rng.randint(-3, 3) for wire in rng.sample(result, 3)}
        bound = rng.randint(-3, 4)
        wire = gates.threshold(weights, bound)
        total = sum(weight * values[source] for source, weight in weights.items())
        assert (values.setdefault(wire, (total >= bound).astype(int)) == (total >= bound)).all()
        result.append(wire)
    outputs = rng.sample(result, 5)
    circuit = gates.finish([outputs])
    assert (np.array([values[wire] for wire in outputs]) == circuit.evaluate(words)[:, 0].T).all()
    assert circuit.gates <= len(gates.rows)
    for gate, sources in enumerate(circuit.sources):
        levels = [circuit.levels[wire - 6] if wire >= 6 else 0 for wire in sources.tolist()]
        assert circuit.levels[gate] == 1 + max(levels)


def test_indicators_say_which_value_a_form_has() -> None:
    gates = Gates(3)
    result = gates.indicators(({2: 2, 3: -1, 4: 1}, 5), [4, 5, 6, 7, 8])
    circuit = gates.finish([list(result.values())])
    words = np.array(list(product((0, 1), repeat=3)), dtype=bool)
    for word, bits in zip(words.astype(int), circuit.evaluate(words)[:, 0], strict=True):
        assert list(bits) == [value == 5 + word @ [2, -1, 1] for value in result]
    assert gates.disjunction([]) == FALSE
    assert gates.conjunction([]) == TRUE
    assert gates.conjunction([2, 2]) == 2


@every(
    ("options", "faults"),
    [
        ({"length": 0}, [f"length must be an integer from 1 to {MAX_LENGTH:,}; got 0"]),
        ({"length": True}, ["got True"]),
        ({"length": 2.0}, ["got 2.0"]),
        ({"method": "magic", "target": "open"}, ["method must be one of", "target must be one of"]),
        ({"gadget": "hat"}, ["gadget is an option of method scan; got method auto"]),
        ({"method": "grid", "gadget": "hat"}, ["gadget is an option of method scan"]),
        (
            {"method": "scan", "target": "observation", "activation": "sin"},
            ["target observation is", "sin is for"],
        ),
        (
            {"effort": 0, "target": "open"},
            ["target must be one of", "effort must be positive; got 0"],
        ),
    ],
)
def test_every_fault_of_a_request_is_named_at_once(options: dict[str, object], faults: list[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        Request(**{"automaton": zoo("C2"), "length": 4, **options})  # type: ignore[arg-type]
    assert all(fault in str(refused.value) for fault in faults)


@pytest.mark.parametrize(
    ("length", "depth"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1024, 10), (1025, 11)]
)
def test_a_scan_doubles_its_reach_with_every_layer(length: int, depth: int) -> None:
    request = Request(zoo("C2"), np.arange(length + 1)[-1], effort=2.0)
    assert type(request.length) is int
    assert request.scan_depth == depth
    assert 2**depth >= length > 2**depth // 2
    assert request.budget().units == 2 * UNITS

"""Hand-written false witnesses: whatever they claim, only correct automata are certified.

Each is about a correct network and is checked against two-state automata that disagree with the network on
some word.
"""

import copy
import json
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from check.judge import hard_words, outputs, runs
from every import every
from krohn.check.files.reader import Automaton
from krohn.check.transformer.checker import check
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.witness.search import checkable
from proving.built_networks import compiled

LENGTH = 8
MOST = 2
Witness = dict[str, Any]
Lie = Callable[[Witness], Any]
NOTHING = {"shape": [0, 1]}


def merge(turn: Any, wide: Any, classes: list[int]) -> Witness:
    return {"kind": "merge", "states": [0], "classes": classes, "turn": turn, "wide": wide}


def step(witness: Witness, kind: str) -> Witness:
    return next(item for item in witness["steps"] if item["kind"] == kind)


def worth(power: int) -> list[list[float]]:
    return [[2.0**-power], [0.0], [0.0]]


def blind(witness: Witness, *before: Witness) -> Witness:
    """One state that keeps nothing, after some merges."""
    mlp = {"follow": [[0, 0]], "base": [0], "shown": [[0, 0]], "kept": [[0]], "folds": [[1, 0, 0]]}
    seen = {"kind": "mlp", **mlp, "wide": [[0.0]] * 3, "blocks": 1}
    last = merge(NOTHING, {"shape": [3, 0]}, [0])
    return {"kind": "layered", "steps": [*witness["steps"][:2], *before, seen, last]}


def a_counter_that_wraps_around(witness: Witness) -> Any:
    """Steps of 2^40, then 2^24 times that: 2^64 is 0 to numpy. It deceived a version."""
    return blind(witness, merge([[1 << 40]], worth(40), [0, 0]), merge([[1 << 24]], worth(64), [0]))


def a_counter_that_wraps_to_minus_one(witness: Witness) -> Any:
    """The same to −1, which has the parity of 1 but another size."""
    one, other = merge([[1 << 40]], worth(40), [0, 0]), merge([[(1 << 24) - 1]], worth(64), [0])
    return blind(witness, one, other)


def a_counter_with_too_many_values(witness: Witness) -> Any:
    """Sixteen gigabytes of values of one counter."""
    return blind(witness, merge([[1 << 28]], worth(28), [0, 0]))


def a_counter_of_no_worth(witness: Witness) -> Any:
    """The counter stays, with a claimed worth of 0."""
    return blind(witness, merge([[1]], [[0.0]] * 3, [0, 0]))


def a_counter_forgotten(witness: Witness) -> Any:
    return blind(witness, merge([[0]], worth(0), [0, 0]))


def letters_that_add_nothing(witness: Witness) -> Any:
    step(witness, "attention")["heads"][0]["steps"] = [[0], [0]]


def letters_that_add_twice(witness: Witness) -> Any:
    step(witness, "attention")["heads"][0]["steps"] = [[0], [2]]


def worth_that_is_doubled(witness: Witness) -> Any:
    step(witness, "attention")["heads"][0]["wide"] = [[2.0], [0.0], [0.0]]


def both_letters_alike(witness: Witness) -> Any:
    step(witness, "attention")["heads"][0]["steps"] = [[1], [1]]


def a_silent_head(witness: Witness) -> Any:
    step(witness, "attention")["heads"][0] = {"kind": "silent"}


def folded(folds: list[int], kept: list[list[int]]) -> Lie:
    def lie(witness: Witness) -> Any:
        step(witness, "mlp").update(folds=[folds], kept=kept)

    return lie


def machine(follow: list[list[int]], shown: list[list[int]] | None = None) -> Lie:
    def lie(witness: Witness) -> Any:
        step(witness, "mlp").update(follow=follow, **({"shown": shown} if shown else {}))

    return lie


def a_letter_with_choices(witness: Witness) -> Any:
    """Every letter may lead to either state: for some choice everything is right."""
    step(witness, "mlp").update(follow=[[0, 1, 0, 1], [0, 1, 0, 1]], shown=[[0, 1, 0, 1], [0, 1, 0, 1]])


def a_base_that_is_not_there(witness: Witness) -> Any:
    step(witness, "mlp")["base"] = [0, 1]


def no_mlp(witness: Witness) -> Any:
    step(witness, "mlp")["kind"] = "resolve"


def classes_merged(witness: Witness) -> Any:
    witness["steps"][-1]["classes"] = [0, 0]


def states_merged(witness: Witness) -> Any:
    witness["steps"][-1]["states"] = [0, 0]


def states_that_are_booleans(witness: Witness) -> Any:
    witness["steps"][-1]["states"] = [False, True]


PARITY: dict[str, Lie] = {
    lie.__name__: lie
    for lie in (
        *(a_counter_that_wraps_around, a_counter_that_wraps_to_minus_one, a_counter_with_too_many_values),
        *(a_counter_of_no_worth, a_counter_forgotten, letters_that_add_nothing, letters_that_add_twice),
        *(worth_that_is_doubled, both_letters_alike, a_silent_head, a_letter_with_choices),
        *(a_base_that_is_not_there, no_mlp, classes_merged, states_merged),
        states_that_are_booleans,
    )
} | {
    "a residue of 4": folded([4, 0, 0], [[0], [1]]),
    "a residue of 1": folded([1, 0, 0], [[0], [0]]),
    "a ceiling of 1": folded([0, 0, 1], [[0], [1]]),
    "a floor and a ceiling of 0": folded([0, 0, 0], [[0], [0]]),
    "another start": folded([2, 0, 0], [[1], [0]]),
    "states that stay": machine([[0, 0], [1, 1]]),
    "states that stay and show both": machine([[0, 0], [1, 1]], [[0, 1], [1, 0]]),
    "states that change places": machine([[1, 0], [0, 1]]),
    "states shown the wrong way round": machine([[0, 1], [1, 0]], [[1, 0], [0, 1]]),
    "one state for all": machine([[0, 0], [0, 0]]),
}


def in_cells(**changes: Any) -> Lie:
    def lie(witness: Witness) -> Any:
        rule = next(
            head for item in witness["steps"] for head in item.get("heads", []) if head["kind"] == "cells"
        )
        for key, change in changes.items():
            rule[key] = change(rule[key])

    return lie


def constant(value: int) -> Callable[[Any], Any]:
    def change(table: Any) -> Any:
        return [constant(value)(row) for row in table] if isinstance(table, list) else value

    return change


MEMORY: dict[str, Lie] = {
    "all unknown": in_cells(held=constant(-2)),
    "all empty": in_cells(held=constant(-1)),
    "one value for ever": in_cells(held=constant(0)),
    "the other value for ever": in_cells(held=constant(1)),
    "all values alike": in_cells(value_of=constant(0)),
    "all keys alike": in_cells(key_of=constant(0)),
    "all queries alike": in_cells(query_of=constant(0)),
    "all are members": in_cells(member=constant(1)),
    "none is a member": in_cells(member=constant(0)),
    "orders backwards": in_cells(order=lambda orders: [order[::-1] for order in orders]),
    "cells twice": in_cells(order=lambda orders: [order * 2 for order in orders]),
    "no cell": in_cells(order=lambda orders: [[] for _ in orders]),
}


def in_scan(key: str, value: Any) -> Lie:
    def lie(witness: Witness) -> Any:
        witness[key] = value

    return lie


SCAN: dict[str, Lie] = {
    "padding that swaps": in_scan("padding", [1, 0]),
    "padding that does nothing": in_scan("padding", [0, 1]),
    "padding to the other point": in_scan("padding", [1, 1]),
    "letters that do nothing": in_scan("letters", [[0, 1], [0, 1], [0, 1]]),
    "letters exchanged": in_scan("letters", [[0, 1], [1, 1], [0, 0]]),
    "letters that swap": in_scan("letters", [[1, 0], [0, 0], [1, 1]]),
    "one channel for both points": in_scan("channels", [[2, 2]] * 4),
    "points exchanged": in_scan("channels", [[3, 2]] * 4),
    "points exchanged halfway": in_scan("channels", [[2, 3], [2, 3], [3, 2], [3, 2]]),
    "other channels": in_scan("channels", [[0, 1]] * 4),
    "a layer too few": in_scan("channels", [[2, 3]] * 3),
    "a channel from behind": in_scan("channels", [[-4, -3]] * 4),
}


def in_cut(change: Callable[[list[dict[str, Any]]], Any]) -> Lie:
    def lie(witness: Witness) -> Any:
        witness["cuts"][0] = change(witness["cuts"][0])

    return lie


def other_units(change: Callable[[Any], Any]) -> Lie:
    return in_cut(lambda cuts: [{**cuts[0], "units": change(np.array(cuts[0]["units"])).tolist()}, *cuts[1:]])


WIDE: dict[str, Lie] = {
    "no rounds": in_cut(lambda cuts: []),
    "one round too few": in_cut(lambda cuts: cuts[:1]),
    "a round twice": in_cut(lambda cuts: [cuts[0], cuts[0], *cuts[1:]]),
    "rounds backwards": in_cut(lambda cuts: cuts[::-1]),
    "a round that ends too early": in_cut(lambda cuts: [{**cuts[0], "stage": 1}, *cuts[1:]]),
    "a round that ends too late": in_cut(lambda cuts: [{**cuts[0], "stage": 3}, *cuts[1:]]),
    "a round at the end": in_cut(lambda cuts: [*cuts[:1], {**cuts[1], "stage": 5}]),
    "points exchanged in all windows": other_units(lambda units: units[:, ::-1]),
    "points exchanged in one window": other_units(lambda units: np.r_[units[:1, ::-1], units[1:]]),
    "windows exchanged": other_units(lambda units: units[::-1]),
    "one unit twice": other_units(lambda units: np.r_[units[:1, [0, 0]], units[1:]]),
    "a window too few": other_units(lambda units: units[1:]),
    "units from behind": other_units(lambda units: units - 100),
    "units beyond the last": other_units(lambda units: units + 100),
}
CASES = [
    *(("FlipFlop", "wide", WIDE, name) for name in WIDE),
    *(("Parity", "cascade", PARITY, name) for name in PARITY),
    *(("FlipFlop", "cascade", MEMORY, name) for name in MEMORY),
    *(("FlipFlop", "scan", SCAN, name) for name in SCAN),
]


@cache
def case(spec: str, method: str) -> tuple[Any, Any, str, list[Automaton], list[bool]]:
    """Network, its witness as text, automata with two states, and which of them the network simulates."""
    net = compiled(spec, LENGTH, method)
    record, failure, _ = attempt(net.transformer, net.automaton, LENGTH, arithmetic("float64"))
    assert failure is None
    network, _ = checkable(net.transformer, net.automaton)
    letters = net.automaton.num_letters
    tables = [np.array(rows).reshape(2, letters) for rows in product(range(2), repeat=2 * letters)]
    automata = [Automaton(table, start, np.arange(2)) for table in tables for start in range(2)]
    if len(automata) > MOST:  # the right one, and every n-th of the others
        own = Automaton(np.asarray(net.automaton.table, dtype=np.int64), net.automaton.start, np.arange(2))
        automata = [own, *automata[:: len(automata) // MOST]]
    words = list(hard_words(letters, LENGTH, most=300))
    shown = [outputs(net.transformer, batch, "float64") for batch in words]
    right = [
        all((runs(a.table, a.start, batch) == got).all() for batch, got in zip(words, shown, strict=True))
        for a in automata
    ]
    return network, net, json.dumps(record.witness), automata, right


@pytest.mark.parametrize("part", ["few", "rest"])
@every(("spec", "method", "lies", "name"), CASES)
def test_a_lie_proves_nothing_that_is_not_true(
    spec: str, method: str, lies: dict[str, Lie], name: str, part: str
) -> None:
    """Of each lie one wrong automaton in turn; ``make attacks`` has the rest."""
    network, _, text, automata, right = case(spec, method)
    witness = json.loads(text)
    lie = copy.deepcopy(lies[name](witness) or witness)
    wrong = [automaton for automaton, true in zip(automata, right, strict=True) if not true]
    assert len(wrong) > 1
    turn = list(lies).index(name) % len(wrong)
    for automaton in wrong[turn : turn + 1] if part == "few" else wrong[:turn] + wrong[turn + 1 :]:
        verdict = check(network, automaton, "float64", LENGTH, lie)
        assert not verdict.certified
        assert "MemoryError" not in verdict.reason


@pytest.mark.parametrize(
    ("spec", "method"),
    [("Parity", "cascade"), ("FlipFlop", "cascade"), ("FlipFlop", "scan"), ("FlipFlop", "wide")],
)
def test_the_honest_witness_proves_what_is_true_and_nothing_else(spec: str, method: str) -> None:
    network, _, text, automata, right = case(spec, method)
    verdicts = [check(network, a, "float64", LENGTH, json.loads(text)).certified for a in automata]
    assert verdicts == right
    assert any(right)
    assert not all(right)


def test_a_witness_that_runs_two_blocks_as_one_is_refused() -> None:
    network, _, text, automata, right = case("Parity", "cascade")
    witness = json.loads(text)
    step(witness, "mlp")["blocks"] = 2
    verdict = check(network, automata[right.index(True)], "float64", LENGTH, witness)
    assert not verdict.certified
    assert "blocks must be a whole number" in verdict.reason

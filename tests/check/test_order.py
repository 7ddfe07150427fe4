"""Two heads whose positions are compared: certified networks, false witnesses about their order, attacks."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from check.judge import outputs
from every import every
from krohn import compile, verify
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.files.reader import Automaton
from krohn.check.ground import between
from krohn.check.transformer.checker import check
from krohn.check.transformer.order import AFTER, AT, BEFORE, hull_of, order_after
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Transformer
from krohn.proving.witness.search import checkable

LENGTH = 8
BA = np.array([[0, 1], [2, 1], [2, 2]])
"""Whether an a came after some b: the latest a against the earliest b."""
IN_ORDER = np.array([[1, 0, 0], [1, 2, 1], [3, 2, 2], [3, 4, 3], [4, 4, 4]])
"""How much of abab was met: the second layer compares flags that the first one wrote."""
AUTOMATA = {"who is later": lambda: Semiautomaton(BA, 0), "annotated": lambda: Semiautomaton(IN_ORDER, 0)}
Witness = Any


@cache
def proved(which: str) -> tuple[CompiledNetwork, Witness]:
    network = compile(AUTOMATA[which](), LENGTH, method="features", unproved=True)
    certificate = verify(network, second_opinion=False)
    assert certificate.certified
    assert certificate.witness is not None
    return network, certificate.witness


def verdict(which: str, witness: Witness, table: np.ndarray | None = None) -> bool:
    network, _ = proved(which)
    held, right = checkable(network.transformer, network.automaton)
    if table is not None:
        right = Automaton(table, right.start, right.shows)
    return check(held, right, "float64", LENGTH, witness).certified


def attention(witness: Witness) -> Witness:
    """The last step with a pair."""
    return [step for step in witness["steps"] if step.get("pairs")][-1]


def compared(witness: Witness) -> list[Witness]:
    """The heads that are compared."""
    step = attention(witness)
    return [step["heads"][step["pairs"][0][key]] for key in ("first", "second")]


def no_pair(witness: Witness) -> None:
    del attention(witness)["pairs"]


def against_itself(witness: Witness) -> None:
    pair = attention(witness)["pairs"][0]
    pair["second"] = pair["first"]


def another_head(witness: Witness) -> None:
    step = attention(witness)
    named = set(step["pairs"][0].values())
    step["pairs"][0]["second"] = next(n for n in range(len(step["heads"]) + 1) if n not in named)


def twice(witness: Witness) -> None:
    attention(witness)["pairs"] *= 2


def other_end(witness: Witness) -> None:
    for head in compared(witness):
        head["earliest"] = not head["earliest"]


def exchanged(witness: Witness) -> None:
    step = attention(witness)
    one, two = step["pairs"][0]["first"], step["pairs"][0]["second"]
    step["heads"][one], step["heads"][two] = step["heads"][two], step["heads"][one]


def padding_among_letters(witness: Witness) -> None:
    for head in compared(witness):
        head["member"][head["order"][0][0]][-1] = 1


def letter_before_the_first(witness: Witness) -> None:
    for head in compared(witness):
        head["held"][0][head["order"][0][0]] = 0


def padding_first(witness: Witness) -> None:
    for head in compared(witness):
        head["order"] = [order[::-1] for order in head["order"]]


def letters_twice(witness: Witness) -> None:
    for head in compared(witness):
        cell = head["order"][0][0]
        head["member"].append(head["member"][cell])
        head["held"] = [[*row, row[cell]] for row in head["held"]]
        head["offset"] = {"shape": [len(head["held"]), len(head["member"]), 0]}
        head["order"] = [[*order, len(head["member"]) - 1] for order in head["order"]]


def all_letters(witness: Witness) -> None:
    for head in compared(witness):
        cell = head["order"][0][0]
        head["member"][cell] = [1] * (len(head["member"][cell]) - 1) + [0]


def nothing_known(witness: Witness) -> None:
    for head in compared(witness):
        head["held"] = [[-2] * len(row) for row in head["held"]]


def remembered(witness: Witness) -> Iterator[tuple[int, int, tuple[Any, ...]]]:
    """Pairs of states that differ only in the order of the letters."""
    step = attention(witness)
    known = [
        (step["base"][s], *(tuple(head["held"][s]) for head in step["heads"] if "held" in head))
        for s in range(len(step["follow"]))
    ]
    for s, t in product(range(len(known)), repeat=2):
        if s != t and known[s] == known[t]:
            yield s, t, known[s]


def goes_to_another_order(witness: Witness) -> None:
    step = attention(witness)
    for s, t, _ in remembered(witness):
        if s and step["shown"][s] != step["shown"][t]:
            step["follow"] = [[t if q == s else q for q in row] for row in step["follow"]]
            return


def shows_another_order(witness: Witness) -> None:
    step = attention(witness)
    for s, t, _ in remembered(witness):
        if step["shown"][s] != step["shown"][t]:
            step["shown"][s] = step["shown"][t]
            return


def all_orders_one(witness: Witness) -> None:
    """Merges states that hold the same letters, so that their order could be chosen freely."""
    step, first = attention(witness), dict[tuple[Any, ...], int]()
    for s, t, known in remembered(witness):
        first.setdefault(known, min(s, t))
    leader = {s: first[known] for s, _, known in remembered(witness)}
    step["follow"] = [[leader.get(q, q) for q in row] for row in step["follow"]]


LIES = {
    "no pair": no_pair,
    "against itself": against_itself,
    "a head that does not remember": another_head,
    "twice": twice,
    "earliest for latest": other_end,
    "each head's memory is the other's": exchanged,
    "padding in the cell of letters": padding_among_letters,
    "a letter before the first": letter_before_the_first,
    "padding is read first": padding_first,
    "two cells of letters": letters_twice,
    "every letter is a member": all_letters,
    "cells are not known": nothing_known,
    "another order follows": goes_to_another_order,
    "another order is shown": shows_another_order,
    "orders are not told apart": all_orders_one,
}


@every("which", AUTOMATA)
@every("name", LIES)
def test_a_lie_about_a_pair_is_refused(name: str, which: str) -> None:
    _, witness = proved(which)
    assert verdict(which, witness)
    changed = copy.deepcopy(witness)
    LIES[name](changed)
    assert changed != witness
    assert not verdict(which, changed)


def test_who_is_called_first_does_not_matter() -> None:
    changed = copy.deepcopy(proved("annotated")[1])
    pair = attention(changed)["pairs"][0]
    pair["first"], pair["second"] = pair["second"], pair["first"]
    assert verdict("annotated", changed)


@pytest.mark.parametrize("which", AUTOMATA)
def test_no_automaton_with_another_transition_is_certified_by_a_pair(which: str) -> None:
    network, witness = proved(which)
    table = np.array(network.automaton.table)
    for row, letter in np.ndindex(table.shape):
        other = table.copy()
        other[row, letter] = (table[row, letter] + 1) % len(table)
        assert not verdict(which, witness, other)


def moved(network: Transformer, place: int, by: float) -> Any:
    """The code of one position is another one."""
    positions = network.positions.copy()
    positions[place, (positions[1] != 0) & (positions[0] == 0)] += by
    return changed_part(network, positions=positions)


def changed_part(whole: Any, **parts: Any) -> Any:
    result = copy.copy(whole)
    for name, value in parts.items():
        object.__setattr__(result, name, value)
    return result


def with_head(network: Transformer, number: int, name: str, factor: float) -> Any:
    """A head of the last layer, one of its matrices multiplied."""
    *before, layer = network.layers
    heads = list(layer.heads)
    heads[number] = changed_part(heads[number], **{name: factor * getattr(heads[number], name)})
    return changed_part(network, layers=(*before, changed_part(layer, heads=tuple(heads))))


def with_bias(network: Transformer, by: float) -> Any:
    *before, layer = network.layers
    biases = (layer.mlp.biases[0] + by, *layer.mlp.biases[1:])
    mlp = changed_part(layer.mlp, biases=biases)
    return changed_part(network, layers=(*before, changed_part(layer, mlp=mlp)))


BROKEN: dict[str, Callable[[Transformer], Transformer]] = {
    "the last position stands one further": lambda n: moved(n, LENGTH, 1.0),
    "the fourth position stands at the third": lambda n: moved(n, 4, -1.0),
    "padding stands at the first letter": lambda n: moved(n, 0, 1.0),
    "one head counts twice": lambda n: with_head(n, 0, "output", 2.0),
    "one head is turned round": lambda n: with_head(n, 0, "output", -1.0),
    "one head looks for the other end": lambda n: with_head(n, 0, "key", -1.0),
    "one head hardly looks": lambda n: with_head(n, 0, "key", 1e-3),
    "distances are taken for larger ones": lambda n: with_bias(n, 3.0),
}


@every("which", AUTOMATA)
@every("name", BROKEN)
def test_a_broken_network_runs_wrong_and_is_refused(name: str, which: str) -> None:
    network, _ = proved(which)
    broken = BROKEN[name](network.transformer)
    words = np.array(list(product(range(network.automaton.num_letters), repeat=LENGTH)))
    right = outputs(network.transformer, words, "float32")
    assert (outputs(broken, words, "float32") != right).any()
    assert not verify(replace(network, transformer=broken), "float32", second_opinion=False).certified


@pytest.mark.parametrize("ends", list(product([max, min], repeat=2)))
def test_orders_follow_positions(ends: tuple[Callable[..., int], ...]) -> None:
    """Every word whose letters may be of the first kind, the second, both or none; either end of each."""
    for word in product(range(4), repeat=6):
        order = np.array(AT)
        for t in range(1, 7):
            marks = [[i for i in range(1, t) if word[i - 1] >> kind & 1] for kind in (1, 0)]
            moves = [
                bool(word[t - 1] >> kind & 1) and (end is max or not before)
                for kind, end, before in zip((1, 0), ends, marks, strict=True)
            ]
            order = order_after(order, *(np.array(move) for move in moves))
            after = [before + [t] * move for before, move in zip(marks, moves, strict=True)]
            one, two = (end(result, default=0) for end, result in zip(ends, after, strict=True))
            assert order == (AFTER if one > two else AT if one == two else BEFORE)


def test_sums_of_codes_at_a_distance() -> None:
    rng = np.random.default_rng(2)
    for begin, start in product((0, 1), repeat=2):
        for sizes in product((1, 2, 5), repeat=2):
            low = [rng.integers(-9, 9, size=(size, 1)).astype(float) for size in sizes]
            left, right = (between(values, values + 1) for values in low)
            for by in range(2):
                pairs = [
                    low[0][i, 0] + low[1][j, 0]
                    for i, j in product(range(sizes[0]), range(sizes[1]))
                    if start + i - begin - j == by or (by == 1 and start + i - begin - j > 1)
                ]
                result = hull_of((start, left), (begin, right), by)
                if result is None:
                    assert not pairs
                else:
                    assert (result.lo[0], result.hi[0]) == (min(pairs), max(pairs) + 2)

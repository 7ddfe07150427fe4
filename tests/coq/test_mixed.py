"""Layers whose heads differ in kind: they look back, count, copy the latest or the first.

Nothing that lacks a hypothesis is accepted.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.coq.stored_transformers import answers_of, bits, changed, is_right_in_torch, stored

from krohn.coq.counters import counting
from krohn.coq.counting_hints import OWN, BackHint, Counting, MatchHint, after, once
from krohn.coq.heads import NoCounters
from krohn.coq.stored import StoredTransformer
from krohn.errors import KrohnError

BACK, ENDS, BOTH = "regex:(a|b)*abb", "regex:a*b*", r"regex:\s*\w+\s*"
"""Two heads that look back; the latest and the first; heads that look back beside one that counts."""
LENGTH = 6


def wrong_distances(good: Counting) -> dict[str, Counting]:
    """Hints about heads that look back, with one mistake each."""
    layer = good.layers[0]
    head, other = layer.heads
    assert isinstance(head, BackHint)
    assert isinstance(other, BackHint)
    late = next(place for place, rule in enumerate(layer.rules) if rule != OWN)

    def changed_layer(**changes: object) -> Counting:
        return replace(good, layers=(replace(layer, **changes), *good.layers[1:]))  # type: ignore[arg-type]

    def heads(hint: BackHint) -> Counting:
        return changed_layer(heads=(hint, other))

    def ruled(rule: tuple[int, ...]) -> Counting:
        return changed_layer(rules=(*layer.rules[:late], rule, *layer.rules[late + 1 :]))

    shorter = replace(layer.groups[late], modulus=layer.groups[late].modulus + 1)
    return {
        "how far": heads(replace(head, distance=head.distance + 1)),
        "that it looks back": heads(replace(head, distance=0)),
        "a delay of that many letters": heads(replace(head, channels=other.channels)),
        "the unit": heads(replace(head, channels=tuple(replace(c, unit=2 * c.unit) for c in head.channels))),
        "a counter that waits": ruled(OWN),
        "the counter before it": ruled(after(late)),
        "a rule that is another": ruled(once(0)),
        "rules": changed_layer(rules=()),
        "the same values": changed_layer(
            sets=(*layer.sets[:late], layer.sets[late][::-1], *layer.sets[late + 1 :])
        ),
        "the same modulus": changed_layer(groups=(*layer.groups[:late], shorter, *layer.groups[late + 1 :])),
        "all that words reach": replace(good, known=good.known[1:]),
    }


def test_a_look_back_is_accepted_only_with_right_delays(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, BACK, LENGTH)
    good = counting(network.weights, network.automaton)
    assert good.right
    cases = {"nothing": (network, good)}
    cases |= {name: (network, hints) for name, hints in wrong_distances(good).items()}
    answers = dict(zip(cases, answers_of(cases.values(), longer=LENGTH + 1), strict=False))
    assert answers == {name: name == "nothing" for name in cases}
    assert is_right_in_torch(network)


def test_the_first_is_accepted_only_with_a_guard(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, ENDS, LENGTH)
    good = counting(network.weights, network.automaton)
    (number, layer) = next((i, each) for i, each in enumerate(good.layers) if each.heads)
    place = next(i for i, head in enumerate(layer.heads) if isinstance(head, MatchHint) and head.first)

    def other(**changes: object) -> Counting:
        layers = [*good.layers]
        layers[number] = replace(layer, **changes)  # type: ignore[arg-type]
        return replace(good, layers=tuple(layers))

    guarded = [i for i, rule in enumerate(layer.rules) if rule[0] == 2]
    guards = {layer.rules[i][1] for i in guarded}
    latest = [*layer.heads]
    latest[place] = replace(latest[place], first=False)  # type: ignore[type-var]
    free = tuple(OWN if i in guarded else rule for i, rule in enumerate(layer.rules))
    late = tuple(after(rule[1]) if rule[0] == 2 else rule for rule in layer.rules)
    none = tuple((0,) * len(row) if i in guards else row for i, row in enumerate(layer.sets))
    off = tuple(tuple(None for _ in row) if i in guards else row for i, row in enumerate(layer.sets))
    cases = [
        good,
        other(heads=tuple(latest)),
        other(rules=free),
        other(rules=late),
        other(sets=none),
        other(sets=off),
    ]
    answers = answers_of([(network, hints) for hints in cases])
    assert answers == [True, *(False,) * (len(cases) - 1)]


@pytest.mark.parametrize("name", [BACK, ENDS, BOTH])
def test_what_is_accepted_after_a_change_is_right(program: Path, tmp_path: Path, name: str) -> None:
    """Hints are read off the changed network itself."""
    network, rng = stored(tmp_path / "net", name, LENGTH), np.random.default_rng(66)
    numbers = [(t, place) for t in network.tensors for place in np.flatnonzero(t.words).tolist()]
    cases: list[tuple[StoredTransformer, Counting]] = [
        (network, counting(network.weights, network.automaton))
    ]
    for _ in range(40):
        tensor, place = numbers[rng.integers(len(numbers))]
        number = float(tensor.words.view(np.float64)[place])
        factor = rng.choice([0.0, -1.0, 0.5, 0.9, 1.001, 1.1, 2.0])
        if tensor.dtype == "F64":
            other = changed(network, tensor.name, place, bits(number * factor))
            try:
                cases.append((other, counting(other.weights, network.automaton)))
            except (NoCounters, KrohnError):
                continue
    answers = answers_of(cases)
    assert answers[0]
    assert not all(answers)
    for (other, _), accepted in zip(cases, answers, strict=True):
        assert not accepted or is_right_in_torch(other)

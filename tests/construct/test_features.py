"""Features against their naive meaning: as machines, as registers, as plans, as certified weights."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from construct.small_automata import called, letters, random_automaton, shown_after
from every import every
from krohn import compile, zoo
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget
from krohn.construct.features.cheapest_set import PairConflict, determine
from krohn.construct.features.feature import (
    BackFeature,
    Count,
    EndPlace,
    Feature,
    Latest,
    Place,
    PlaceCount,
    Symbols,
    annotate,
)
from krohn.construct.features.plans import (
    error_bit_plan,
    exchange_conflict,
    one_layer_plan,
    plan_without_search,
    two_layer_plan,
)
from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded
from krohn.network.program import Meaning, Program, interpret, interpret_registers

Word = Sequence[int]
A, B = frozenset([0]), frozenset([1, 2])


def fold(t: int, early: int, period: int) -> int:
    while t >= early + period:
        t -= period
    return t


def last(word: Word, members: frozenset[int]) -> int:
    return max((i for i, x in enumerate(word, 1) if x in members), default=0)


def first(word: Word, members: frozenset[int]) -> int:
    return min((i for i, x in enumerate(word, 1) if x in members), default=0)


NAIVE: list[tuple[Feature, Callable[[Word], int]]] = [
    (Count(A, 3, False, letters("a")), lambda w: sum(x in A for x in w) % 3),
    (Count(B, 3, True, letters("b")), lambda w: min(2, sum(x in B for x in w))),
    (Latest(((1, 0), (2, 1)), letters("b")), lambda w: w[last(w, B) - 1] - 1 if last(w, B) else 2),
    (EndPlace(B, 2, letters("b")), lambda w: fold(last(w, B), 1, 2)),
    (EndPlace(A, 3, letters("a"), 2), lambda w: fold(last(w, A), 2, 3)),
    (EndPlace(B, 2, letters("b"), end="earliest"), lambda w: fold(first(w, B), 1, 2)),
    (Place(1, 3), lambda w: fold(len(w), 1, 3)),
    (Place(4, 1), lambda w: min(len(w), 4)),
    (BackFeature(2, 3), lambda w: w[-3] if len(w) > 2 else 3),
    (BackFeature(2, 3, before=1), lambda w: w[-3] if len(w) > 2 else 1),
    (
        PlaceCount((frozenset(), A, B), 1, 2, 3, False, called("a odd, b even"), ("a", "b", "c")),
        lambda w: sum(x in (A if i % 2 else B) for i, x in enumerate(w, 1)) % 3,
    ),
    (
        PlaceCount(
            (frozenset(), frozenset(), A, frozenset()), 3, 1, 2, True, called("a at 2"), ("a", "b", "c")
        ),
        lambda w: int(len(w) > 1 and w[1] in A),
    ),
]


def program_of(feature: Feature) -> tuple[Program, tuple[str, ...]]:
    draft = ProgramDraft(3)
    draft.source(Meaning("letter"), range(3), 3)
    names = feature.registers(draft, Symbols(("letter",), {(x,): x for x in range(3)}, (3,)))
    values = {(v,): v for v in range(draft.registers[names[0]].low, draft.registers[names[0]].high + 1)}
    return draft.finish_outputs(names, values, len(values), {}), names


@every(("feature", "naive"), NAIVE)
def test_a_gadget_means_the_same_as_a_machine_as_registers_and_naively(
    feature: Feature, naive: Callable[[Word], int]
) -> None:
    words = np.random.default_rng(5).integers(3, size=(40, 12))
    program, (name,) = program_of(feature)
    held = interpret_registers(program, words)[name][:, 1:]
    for word, values in zip(words.tolist(), held.tolist(), strict=True):
        for t in range(1, len(word) + 1):
            assert shown_after(feature, word[:t]) == (naive(word[:t]),) == (values[t - 1],)


def reset_counter() -> Semiautomaton:
    """C3 with a reset."""
    return Semiautomaton(np.array([[1, 0], [2, 0], [0, 0]]), 0, letter_names=("turn", "reset"))


ONE_LAYER = {
    "abab": lambda: zoo("abab"),
    "D8": lambda: zoo("D8"),
    "C3 with a reset": reset_counter,
    "third letter from the end": lambda: from_regex("(a|b)*a(a|b)(a|b)"),
    "identifier": lambda: from_regex("[a-c]([a-c]|[0-2])*"),
    "parity since the first b": lambda: Semiautomaton(np.array([[0, 1], [2, 1], [1, 2]]), 0),
    "date": lambda: from_regex("[0-2][0-2]-[0-2][0-2]"),
}


@every("make", ONE_LAYER.values())
def test_one_layer_is_built_and_certified(make: Callable[[], Semiautomaton]) -> None:
    """Registers name letters as people do: the figure of the README said "is 0" of the letter a."""
    network = compile(make(), 8, method="features")
    assert (network.transformer.depth, network.proved) == (1, "float32")
    assert network.program is not None
    named = {r.name.removeprefix("is ") for r in network.program.registers if r.name.startswith("is ")}
    assert {part for name in named for part in name.split()} <= set(network.automaton.letter_names)
    assert named or network.automaton.name not in ("abab", "D8")


def test_two_layers_over_annotated_letters_are_certified() -> None:
    automaton = Semiautomaton(np.array([[0, 1], [0, 2], [2, 2]]), 0)  # bb is fatal
    plan = two_layer_plan(automaton, range(3), Budget(2e6))
    assert plan is not None
    assert plan.layers == 2
    words = np.random.default_rng(3).integers(2, size=(50, 14))
    assert interpret(plan.program(3, automaton.letter_names), words).tolist() == [
        automaton.run(w) for w in words.tolist()
    ]
    network = compile(automaton, 16, method="features")
    assert (network.transformer.depth, network.proved) == (2, "float32")


def test_pairs_of_simple_notes_are_reached_before_the_units_are_spent() -> None:
    automaton = Semiautomaton(np.array([[1, 1], [0, 2], [2, 1]]), 0)  # place and a count, each modulo 2
    network = compile(automaton, 12)
    assert (network.method, network.transformer.depth, network.proved) == ("features", 2, "float32")
    words = np.array(list(product(range(2), repeat=10)))
    assert network.run(words).tolist() == [automaton.run(word) for word in words.tolist()]


def test_fatal_letters_are_counted_over_what_living_words_show() -> None:
    automaton = from_regex("d*(esd*)*")
    plan = error_bit_plan(automaton, range(automaton.num_states), Budget(2e6))
    assert plan is not None
    assert plan.layers == 2
    words = np.array(list(product(range(automaton.num_letters), repeat=6)))
    assert interpret(plan.program(automaton.num_states, automaton.letter_names), words).tolist() == [
        automaton.run(word) for word in words.tolist()
    ]
    network = compile(automaton, 16, method="features")
    assert (network.transformer.depth, network.proved) == (2, "float32")
    two_sinks = Semiautomaton(np.array([[1, 2], [1, 1], [2, 2]]), 0)
    assert error_bit_plan(two_sinks, range(3), Budget(2e6)) is None


@every("seed", range(12))
def test_plans_of_random_automata_compute_their_states(seed: int) -> None:
    automaton = random_automaton(seed)
    try:
        plan = plan_without_search(automaton, range(automaton.num_states)) or one_layer_plan(
            automaton, range(automaton.num_states), Budget(5e5)
        )
    except LimitExceeded:
        plan = None
    if plan is not None:
        words = np.random.default_rng(seed).integers(automaton.num_letters, size=(60, 15))
        states = interpret(plan.program(automaton.num_states, automaton.letter_names), words)
        assert states.tolist() == [automaton.run(word) for word in words.tolist()]


def test_a_conflict_is_two_words_that_look_alike_and_differ() -> None:
    automaton = zoo("D6")
    plain = annotate(automaton, ())
    features = [Count(frozenset([0]), 2, False, letters("toggle")), Place(1, 2)]
    result = determine(plain, features, range(automaton.num_states))
    assert isinstance(result, PairConflict)
    for feature in features:
        assert shown_after(feature, result.first) == shown_after(feature, result.second)
    assert result.first[-1] == result.second[-1]
    assert automaton.run(result.first)[-1] != automaton.run(result.second)[-1]


def test_an_exchange_of_letters_rules_out_one_layer_only_where_no_plan_is_known() -> None:
    assert exchange_conflict(zoo("D6"))
    assert exchange_conflict(zoo("S4"))
    for make in ONE_LAYER.values():
        assert not exchange_conflict(make())

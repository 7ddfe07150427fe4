"""Letters in context, features of events and their layers, against meanings written anew."""

from collections.abc import Callable, Sequence
from itertools import combinations, product

import numpy as np
import pytest

from construct.small_automata import assert_simulates
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.suffixes import BEGIN
from krohn.base.portable import Budget
from krohn.construct.compiling import find_accepted, make_request
from krohn.construct.features import event_layers
from krohn.construct.features.event_features import (
    Departures,
    EventCount,
    EventFeature,
    Subsequence,
    stands_after,
)
from krohn.construct.features.event_layers import EventLayers, coarsest, event_plan, event_proposals
from krohn.construct.features.events import event_machine
from krohn.construct.features.plans import merged_letters
from krohn.construct.features.read_off import boxes_of, read_by_boxes
from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import Unsupported
from krohn.functions import simulate
from krohn.network.lowering.assembly import lower
from krohn.network.lowering.stock_blocks import in_blocks
from krohn.network.program import Meaning, interpret
from krohn.proving.attempts import attempt

Language = Callable[[str], bool]


def language(letters: str, longest: int, accepts: Language) -> Semiautomaton:
    """The minimal automaton that tells words of up to ``longest`` letters apart by what may follow them."""
    probes = ["".join(word) for length in range(longest + 1) for word in product(letters, repeat=length)]
    number: dict[tuple[bool, ...], int] = {}
    words: list[str] = []

    def find(word: str) -> int:
        shown = tuple(accepts(word + probe) for probe in probes)
        if shown not in number:
            number[shown] = len(words)
            words.append(word)
        return number[shown]

    find("")
    table = [[find(word + letter) for letter in letters] for word in words]  # ``words`` grows on the way
    observed = [int(accepts(word)) for word in words]
    return minimize(Semiautomaton(np.array(table), observe=tuple(observed), letter_names=tuple(letters)))


def subsequence(part: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in part)


def on_tier(word: str) -> str:
    return word.replace("c", "")


LANGUAGES: dict[str, tuple[str, int, Language, int]] = {
    # By class: letters, letters of the probes, the language, and the layers that suffice.
    "SL": ("ab", 3, lambda w: "aab" not in w, 2),
    "LT": ("ab", 3, lambda w: ("aa" in w) == ("bb" in w), 2),
    "LTT": ("ab", 4, lambda w: sum(w[i : i + 2] == "ab" for i in range(len(w))) >= 2, 2),
    "SP": ("ab", 4, lambda w: not subsequence("abab", w), 2),
    "PT": ("abc", 4, lambda w: subsequence("abca", w) or subsequence("bb", w), 2),
    "SP6": ("ab", 6, lambda w: not subsequence("ababab", w), 3),
    "TSL": ("abc", 2, lambda w: "aa" not in on_tier(w), 3),
    "TLT": ("abc", 3, lambda w: ("aa" in on_tier(w)) != ("bb" in on_tier(w)), 3),
    "PLT": ("ab", 4, lambda w: "aa" in w and "bb" in w[w.index("aa") + 2 :], 2),
    "J": ("ab", 4, lambda w: subsequence("aab", w) or subsequence("bba", w), 2),
}


@pytest.fixture(scope="module", params=LANGUAGES)
def plan(request: pytest.FixtureRequest) -> tuple[Semiautomaton, EventLayers, int]:
    letters, longest, accepts, layers = LANGUAGES[request.param]
    automaton = language(letters, longest, accepts)
    found = next(iter(event_proposals(make_request(automaton, 12), Budget(3e6))))
    merged = min(
        (event_plan(automaton, Budget(4e6), merge=merge) for merge in (False, True)),
        key=lambda each: each.program.depth,
    )
    assert found.layers == merged.program.depth
    return automaton, merged, layers


def test_layers_of_a_class(plan: tuple[Semiautomaton, EventLayers, int]) -> None:
    automaton, found, layers = plan
    assert found.program.depth == layers
    longest = 8 if automaton.num_letters == 2 else 6
    words = np.array(list(product(range(automaton.num_letters), repeat=longest)))
    assert (interpret(found.program, words) == simulate(automaton, words)).all()


def test_the_state_follows_from_class_and_context(plan: tuple[Semiautomaton, EventLayers, int]) -> None:
    """Word by word: the context is the one listed suffix, and with the class it occurs with one state."""
    automaton, found, _ = plan
    merged, _ = merged_letters(automaton)
    machine = found.machine
    state_of: dict[tuple[int, int], int] = {}
    number = {state: index for index, state in enumerate(machine.order)}
    for length in range(8 if merged.num_letters == 2 else 6):
        for word in product(range(merged.num_letters), repeat=length):
            state = merged.start
            for letter in word:
                state = merged.step(state, letter)
            history = (BEGIN, *(letter for letter in word if letter in machine.tier))
            suffixes = [
                n for n, w in enumerate(machine.context.words) if history[len(history) - len(w) :] == w
            ]
            assert len(suffixes) == 1
            key = int(machine.part[number[state]]), suffixes[0]
            assert state_of.setdefault(key, state) == state


def test_arbitrarily_long_equal_words_are_refused() -> None:
    swap = Semiautomaton(np.array([[1, 0], [0, 1]]))
    with pytest.raises(Unsupported, match="equal words of any length"):
        event_machine(swap, Budget(1e6), merge=True)


def test_coarsest_suffixes_say_the_same() -> None:
    labels = {(0, 0): 1, (1, 0): 1, (0, 1): 2, (1, 1): 1, (BEGIN, 0): 1, (BEGIN, 1): 2, (BEGIN,): 5}
    short = coarsest(labels)
    assert short == {(0,): 1, (0, 1): 2, (1, 1): 1, (BEGIN, 1): 2, (BEGIN,): 5}


Sets = Sequence[frozenset[int]]


def longest_prefix(sets: Sets, word: Sequence[int]) -> int:
    """By definition: the most sets whose members stand somewhere in the word in this order."""
    fits = (
        count
        for count in range(len(sets) + 1)
        for places in combinations(range(len(word)), count)
        if all(word[place] in members for place, members in zip(places, sets, strict=False))
    )
    return max(fits)


def departed(feature: Departures, word: Sequence[int]) -> int:
    """By definition: from one departure to the next."""
    count, at = len(feature.leave), 0
    for stage, (leave, good) in enumerate(zip(feature.leave, feature.good, strict=True)):
        out = next((place for place in range(at, len(word)) if word[place] in leave), None)
        if out is None:
            return stage
        if word[out] not in good:
            return count + 1 + stage
        at = out + 1
    return count


A, B, C, AB, BC = (frozenset(members) for members in ([0], [1], [2], [0, 1], [1, 2]))
FEATURES: list[tuple[EventFeature, Callable[[Sequence[int]], int], int]] = [
    (EventCount(AB, 3, 3), lambda w: min(3, sum(x in AB for x in w)), 1),
    *[
        (Subsequence(sets, 3), lambda w, sets=sets: longest_prefix(sets, w), layers)
        for sets, layers in (
            ((A,), 1),
            ((A, B), 1),
            ((AB, BC), 1),
            ((A, B, C), 2),
            ((A, B, A, B), 2),
            ((A, B, A, B, A, B), 3),
            ((AB, BC, C), 2),
            ((A, A, B, B), 2),
            ((AB, BC, AB, C), 3),
        )
    ],
    *[
        (made, lambda w, made=made: departed(made, w), len(made.leave))
        for made in (
            Departures((AB,), (A,), 3),
            Departures((AB, BC), (B, C), 3),
            Departures((A, AB, C), (A, A, C), 3),
        )
    ],
]


@pytest.mark.parametrize(
    ("feature", "means", "layers"), FEATURES, ids=lambda item: str(getattr(item, "key", ""))
)
def test_a_feature_means_what_its_operations_compute(
    feature: EventFeature, means: Callable[[Sequence[int]], int], layers: int
) -> None:
    draft = ProgramDraft(3)
    flags: dict[frozenset[int], str] = {}

    def flag(members: frozenset[int]) -> str:
        if members not in flags:
            meaning = draft.fresh(Meaning("event", number=len(flags)))
            flags[members] = draft.source(meaning, [int(letter in members) for letter in range(3)], 0)
        return flags[members]

    name = feature.register(draft, flag, 1)
    rows: dict[tuple[int, ...], int] = {(value,): value for value in range(len(feature.after))}
    program = draft.finish_outputs((name,), rows, len(rows), {})
    words = np.array(list(product(range(3), repeat=5)))
    shown = interpret(program, words)
    for word, values in zip(words.tolist(), shown.tolist(), strict=True):
        for end in range(1, 6):
            expected = means(word[:end])
            assert values[end - 1] == expected, (word[:end], values)
            assert feature.values(word[:end])[-1] == expected
    assert program.depth == layers == feature.layers


def test_compared_heads_stand_in_one_layer() -> None:
    """The flag of one is known a layer before that of the other; only heads of one layer can be compared."""
    draft = ProgramDraft(2)
    early = draft.source(Meaning("event", number=1), [1, 0], 0)
    late = draft.source(Meaning("event", number=2), [0, 1], 0)
    mark = draft.clamp(
        [(draft.ever(early, Meaning("met", number=1)), 1)], 0, 0, 1, Meaning("event", number=3)
    )
    stands_after(draft, late, mark, 1)
    heads = [layer for layer, head in draft.heads if "t" in head.reads]
    assert heads == [1, 1]


def test_one_letter_does_not_count_for_two_sets() -> None:
    """B belongs to two sets that follow each other: the mark must stand before the letter that goes on.

    So a head that returns its own position is compared with one that returns the earliest mark.
    """
    feature, draft = Subsequence((AB, BC, C), 3), ProgramDraft(3)

    def flag(members: frozenset[int]) -> str:
        meaning = Meaning("event", number=sum(1 << member for member in members))
        if meaning.name in draft.sources:
            return meaning.name
        return draft.source(meaning, [int(letter in members) for letter in range(3)], 0)

    name = feature.register(draft, flag, 1)
    count = len(feature.after)
    program = draft.finish_outputs((name,), {(value,): value for value in range(count)}, count, {})
    transformer, _ = lower(in_blocks(program), 16)
    assert attempt(transformer, Semiautomaton(feature.after), 16, "float32")[1] is None
    twice = feature.after.copy()
    twice[0, 1] = 2  # a B alone would count for both
    assert attempt(transformer, Semiautomaton(twice), 16, "float32", once=True)[1] is not None


@pytest.mark.parametrize("seed", range(4))
def test_each_row_lies_in_one_box_of_its_output(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = np.unique(rng.integers(-1, 4, (90, 3)), axis=0)
    rows = {tuple(row): int(rng.integers(6)) for row in given.tolist()}
    boxes = boxes_of(rows)
    for row, output in rows.items():
        inside = [
            box for box in boxes if all(a <= x <= b for a, x, b in zip(box.low, row, box.high, strict=True))
        ]
        assert [box.output for box in inside] == [output]
    assert len(boxes) < len(rows)


@pytest.mark.parametrize("outputs", [5, 40])
def test_boxes_read_off_what_the_rows_say(outputs: int) -> None:
    """One digit, and two; a letter for each row, whose values come from a sum so that an MLP reads them."""
    rng = np.random.default_rng(outputs)
    given = np.unique(rng.integers(0, 4, (45, 3)), axis=0)
    wanted = rng.integers(0, outputs, len(given))
    draft = ProgramDraft(len(given))
    names = []
    for column in range(3):
        brought = draft.source(Meaning("event", number=column), given[:, column].tolist(), 0)
        meaning = Meaning("events counted", number=column)
        names.append(draft.clamp([(draft.prefix_sum(brought), 1)], 0, 0, 3, meaning))
    rows = {tuple(row): int(q) for row, q in zip(given.tolist(), wanted.tolist(), strict=True)}
    program = read_by_boxes(draft, names, rows, outputs)
    assert len(program.readout.registers) == (1 if outputs == 5 else 2)
    words = np.arange(len(given))[:, None]
    assert (interpret(program, words)[:, 0] == wanted).all()
    moved = of_one_letter(wanted, outputs)
    network, _ = lower(in_blocks(program), 1)
    assert attempt(network, moved, 1, "float32")[1] is None
    wrong = wanted.copy()
    wrong[0] = (wrong[0] + 1) % outputs
    assert attempt(network, of_one_letter(wrong, outputs), 1, "float32", once=True)[1] is not None


def of_one_letter(wanted: np.ndarray, outputs: int) -> Semiautomaton:
    return Semiautomaton(np.tile(wanted, (outputs, 1)))


@pytest.mark.parametrize("name", ["LTT", "TLT"])
def test_boxes_and_bits_are_proved(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What machines of many contexts and rows get, on small ones."""
    monkeypatch.setattr(event_layers, "FEW_ROWS", 0)
    monkeypatch.setattr(event_layers, "FEW_CONTEXTS", 0)
    letters, longest, accepts, layers = LANGUAGES[name]
    network = find_accepted(make_request(language(letters, longest, accepts), 12, method="features"))
    assert (network.transformer.depth, network.proved) == (layers, "float32")
    assert_simulates(network)


def test_two_letters_a_layer_are_proved() -> None:
    """Positions of flags that an earlier layer wrote are compared: one layer less than one letter a layer."""
    letters, longest, accepts, _ = LANGUAGES["SP6"]
    automaton = language(letters, longest, accepts)
    network = find_accepted(make_request(automaton, 24, method="features"))
    assert (network.transformer.depth, network.proved) == (3, "float32")
    assert_simulates(network)


def test_layers_do_not_grow_with_the_length() -> None:
    letters, longest, accepts, layers = LANGUAGES["TLT"]
    automaton = language(letters, longest, accepts)
    for length in (8, 40):
        network = find_accepted(make_request(automaton, length, method="features"))
        assert (network.transformer.depth, network.proved) == (layers, "float32")

"""Plans of one or two layers whose heads see features: found by search, proved by a product machine.

``wanted[q]`` is the required output in state q: the state itself, or its observation.

Some automata have dead ends: that of a date or of (abab)* follows one track of states, for any letters,
until a letter that is wrong for its place leads to a sink. Whether that has happened is a count of wrong
letters. Where one layer's annotations tell which letters are wrong while the word is alive, a second layer
counts them.

The search is expensive, so we try the exchange law first. Exchange letters x and y at two positions of one
residue, with both letters before the first and after the second position at that residue: all counts by
residue, all first and last positions, and the letters near both ends are unchanged. If the state changes, no
features of these kinds determine it (places counted one by one at the beginning apart). For residues modulo
N, where the sets of maps of words of exactly j letters repeat with period N, a conflict carries over to
every other modulus.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from krohn.automata.graph import sink_states
from krohn.automata.quotients import reachable_states
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.portable import Budget, BudgetSpent
from krohn.construct.features.catalogue import (
    letter_classes,
    letters_at,
    listed,
    moduli,
    one_layer_catalogue,
    two_layer_catalogue,
)
from krohn.construct.features.cheapest_set import (
    A_STATE,
    DecisionTable,
    FeatureLayers,
    Word,
    choose,
    determine,
)
from krohn.construct.features.feature import (
    AnnotatedLetters,
    BackFeature,
    Count,
    EndPlace,
    Feature,
    Latest,
    Place,
    PlaceCount,
    annotate,
)
from krohn.construct.request import Proposal, Request
from krohn.depth.block_search import find_block_scheme
from krohn.depth.two_words import find_two_words
from krohn.errors import LimitExceeded, Unsupported
from krohn.network.program import Meaning, Program

MOST_PLACES = 64
MOST_SETS = 48
FATAL = -1

Live = list[frozenset[int]]


def wrong_letters(automaton: Semiautomaton) -> PlaceCount | None:
    """A clamped count of letters that lead every live state of their place into a sink."""
    letters, sinks = range(automaton.num_letters), set(sink_states(automaton.table))
    live, early = _live(automaton, sinks)
    if early is None:
        return None
    members = tuple(
        frozenset(x for x in letters if states and all(automaton.step(q, x) in sinks for q in states))
        for states in live
    )
    if not any(members):
        return None
    names = automaton.letter_names
    return PlaceCount(
        (frozenset(), *members), early, len(members) + 1 - early, 2, True, Meaning("wrong letters"), names
    )


def letters_by_place(automaton: Semiautomaton) -> Iterator[PlaceCount]:
    """Whether a letter of one kind occurs at a given place, for places that every word passes once."""
    live, early = _live(automaton, set(sink_states(automaton.table)))
    result = 0
    for place, states in enumerate(live[: None if early is None else early - 1], 1):
        order = sorted(states)
        columns = [tuple(automaton.step(q, x) for q in order) for x in range(automaton.num_letters)]
        for column in sorted(set(columns)):
            kind = frozenset(x for x, other in enumerate(columns) if other == column)
            if result < MOST_SETS and len(kind) < len(columns):
                result += 1
                yield letters_at(automaton, place, kind)


def error_bit_plan(automaton: Semiautomaton, wanted: Sequence[int], budget: Budget) -> FeatureLayers | None:
    """Two layers: features that determine state and fatal letter of live words, and a count of fatal letters.

    What the features show after the fatal letter does not matter: the count stays.
    """
    merged, letters = merged_letters(automaton)
    sinks = set(sink_states(merged.table))
    if len(sinks) != 1:
        return None
    plain = without_notes(merged)
    alive = [FATAL if state in sinks else value for state, value in enumerate(wanted)]
    living = replace(plain, ends=frozenset(sinks))
    result = choose(living, one_layer_catalogue(plain), alive, [], budget)
    if result is None or not result[0]:
        return None
    noted = annotate(plain.automaton, result[0])
    fatal = frozenset(noted.number[row] for row, value in result[1].rows.items() if value == FATAL)
    features = (Count(fatal, 2, True, Meaning("fatal letters")),)
    proof = determine(noted, features, wanted)
    return FeatureLayers(noted, features, proof, letters) if isinstance(proof, DecisionTable) else None


def _live(automaton: Semiautomaton, sinks: set[int]) -> tuple[Live, int | None]:
    """The states, sinks apart, that some word reaches before its first, second, … letter, until they repeat;
    and the place from which on they do, ``None`` if they do not soon.
    """
    live = frozenset({automaton.start} - sinks)
    seen: dict[frozenset[int], int] = {}
    result: Live = []
    while live not in seen and len(result) < MOST_PLACES:
        seen[live] = len(result) + 1
        result.append(live)
        live = frozenset(automaton.step(q, x) for q in live for x in range(automaton.num_letters)) - sinks
    return result, seen.get(live)


PAIRED = 18
"""How many of the simplest annotations are tried in pairs."""


def first_layers(plain: AnnotatedLetters) -> Iterator[tuple[Feature, ...]]:
    """Single notes, then pairs; a pair comes early if both of its notes do."""
    notes = list(_notes(plain))
    yield from ((note,) for note in notes)
    pairs = combinations(range(min(PAIRED, len(notes))), 2)
    yield from ((notes[i], notes[j]) for i, j in sorted(pairs, key=lambda pair: (sum(pair), pair)))


def _notes(plain: AnnotatedLetters) -> Iterator[Feature]:
    automaton = plain.automaton
    count, cycles = automaton.num_letters, moduli(automaton)
    names = automaton.letter_names
    singles = [(frozenset([x]), listed([names[x]])) for x in range(count)]
    yield BackFeature(1, count)
    yield Place(1, 2)
    yield from (Count(members, m, False, name) for m in cycles for members, name in singles)
    for members, name in letter_classes(plain):
        if 1 < len(members) < count or (count == 2 and len(members) == 1):
            yield Latest(tuple((x, n) for n, x in enumerate(sorted(members))), name)
    yield from (EndPlace(members, 2, name) for members, name in singles)
    yield from (Count(members, size, True, name) for size in (2, 3) for members, name in singles)
    yield BackFeature(2, count)


def merged_letters(automaton: Semiautomaton) -> tuple[Semiautomaton, tuple[int, ...]]:
    """Merges letters that act alike on reachable states; and the class of each letter."""
    order = reachable_states(automaton)
    columns = [tuple(automaton.step(q, x) for q in order) for x in range(automaton.num_letters)]
    number = {column: index for index, column in enumerate(dict.fromkeys(columns))}
    classes = tuple(number[column] for column in columns)
    first = [classes.index(index) for index in range(len(number))]
    names = tuple(automaton.letter_names[x] for x in first)
    smaller = Semiautomaton(automaton.table[:, first], automaton.start, automaton.state_names, names)
    return smaller, classes


FARTHEST_BACK = 12
MOST_BACK = 64
"""Most look-back heads, one per distance; beyond it other plans are smaller."""
FEW_ROWS, MAX_ROWS = 10_000, 20_000
"""Most rows of a read-out: before a search, and as a fallback after one that found nothing."""
MOST_STATES, MOST_DEFINITE = 600, 10_000
"""Most states for which features are searched; and where the most recent letters may decide."""
KEPT_PAIRS = 60
MOST_IN_SECOND = 3

Letters = tuple[int, ...]


def plain_letters(automaton: Semiautomaton) -> tuple[AnnotatedLetters, Letters]:
    """The letters without annotations, those that act alike merged; and the class of each letter."""
    merged, letters = merged_letters(automaton)
    return without_notes(merged), letters


def without_notes(merged: Semiautomaton) -> AnnotatedLetters:
    """The letters without annotations, for a search."""
    if merged.num_states > MOST_STATES:
        raise LimitExceeded(f"features are looked for up to {MOST_STATES} states; got {merged.num_states}")
    return annotate(merged, ())


def plan_without_search(automaton: Semiautomaton, wanted: Sequence[int]) -> FeatureLayers | None:
    """One layer for automata known to need no more: definite ones, and one track with dead ends.

    If the output is an observation, a single recent letter may be enough. Where the last letter and the place
    decide, the layer has no heads.
    """
    merged, letters = merged_letters(automaton)
    rhythm = _by_place(merged)
    if rhythm is not None:
        plain = annotate(merged, ())
        result = determine(plain, (rhythm,), wanted)
        if isinstance(result, DecisionTable):
            return FeatureLayers(plain, (rhythm,), result, letters)
    wrong, delay = wrong_letters(merged), delay_of(merged, FEW_ROWS)
    few = len(set(wanted)) < automaton.num_states
    if wrong is None and delay is None and not few:
        return None
    plain = annotate(merged, ())
    if few:
        alone = _one_back(plain, letters, wanted)
        if alone is not None:
            return alone
    if wrong is not None:
        for features in ((wrong,), (wrong, Place(wrong.early, wrong.period))):
            result = determine(plain, features, wanted)
            if isinstance(result, DecisionTable):
                return FeatureLayers(plain, tuple(features), result, letters)
    return _definite(plain, wanted, letters, delay)


LONGEST_RHYTHM = 200


def _by_place(automaton: Semiautomaton) -> Place | None:
    """The places from which, and the period with which, the states after words of one length repeat.

    ``None`` if the last letter and the place do not decide the state.
    """
    if find_two_words(automaton.table.tolist(), automaton.start) is not None:
        return None
    reached = [frozenset([automaton.start])]
    while reached[-1] not in reached[:-1]:
        reached.append(frozenset(letter[q] for q in reached[-1] for letter in automaton.letters))
        if len(reached) > LONGEST_RHYTHM:
            return None
    first = reached.index(reached[-1])
    return Place(first + 1, len(reached) - 1 - first)


def one_layer_plan(automaton: Semiautomaton, wanted: Sequence[int], budget: Budget) -> FeatureLayers | None:
    """The cheapest features of one layer that a search finds."""
    plain, letters = plain_letters(automaton)
    wrong = wrong_letters(plain.automaton)
    special: list[Feature] = [] if wrong is None else [wrong, Place(wrong.early, wrong.period)]
    special += letters_by_place(plain.automaton)
    result = choose(plain, special + one_layer_catalogue(plain), wanted, [], budget)
    if result is None:
        return _definite(plain, wanted, letters, delay_of(plain.automaton, MAX_ROWS))
    return FeatureLayers(plain, *result, letters)


def _one_back(plain: AnnotatedLetters, letters: Letters, wanted: Sequence[int]) -> FeatureLayers | None:
    """The current letter, or the one at a single distance back, if it alone decides."""
    for distance in range(FARTHEST_BACK + 1):
        features = (BackFeature(distance, plain.automaton.num_letters),) if distance else ()
        result = determine(plain, features, wanted)
        if isinstance(result, DecisionTable):
            return FeatureLayers(plain, features, result, letters)
    return None


def _definite(
    plain: AnnotatedLetters, wanted: Sequence[int], letters: Letters, delay: int | None
) -> FeatureLayers | None:
    """The most recent letters, as many as determine the state, if some number does.

    If a letter fixes the start state, it pads shorter words on the left.
    """
    automaton = plain.automaton
    count = automaton.num_letters
    if delay is None or delay > MOST_BACK:
        return None
    before = next((x for x in range(count) if automaton.step(automaton.start, x) == automaton.start), None)
    features = tuple(BackFeature(distance, count, before) for distance in range(1, delay))
    result = determine(plain, features, wanted)
    assert isinstance(result, DecisionTable)
    if len(set(wanted)) < plain.automaton.num_states:
        for feature in features:  # an observation may not need all of them
            fewer = tuple(other for other in features if other is not feature)
            enough = determine(plain, fewer, wanted)
            if isinstance(enough, DecisionTable):
                features, result = fewer, enough
    return FeatureLayers(plain, features, result, letters)


def two_layer_plan(automaton: Semiautomaton, wanted: Sequence[int], budget: Budget) -> FeatureLayers | None:
    """Features of letters that the first layer has annotated."""
    plain, letters = plain_letters(automaton)
    pairs: list[tuple[Word, Word]] = []
    for notes in first_layers(plain):
        try:
            annotated = annotate(plain.automaton, notes)
        except LimitExceeded:
            continue
        budget.spend(A_STATE * len(annotated.rows))
        catalogue = two_layer_catalogue(annotated)
        result = choose(annotated, catalogue, wanted, pairs, budget, MOST_IN_SECOND)
        if result is not None:
            return FeatureLayers(annotated, *result, letters)
        pairs.sort(key=lambda pair: len(pair[0]) + len(pair[1]))
        del pairs[KEPT_PAIRS:]
    return None


def delay_of(automaton: Semiautomaton, most: int) -> int | None:
    """The d such that the last d letters determine the state, if there are few enough words of d letters.

    States have one label after j rounds if every word of j letters leads them to the same state.
    """
    labels, words, delay = np.arange(automaton.num_states), 1, 0
    while words <= most:
        if labels.max() == 0:
            return delay
        _, after = np.unique(labels[automaton.table], axis=0, return_inverse=True)
        if after.max() == labels.max():  # no further states merged, so none ever will
            break
        labels, words, delay = after.reshape(-1), words * automaton.num_letters, delay + 1
    return None


MOST_MAPS = 400
OTHERWISE = 12
MOST_NODES = 200_000


def exact_length_period(automaton: Semiautomaton) -> int | None:
    """The N such that words of exactly j letters have the same maps as those of j + N, for all j ≥ N − 1."""
    letters = automaton.letters
    sets = [frozenset(letters)]
    seen: dict[frozenset[Transformation], int] = {}
    while sets[-1] not in seen:
        seen[sets[-1]] = len(sets)
        longer: set[Transformation] = set()
        for f, g in product(sets[-1], letters):
            longer.add(tuple(g[q] for q in f))
            if len(longer) > MOST_MAPS:
                return None
        sets.append(frozenset(longer))
    first, period = seen[sets[-1]], len(sets) - seen[sets[-1]]
    return period * (first // period + 1)


def exchange_conflict(automaton: Semiautomaton) -> bool:
    """Whether some exchange changes the state; ``False`` also if the search would be too large."""
    if automaton.num_states**2 > MOST_NODES:
        return False
    modulus = exact_length_period(automaton) or OTHERWISE
    if modulus * automaton.num_states**2 > MOST_NODES:
        return False
    # Sort key: letters that keep most states distinct first, because resets hide earlier exchanges.
    order = sorted(range(automaton.num_letters), key=lambda letter: -len(set(automaton.letters[letter])))
    pairs = combinations(order, 2)
    return any(_conflict(automaton, modulus, x, y) for x, y in pairs)


def _conflict(automaton: Semiautomaton, modulus: int, x: int, y: int) -> bool:
    """Nodes: stage (before, between, after), whether x and y were seen at the residue, phase, two states."""
    table, letters = automaton.table.tolist(), range(automaton.num_letters)
    todo = [(1, False, False, phase, automaton.start, automaton.start) for phase in range(modulus)]
    seen = set(todo)
    while todo:  # depth first: a conflict lies deep, and often there are many
        stage, had_x, had_y, phase, p, q = todo.pop()
        here, one, other = (phase + 1) % modulus == 0, table[p], table[q]
        steps = [
            (stage, had_x or (here and a == x), had_y or (here and a == y), one[a], other[a]) for a in letters
        ]
        if here and stage == 1 and had_x and had_y:
            steps.append((2, True, True, one[x], other[y]))
        if here and stage == 2:
            steps.append((3, False, False, one[y], other[x]))
        for after, now_x, now_y, first, second in steps:
            if after == 3 and first == second:
                continue
            if after == 3 and now_x and now_y:
                return True
            node = (after, now_x, now_y, (phase + 1) % modulus, first, second)
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return False


ONE_LAYER, ERROR_BIT, TWO_LAYERS = 3_000_000, 1_000_000, 6_000_000
"""Units of work at effort 1."""

MOST_IN_TWO_LAYERS = 16
"""Most states for which two layers are searched at effort 1."""

FEW_STATES = 100
"""With more states, proving that no one-layer plan works is faster than the search."""


FeatureSearch = Callable[..., FeatureLayers | None]
"""A search for a plan: of an automaton, what must be known, and a budget."""


def proposals_without_search(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Definite automata, and one track with dead ends."""
    yield from _propose(
        request, lambda automaton, wanted, _: plan_without_search(automaton, wanted), ONE_LAYER, budget
    )


def one_layer_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """The cheapest features of one layer; no search where an exchange of letters rules them out."""
    if exchange_conflict(merged_letters(request.automaton)[0]):
        raise Unsupported("the state does not follow from counts and from first, last and nearby letters")
    if request.automaton.num_states > FEW_STATES and find_block_scheme(request.automaton) is not None:
        raise Unsupported("a block scheme shows that no plan of one layer works for every length")
    yield from _propose(request, one_layer_plan, ONE_LAYER, budget)


def error_bit_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Where words reach a sink: features of live words, and a count of fatal letters."""
    yield from _propose(request, error_bit_plan, ERROR_BIT, budget)


def two_layer_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """Features over annotated letters; groups are left to the cascade, which can count too."""
    if all(len(set(letter)) == len(letter) for letter in request.automaton.letters):
        raise Unsupported("two layers of features are not looked for in groups")
    if request.automaton.num_states > MOST_IN_TWO_LAYERS * max(1.0, request.effort):
        few = f"up to {MOST_IN_TWO_LAYERS} states at effort 1"
        raise Unsupported(f"two layers of features are looked for {few}")
    yield from _propose(request, two_layer_plan, TWO_LAYERS, budget)


def _propose(request: Request, search: FeatureSearch, units: float, budget: Budget) -> Iterator[Proposal]:
    automaton = request.automaton
    if automaton.num_states > MOST_DEFINITE:
        raise Unsupported(f"features are looked for up to {MOST_DEFINITE:,} states")
    try:
        plan = search(automaton, automaton.outputs, Budget(units * request.effort))
    except BudgetSpent:
        budget.give_up("a search for features")
        raise
    if plan is None:
        raise Unsupported(
            "no set of the features that are searched (docs/depth.md of the repository) "
            "determines the state after every word"
        )

    def program() -> Program:
        return plan.program(len(automaton.output_names), automaton.letter_names)

    yield Proposal("features", plan.layers, program, plan.titles(automaton))

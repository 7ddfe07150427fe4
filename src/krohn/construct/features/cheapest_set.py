"""The cheapest set of features that determines the state, by counterexample-guided search.

Two words that look alike but lead to different states must be separated by some feature of the set. Each
round takes the cheapest set that separates all known pairs and checks the product machine; a conflict is a
new pair. Every choice is deterministic.

That features determine the state is proved for words of every length, by a product of finite machines: the
automaton and all features read the same letters. They determine the state if no two reachable states of the
product show the same values and differ in the automaton's state. Otherwise two words are a witness.

The chosen features become a program (``FeatureLayers``): registers for each layer, and one table that
reads the state off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from krohn.automata.quotients import word_along
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget
from krohn.construct.features.feature import AnnotatedLetters, Feature, Symbols, Value, common_rhythm, folded
from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded
from krohn.network.operations import Row
from krohn.network.plain_words import Wording
from krohn.network.program import Meaning, Program

Word = tuple[int, ...]
State = tuple[int, int, tuple[Value, ...], tuple[Value, ...]]

MAX_STATES = 60_000


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """``rows[symbol, *shown]`` is the required value (of the state); ``size``: states of the product."""

    rows: dict[Row, int]
    size: int


@dataclass(frozen=True)
class PairConflict:
    """Two words that look alike and lead to different values; ``size``: states seen before it was found."""

    first: Word
    second: Word
    size: int


def determine(
    annotated: AnnotatedLetters, features: Sequence[Feature], wanted: Sequence[int]
) -> DecisionTable | PairConflict:
    """Searches the product breadth first; ``wanted[q]`` is what must be known of state q."""
    automaton = annotated.automaton
    early, period = common_rhythm([*annotated.features, *features])
    start: State = (0, automaton.start, annotated.start(), tuple(f.start for f in features))
    came: dict[State, tuple[State, int] | None] = {start: None}
    rows: dict[Row, tuple[int, State, int]] = {}
    moved: dict[tuple[int, tuple[Value, ...]], list[tuple[tuple[Value, ...], int]]] = {}
    queue = [start]
    for item in queue:
        place, state, values, held = item
        here = folded(place + 1, early, period)
        if (here, values) not in moved:
            letters = range(automaton.num_letters)
            moved[here, values] = [annotated.step(values, letter, here) for letter in letters]
        for letter, (after, symbol) in enumerate(moved[here, values]):
            now = tuple([f.step(value, symbol, here) for f, value in zip(features, held, strict=True)])
            following: State = (here, automaton.step(state, letter), after, now)
            # The row belongs to the step, not to the state: other letters may lead to the same state.
            row = (symbol, *[x for f, new in zip(features, now, strict=True) for x in f.show(new)])
            value = wanted[following[1]]
            known, other, last = rows.setdefault(row, (value, item, letter))
            if known != value:
                words = (*word_along(came.get, other), last), (*word_along(came.get, item), letter)
                return PairConflict(*words, len(came))
            if following not in came and following[1] not in annotated.ends:
                came[following] = (item, letter)
                queue.append(following)
        if len(came) > MAX_STATES:
            raise LimitExceeded(f"the product of features has more than {MAX_STATES:,} states")
    return DecisionTable({row: value for row, (value, _, _) in rows.items()}, len(came))


A_STATE, A_NODE, A_LOOK = 30, 30, 30
"""Units of work per product state, per search node, and per feature on two words."""
MOST_FEATURES = 5
NODES = 1_000
WIDEST = 12
"""Features tried for one pair."""

Held = dict[Word, list[Value]]
"""By word: the value of every feature of a catalogue after it."""


Choice = tuple[tuple[Feature, ...], DecisionTable]
"""The chosen features and their rows."""


def choose(
    annotated: AnnotatedLetters,
    catalogue: Sequence[Feature],
    wanted: Sequence[int],
    pairs: list[tuple[Word, Word]],
    budget: Budget,
    most: int = MOST_FEATURES,
) -> Choice | None:
    """Counterexample-guided search; ``None`` if no set within the bounds was found.

    ``pairs`` are words to be separated, to which it adds: searches over several catalogues share them.
    """
    costs = [feature.cost for feature in catalogue]
    pair_bits = [0] * len(catalogue)  # per feature a bit for every pair that it separates
    count, held = 0, Held({(): [feature.start for feature in catalogue]})
    for pair in pairs:
        row = _telling(annotated, catalogue, pair, held, budget)
        if row is not None:
            if not any(row):
                return None
            pair_bits = [bits | hit << count for bits, hit in zip(pair_bits, row, strict=True)]
            count += 1
    while True:
        chosen, nodes = cheapest(costs, pair_bits, count, most)
        budget.spend(A_NODE * (1 + nodes))
        if chosen is None:
            return None
        features = tuple(catalogue[index] for index in chosen)
        result = determine(annotated, features, wanted)
        budget.spend(A_STATE * result.size)
        if isinstance(result, DecisionTable):
            return features, result
        pair = (result.first, result.second)
        row = _telling(annotated, catalogue, pair, held, budget)
        assert row is not None
        assert isinstance(result, PairConflict)
        pairs.append(pair)
        if not any(row):
            return None
        pair_bits = [bits | hit << count for bits, hit in zip(pair_bits, row, strict=True)]
        count += 1


def _telling(
    annotated: AnnotatedLetters,
    catalogue: Sequence[Feature],
    pair: tuple[Word, Word],
    held: Held,
    budget: Budget,
) -> list[bool] | None:
    """Which features separate the words; ``None`` if their last symbols already do."""
    both = [annotated.symbols_of(word) for word in pair]
    if both[0][-1] != both[1][-1]:
        return None
    budget.spend(A_LOOK * len(catalogue))
    rows = [_shown(catalogue, *each, held) for each in zip(pair, both, strict=True)]
    return [one != two for one, two in zip(*rows, strict=True)]


def _shown(catalogue: Sequence[Feature], word: Word, symbols: Sequence[int], held: Held) -> list[Row]:
    """What every feature shows after a word; ``held`` caches their values by prefix."""
    values = held[()]
    for place, symbol in enumerate(symbols, 1):
        beginning = word[:place]
        if beginning not in held:
            held[beginning] = [f.step(v, symbol, place) for f, v in zip(catalogue, values, strict=True)]
        values = held[beginning]
    return [feature.show(value) for feature, value in zip(catalogue, values, strict=True)]


def cheapest(
    costs: Sequence[float], pair_bits: Sequence[int], count: int, most: int
) -> tuple[tuple[int, ...] | None, int]:
    """Indices of a cheapest set of at most ``most`` that separates all pairs, and the nodes searched.

    Branch and bound over undominated features, with a bound on the nodes.
    """
    options = unbeaten(costs, pair_bits)
    telling = [[index for index in options if pair_bits[index] >> pair & 1] for pair in range(count)]
    hardest = sorted(range(count), key=lambda pair: len(telling[pair]))
    best: tuple[float, tuple[int, ...] | None] = (float("inf"), None)
    nodes, tried = 0, dict[int, list[int]]()

    def search(chosen: tuple[int, ...], cost: float, left: int) -> None:
        nonlocal best, nodes
        nodes += 1
        if not left:
            best = (cost, tuple(sorted(chosen)))
        if not left or len(chosen) >= most or nodes > NODES:
            return
        if left not in tried:  # the same features in another order leave the same pairs
            pair = next(pair for pair in hardest if left >> pair & 1)
            worth = [(costs[i] - 0.2 * (pair_bits[i] & left).bit_count(), i) for i in telling[pair]]
            worth.sort()
            tried[left] = [index for _, index in worth[:WIDEST]]
        for index in tried[left]:
            if cost + costs[index] < best[0]:
                search((*chosen, index), cost + costs[index], left & ~pair_bits[index])

    search((), 0.0, (1 << count) - 1)
    return best[1], nodes


def unbeaten(costs: Sequence[float], pair_bits: Sequence[int]) -> list[int]:
    """Undominated features: no cheaper one separates the same pairs, or more."""
    by_pairs: dict[int, int] = {}  # by the pairs that it separates
    for index in sorted(range(len(costs)), key=lambda i: (costs[i], -pair_bits[i].bit_count(), i)):
        bits = pair_bits[index]
        if bits and bits not in by_pairs and not any(other | bits == other for other in by_pairs):
            by_pairs[bits] = index
    return list(by_pairs.values())


@dataclass(frozen=True, eq=False)
class FeatureLayers:
    """Features of an optional first layer, features over the resulting symbols, and the rows.

    ``letters[a]`` is the class of letter a: features do not distinguish letters that act alike.
    """

    annotated: AnnotatedLetters
    features: tuple[Feature, ...]
    determined: DecisionTable
    letters: tuple[int, ...]

    @property
    def layers(self) -> int:
        """1, or 2 where letters are annotated first."""
        return 2 if self.annotated.features else 1

    def titles(self, automaton: Semiautomaton) -> tuple[str, ...]:
        """What the layers see, one line each."""
        words, alike = Wording(automaton), self._alike(automaton.letter_names)
        seen = [part for part in (self.annotated.features, self.features) if part]
        lines = ("; ".join(words.of(each.meaning.spelled(alike)) for each in part) for part in seen)
        return tuple(lines) or ("the letter",)

    def _alike(self, letter_names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """All letters of each class, by the first of them."""
        names: dict[int, tuple[str, ...]] = {}
        for name, merged in zip(letter_names, self.letters, strict=True):
            names[merged] = (*names.get(merged, ()), name)
        return {each[0]: each for each in names.values()}

    def program(self, num_outputs: int, letter_names: Sequence[str]) -> Program:
        """The operations, and a read-out by one table; the names are those of all letters."""
        draft = ProgramDraft(len(self.letters), alike=self._alike(letter_names))
        count = max(self.letters) + 1
        letter = draft.source(Meaning("letter"), self.letters, count)
        plain = Symbols((letter,), {(x,): x for x in range(count)}, (count,))
        held, at_bos = _written(draft, plain, self.annotated.features)
        noted = Symbols((letter, *held), self.annotated.number, (count, *at_bos)) if held else plain
        last, last_bos = _written(draft, noted, self.features)
        rows = self.annotated.rows
        states = {(*rows[row[0]], *row[1:]): state for row, state in self.determined.rows.items()}
        names = (letter, *held, *last)
        bos: Row = (count, *at_bos, *last_bos)
        return finish_rows(draft, names, states, bos, num_outputs)


def _written(
    draft: ProgramDraft, symbols: Symbols, features: Sequence[Feature]
) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The registers of all features, and what they hold at BOS."""
    names: list[str] = []
    values: list[int] = []
    for feature in features:
        names += feature.registers(draft, symbols)
        values += feature.show(feature.start)
    return tuple(names), tuple(values)


def finish_rows(
    draft: ProgramDraft, names: tuple[str, ...], states: dict[Row, int], bos: Row, num_outputs: int
) -> Program:
    """A read-out by one table, or by the registers themselves."""
    columns = needed_columns(states, len(names))
    rows = {tuple(row[c] for c in columns): state for row, state in states.items()}
    elsewhere = {tuple(bos[c] for c in columns): next(iter(rows.values()))}
    inputs = [names[c] for c in columns]
    if not draft.heads:  # without heads, the one layer is an MLP
        state = Meaning("read off")
        draft.table(inputs, (state,), {k: (v,) for k, v in {**elsewhere, **rows}.items()}, hold=True)
        inputs, rows = [state.name], {(state,): state for state in rows.values()}
    return draft.finish_outputs(inputs, rows, num_outputs, elsewhere if draft.heads else {})


def needed_columns(states: Mapping[Row, int], count: int) -> list[int]:
    """Columns without the redundant ones, of which the first are dropped first."""
    columns = list(range(count))
    for column in range(count):
        fewer = [c for c in columns if c != column]
        if fewer and _is_function(states, fewer):
            columns = fewer
    return columns


def _is_function(states: Mapping[Row, int], columns: Sequence[int]) -> bool:
    known: dict[Row, int] = {}
    return all(
        known.setdefault(tuple(row[c] for c in columns), state) == state for row, state in states.items()
    )

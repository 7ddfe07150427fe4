"""The cheapest set of features that determines the state, by counterexample-guided search.

Two words that look alike but lead to different states must be separated by some feature of the set. Each
round takes the cheapest set that separates all known pairs and checks the product machine; a conflict is a
new pair. Every choice is deterministic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from krohn.budget import Budget
from krohn.construct.features.feature import Feature, Value, shown_by
from krohn.construct.features.product import Annotated, Conflict, Determined, Word, determine
from krohn.network.position_maps import Row

A_STATE, A_NODE, A_LOOK = 30, 30, 30
"""Units of work per product state, per search node, and per feature on two words."""
MOST_FEATURES = 5
NODES = 1_000
WIDEST = 12
"""Features tried for one pair."""

Held = dict[Word, list[Value]]
"""By word: the value of every feature of a catalogue after it."""


@dataclass
class Choice:
    """The chosen features and their rows; or a pair that no feature of the catalogue separates."""

    features: tuple[Feature, ...] = ()
    determined: Determined | None = None
    hopeless: tuple[Word, Word] | None = None


@dataclass
class Pairs:
    """Pairs of words to be separated, shared by searches over several catalogues."""

    known: list[tuple[Word, Word]] = field(default_factory=list)


def choose(
    annotated: Annotated,
    catalogue: Sequence[Feature],
    wanted: Sequence[int],
    pairs: Pairs,
    budget: Budget,
    most: int = MOST_FEATURES,
) -> Choice:
    """Counterexample-guided search; an empty choice if no set within the bounds was found."""
    costs = [feature.cost for feature in catalogue]
    pair_bits = [0] * len(catalogue)  # per feature a bit for every pair that it separates
    count, held = 0, Held({(): [feature.start for feature in catalogue]})
    for pair in pairs.known:
        row = _telling(annotated, catalogue, pair, held, budget)
        if row is not None:
            if not any(row):
                return Choice(hopeless=pair)
            pair_bits = [bits | hit << count for bits, hit in zip(pair_bits, row, strict=True)]
            count += 1
    while True:
        chosen, nodes = cheapest(costs, pair_bits, count, most)
        budget.spend(A_NODE * (1 + nodes))
        if chosen is None:
            return Choice()
        features = tuple(catalogue[index] for index in chosen)
        result = determine(annotated, features, wanted)
        budget.spend(A_STATE * result.size)
        if isinstance(result, Determined):
            return Choice(features, result)
        pair = (result.first, result.second)
        row = _telling(annotated, catalogue, pair, held, budget)
        assert row is not None
        assert isinstance(result, Conflict)
        pairs.known.append(pair)
        if not any(row):
            return Choice(hopeless=pair)
        pair_bits = [bits | hit << count for bits, hit in zip(pair_bits, row, strict=True)]
        count += 1


def _telling(
    annotated: Annotated, catalogue: Sequence[Feature], pair: tuple[Word, Word], held: Held, budget: Budget
) -> list[bool] | None:
    """Which features separate the words; ``None`` if their last symbols already do."""
    both = [annotated.symbols_of(word) for word in pair]
    if both[0][-1] != both[1][-1]:
        return None
    budget.spend(A_LOOK * len(catalogue))
    rows = [_shown(annotated, catalogue, *each, held) for each in zip(pair, both, strict=True)]
    return [one != two for one, two in zip(*rows, strict=True)]


def _shown(
    annotated: Annotated, catalogue: Sequence[Feature], word: Word, symbols: Sequence[int], held: Held
) -> list[Row]:
    """What every feature shows after a word; ``held`` caches their values by prefix."""
    before = after = held[()]
    for place, symbol in enumerate(symbols, 1):
        before, beginning = after, word[:place]
        if beginning not in held:
            held[beginning] = [f.step(v, symbol, place) for f, v in zip(catalogue, before, strict=True)]
        after = held[beginning]
    if not annotated.strict:
        return [feature.show(new) for feature, new in zip(catalogue, after, strict=True)]
    steps = zip(catalogue, before, after, strict=True)
    return [shown_by(feature, old, new, strict=True) for feature, old, new in steps]


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
    kept: dict[int, int] = {}  # by the pairs that it separates
    for index in sorted(range(len(costs)), key=lambda i: (costs[i], -pair_bits[i].bit_count(), i)):
        bits = pair_bits[index]
        if not bits or bits in kept:
            continue
        for other in kept:
            if other | bits == other:
                break
        else:
            kept[bits] = index
    return list(kept.values())

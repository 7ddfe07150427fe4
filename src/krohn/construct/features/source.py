"""Proposals of features: one layer without a search, one layer by search, two layers.

The search is expensive, so we try the exchange law first. Exchange letters x and y at two positions of one
residue, with both letters before the first and after the second position at that residue: all counts by
residue, all first and last positions, and the letters near both ends are unchanged. If the state changes, no
features of these kinds determine it (places counted one by one at the beginning apart). For residues modulo
N, where the sets of maps of words of exactly j letters repeat with period N, a conflict carries over to
every other modulus.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product

from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.budget import Budget, BudgetSpent
from krohn.construct.features.cheapest_set import FeatureLayers
from krohn.construct.features.plans import error_bit_plan, one_layer_plan, plan_without_search, two_layer_plan
from krohn.construct.request import Proposal, Request
from krohn.depth.lower_bound import find_block_scheme
from krohn.errors import Unsupported
from krohn.network.program import Program

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


ONE_LAYER, ERROR_BIT, TWO_LAYERS = 4_000_000, 1_000_000, 6_000_000
"""Units of work at effort 1."""

MOST_STATES = 10_000
MOST_IN_TWO_LAYERS = 16
"""Most states for which one layer, and at effort 1 two layers, are searched."""

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
    if exchange_conflict(request.automaton):
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
    if automaton.num_states > MOST_STATES:
        raise Unsupported(f"features are looked for up to {MOST_STATES:,} states")
    try:
        plan = search(automaton, automaton.outputs, Budget(units * request.effort))
    except BudgetSpent:
        budget.give_up("a search for features")
        raise
    if plan is None:
        raise Unsupported(
            "no set of the features that are searched (docs/depth.md) determines the state after every word"
        )

    def program() -> Program:
        return plan.program(len(automaton.output_names), automaton.letter_names)

    yield Proposal("features", plan.layers, program, plan.titles(automaton))

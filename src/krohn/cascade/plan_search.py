"""The search for a plan of few levels: every pass proposes candidates, the smallest measure wins.

The search is deterministic: passes and candidates come in a fixed order, and everything that takes time is
charged to a budget. If it runs out, the best plan so far is kept, and the budget says so.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from krohn.automata.graph import sink_states
from krohn.automata.quotients import forget_observation, quotient, reachable, reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent
from krohn.cascade.congruences import (
    Partition,
    congruences,
    meet_is_trivial,
    principal_congruences,
    subdirect_parts,
)
from krohn.cascade.covering import PAIR_COST
from krohn.cascade.holonomy import Cascade, holonomy_cascade
from krohn.cascade.known_shapes import clamped_line, recognise_stack
from krohn.cascade.merging import merge_classes, mergeable
from krohn.cascade.plan import ClampedCounterPlan, HolonomyPlan, Plan
from krohn.cascade.plan_nodes import ErrorBitPlan, ParallelPlan, ReachablePlan, SerialPlan
from krohn.cascade.splitting import block_labels, complete, driven_maps, without_sink
from krohn.cascade.stack import StackPlan
from krohn.errors import LimitExceeded

REACHABLE, MERGE = "reachable", "merge"
PARALLEL, SERIAL, ERROR_BIT, CLAMPED = "parallel", "serial", "error bit", "clamped counter"
STACK = "stack"
PASSES = (REACHABLE, MERGE, PARALLEL, SERIAL, ERROR_BIT, CLAMPED, STACK)

_OVERHEAD = 200  # base cost of any automaton, in units of work
_MAX_PAIRS = 800  # pairs of states tried for principal congruences
_MAX_CONGRUENCES = 80
_MAX_SPLITS = 12  # splits tried per automaton and kind, fewer at greater depth
_MAX_NESTING = 12  # nesting depth beyond which no sink is dropped
_SMALL = 8  # automata of one level up to this size are still searched for fewer layers

FEWER = "the search for plans of fewer layers"
"""What is given up where the budget is spent."""

_Key = tuple[bytes, int, int]

# The search minimises levels; with some pass switched off it may find fewer layers.
SEARCHES = (
    frozenset(PASSES),
    frozenset(PASSES) - {SERIAL},
    frozenset(PASSES) - {MERGE},
    frozenset(PASSES) - {ERROR_BIT},
    frozenset({REACHABLE}),
)


def plain_cascade(
    automaton: Semiautomaton, budget: Budget, max_sets: int, purpose: str = "plain holonomy"
) -> Cascade | None:
    """Plain holonomy; None if the limits are too small for it, and then what the budget gave up."""
    try:
        return holonomy_cascade(automaton, max_sets=max_sets, budget=budget)
    except LimitExceeded as limit:
        if isinstance(limit, BudgetSpent):
            budget.give_up(purpose)
        return None


def cascade_plans(
    automaton: Semiautomaton, budget: Budget, max_sets: int, plain: Cascade | None = None
) -> Iterator[Plan]:
    """Distinct plans, none with more levels than plain holonomy, if that is within the limits.

    The searches share one budget, which records if it ran out.
    """
    seen: set[tuple[str, ...]] = set()
    shape = next(PlanSearch(frozenset(PASSES), budget, max_sets).known_shapes(automaton), None)
    if shape is not None and automaton.num_states > _SMALL:
        yield shape  # known to be shallow, unlike a cascade of this many states
        return
    if plain is None:
        plain = plain_cascade(automaton, budget.part(budget.left / 3), max_sets)
    cascades: dict[_Key, Cascade | None] = {_key(automaton): plain}
    for number, passes in enumerate(SEARCHES):
        share = budget.part(budget.left * 2 / 3 if number == 0 else budget.left / (len(SEARCHES) - number))
        plan = PlanSearch(passes, share, max_sets, cascades).best(automaton)
        if plan is not None:
            lines = tuple(f"{indent} {node.title} {node.measure}" for indent, node in plan.walk())
            if lines not in seen:
                seen.add(lines)
                yield plan
            if plan.layers <= 1:
                return


@dataclass
class PlanSearch:
    """One search, with a cache of the automata already planned."""

    passes: frozenset[str]
    budget: Budget
    max_sets: int
    cascades: dict[_Key, Cascade | None] = field(default_factory=dict)
    _depth: int = field(init=False, default=0)
    _known: dict[_Key, Plan | None] = field(init=False, default_factory=dict)

    def best(self, automaton: Semiautomaton, plain: Plan | None = None) -> Plan | None:
        """The plan of least measure that was found; None if no pass can handle the automaton."""
        key = _key(automaton)
        if key not in self._known:
            if isinstance(plain, HolonomyPlan) and plain.automaton is automaton:
                self.cascades[key] = plain.cascade
            # A split may lead back to the same automaton, whose plan must not rest on itself.
            self._known[key] = plain  # provisional while the search below runs
            self._depth += 1
            self._known[key] = self._search(automaton, plain)
            self._depth -= 1
        return self._known[key]

    def _search(self, automaton: Semiautomaton, plain: Plan | None) -> Plan | None:
        best = plain
        try:
            self.budget.spend(_OVERHEAD + 2 * automaton.table.size)
            reachable = self._reachable(automaton)
            if reachable is not None:
                return reachable if plain is None or reachable.measure < plain.measure else plain
            # Each pass may take an equal share of what those before it have left.
            passes = (self.known_shapes, self._holonomy, self._error_bit, self._splits, self._merges)
            for left, propose in zip(range(len(passes), 0, -1), passes, strict=True):
                for candidate in self._affordable(propose(automaton), self.budget.left / left):
                    if best is None or candidate.measure < best.measure:
                        best = candidate
                if best is not None and _is_enough(best):
                    break
        except BudgetSpent:
            self.budget.give_up(FEWER)
        return best

    def _affordable(self, candidates: Iterator[Plan], units: float) -> Iterator[Plan]:
        """The candidates of one pass for so many units; then the next pass takes over.

        Most passes search smaller automata with all passes. Without a share of its own the first of them
        would spend everything far down, and the others, cheap ones among them, would never be tried here.
        """
        whole, self.budget = self.budget, self.budget.part(units)
        try:
            yield from candidates
        except BudgetSpent:
            self.budget.give_up(FEWER)
        finally:
            self.budget = whole

    def known_shapes(self, automaton: Semiautomaton) -> Iterator[Plan]:
        """The automaton as a clamped counter or a stack, if it is one."""
        line = clamped_line(automaton) if CLAMPED in self.passes else None
        if line is not None and automaton.num_states > 2:
            yield ClampedCounterPlan(automaton, *line)
        stack = recognise_stack(automaton) if STACK in self.passes else None
        if stack is not None and stack.height > 1:
            yield StackPlan(automaton, stack)

    def _splits(self, automaton: Semiautomaton) -> Iterator[Plan]:
        if automaton.num_states < 3 or not {PARALLEL, SERIAL} & self.passes:
            return
        letters, bare = automaton.letters, forget_observation(automaton)
        principal = principal_congruences(letters, _MAX_PAIRS, self.budget)
        subdirect = subdirect_parts(letters, principal, self.budget)
        if PARALLEL in self.passes and len(subdirect) > 1:
            yield from self._parallel(automaton, bare, [subdirect])
        result = congruences(letters, principal, subdirect, _MAX_CONGRUENCES, self.budget)
        if SERIAL in self.passes:
            yield from self._serial(automaton, bare, result)
        if PARALLEL in self.passes:
            yield from self._parallel(automaton, bare, trivial_meets(result))

    @property
    def _max_splits(self) -> int:
        return max(2, _MAX_SPLITS >> self._depth - 1)

    def _reachable(self, automaton: Semiautomaton) -> Plan | None:
        if REACHABLE not in self.passes:
            return None
        part = reachable(automaton)
        inner = None if part is automaton else self.best(part)
        return None if inner is None else ReachablePlan(automaton, tuple(reachable_states(automaton)), inner)

    def _cascade(self, automaton: Semiautomaton) -> Cascade | None:
        """Plain holonomy, within the budget of the pass; None if that is not enough."""
        key = _key(automaton)
        if key not in self.cascades:
            self.cascades[key] = plain_cascade(automaton, self.budget, self.max_sets, FEWER)
        return self.cascades[key]

    def _holonomy(self, automaton: Semiautomaton) -> Iterator[Plan]:
        cascade = self._cascade(automaton)
        if cascade is not None:
            yield HolonomyPlan(automaton, cascade)

    def _merges(self, automaton: Semiautomaton) -> Iterator[Plan]:
        """The cascade with all classes merged that can be, crossing by crossing; solvable ones stay so."""
        cascade = self._cascade(automaton) if MERGE in self.passes else None
        if cascade is None or cascade.num_levels < 2:
            return
        current, cost = cascade.skeleton, cascade.skeleton.num_sets * (4 + cascade.automaton.num_letters)
        groups = [[part.number] for part in cascade.components]
        kept = 2 * PAIR_COST * cascade.covering.num_pairs  # what the proof of the result may take
        for upper, lower in mergeable(cascade.skeleton):
            one = next(group for group in groups if upper in group)
            other = next(group for group in groups if lower in group)
            if one is other:
                continue
            if cost > self.budget.left - kept:
                self.budget.give_up(FEWER)
                break
            self.budget.spend(cost)
            proposal = [group for group in groups if group is not one and group is not other]
            proposal.append(sorted(one + other))
            trial = merge_classes(cascade.skeleton, proposal)
            # A merge that gains nothing by itself may enable one that does.
            if trial is None or trial.num_levels > current.num_levels:
                continue
            # The merged group may hold elements that no word induces; if it is not solvable, the plan has
            # no constant depth any more.
            merged = trial.classes[trial.class_of[cascade.components[upper].representative]]
            if cascade.is_solvable and not merged.group.is_solvable:
                continue
            current, groups = trial, proposal
        if current is not cascade.skeleton:
            yield HolonomyPlan(automaton, Cascade(current, self.budget))

    def _error_bit(self, automaton: Semiautomaton) -> Iterator[Plan]:
        if ERROR_BIT not in self.passes or self._depth > _MAX_NESTING:
            return
        sinks = [sink for sink in sink_states(automaton.table) if sink != automaton.start]
        for sink in sinks[: self._max_splits]:
            states, inner = without_sink(automaton, sink)
            plan = self.best(inner)
            if plan is not None:
                yield ErrorBitPlan(automaton, sink, states, plan)

    def _parallel(
        self, automaton: Semiautomaton, bare: Semiautomaton, splits: list[tuple[Partition, ...]]
    ) -> Iterator[Plan]:
        for maps in splits[: self._max_splits]:
            self.budget.spend(_OVERHEAD + 2 * automaton.table.size * len(maps))
            quotients = [quotient(bare, labels) for labels in maps]
            parts = [part for part in map(self.best, quotients) if part is not None]
            if len(parts) == len(maps):
                yield ParallelPlan(automaton, maps, tuple(parts))

    def _serial(
        self, automaton: Semiautomaton, bare: Semiautomaton, partitions: list[Partition]
    ) -> Iterator[Plan]:
        # Sort key: clamped counters first, for they cost one level; then two parts of about equal size.
        def rank(blocks: Partition) -> tuple[bool, int, Partition]:
            line = clamped_line(quotient(bare, blocks))
            balance = max(max(blocks) + 1, max(Counter(blocks).values()))
            return line is None or CLAMPED not in self.passes or max(blocks) < 2, balance, blocks

        self.budget.spend(len(partitions) * automaton.table.size)
        for blocks in sorted(partitions, key=rank)[: self._max_splits]:
            self.budget.spend(_OVERHEAD + 2 * automaton.table.size)
            above = self.best(quotient(bare, blocks))
            if above is None:
                continue
            labels = block_labels(automaton, blocks)
            partial, drive = driven_maps(automaton, blocks, labels)
            self.budget.spend(_OVERHEAD + 4 * automaton.table.size)
            letters = [complete(letter) for letter in partial]
            fiber = self.best(Semiautomaton.from_letters(letters, start=labels[automaton.start]))
            if fiber is not None:
                yield SerialPlan(automaton, blocks, labels, drive, above, fiber)


def _key(automaton: Semiautomaton) -> _Key:
    """Cache key of a plan: the table (its bytes and its width) and the start, not the names."""
    return automaton.table.tobytes(), automaton.num_letters, automaton.start


def _is_enough(plan: Plan) -> bool:
    """Whether no pass can gain: one component, or one level with few layers or too large to search for fewer.

    A single permutation-reset component needs the derived length of its group, and so does every split.
    """
    if plan.levels > 1:
        return isinstance(plan, StackPlan)
    return isinstance(plan, HolonomyPlan) or plan.layers <= 1 or plan.automaton.num_states > _SMALL


def trivial_meets(partitions: list[Partition]) -> list[tuple[Partition, ...]]:
    """Pairs of congruences with trivial meet, those with the smallest quotients first."""
    order = sorted(partitions, key=lambda labels: (max(labels), labels))
    pairs: list[tuple[Partition, ...]] = [
        (first, second)
        for position, second in enumerate(order)
        for first in order[:position]
        if meet_is_trivial(first, second)
    ]
    pairs.sort(key=lambda pair: (max(map(max, pair)), sum(map(max, pair))))
    return pairs

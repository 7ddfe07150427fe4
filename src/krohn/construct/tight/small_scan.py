"""The scan of Theorem 1 on as few points as determine the state: a group is scanned on a small action.

The scan composes transition maps. It need not carry the map of all states: the map of a quotient is enough
if it determines the state that the word leads to from the start, as it does when the letters act faithfully
on the quotient of a group. S5 on 120 states is scanned on 5 points. Several quotients side by side suffice
if together they separate all states: PermReset5, on 120 states, is scanned on 20 points.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

from krohn.automata.quotients import reachable_states
from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.base.budget import Budget
from krohn.cascade.congruences import join, principal_congruence
from krohn.construct.request import Proposal, Request
from krohn.construct.tight.draft import ProgramDraft
from krohn.errors import LimitExceeded
from krohn.network.mlp_builder import require_entries
from krohn.network.position_maps import Row
from krohn.network.program import Program

MAX_MAPS = 20_000
MAX_JOINS = 1_000
MAX_CODES = 2_896
"""States read off one number q by 2qx − q², which float32 holds exactly up to 2²⁴."""
MAX_WORK = 4 * 10**6
"""Step limit for finding all congruences with one generator, and for those with two."""


@dataclass(frozen=True)
class ScanPoints:
    """The letters as maps of a few points, and the state that each map of the points stands for."""

    letters: tuple[Transformation, ...]
    state: dict[Transformation, int]


def scan_program(automaton: Semiautomaton, length: int, fan: int = 2) -> Program:
    """The scan on the fewest points found, or on the states themselves; a layer composes ``fan`` windows."""
    points = fewest_points(automaton)
    reached = sorted(reachable_states(automaton))  # other points do not help
    number = {state: x for x, state in enumerate(reached)}
    letters = [tuple(number[letter[q]] for q in reached) for letter in automaton.letters]
    if points is not None:
        letters = list(points.letters)
    draft = ProgramDraft(automaton.num_letters)
    size = len(letters[0])
    if length > 1:  # maps take 2n channels and are composed by 2n² units: refuse before building them
        shape = f"{2 * size:,} × {2 * size**2:,}"
        require_entries(8 * size**3, f", to compose maps of {size:,} points in a scan (two of {shape}),")
    if size > MAX_CODES:
        raise LimitExceeded(f"a scan may have at most {MAX_CODES:,} points; there are {size:,}")
    maps = [draft.source(f"{x} after 1 letters", [letter[x] for letter in letters], x) for x in range(size)]
    window = 1
    while window < length:
        maps = _longer_window(draft, maps, window, fan)
        window *= fan
    if points is None:
        states: dict[Row, int] = {(x,): q for q, x in number.items()}
        return draft.finish((maps[number[automaton.start]],), states, automaton)
    return draft.finish(tuple(maps), points.state, automaton)


def _longer_window(draft: ProgramDraft, maps: list[str], window: int, fan: int) -> list[str]:
    """The maps of ``fan`` windows, from those of one: heads fetch the others, and one MLP composes them in
    pairs, pairs of pairs and so on.
    """
    parts = [maps] + [[draft.look_back(name, number * window) for name in maps] for number in range(1, fan)]
    ends = [(number * window, (number + 1) * window) for number in range(fan)]
    while len(parts) > 1:
        paired, bounds = [], []
        for own in range(0, len(parts) - 1, 2):
            first, last = ends[own][0], ends[own + 1][1]
            letters = f"{last} letters" + (f" but the last {first}" if first else "")
            names = [f"{x} after {letters}" for x in range(len(maps))]
            draft.select(parts[own], parts[own + 1], names)
            paired.append(names)
            bounds.append((first, last))
        if len(parts) % 2:
            paired.append(parts[-1])
            bounds.append(ends[-1])
        parts, ends = paired, bounds
    return parts[0]


def side_by_side(automaton: Semiautomaton, length: int) -> Program | None:
    """The scan on quotients that together separate all states; ``None`` if they have no fewer points."""
    chosen = _separating(automaton)
    if chosen is None:
        return None
    draft = ProgramDraft(automaton.num_letters)
    parts: list[
        tuple[int, Transformation]
    ] = []  # where a quotient's points begin, and the class of each state
    maps: list[str] = []
    for labels in chosen:
        first, leaders = len(maps), [labels.index(block) for block in range(max(labels) + 1)]
        parts.append((first, labels))
        for x, leader in enumerate(leaders, first):
            values = [first + labels[letter[leader]] for letter in automaton.letters]
            maps.append(draft.source(f"{x} after 1 letters", values, x))
    for index in range((length - 1).bit_length()):
        maps = _longer_window(draft, maps, 2**index, 2)
    states = {tuple(first + labels[q] for first, labels in parts): q for q in range(automaton.num_states)}
    read = tuple(maps[first + labels[automaton.start]] for first, labels in parts)
    return draft.finish(read, states, automaton)


def _separating(automaton: Semiautomaton) -> list[Transformation] | None:
    """An irredundant set of congruences, those of few classes first, that together separate all states."""
    if automaton.num_states**2 * automaton.num_letters > MAX_WORK:
        return None
    chosen: list[Transformation] = []
    kinds = 1
    for labels in _partitions(automaton):
        if len(set(zip(*chosen, labels, strict=True))) > kinds:
            chosen.append(labels)
            kinds = len(set(zip(*chosen, strict=True)))
    for labels in list(chosen):
        rest = [other for other in chosen if other != labels]
        if rest and len(set(zip(*rest, strict=True))) == kinds:
            chosen = rest
    points = sum(max(labels) + 1 for labels in chosen)
    return chosen if kinds == automaton.num_states and points < automaton.num_states else None


def fewest_points(automaton: Semiautomaton) -> ScanPoints | None:
    """The smallest quotient, of those tried, whose maps determine the state; ``None`` if none of them does
    or there are too many states to search.
    """
    if automaton.num_states**2 * automaton.num_letters > MAX_WORK:
        return None
    for labels in _partitions(automaton):
        if 2 * (max(labels) + 1) <= automaton.num_states:
            result = _determining(automaton, labels)
            if result is not None:
                return result
    return None


def _partitions(automaton: Semiautomaton) -> Iterator[Transformation]:
    """Congruences by number of classes: generated by the start with one state, and joins of two of those.

    In a transitive group those are the subgroups with at most two generators.
    """
    letters, start = automaton.letters, automaton.start
    single = {principal_congruence(letters, start, q) for q in range(automaton.num_states) if q != start}
    result = set(single)
    joins = min(MAX_JOINS, MAX_WORK // (automaton.num_states * automaton.num_letters))
    for first, second in islice(combinations(sorted(single), 2), joins):
        result.add(join(letters, first, second))
    yield from sorted((labels for labels in result if max(labels)), key=lambda labels: (max(labels), labels))


def _determining(automaton: Semiautomaton, labels: Transformation) -> ScanPoints | None:
    """Follows every word from the start together with its map; one map must never meet two states."""
    size = max(labels) + 1
    leader = [labels.index(block) for block in range(size)]
    letters = tuple(tuple(labels[letter[q]] for q in leader) for letter in automaton.letters)
    state: dict[Transformation, int] = {tuple(range(size)): automaton.start}
    queue = list(state)
    for current in queue:
        for letter, move in enumerate(letters):
            following = tuple(move[x] for x in current)
            reached = automaton.step(state[current], letter)
            if following not in state:
                state[following] = reached
                queue.append(following)
            elif state[following] != reached:
                return None
        if len(state) > MAX_MAPS:
            return None
    return ScanPoints(letters, state)


def scan_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """The scan on as few points as possible; on quotients side by side if the objective is parameters."""
    program, title = None, f"scan in {request.scan_depth} layers"
    if request.objective == "parameters" and fewest_points(request.automaton) is None:
        program, title = (
            side_by_side(request.automaton, request.length),
            f"{title}, of quotients",
        )
    program = program or scan_program(request.automaton, request.length)
    yield Proposal("scan", program.depth, lambda: program, (title,))


def wide_proposals(request: Request, budget: Budget) -> Iterator[Proposal]:
    """One layer: a head for every distance, so that each position sees the whole word."""
    program = scan_program(request.automaton, request.length, max(request.length, 2))
    yield Proposal("wide", program.depth, lambda: program, ("one layer that sees the whole word",))

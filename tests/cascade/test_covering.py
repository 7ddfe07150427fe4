"""Attacks on the covering check: broken frames, updates and schedules, judged by following every chain."""

import dataclasses
from collections.abc import Sequence
from random import Random

import pytest

from cascade.all_updates import transitions
from cascade.random_automata import golden, random_automaton
from every import every
from krohn.base.portable import Budget, BudgetSpent
from krohn.cascade.covering import PAIR_COST, check_covering
from krohn.cascade.holonomy import Cascade, Update, holonomy_cascade
from krohn.cascade.skeleton import Skeleton
from krohn.errors import LimitExceeded

SEEDS = range(30)


class Answering:
    """A frame and a dependency function that may be wrong anywhere."""

    def __init__(self, cascade: Cascade, wrong: dict[tuple[int, int, int], Update]) -> None:
        self.skeleton: Skeleton = cascade.skeleton
        self._cascade, self._wrong = cascade, wrong

    def update(self, source: int, letter: int, target: int) -> Update:
        result = self._wrong.get((source, letter, target))
        return self._cascade.update(source, letter, target) if result is None else result


def follows(cascade: Answering | Cascade, start: Sequence[int], finish: Sequence[int]) -> bool:
    """Whether every chain leads where the letter leads its state, every pair of chains on its own.

    A set of the chain after the letter takes its tile when it starts; it knows the sets of the chain before
    the letter whose tiles are readable by then.
    """
    frame = cascade.skeleton

    def ends_well(source: int, letter: int, target: int) -> bool:
        goal = frame.states(target)
        if any(frame.automaton.step(state, letter) not in goal for state in frame.states(source)):
            return False  # tiles only shrink: some chain below ends in the wrong state
        if not frame.tiles[target]:
            return True
        if frame.tiles[source] and finish[source] <= start[target]:
            return all(ends_well(tile, letter, target) for tile in frame.tiles[source])
        change = cascade.update(source, letter, target)
        below = frame.tiles[target]
        if isinstance(change, int):
            return 0 <= change < len(below) and ends_well(source, letter, below[change])
        inside = frame.tiles[source]
        if start[source] != start[target] or len(inside) != len(below):
            return False
        if sorted(change) != list(range(len(below))):
            return False
        return all(ends_well(tile, letter, below[to]) for tile, to in zip(inside, change, strict=True))

    return all(ends_well(0, letter, 0) for letter in range(frame.automaton.num_letters))


@dataclasses.dataclass
class Moved:
    """The same cascade, with its sets at other levels."""

    skeleton: Skeleton
    cascade: Cascade

    def update(self, source: int, letter: int, target: int) -> Update:
        return self.cascade.update(source, letter, target)


def levels_of(frame: Skeleton) -> tuple[list[int], list[int]]:
    return frame.depth, [depth + 1 for depth in frame.depth]


@every("seed", SEEDS)
def test_answers_wrong_in_several_places_are_refused_exactly_where_a_chain_goes_astray(seed: int) -> None:
    rng = Random(seed)
    cascade = holonomy_cascade(random_automaton(seed, largest=6))
    frame = cascade.skeleton
    triples = [triple for table in transitions(cascade) for triple in table]
    verdicts = set()
    for _ in range(12):
        wrong: dict[tuple[int, int, int], Update] = {}
        for source, letter, target in rng.sample(triples, min(rng.randint(1, 3), len(triples))):
            tiles = len(frame.tiles[target])
            shuffled = tuple(rng.sample(range(tiles), tiles))
            wrong[source, letter, target] = rng.choice([shuffled, rng.randrange(tiles)])
        subject = Answering(cascade, wrong)
        report = check_covering(subject)
        verdicts.add(report.holds)
        assert report.holds == follows(subject, *levels_of(frame))
        assert report.holds == (not report.fault)
    assert check_covering(cascade).holds
    assert not triples or False in verdicts


@every("seed", SEEDS)
def test_any_levels_are_accepted_exactly_if_chains_can_be_followed_in_their_order(seed: int) -> None:
    """Levels drawn apart at random, and classes moved to the level of another."""
    rng = Random(1_000 + seed)
    cascade = holonomy_cascade(random_automaton(seed, largest=6))
    frame = cascade.skeleton
    for _ in range(6):
        times = sorted(rng.sample(range(3 * frame.num_levels + 1), frame.num_levels + 1))
        starts = [times[part.level] for part in frame.classes]
        if starts and rng.random() < 0.5:
            starts[rng.randrange(len(starts))] = rng.choice(starts)
        late = max([*starts, *times]) + 2
        start = [starts[index] if index >= 0 else late for index in frame.class_of]
        finish = [time + 1 for time in start]
        verdict = check_covering(Moved(dataclasses.replace(frame, depth=start), cascade))
        in_order = all(
            start[tile] >= finish[number] for number, tiles in enumerate(frame.tiles) for tile in tiles
        )
        assert verdict.holds == (in_order and follows(cascade, start, finish))
        if not in_order:
            assert "is not deeper than its set" in verdict.fault


def broken_frames(frame: Skeleton) -> dict[str, Skeleton]:
    """Broken frames, by the error message expected of the check."""

    def with_tiles(number: int, tiles: tuple[int, ...]) -> Skeleton:
        return dataclasses.replace(frame, tiles=[*frame.tiles[:number], tiles, *frame.tiles[number + 1 :]])

    below = frame.tiles[0][0]
    return {
        "set 0 is not the set of all states": dataclasses.replace(
            frame, masks=[frame.masks[0] >> 1, *frame.masks[1:]]
        ),
        "and no tile": with_tiles(0, ()),
        "do not cover exactly its states": with_tiles(below, frame.tiles[below][:-1]),
        "is not deeper than its set": with_tiles(below, (below,)),
    }


@pytest.mark.parametrize("reason", list(broken_frames(holonomy_cascade(golden("T3")).skeleton)))
def test_every_broken_frame_is_refused_for_its_own_reason(reason: str) -> None:
    cascade = holonomy_cascade(golden("T3"))
    subject = Answering(cascade, {})
    subject.skeleton = broken_frames(cascade.skeleton)[reason]
    report = check_covering(subject)
    assert not report.holds
    assert reason in report.fault
    assert report.num_pairs == 0


def test_a_permutation_of_a_tile_number_that_nothing_set_is_refused() -> None:
    """A letter makes a coordinate active that was not before; a permutation would read what nothing wrote."""
    cascade = holonomy_cascade(golden("rand6_s1"))
    depth = cascade.skeleton.depth
    triple = next(key for key in transitions(cascade)[1] if depth[key[0]] != depth[key[2]])
    tiles = len(cascade.skeleton.tiles[triple[2]])
    report = check_covering(Answering(cascade, {triple: tuple(range(tiles))}))
    assert "a permutation of a coordinate that is inactive before" in report.fault


@every("seed", SEEDS)
def test_the_report_lists_the_sets_that_letters_reset(seed: int) -> None:
    cascade = holonomy_cascade(random_automaton(seed))
    reset = {key[2] for table in transitions(cascade) for key, to in table.items() if isinstance(to, int)}
    assert cascade.covering.reset_sets == reset
    classes = {cascade.skeleton.class_of[number] for number in reset}
    assert [part for part, is_reset in enumerate(cascade.is_reset) if is_reset] == sorted(classes)


def test_pairs_are_counted_against_limits_and_work() -> None:
    cascade = holonomy_cascade(golden("grid9"))
    pairs = cascade.covering.num_pairs
    budget = Budget(PAIR_COST * pairs)
    assert check_covering(cascade, budget=budget, max_pairs=pairs).holds
    assert budget.left == 0
    with pytest.raises(LimitExceeded, match="lower --effort") as refused:
        check_covering(cascade, max_pairs=pairs - 1)
    assert not isinstance(refused.value, BudgetSpent)
    with pytest.raises(BudgetSpent, match="raise --effort"):
        check_covering(cascade, budget=Budget(PAIR_COST * (pairs - 1)))

"""The holonomy cascade against the automaton it covers, and its checker against broken cascades."""

import dataclasses
import random

import pytest

from cascade.all_updates import transitions
from cascade.random_automata import GOLDEN, golden, random_automaton, states_along
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import Budget, BudgetSpent
from krohn.cascade.covering import check_covering
from krohn.cascade.holonomy import Cascade, Update, holonomy_cascade
from krohn.cascade.levels import cascade_levels
from krohn.cascade.skeleton import Skeleton
from krohn.errors import LimitExceeded


def random_word(automaton: Semiautomaton, length: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(automaton.num_letters) for _ in range(length)]


@every("seed", range(100))
def test_random_automata_are_covered_and_simulated(seed: int) -> None:
    automaton = random_automaton(seed)
    cascade = holonomy_cascade(automaton)
    assert cascade.covering.holds
    for start in range(automaton.num_states):
        assert cascade.state(cascade.coordinates(start)) == start
        word = random_word(automaton, 25, seed * 100 + start)
        assert states_along(cascade, word, start) == automaton.run(word, start)


@every("name", GOLDEN)
def test_golden_automata_are_covered_and_simulated(name: str) -> None:
    automaton = golden(name)
    word = random_word(automaton, 60, 1)
    cascade = holonomy_cascade(automaton)
    assert cascade.covering.holds
    assert states_along(cascade, word) == automaton.run(word)


@every("seed", range(30))
def test_levels_list_every_update_that_a_step_uses(seed: int) -> None:
    automaton = random_automaton(seed)
    cascade = holonomy_cascade(automaton)
    coordinates, listed = cascade.initial, transitions(cascade)
    seen = [level.triples for level in cascade_levels(cascade, automaton.start)]
    for letter in random_word(automaton, 60, seed):
        after = cascade.step(coordinates, letter)
        sources, targets = cascade.stages(coordinates), cascade.stages(after)
        for level, (source, target) in enumerate(zip(sources, targets, strict=True)):
            if cascade.skeleton.depth[target] != level:
                continue
            update = listed[level][source, letter, target]
            assert seen[level][source, letter, target] == update
            value = update if isinstance(update, int) else update[coordinates[level]]
            assert value == after[level]
        coordinates = after


@every("seed", range(30))
def test_updates_are_permutations_exactly_where_the_set_is_carried_onto_the_target(seed: int) -> None:
    cascade = holonomy_cascade(random_automaton(seed))
    frame = cascade.skeleton
    for level in transitions(cascade):
        for (source, letter, target), update in level.items():
            carried = frame.images[letter][source] == target
            assert isinstance(update, tuple) == carried
            if carried:
                assert frame.class_of[source] == frame.class_of[target]


def test_transitions_are_counted_by_the_check() -> None:
    cascade = holonomy_cascade(golden("grid9"))
    assert sum(map(len, transitions(cascade))) <= cascade.covering.num_pairs


class Tampered:
    """A cascade that answers wrongly for one triple."""

    def __init__(self, cascade: Cascade, triple: tuple[int, int, int], update: Update) -> None:
        self.skeleton: Skeleton = cascade.skeleton
        self._cascade, self._triple, self._update = cascade, triple, update

    def update(self, source: int, letter: int, target: int) -> Update:
        if (source, letter, target) == self._triple:
            return self._update
        return self._cascade.update(source, letter, target)


@pytest.mark.parametrize("name", ["grid6", "T4", "abab", "rand8_s1", "dyck2_2", "reg_Q8"])
def test_a_wrong_update_that_changes_a_state_is_found_with_a_witness(name: str) -> None:
    """Every tampering is compared with brute force over all chains: refused exactly when it matters."""
    cascade = holonomy_cascade(golden(name))
    verdicts = set()
    listed = transitions(cascade)
    triples = [(level, *triple) for level, entries in enumerate(listed) for triple in entries]
    for level, source, letter, target in random.Random(5).sample(triples, min(25, len(triples))):
        tiles = len(cascade.skeleton.tiles[target])
        right = listed[level][source, letter, target]
        wrong = (right + 1) % tiles if isinstance(right, int) else (right[1], right[0], *right[2:])
        broken = Tampered(cascade, (source, letter, target), wrong)
        report = check_covering(broken)
        assert report.holds == naive_covers(broken)
        assert report.holds == (report.fault == "")
        verdicts.add(report.holds)
    assert False in verdicts


def naive_covers(cascade: Tampered) -> bool:
    """Follows every pair of chains to its end, with no memory of pairs seen before."""
    frame = cascade.skeleton

    def ends(source: int, letter: int, target: int) -> bool:
        if not frame.tiles[source] and not frame.tiles[target]:
            return frame.automaton.step(frame.states(source)[0], letter) == frame.states(target)[0]
        if any(
            frame.automaton.step(state, letter) not in frame.states(target) for state in frame.states(source)
        ):
            return False  # tiles only shrink: some chain below ends in the wrong state
        if frame.depth[source] < frame.depth[target]:
            return all(ends(tile, letter, target) for tile in frame.tiles[source])
        update = cascade.update(source, letter, target)
        if frame.depth[source] > frame.depth[target]:
            assert isinstance(update, int)
            return ends(source, letter, frame.tiles[target][update])
        values = [update] * len(frame.tiles[source]) if isinstance(update, int) else update
        pairs = zip(frame.tiles[source], values, strict=True)
        return all(ends(tile, letter, frame.tiles[target][value]) for tile, value in pairs)

    return all(ends(0, letter, 0) for letter in range(frame.automaton.num_letters))


def test_malformed_updates_are_named() -> None:
    cascade = holonomy_cascade(golden("T3"))
    assert "reset to tile 7 of 3" in check_covering(Tampered(cascade, (0, 0, 0), 7)).fault
    assert "not a permutation" in check_covering(Tampered(cascade, (0, 0, 0), (0, 0, 1))).fault


def test_a_witness_names_the_state_that_goes_astray() -> None:
    cascade = holonomy_cascade(golden("flipflop"))
    report = check_covering(Tampered(cascade, (0, 0, 0), (1, 0)))
    assert not report.holds
    assert "goes to" in report.fault


def test_tiles_that_do_not_cover_their_set_are_named() -> None:
    cascade = holonomy_cascade(golden("T3"))
    tiles = list(cascade.skeleton.tiles)
    tiles[0] = tiles[0][:1]
    broken = Tampered(cascade, (-1, 0, 0), 0)
    broken.skeleton = dataclasses.replace(cascade.skeleton, tiles=tiles)
    assert "do not cover" in check_covering(broken).fault


def test_a_broken_skeleton_makes_no_cascade() -> None:
    frame = holonomy_cascade(golden("T3")).skeleton
    tiles = list(frame.tiles)
    tiles[0] = tiles[0][:1]
    with pytest.raises(AssertionError, match="must cover its automaton: the tiles of set 0"):
        Cascade(dataclasses.replace(frame, tiles=tiles))


def test_a_cached_cascade_costs_what_computing_it_did() -> None:
    automaton = random_automaton(5)
    first, again = Budget(1e6), Budget(1e6)
    cascade = holonomy_cascade(automaton, budget=first)
    assert holonomy_cascade(automaton, budget=again) is cascade
    assert first.done == again.done > 0
    short = Budget(first.done - 1)
    with pytest.raises(BudgetSpent):
        holonomy_cascade(automaton, budget=short)
    with pytest.raises(LimitExceeded, match="image sets"):
        holonomy_cascade(automaton, max_sets=cascade.skeleton.num_sets - 1)
    holonomy_cascade(automaton)
    named = dataclasses.replace(automaton, name="another name")
    assert holonomy_cascade(named).automaton.name == "another name"


def test_only_the_last_few_cascades_are_cached() -> None:
    automata = [random_automaton(seed) for seed in range(20)]
    first = holonomy_cascade(automata[0])
    for automaton in automata[1:]:
        holonomy_cascade(automaton)
    assert holonomy_cascade(automata[0]) is not first

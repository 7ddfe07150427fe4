"""Gridworlds are found under any names, and nothing else is."""

import itertools
import random

import pytest

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.paper.grid_runs import grid_run
from krohn.paper.gridworlds import recognise_grid
from paper.lemmas import shift_register_meaning
from paper.paper_oracles import line, random_automaton


def renamed_grid(shape, moves, seed=0) -> Semiautomaton:
    places = list(itertools.product(*map(range, shape)))
    random.Random(seed).shuffle(places)
    number = {place: index for index, place in enumerate(places)}

    def step(place, move):
        return number[tuple(min(max(v + m, 0), n - 1) for v, m, n in zip(place, move, shape, strict=True))]

    return Semiautomaton.from_letters(
        [[step(place, move) for place in places] for move in moves], start=seed % 2
    )


CASES = [
    ((2,), [(1,), (-1,)]),
    ((5,), [(1,), (-1,), (0,)]),
    ((5,), [(1,)]),
    ((3, 4), [(1, 0), (-1, 0), (0, 1), (0, -1)]),
    ((3, 3), [(1, 0), (-1, 0), (0, 1), (0, -1), (0, 0)]),
    ((2, 3, 4), [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]),
    ((3, 4), [(1, 1), (1, -1), (-1, 1), (-1, -1)]),
    ((3, 3, 3), [(1, 1, 0), (1, -1, 1), (-1, 0, -1), (0, 1, 1)]),
]


@every(("shape", "moves"), CASES)
@every("seed", [0, 1, 2])
def test_a_renamed_grid_is_recognised_and_steps_like_the_automaton(shape, moves, seed) -> None:
    automaton = renamed_grid(shape, moves, seed)
    grid = recognise_grid(automaton)
    assert grid is not None
    assert sorted(grid.shape) == sorted(shape)
    for q, a in itertools.product(range(automaton.num_states), range(automaton.num_letters)):
        assert grid.step(grid.coordinates[q], a) == grid.coordinates[automaton.step(q, a)]


@pytest.mark.parametrize("name", ["C4", "S4", "Dyck4,2", "abab", "T3", "Parity", "D8"])
def test_other_automata_are_not_grids(name) -> None:
    assert recognise_grid(parse_spec(name)) is None


def test_one_changed_transition_is_enough_to_be_no_grid() -> None:
    table = line(5).table.copy()
    table[2, 0] = 4
    assert recognise_grid(Semiautomaton(table=table)) is None
    assert recognise_grid(random_automaton(6, 2, 3)) is None
    assert recognise_grid(random_automaton(1, 2, 3)) is None


@pytest.mark.parametrize("walls", [1, 2, 3])
def test_the_last_visits_decide_the_state(walls) -> None:
    for start in range(walls + 1):
        automaton = line(walls + 1, start, noop=True)
        for word in itertools.product(range(3), repeat=6):
            moves = [(-1, 1, 0)[letter] for letter in word]
            assert shift_register_meaning(moves, walls, start) == automaton.run(word)


def test_padding_leads_to_the_start_from_anywhere() -> None:
    automaton = renamed_grid((3, 4), CASES[3][1], 1)
    grid = recognise_grid(automaton)
    assert grid is not None
    run = grid_run(automaton, grid, 10)
    assert run.total == 10 + len(run.padding)
    for place in grid.coordinates:
        for pad in run.padding:
            moved = zip(place, pad, grid.shape, strict=True)
            place = tuple(min(max(v + m, 0), n - 1) for v, m, n in moved)
        assert place == run.start

"""Which small automata are gridworlds, by trying every numbering of their states."""

from itertools import permutations, product
from math import prod
from random import Random

import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.paper.grid_runs import padding_moves
from krohn.paper.gridworlds import recognise_grid

Shape = tuple[int, ...]
Letter = tuple[int, ...]
SHAPES: dict[int, list[Shape]] = {2: [(2,)], 3: [(3,)], 4: [(4,), (2, 2)], 5: [(5,)], 6: [(6,), (2, 3)]}


def moved(place: Shape, move: Shape, shape: Shape) -> Shape:
    return tuple(min(max(v + m, 0), n - 1) for v, m, n in zip(place, move, shape, strict=True))


def is_grid(letters: list[Letter]) -> bool:
    """Whether some numbering of the states makes every letter a clamped move."""
    states = len(letters[0])
    for shape in SHAPES[states]:
        places = list(product(*map(range, shape)))
        moves = list(product((-1, 0, 1), repeat=len(shape)))
        actions = {tuple(places.index(moved(place, move, shape)) for place in places) for move in moves}
        for order in permutations(range(states)):
            # State q stands at place order[q].
            renamed = ({order[q]: order[target] for q, target in enumerate(letter)} for letter in letters)
            if all(tuple(action[place] for place in range(states)) in actions for action in renamed):
                return True
    return False


def hangs_together(letters: list[Letter]) -> bool:
    """Whether the automaton is weakly connected, that is, no axis is constant."""
    seen = {0}
    while True:
        more = seen | {letter[q] for letter in letters for q in seen}
        more |= {q for letter in letters for q, target in enumerate(letter) if target in seen}
        if more == seen:
            return len(seen) == len(letters[0])
        seen = more


def sample(states: int, dice: Random) -> list[Letter]:
    """Clamped moves under some numbering; now and then with one transition changed."""
    shape = dice.choice(SHAPES[states])
    places = list(product(*map(range, shape)))
    dice.shuffle(places)
    letters = []
    for _ in range(dice.randint(1, 3)):
        move = tuple(dice.choice((-1, 0, 1)) for _ in shape)
        letters.append([places.index(moved(place, move, shape)) for place in places])
    if dice.random() < 0.6:
        letter = dice.choice(letters)
        letter[dice.randrange(states)] = dice.randrange(states)
    return [tuple(letter) for letter in letters]


@pytest.mark.parametrize("states", sorted(SHAPES))
def test_what_is_recognised_is_a_grid_and_every_grid_that_hangs_together_is(states: int) -> None:
    dice, result = Random(states), {True: 0, False: 0}
    for _ in range(40 if states < 6 else 12):
        letters = sample(states, dice)
        automaton = Semiautomaton.from_letters(letters, start=0)
        grid = recognise_grid(automaton)
        result[grid is not None] += 1
        if grid is not None:
            assert prod(grid.shape) == states
            assert len(set(grid.coordinates)) == states
            for q, (number, letter) in product(range(states), enumerate(letters)):
                there = moved(grid.coordinates[q], grid.moves[number], grid.shape)
                assert there == grid.coordinates[letter[q]]
        elif hangs_together(letters):
            assert not is_grid(letters), letters
    assert result[True]
    assert result[False] or states == 2


@pytest.mark.parametrize("states", [2, 3, 4, 5])
def test_every_line_is_recognised_whatever_its_letters_are_called(states: int) -> None:
    dice = Random(states)
    for order in list(permutations(range(states)))[:24]:
        right = [order[min(order.index(q) + 1, states - 1)] for q in range(states)]
        left = [order[max(order.index(q) - 1, 0)] for q in range(states)]
        for letters in ([right], [left], [right, left], [left, right, list(range(states))]):
            grid = recognise_grid(Semiautomaton.from_letters(letters, start=dice.randrange(states)))
            assert grid is not None
            assert grid.shape == (states,)
            assert is_grid([tuple(letter) for letter in letters])


@pytest.mark.parametrize("walls", range(1, 7))
def test_padding_moves_end_at_the_start_from_anywhere_and_span_all_sums(walls: int) -> None:
    for start in range(walls + 1):
        moves = padding_moves(walls, start)
        assert len(moves) == walls + min(start, walls - start)
        for place in range(walls + 1):
            for move in moves:
                place = min(max(place + move, 0), walls)
            assert place == start
        sums = {sum(moves[:count]) for count in range(len(moves) + 1)}
        assert len(sums) == walls + 1

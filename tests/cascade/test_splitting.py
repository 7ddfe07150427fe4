"""What splitting proposes, against the definitions; the automata are random and small."""

from random import Random

from cascade.random_automata import random_automaton
from every import every
from krohn.automata.graph import sink_states
from krohn.automata.quotients import quotient
from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.congruences import principal_congruence
from krohn.cascade.known_shapes import clamped_line
from krohn.cascade.splitting import FREE, block_labels, complete, driven_maps, without_sink

SEEDS = range(20)


def words(automaton: Semiautomaton, seed: int, count: int = 20) -> list[list[int]]:
    random = Random(seed)
    return [[random.randrange(automaton.num_letters) for _ in range(12)] for _ in range(count)]


@every("seed", SEEDS)
def test_a_quotient_runs_as_the_classes_of_the_states_do(seed: int) -> None:
    automaton = random_automaton(seed)
    labels = principal_congruence(automaton.letters, 0, automaton.num_states - 1)
    smaller = quotient(automaton, labels)
    for word in words(automaton, seed):
        assert smaller.run(word) == [labels[q] for q in automaton.run(word)]


@every("seed", SEEDS)
def test_places_in_blocks_are_distinct_and_the_driven_maps_move_them(seed: int) -> None:
    automaton = random_automaton(seed)
    blocks = principal_congruence(automaton.letters, 0, 1)
    labels = block_labels(automaton, blocks)
    assert len(set(zip(blocks, labels, strict=True))) == automaton.num_states
    maps, drive = driven_maps(automaton, blocks, labels)
    for state in range(automaton.num_states):
        for letter in range(automaton.num_letters):
            moved = maps[drive[blocks[state]][letter]][labels[state]]
            assert moved == labels[automaton.step(state, letter)]
    assert all(value in (FREE, *labels) for partial in maps for value in partial)


@every("seed", SEEDS)
def test_a_completed_map_agrees_where_the_partial_one_is_defined(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 7)
    partial = [random.choice([FREE, *range(size)]) for _ in range(size)]
    total = complete(partial)
    assert all(0 <= value < size for value in total)
    assert all(value in (FREE, total[place]) for place, value in enumerate(partial))
    defined = [value for value in partial if value != FREE]
    if len(set(defined)) == 1:
        assert len(set(total)) == 1
    elif len(set(defined)) == len(defined):
        assert sorted(total) == list(range(size))


@every("seed", SEEDS)
def test_without_its_sink_an_automaton_is_right_until_the_sink_would_follow(seed: int) -> None:
    whole = random_automaton(seed)
    sink = whole.num_states - 1
    letters = [(*letter[:sink], sink) for letter in whole.letters]
    automaton = Semiautomaton.from_letters(letters, start=0)
    if sink == 0:
        return
    assert sink in sink_states(automaton.table)
    states, inner = without_sink(automaton, sink)
    for word in words(automaton, seed):
        for right, result in zip(automaton.run(word), inner.run(word), strict=True):
            if right == sink:
                break
            assert states[result] == right


@every("seed", SEEDS)
def test_a_line_is_found_exactly_where_letters_are_clamped_steps(seed: int) -> None:
    random = Random(seed)
    size = random.randint(3, 7)
    order = random.sample(range(size), size)
    steps = [1, *(random.randint(1 - size, size - 1) for _ in range(2))]
    letters = [[0] * size for _ in steps]
    for place, state in enumerate(order):
        for letter, step in zip(letters, steps, strict=True):
            letter[state] = order[min(max(place + step, 0), size - 1)]
    result = clamped_line(Semiautomaton.from_letters(letters))
    assert result is not None
    line, moves = result
    for state in range(size):
        for letter, move in zip(letters, moves, strict=True):
            assert line[letter[state]] == min(max(line[state] + move, 0), size - 1)
    middle = order[1]
    wrong = [list(letter) for letter in letters]
    wrong[0][middle] = middle  # it stands still in the middle of the line
    other = clamped_line(Semiautomaton.from_letters(wrong))
    if other is not None:  # another letter may order the states; then the line must hold for all of them
        line, moves = other
        assert all(
            line[letter[q]] == min(max(line[q] + move, 0), size - 1)
            for q in range(size)
            for letter, move in zip(wrong, moves, strict=True)
        )

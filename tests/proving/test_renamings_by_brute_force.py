"""Renamings of automata against all bijections, and words that search must be able to find."""

from functools import partial
from itertools import permutations, product
from random import Random

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.functions import simulate
from krohn.proving.identity import identify
from krohn.proving.renaming import renaming, reorder_as
from krohn.proving.word_search import all_words, candidates, first_wrong

STATES, LETTERS = 3, 2
States = npt.NDArray[np.int64]


def random_automaton(dice: Random, states: int = STATES, letters: int = LETTERS) -> Semiautomaton:
    table = [[dice.randrange(states) for _ in range(letters)] for _ in range(states)]
    return Semiautomaton(np.array(table, dtype=np.int32), start=dice.randrange(states))


def reachable(automaton: Semiautomaton) -> set[int]:
    seen = {automaton.start}
    while (more := seen | {automaton.step(q, a) for q in seen for a in range(automaton.num_letters)}) != seen:
        seen = more
    return seen


def by_brute_force(left: Semiautomaton, right: Semiautomaton) -> bool:
    """Whether letters and reachable states can be matched so that all moves are kept."""
    ours, theirs = sorted(reachable(left)), sorted(reachable(right))
    if len(ours) != len(theirs):
        return False
    for letters, states in product(permutations(range(LETTERS)), permutations(theirs)):
        match = dict(zip(ours, states, strict=True))
        moves = product(ours, range(LETTERS))
        if match[left.start] == right.start and all(
            match[left.step(q, a)] == right.step(match[q], letters[a]) for q, a in moves
        ):
            return True
    return False


def test_there_is_a_renaming_exactly_where_some_bijection_keeps_all_moves() -> None:
    dice, result = Random(0), {True: 0, False: 0}
    for _ in range(300):
        left, right = random_automaton(dice), random_automaton(dice)
        if dice.random() < 0.3:
            order = dice.sample(range(STATES), STATES)
            table = np.empty_like(left.table)
            table[order] = np.array(order)[left.table[:, dice.sample(range(LETTERS), LETTERS)]]
            right = Semiautomaton(table, start=order[left.start])
        mapping = renaming(left, right)
        result[mapping is not None] += 1
        assert (mapping is not None) == by_brute_force(left, right)
        if mapping is not None:
            letters, states = mapping
            assert sorted(letters) == list(range(LETTERS))
            assert set(states) == reachable(left)
            assert set(states.values()) == reachable(right)
            for q, a in product(states, range(LETTERS)):
                assert states[left.step(q, a)] == right.step(states[q], letters[a])
    assert min(result.values()) > 20


def test_the_users_order_of_names_is_put_into_the_files_order_without_changing_a_run() -> None:
    dice = Random(1)
    for _ in range(50):
        mine = random_automaton(dice)
        states, letters = dice.sample(mine.state_names, STATES), dice.sample(mine.letter_names, LETTERS)
        blank = np.zeros((STATES, LETTERS), dtype=np.int32)
        file = Semiautomaton(blank, state_names=tuple(states), letter_names=tuple(letters))
        result = reorder_as(mine, file)
        assert result is not None
        assert (result.state_names, result.letter_names) == (tuple(states), tuple(letters))
        for word in product(range(LETTERS), repeat=4):
            theirs = [letters.index(mine.letter_names[a]) for a in word]
            assert [result.state_names[q] for q in result.run(theirs)] == [
                mine.state_names[q] for q in mine.run(word)
            ]
        other = Semiautomaton(blank, state_names=("x", *states[1:]), letter_names=tuple(letters))
        assert reorder_as(mine, other) is None
        assert identify(other, mine).mismatch


def test_all_words_are_listed_once_and_in_order() -> None:
    for letters, length in ((1, 4), (2, 5), (3, 4)):
        expected = list(map(list, product(range(letters), repeat=length)))
        assert all_words(letters, length).tolist() == expected


def test_words_to_try_are_words_and_a_hint_is_among_them_or_begins_one() -> None:
    for letters, length, hint in ((1, 3, (0, 0)), (2, 9, (1, 0, 1)), (3, 30, (2,) * 30)):
        tried = [tuple(word) for batch in candidates(letters, length, hint) for word in batch.tolist()]
        assert all(0 <= letter < letters for word in tried for letter in word)
        assert all(1 <= len(word) <= length for word in tried)
        assert any(word[: len(hint)] == hint for word in tried)


def replay(given: States, words: States) -> States:
    """A network that says what it is told to, whatever the words."""
    return given


def test_the_first_wrong_word_ends_at_its_first_wrong_letter_and_all_wrong_words_are_counted() -> None:
    dice = np.random.default_rng(3)
    for seed in range(20):
        automaton = random_automaton(Random(seed))
        words = dice.integers(LETTERS, size=(30, 6))
        right = simulate(automaton, words).astype(np.int64)
        given = np.where(dice.random(right.shape) < 0.03, (right + 1) % STATES, right)
        result, count = first_wrong(partial(replay, given), automaton, words)
        bad = [row for row in range(30) if (given[row] != right[row]).any()]
        assert count == len(bad)
        assert (result is None) == (not bad)
        if result is not None:
            end = len(result.word) - 1
            assert any(
                tuple(words[row, : end + 1]) == result.word
                and (given[row, :end] == right[row, :end]).all()
                and given[row, end] == result.got != result.expected == right[row, end]
                for row in bad
            )

"""The smallest machine of a table, against all machines of fewer states; networks that have none."""

from itertools import product

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.lab.interpret.extraction import Answers, extract, first_difference
from krohn.lab.interpret.findings import wilson
from krohn.lab.interpret.smallest_machine import machine_within, share_of_words, smallest_machine

LETTERS = 2


def words_of(length: int) -> list[tuple[int, ...]]:
    return list(product(range(LETTERS), repeat=length))


def table_of(machine: Semiautomaton, shown: list[int], length: int) -> list[np.ndarray]:
    return [
        np.array([shown[machine.run(word)[-1]] for word in words_of(depth)]) for depth in range(1, length + 1)
    ]


def some_machine_agrees(levels: list[np.ndarray], start: int, states: int) -> bool:
    """All machines of so many states with start 0, and all their answers: whether one has this table."""
    answers = sorted({start, *(int(answer) for level in levels for answer in level)})
    for moves in product(range(states), repeat=states * LETTERS):
        machine = Semiautomaton(np.array(moves).reshape(states, LETTERS))
        for rest in product(answers, repeat=states - 1):
            shown = [start, *rest]
            if all((table_of(machine, shown, len(levels))[n] == levels[n]).all() for n in range(len(levels))):
                return True
    return False


@every("seed", range(12))
def test_it_gives_every_answer_and_none_is_smaller(seed: int) -> None:
    """Tables of random bits, which no machine meant: all words of up to three letters."""
    dice = np.random.default_rng(seed)
    levels = [dice.integers(2, size=LETTERS**depth) for depth in (1, 2, 3)]
    machine = smallest_machine(levels, LETTERS, 0, 100)
    assert machine is not None
    assert first_difference(machine, levels) is None
    assert share_of_words(machine, levels) == 1.0
    fewer = min(machine.num_states - 1, 3)  # four states have 65,536 tables
    assert not some_machine_agrees(levels, 0, fewer)


@every("seed", range(12))
def test_a_machine_comes_back_from_words_twice_as_long_as_its_states(seed: int) -> None:
    meant = Semiautomaton(np.random.default_rng(seed).integers(4, size=(4, LETTERS)))
    shown = [state % 2 for state in range(meant.num_states)]
    machine = smallest_machine(table_of(meant, shown, 7), LETTERS, 0, 100)
    assert machine is not None
    assert machine.num_states <= meant.num_states
    for word in words_of(10)[::7]:
        assert machine.observe is not None
        assert [machine.observe[s] for s in machine.run(word)] == [shown[s] for s in meant.run(word)]


def test_a_budget_of_states_is_kept() -> None:
    levels = table_of(krohn.zoo("C4:01"), [0, 1, 2, 3], 5)
    assert smallest_machine(levels, LETTERS, 0, 4) is not None
    assert smallest_machine(levels, LETTERS, 0, 3) is None
    assert machine_within(levels, LETTERS, 0, 3) is None  # each answer takes a state


PARITY = krohn.zoo("Parity")
BAD = (1, 0, 0, 1, 1, 0, 1, 0)


def nearly_parity(longest: int, asked: list[int]) -> Answers:
    """Right but on one word of eight letters; it reads words up to a length and notes what it was asked."""

    def of(words: np.ndarray) -> np.ndarray:
        assert words.shape[1] <= longest
        asked.append(words.shape[1])
        out = words.cumsum(1) % 2
        if words.shape[1] >= len(BAD):
            out[(words[:, :8] == BAD).all(1), 7] ^= 1
        return out

    return Answers(of, np.inf, PARITY, longest)


def test_one_wrong_word_does_not_end_the_search() -> None:
    """Following the mistake takes a state for each letter of the word; with fewer parity is the answer."""
    asked: list[int] = []
    found = extract(nearly_parity(32, asked), 8, max_states=5)
    assert set(asked) <= {8, 32}  # 32: accuracy by position
    assert (found.automaton.num_states, found.agrees, found.difference) == (2, 7, BAD)
    assert (found.agreement.value, found.compared, found.exact) == (255 / 256, 256, True)
    assert found.mistake is None
    assert not found.equivalent
    assert "of all 256 words of 8 letters it agrees on 99.61%" in found.text()
    whole = extract(nearly_parity(32, []), 8, max_states=100)
    assert whole.equivalent
    assert whole.automaton.num_states > 5
    assert whole.mistake == BAD


def test_words_that_are_too_many_are_drawn() -> None:
    answers = nearly_parity(32, [])
    few = Answers(answers.of, 2**6, PARITY, 32)
    found = extract(few, 32, max_states=5)
    assert (found.automaton.num_states, found.agrees, found.exact, found.equivalent) == (2, 6, False, False)
    assert found.compared == 1024
    hits = round(found.agreement.value * found.compared)
    assert (found.agreement.low, found.agreement.high) == wilson(hits, 1024)
    assert 1024 - 20 < hits < 1024  # one word in 256
    assert found.difference == BAD
    payload = found.to_json()
    assert payload["agreement"]["exact"] is False
    assert "of 1,024 fresh words of 32 letters it agrees on 99." in found.text()
    assert "all are too many for this effort" in found.text()


def test_without_a_length_it_is_the_longest_that_is_right() -> None:
    def of(words: np.ndarray) -> np.ndarray:
        return np.where(np.arange(words.shape[1]) < 6, words.cumsum(1) % 2, 0)

    found = extract(Answers(of, np.inf, PARITY, 20))
    assert (found.length, found.equivalent, found.automaton.num_states) == (6, True, 2)
    assert extract(Answers(of, 2**4, PARITY, 20)).length == 4


def test_too_few_states_for_the_answers_are_refused() -> None:
    c3 = krohn.zoo("C3")
    answers = Answers(lambda words: words.cumsum(1) % 3, np.inf, c3, None)
    with pytest.raises(InvalidInput, match="--max-states must be at least 3, one for each answer; got 2"):
        extract(answers, 3, max_states=2)

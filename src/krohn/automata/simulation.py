"""Runs an automaton on a batch of words at once."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton, Words, letter_type, word_array
from krohn.automata.zoo import AutomatonLike, as_automaton
from krohn.errors import InvalidInput, plainly

# Words are run in groups whose letters and states stay in the processor's cache.
_GROUP = 8_192
_FEW = 8  # words of one length up to which a plain loop is quicker

Letters = npt.NDArray[np.int64]


@plainly
def simulate(
    automaton: AutomatonLike, words: Words, start: int | None = None
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The state after each letter of a word, or of several words of one length.

    A string or a list of letters (numbers or names) is one word, a list of lists is several.

    Example:
        >>> krohn.simulate(krohn.zoo("Parity"), [[1, 0, 1], [1, 1, 1]]).tolist()
        [[1, 1, 0], [1, 0, 1]]
        >>> krohn.simulate("abab", "abba").tolist()
        [0, 1, 4, 4]
    """
    automaton = as_automaton(automaton)
    given = check_words(automaton, words)
    letters = np.atleast_2d(given)
    first = automaton.first(start)
    states = np.empty(letters.shape, dtype=letter_type(automaton.num_states))
    flat = np.ascontiguousarray(automaton.table, dtype=np.int64).ravel()
    for begin in range(0, len(letters), _GROUP):
        group = slice(begin, begin + _GROUP)
        _run(flat, automaton.num_letters, first, letters[group], states[group])
    return states.reshape(given.shape)


def check_words(automaton: Semiautomaton, words: Words) -> npt.NDArray[np.integer[Any]]:
    """Letter numbers of shape (length,) or (words, length); anything else is refused."""
    letters = word_array(words, automaton.letter_names)
    if letters.ndim not in (1, 2) or (letters.size and not np.issubdtype(letters.dtype, np.integer)):
        raise InvalidInput(
            "words must be an integer array of shape (length,) or (words, length); "
            f"got {letters.dtype} of shape {letters.shape}"
        )
    if letters.size and (letters.min() < 0 or letters.max() >= automaton.num_letters):
        *row, position = np.argwhere((letters < 0) | (letters >= automaton.num_letters))[0].tolist()
        raise InvalidInput(
            f"letters must lie in [0, {automaton.num_letters}); "
            f"word {row[0] if row else 0}, position {position} is {int(letters[(*row, position)])}"
        )
    return letters


def right_outputs(automaton: Semiautomaton, words: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
    """What a network of the automaton must output after each letter: the state, or its observation."""
    result: npt.NDArray[np.int64] = np.array(automaton.outputs, dtype=np.int64)[simulate(automaton, words)]
    return result


def _run(
    flat: npt.NDArray[np.int64],
    num_letters: int,
    first: int,
    letters: npt.NDArray[np.integer[Any]],
    states: npt.NDArray[np.unsignedinteger[Any]],
) -> None:
    state = np.full(len(letters), first, dtype=np.int64)
    index = np.empty_like(state)
    for position in range(letters.shape[1]):
        np.multiply(state, num_letters, out=index)
        index += letters[:, position].astype(np.int64)
        np.take(flat, index, out=state, mode="clip")
        states[:, position] = state


def answer_all(
    words: list[list[int]], answer: Callable[[Letters], Iterable[list[int]]], letters: int = 1 << 16
) -> list[list[int]]:
    """Answers to words of any lengths, in the order given: words of one length are asked together."""
    by_length: dict[int, list[int]] = {}
    for index, word in enumerate(words):
        by_length.setdefault(len(word), []).append(index)
    answers: list[list[int]] = [[] for _ in words]
    for length, places in by_length.items():
        size = max(1, letters // max(1, length))
        for first in range(0, len(places) if length else 0, size):
            chosen = places[first : first + size]
            batch = np.array([words[place] for place in chosen], dtype=np.int64)
            for place, states in zip(chosen, answer(batch), strict=True):
                answers[place] = states
    return answers


def states_of_all(automaton: Semiautomaton, words: list[list[int]]) -> list[list[int]]:
    """States of words of any lengths; for a few of one length a loop is quicker than arrays."""

    def answer(batch: Letters) -> Iterable[list[int]]:
        if len(batch) <= _FEW:
            return [automaton.run(word) for word in batch.tolist()]
        result: list[list[int]] = simulate(automaton, batch).tolist()
        return result

    return answer_all(words, answer)

"""What every network offers that reads words: states by number, by name, and acceptance."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from krohn.automata.diagram import accepting, accepts_words
from krohn.automata.semiautomaton import Semiautomaton, check_words
from krohn.automata.words import Words
from krohn.errors import InvalidInput, Unsupported

Letters = npt.NDArray[np.int64]


class Reader(ABC):
    """A network that outputs the states of its ``automaton`` after each letter.

    A string or a list of letters (numbers or names) is one word; several words of one length are a list of
    lists, or an array with a row for each. The answer has the form of the question.
    """

    if TYPE_CHECKING:  # a field of some networks, a property of others

        @property
        def automaton(self) -> Semiautomaton: ...  # noqa: D102

    @abstractmethod
    def forward(self, words: npt.NDArray[np.int64], /, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """Outputs after each letter of words ``[batch, length]``, by the network alone.

        ``dtype`` is for compiled networks; others run in the type they were made in.
        """

    @property
    def longest(self) -> int | None:
        """The longest word that it reads; none if it reads all, or refuses those that are too long."""
        return None

    def online(self) -> Callable[[int], int]:
        """A function from each next letter of one word to the state after it, in memory that hardly grows.

        Of recurrent networks it does not grow, of looped ones as the log of the letters read; others, which
        keep all letters, refuse it.
        """
        raise Unsupported(
            f"only recurrent and looped networks read a word without end; this is a {type(self).__name__}: "
            "krohn compile SPEC --architecture looped makes one"
        )

    no_answer = "NaN"
    """The name of an output that is none of the automaton's: here logits that are not numbers."""

    def to_torch(self, *args: Any, **options: Any) -> Any:
        """Of compiled Transformers only; other networks refuse it."""
        raise Unsupported(
            f"only a compiled Transformer has to_torch; this is a {type(self).__name__}: krohn.run(network, "
            "words) runs it, and a recurrent network on a torch device with device="
        )

    def states(self, words: Words, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """The number of the state after each letter: ``net.states("abab")``."""
        letters = np.asarray(check_words(self.automaton, words), dtype=np.int64)
        if not letters.size:
            return letters
        return self.forward(np.atleast_2d(letters), dtype).reshape(letters.shape)

    run = states  # what krohn run does

    def __call__(self, words: Words, dtype: Any = "float64") -> list[Any]:
        """The name of the state after each letter: ``net("1023 1230")``; of several words a list of lists."""
        states = self.states(words, dtype)
        if states.ndim == 1:
            return self.names(states)
        return [self.names(row) for row in states]

    def names(self, states: Iterable[int]) -> list[str]:
        """The names of outputs."""
        known = self.automaton.output_names
        return [known[state] if state >= 0 else self.no_answer for state in states]

    def accepts(self, word: Words, dtype: Any = "float64") -> bool | list[bool]:
        """Whether the automaton accepts, by the network's answer after the last letter."""
        final, start = accepting(self.automaton), self.automaton.start
        if not accepts_words(self.automaton):
            name = self.automaton.name or "this automaton"
            raise InvalidInput(
                f"only an automaton with accepting states accepts words, such as that of a pattern; {name} "
                "has none: give them with krohn.automaton(…, accept=[…])"
            )
        states = self.states(word, dtype)
        if not states.shape[-1]:
            last = np.full(states.shape[:-1], start in final)
        elif self.automaton.target == "observation":
            last = states[..., -1] == 1
        else:
            last = np.isin(states[..., -1], list(final))
        answer: bool | list[bool] = last.tolist()
        return answer


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
    """States of words of any lengths."""
    return answer_all(words, lambda batch: automaton.simulate(batch).tolist())

"""Where words come from: the paper's input distributions, each as a machine fed by dice.

A source is a Mealy machine: at hidden state s the outcome d of one die writes ``letter[s, d]`` and moves to
``next[s, d]``. Its hidden states refine the automaton's: ``visible[s]`` is the automaton's state. One form
for every distribution lets one fast sampler serve them all.
"""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.automata.graph import explore, sink_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded, UnknownName

IntTable = npt.NDArray[np.int64]
DISTRIBUTIONS = ("uniform", "feasible", "bernoulli:P", "abab:P")
MAX_TABLE = 1 << 24


@dataclass(frozen=True, eq=False)
class LetterSource:
    """A random machine that writes words and tracks the automaton's state.

    Attributes:
        letter: letter written at (hidden state, outcome).
        next: hidden state reached from (hidden state, outcome).
        starts: hidden start states.
        start_weights: their probabilities.
        visible: the automaton's state of each hidden state; ``None`` if they are the same.
        second: probability of the second of two outcomes; ``None`` if the die is fair.
    """

    letter: IntTable
    next: IntTable
    starts: tuple[int, ...]
    start_weights: tuple[float, ...] = (1.0,)
    visible: IntTable | None = None
    second: float | None = None

    @property
    def num_states(self) -> int:
        """Number of hidden states."""
        return int(self.next.shape[0])

    @property
    def num_outcomes(self) -> int:
        """Number of faces of the die."""
        return int(self.next.shape[1])


def default_distribution(automaton: Semiautomaton) -> str:
    """The paper's choice: feasible letters for Dyck, the half-and-half mixture for abab, else uniform."""
    if automaton.name.startswith("Dyck") and "x" not in automaton.name:
        return "feasible"
    return "abab:0.5" if automaton.name.split("@")[0] == "abab" else "uniform"


def source(automaton: Semiautomaton, distribution: str | None = None) -> LetterSource:
    """The source of the named distribution over the automaton's words."""
    name, _, parameter = (distribution or default_distribution(automaton)).partition(":")
    if name == "uniform" and not parameter:
        return uniform(automaton)
    if name == "feasible" and not parameter:
        return feasible(automaton)
    if name == "bernoulli":
        return bernoulli(automaton, _probability(name, parameter))
    if name == "abab":
        return alternating_mixture(automaton, _probability(name, parameter))
    known = ", ".join(DISTRIBUTIONS)
    raise UnknownName(f"a distribution must be one of {known}; got {distribution!r}")


def _probability(name: str, text: str) -> float:
    value = float(text) if re.fullmatch(r"\d{0,9}\.?\d{1,20}", text) else -1.0
    if not 0 <= value <= 1:
        raise InvalidInput(
            f"{name}:P must have a probability P in [0, 1], such as {name}:0.5; got {text[:60]!r}"
        )
    return value


def uniform(automaton: Semiautomaton) -> LetterSource:
    """Independent, equally likely letters."""
    letters = np.broadcast_to(np.arange(automaton.num_letters), automaton.table.shape)
    return LetterSource(letters.astype(np.int64), automaton.table.astype(np.int64), (automaton.start,))


def _require_two_letters(automaton: Semiautomaton, what: str) -> None:
    if automaton.num_letters != 2:
        name = automaton.name or "the automaton"
        raise InvalidInput(
            f"{what} needs an automaton with two letters; {name} has {automaton.num_letters}: use uniform"
        )


def bernoulli(automaton: Semiautomaton, probability: float) -> LetterSource:
    """Independent letters 0 and 1, the latter with the given probability."""
    _require_two_letters(automaton, "a Bernoulli distribution")
    return replace(uniform(automaton), second=probability)


def feasible(automaton: Semiautomaton) -> LetterSource:
    """At each state uniform over the letters that do not lead to an absorbing state.

    For Dyck this is the paper's rule: only opening brackets on the empty stack, only the matching bracket
    on the full one, and the k opening brackets and the matching one in between. A state with no such
    letter draws from all letters.
    """
    table = automaton.table
    allowed = ~np.isin(table, sink_states(automaton))
    allowed[~allowed.any(axis=1)] = True
    counts = allowed.sum(axis=1)
    reached, _ = explore(automaton.start, lambda state: table[state][allowed[state]].tolist())
    faces = math.lcm(*set(counts[reached].tolist()))
    if faces * automaton.num_states > MAX_TABLE:
        raise LimitExceeded(
            f"feasible letters may need a die table of at most {MAX_TABLE:,} entries; "
            f"this automaton needs {faces * automaton.num_states:,}: use uniform"
        )
    # The number of faces is a multiple of every count, so outcome mod count is exactly uniform.
    rank = np.argsort(~allowed, axis=1, kind="stable")
    letter = np.take_along_axis(rank, np.arange(faces)[None, :] % counts[:, None], axis=1)
    target = np.take_along_axis(table, letter, axis=1)
    return LetterSource(letter.astype(np.int64), target.astype(np.int64), (automaton.start,))


def alternating_mixture(automaton: Semiautomaton, probability: float) -> LetterSource:
    """With the given probability the word abab…, otherwise uniform letters: the paper's two (abab)* inputs.

    Probability 1 is its case (1), 0.5 its case (2). Works for every automaton with two letters.
    """
    _require_two_letters(automaton, "the abab mixture")
    # Hidden states: (state, next letter is a), (state, next letter is b), (state, both are possible).
    size = automaton.num_states
    table = automaton.table.astype(np.int64)
    always = np.repeat([0, 1], size)[:, None].repeat(2, axis=1)
    either = np.broadcast_to([0, 1], (size, 2))
    follow_a = np.repeat(table[:, :1] + size, 2, axis=1)
    follow_b = np.repeat(table[:, 1:], 2, axis=1)
    return LetterSource(
        np.concatenate([always, either]),
        np.concatenate([follow_a, follow_b, table + 2 * size]),
        (automaton.start, automaton.start + 2 * size),
        (probability, 1 - probability),
        np.tile(np.arange(size), 3),
    )

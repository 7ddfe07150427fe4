"""Where words come from: the input distributions, each as a machine fed by dice.

A distribution is written ``NAME`` or ``NAME:PARAMETERS``; ``FORMS`` lists them:

``auto``               the paper's choice for the automaton: ``default_distribution``.
``uniform``            every letter equally likely.
``feasible``           uniform over the letters that do not lead into a sink, position by position.
``bernoulli:P``        the second of two letters with probability P, else the first.
``periodic:WORD:P``    WORD (digits 0–9) repeated, with probability P; uniform otherwise.
``abab:P``             ``periodic:01:P`` over two letters: the paper's two (abab)* inputs, P = 1 and P = 0.5.
``ones:K``             exactly K of the second of two letters, at uniformly chosen places.

Data sets draw from a ``LetterSource``, training from keys on the device (``krohn.lab.tasks.batches``); both
read the same ``Distribution``. A source is a Mealy machine: at hidden state s the outcome d of one die writes
``letter[s, d]`` and moves to ``next[s, d]``. Its hidden states refine the automaton's: ``visible[s]`` is the
automaton's state. One form for every distribution lets one fast sampler serve them all.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.automata.graph import explore, sink_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded, UnknownName, Unsupported

IntTable = npt.NDArray[np.int64]
FORMS = "auto, uniform, feasible, bernoulli:P, abab:P, periodic:WORD:P, ones:K"
MAX_TABLE = 1 << 24


@dataclass(frozen=True)
class Distribution:
    """A distribution as it is drawn: ``uniform``, ``feasible``, ``bernoulli``, ``periodic`` or ``ones``."""

    name: str
    probability: float = 1.0
    count: int = 0
    word: tuple[int, ...] = ()

    @property
    def follows_state(self) -> bool:
        """True if the next letter depends on the state reached so far."""
        return self.name == "feasible"


def default_distribution(automaton: Semiautomaton) -> str:
    """The paper's choice: valid letters for Dyck, the half-and-half mixture for abab, else uniform.

    Products with them are not in the paper; their letters are uniform.
    """
    name = automaton.name.partition("@")[0]
    if re.fullmatch(r"Dyck\d+,\d+", name):
        return "feasible"
    return "abab:0.5" if name == "abab" else "uniform"


def written_out(text: str | None, automaton: Semiautomaton) -> str:
    """The distribution's text, with the default in the place of ``auto`` and of nothing."""
    return default_distribution(automaton) if text is None or text == "auto" else text


def parse_distribution(text: str | None, automaton: Semiautomaton) -> Distribution:
    """Reads a distribution and checks that it fits the automaton."""
    name, *values = written_out(text, automaton).split(":")
    if name not in _PARSERS:
        raise UnknownName(f"a distribution must be one of {FORMS}; got {str(text)[:60]!r}")
    return _PARSERS[name](values, automaton)


def _plain(name: str) -> Callable[[list[str], Semiautomaton], Distribution]:
    def read(values: list[str], _: Semiautomaton) -> Distribution:
        if values:
            raise InvalidInput(f"{name} takes no parameter; got {':'.join(values)[:60]!r}")
        return Distribution(name)

    return read


def _bernoulli(values: list[str], automaton: Semiautomaton) -> Distribution:
    _require_two_letters("bernoulli:P", automaton)
    return Distribution("bernoulli", probability=_probability("bernoulli:P", values))


def _abab(values: list[str], automaton: Semiautomaton) -> Distribution:
    _require_two_letters("abab:P", automaton)
    return Distribution("periodic", probability=_probability("abab:P", values), word=(0, 1))


def _periodic(values: list[str], automaton: Semiautomaton) -> Distribution:
    if len(values) != 2 or not re.fullmatch("[0-9]+", values[0]):
        given = ":".join(values)[:60]
        raise InvalidInput(f"periodic:WORD:P must have digits and a probability; got {given!r}")
    word = tuple(int(digit) for digit in values[0])
    if max(word) >= automaton.num_letters:
        raise InvalidInput(
            f"letters of periodic:WORD:P must lie in [0, {automaton.num_letters}); got {values[0][:60]!r}"
        )
    return Distribution("periodic", probability=_probability("periodic:WORD:P", values[1:]), word=word)


def _ones(values: list[str], automaton: Semiautomaton) -> Distribution:
    _require_two_letters("ones:K", automaton)
    if len(values) != 1 or not re.fullmatch("[0-9]{1,18}", values[0]):
        raise InvalidInput(f"ones:K must have a count K; got {':'.join(['ones', *values])[:60]!r}")
    return Distribution("ones", count=int(values[0]))


_PARSERS = {
    "uniform": _plain("uniform"),
    "feasible": _plain("feasible"),
    "bernoulli": _bernoulli,
    "abab": _abab,
    "periodic": _periodic,
    "ones": _ones,
}


def _probability(form: str, values: list[str]) -> float:
    text = ":".join(values)
    try:
        value = float(text) if re.fullmatch("[0-9.e-]{1,40}", text) else -1.0
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise InvalidInput(f"the probability P of {form} must lie in [0, 1]; got {text[:60]!r}")
    return value


def _require_two_letters(form: str, automaton: Semiautomaton) -> None:
    if automaton.num_letters != 2:
        name = automaton.name or "the automaton"
        raise InvalidInput(
            f"{form} needs an automaton with two letters; {name} has {automaton.num_letters}: use uniform"
        )


def feasible_letters(automaton: Semiautomaton) -> npt.NDArray[np.bool_]:
    """Whether a letter may come in a state: it avoids the sinks, or every letter there leads into one.

    For Dyck this is the paper's rule: only opening brackets on the empty stack, only the matching bracket
    on the full one, and the k opening brackets and the matching one in between.
    """
    allowed: npt.NDArray[np.bool_] = ~np.isin(automaton.table, sink_states(automaton.table))
    allowed[~allowed.any(axis=1)] = True
    return allowed


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


def source(automaton: Semiautomaton, distribution: str | None = None) -> LetterSource:
    """The source of a distribution over the automaton's words, by default the paper's."""
    drawn = parse_distribution(distribution, automaton)
    if drawn.name == "ones":
        raise Unsupported(
            "ones:K is drawn in training and evaluation only: which letters may still come depends on all "
            f"before; got {distribution}: use bernoulli:P"
        )
    if drawn.name == "feasible":
        return _feasible(automaton)
    if drawn.name == "periodic":
        return _periodic_mixture(automaton, drawn.word, drawn.probability)
    letters = _uniform(automaton)
    return replace(letters, second=drawn.probability) if drawn.name == "bernoulli" else letters


def _uniform(automaton: Semiautomaton) -> LetterSource:
    """Independent, equally likely letters."""
    letters = np.broadcast_to(np.arange(automaton.num_letters), automaton.table.shape)
    return LetterSource(letters.astype(np.int64), automaton.table.astype(np.int64), (automaton.start,))


def _feasible(automaton: Semiautomaton) -> LetterSource:
    """At each state uniform over its feasible letters."""
    table, allowed = automaton.table, feasible_letters(automaton)
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


def _periodic_mixture(automaton: Semiautomaton, word: tuple[int, ...], probability: float) -> LetterSource:
    """With the given probability the word repeated, otherwise uniform letters."""
    # Hidden states: (state, place in the word), and after those (state, every letter may come).
    size, faces, period = automaton.num_states, automaton.num_letters, len(word)
    if (period + 1) * size * faces > MAX_TABLE:
        raise LimitExceeded(
            f"periodic:WORD:P may need a die table of at most {MAX_TABLE:,} entries; "
            f"this automaton and word need {(period + 1) * size * faces:,}: give a shorter word"
        )
    table = automaton.table.astype(np.int64)
    follow = [table[:, letter] + (place + 1) % period * size for place, letter in enumerate(word)]
    always = np.repeat([np.repeat(word, size), np.concatenate(follow)], faces, axis=1)
    either = np.broadcast_to(np.arange(faces), (size, faces))
    return LetterSource(
        np.concatenate([always[0].reshape(-1, faces), either]),
        np.concatenate([always[1].reshape(-1, faces), table + period * size]),
        (automaton.start, automaton.start + period * size),
        (probability, 1 - probability),
        np.tile(np.arange(size), period + 1),
    )

"""The finite semiautomaton (Q, Σ, δ), with a start state and an optional observation map φ.

Words read left to right and act on the right: ``q · ab = (q · a) · b``. States and letters are
0-based integers inside; names appear only at the edges (files, command line, pictures).
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from krohn.automata.words import Characters, Word, Words, letter_numbers, letter_type, whole, word_array
from krohn.base.notebook import table
from krohn.errors import InvalidAutomaton, InvalidInput, LimitExceeded, counted

Target = Literal["state", "observation"]
"""What a network of an automaton outputs."""


# Words are run in groups whose letters and states stay in the processor's cache.
_GROUP = 8_192
_FEW = 8  # words of one length up to which a plain loop is quicker


StateArray = npt.NDArray[np.int32]
Transformation = tuple[int, ...]
MAX_OBSERVATION = 2**31 - 1
_MAX_LISTED = 1 << 20


_ROWS = 40  # of a table that are printed


@dataclass(frozen=True, eq=False, repr=False)
class Semiautomaton:
    """An immutable, validated semiautomaton; equality and hash are structural.

    Attributes:
        table: ``table[q, a]`` is the state reached from ``q`` by letter ``a``; read-only.
        start: the start state q₀.
        state_names: one distinct name per state.
        letter_names: one distinct name per letter.
        observe: ``observe[q]`` is the observation φ(q), an integer ≥ 0; ``None`` if φ is the identity. Names
            may be given instead, and are numbered in the order in which they come.
        name: what a user calls it; not part of equality.
        observation_names: one distinct name per observation; empty if they are called by their numbers.
        characters: for each letter the characters it stands for, first and last code of each run; empty if
            letters have names alone.
    """

    table: StateArray
    start: int = 0
    state_names: tuple[str, ...] = ()
    letter_names: tuple[str, ...] = ()
    observe: tuple[int, ...] | None = None
    name: str = field(default="", compare=False)
    observation_names: tuple[str, ...] = ()
    characters: Characters = ()

    def __post_init__(self) -> None:
        table = _validate_table(self.table)
        num_states, num_letters = table.shape
        states = tuple(self.state_names) or tuple(map(str, range(num_states)))
        letters = tuple(self.letter_names) or tuple(map(str, range(num_letters)))
        _validate_names("state", states, num_states)
        _validate_names("letter", letters, num_letters)
        if not 0 <= whole(self.start) < num_states:
            raise InvalidAutomaton(f"the start state must lie in [0, {num_states}); got {self.start}")
        observe, shown = _numbered(self.observe, tuple(self.observation_names))
        _validate_observation(observe, num_states)
        _validate_names("observation", shown, max(observe or (0,)) + 1, at_least=True)
        observe = None if observe is None else tuple(map(int, observe))
        values: dict[str, Any] = {
            "table": table,
            "start": int(self.start),
            "state_names": states,
            "letter_names": letters,
            "observe": observe,
            "observation_names": shown,
            "characters": _checked_characters(self.characters, num_letters),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)

    @classmethod
    def from_letters(cls, letters: Iterable[Sequence[int]], **fields: Any) -> Self:
        """Builds the automaton whose letter ``a`` acts on states as the transformation ``letters[a]``."""
        rows = [tuple(letter) for letter in letters]
        degrees = sorted({len(row) for row in rows})
        if len(degrees) != 1:
            raise InvalidAutomaton(f"every letter must act on the same states; got degrees {degrees}")
        return cls(table=np.array(rows).T, **fields)

    @property
    def num_states(self) -> int:
        """|Q|, the number of states."""
        return int(self.table.shape[0])

    @property
    def num_letters(self) -> int:
        """|Σ|, the number of letters."""
        return int(self.table.shape[1])

    @property
    def num_observations(self) -> int:
        """Size of the smallest label set {0, …, n−1} that holds every observation."""
        if self.observe is None:
            return self.num_states
        return len(self.observation_names) or max(self.observe) + 1

    @cached_property
    def observed(self) -> tuple[str, ...]:
        """The name of what is observed of each state; empty without an observation map."""
        names = self.observation_names
        return tuple(names[value] if names else str(value) for value in self.observe or ())

    @property
    def target(self) -> Target:
        """What a network of this automaton outputs; ``Observed`` automata show observations."""
        return "state"

    @property
    def outputs(self) -> tuple[int, ...]:
        """The right output for every state: its own number."""
        return tuple(range(self.num_states))

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self.state_names

    @cached_property
    def letters(self) -> tuple[Transformation, ...]:
        """Each letter as the transformation of states it induces."""
        return tuple(tuple(column) for column in self.table.T.tolist())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the structure: table, start, names and observation."""
        state = hashlib.sha256()
        for part in (
            self.table.shape,
            self.table.tolist(),
            self.start,
            self.state_names,
            self.letter_names,
            self.observe,
            *filter(None, (self.observation_names, self.characters)),
        ):
            state.update(repr(part).encode())
        return state.hexdigest()

    @cached_property
    def _moves(self) -> Sequence[Sequence[int]]:
        """The table as lists, which are faster for single lookups; a large one stays an array."""
        moves: Sequence[Sequence[int]] = (
            self.table.tolist() if self.table.size <= _MAX_LISTED else self.table  # type: ignore[assignment]
        )
        return moves

    def step(self, state: int, letter: int) -> int:
        """δ(state, letter)."""
        return int(self._moves[state][letter])

    def first(self, start: int | None) -> int:
        """Where a run begins: the start state, or the given state, once validated."""
        if start is None:
            return self.start
        if not 0 <= whole(start) < self.num_states:
            raise InvalidInput(f"the start state must lie in [0, {self.num_states}); got {start}")
        return start

    def run(self, word: Word, start: int | None = None) -> list[int]:
        """The states after each letter of one word: the reference semantics for all tests.

        Letters are numbers or names: ``zoo("abab").run("abab")``, ``zoo("Grid4").run(["R", "R", "L"])``.
        """
        letters = self.numbers(word)
        return list(accumulate(letters, self.step, initial=self.first(start)))[1:]

    def simulate(self, words: Words, start: int | None = None) -> npt.NDArray[np.unsignedinteger[Any]]:
        """The state after each letter of a word, or of several words of one length."""
        given = check_words(self, words)
        letters, first = np.atleast_2d(given), self.first(start)
        states = np.empty(letters.shape, dtype=letter_type(self.num_states))
        if len(letters) <= _FEW:
            rows = [self.run(word, first) for word in letters.tolist()]
            return np.array(rows, dtype=states.dtype).reshape(given.shape)
        flat = np.ascontiguousarray(self.table, dtype=np.int64).ravel()
        for begin in range(0, len(letters), _GROUP):
            group = slice(begin, begin + _GROUP)
            _run(flat, self.num_letters, first, letters[group], states[group])
        return states.reshape(given.shape)

    def right_outputs(self, words: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """What a network of it must output after each letter: the state, or its observation."""
        found: npt.NDArray[np.int64] = np.array(self.outputs, dtype=np.int64)[self.simulate(words)]
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Semiautomaton):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def numbers(self, word: "Word") -> list[int]:
        """The letters of a word as numbers."""
        return letter_numbers(word, self.letter_names, self.characters)

    def to_json(self) -> dict[str, Any]:
        """What ``krohn zoo NAME --json`` prints."""
        return {
            "name": self.name,
            "num_states": self.num_states,
            "num_letters": self.num_letters,
            "letters": list(self.letter_names),
            "start": self.state_names[self.start],
            "states": list(self.state_names),
            "table": self.table.tolist(),
            "observe": self.observed if self.observation_names else self.observe,
        }

    def to(self, package: str) -> Any:
        """An object of ``automata-lib``, ``aalpy`` or ``networkx``, which krohn reads as this automaton."""
        from krohn.automata.reading.made import make_object  # lazy import: few ask for it

        return make_object(self, package)

    def text(self) -> str:
        """Where each letter leads from each state, as ``krohn zoo NAME`` prints it."""
        names, seen = self.state_names, ("φ",) if self.observe is not None else ()
        rows: list[tuple[object, ...]] = []
        for state in range(min(_ROWS, self.num_states)):
            targets = [names[target] for target in self.table[state].tolist()]
            observed = (self.observed[state],) if self.observe is not None else ()
            rows.append((names[state], *observed, *targets))
        sizes = f"{counted(self.num_states, 'state')}, {counted(self.num_letters, 'letter')}"
        more = self.num_states - _ROWS
        rest = f"\n… and {counted(more, 'more state')} (krohn zoo NAME --json has all)" if more > 0 else ""
        listing = table(("state", *seen, *self.letter_names), rows)
        return f"{self.name}: {sizes}, start {names[self.start]}\n\n{listing}{rest}"

    def svg(self) -> str:
        """The state diagram; refused if there are too many states to draw."""
        from krohn.automata.diagram import diagram  # lazy import: only needed for pictures

        return diagram(self)

    def _repr_svg_(self) -> str | None:
        """The state diagram a notebook shows; ``None``, hence the text form, if there are too many states."""
        try:
            return self.svg()
        except LimitExceeded:
            return None

    def __repr__(self) -> str:
        label = f" {self.name}" if self.name else ""
        sizes = f"{counted(self.num_states, 'state')}, {counted(self.num_letters, 'letter')}"
        return f"<Semiautomaton{label}: {sizes}, start {self.start}>"


def check_words(automaton: Semiautomaton, words: Words) -> npt.NDArray[np.integer[Any]]:
    """Letter numbers of shape (length,) or (words, length); anything else is refused."""
    letters = word_array(words, automaton.letter_names, automaton.characters)
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


def _validate_table(table: npt.ArrayLike) -> StateArray:
    try:
        array = np.asarray(table)
    except ValueError as error:
        raise InvalidAutomaton(
            "a transition table must have rows of one length, one for each state"
        ) from error
    if array.ndim != 2 or array.size == 0:
        raise InvalidAutomaton(
            f"a transition table must be states × letters with at least one of each; got shape {array.shape}"
        )
    if not np.issubdtype(array.dtype, np.integer):
        raise InvalidAutomaton(f"a transition table must hold integers; got {array.dtype}")
    outside = np.argwhere((array < 0) | (array >= array.shape[0]))
    if len(outside):
        state, letter = (int(index) for index in outside[0])
        raise InvalidAutomaton(
            f"next state must lie in [0, {array.shape[0]}); "
            f"state {state}, letter {letter} goes to {int(array[state, letter])}"
        )
    frozen = np.ascontiguousarray(array, dtype=np.int32).copy()
    frozen.flags.writeable = False
    return frozen


BLANKS = "\u2800\u3164\u115f\u1160\uffa0"
"""Printable characters that show nothing; a name of these alone looks empty."""


def is_name(given: Any) -> bool:
    """Whether it is usable in words, on a line and in a file: letters are separated by spaces."""
    return isinstance(given, str) and given.isprintable() and " " not in given and given.strip(BLANKS) != ""


def _validate_names(kind: str, names: tuple[str, ...], count: int, *, at_least: bool = False) -> None:
    if at_least and (not names or len(names) > count):
        count = len(names)
    if len(names) != count:
        raise InvalidAutomaton(
            f"there must be one {kind} name per {kind}; got {len(names)} names for {count}"
        )
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidAutomaton(f"a {kind} name must be a non-empty string; got {name!r}")
        if name in seen:
            raise InvalidAutomaton(f"{kind} names must be distinct; {name!r} appears twice")
        seen.add(name)


def _numbered(
    observe: Sequence[Any] | None, names: tuple[str, ...]
) -> tuple[Sequence[Any] | None, tuple[str, ...]]:
    """Observations as numbers, and their names; those given as text are numbered in the order they come."""
    if observe is None or not any(isinstance(value, str) for value in observe):
        return observe, names
    given = tuple(map(str, observe))
    number = {name: index for index, name in enumerate(dict.fromkeys((*names, *given)))}
    return tuple(number[name] for name in given), tuple(number)


def _checked_characters(characters: Any, num_letters: int) -> Characters:
    """Runs of characters, of which no two letters share one."""
    given = tuple(tuple(int(whole(code)) for code in codes) for codes in characters)
    runs = sorted(run for codes in given for run in zip(codes[::2], codes[1::2], strict=False))
    edges = [code for run in runs for code in run]
    apart = all(last < first for (_, last), (first, _) in pairwise(runs))
    fits = all(codes and len(codes) % 2 == 0 for codes in given) and len(given) in (0, num_letters)
    if not (fits and apart and all(0 <= code <= 0x10FFFF for code in edges) and all(a <= b for a, b in runs)):
        raise InvalidAutomaton(
            "characters must give each letter runs of codes, first and last, and no character to two letters"
        )
    return given


def _validate_observation(observe: Sequence[Any] | None, num_states: int) -> None:
    if observe is None:
        return
    if len(observe) != num_states:
        raise InvalidAutomaton(
            f"there must be one observation per state; got {len(observe)} for {num_states}"
        )
    wrong = [value for value in observe if not 0 <= whole(value) <= MAX_OBSERVATION]
    if wrong:
        raise InvalidAutomaton(f"observations must be integers in [0, {MAX_OBSERVATION}]; got {wrong[0]}")

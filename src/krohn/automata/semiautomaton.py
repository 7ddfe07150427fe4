"""The finite semiautomaton (Q, Σ, δ), with a start state and an optional observation map φ; and its graph.

Words read left to right and act on the right: ``q · ab = (q · a) · b``. States and letters are
0-based integers inside; names appear only at the edges (files, command line, pictures).
"""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence, Sized
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from math import factorial, inf
from operator import index
from typing import Any, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from krohn.base.notebook import table
from krohn.errors import InvalidAutomaton, InvalidInput, LimitExceeded, counted

# Words: letters are numbers internally, names in user input.


Target = Literal["state", "observation"]
"""What a network of an automaton outputs."""
_SHOWN = 20  # letter names listed in an error
# Words are run in groups whose letters and states stay in the processor's cache.
_GROUP = 8_192
_FEW = 8  # words of one length up to which a plain loop is quicker

Word = str | Iterable[int | str]
"""Letters as numbers or names, or the whole word as one string."""
Words = Word | Iterable[Word] | npt.NDArray[np.integer[Any]]
"""One word, or several of one length: ``"abab"``, ``["a", "b"]``, ``[[0, 1], [1, 1]]``."""


def letter_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds 0 … count − 1."""
    if count <= 2**8:
        return np.uint8
    return np.uint16 if count <= 2**16 else np.uint32


def letter_numbers(word: Word, names: Sequence[str]) -> list[int]:
    """The letters of a word as numbers.

    A string is split at blanks; without blanks it is a letter, or read by characters where it can be.
    """
    number = {name: index for index, name in enumerate(names)}
    given: list[Any] = list(word)
    named = isinstance(word, str) and (word in number or not number.keys() >= {*word})
    if named and (str(word).split() != [word] or any(len(name) > 1 for name in names)):
        given = str(word).split()
    letters = [number.get(letter, -1) if isinstance(letter, str) else whole(letter) for letter in given]
    for place, letter in enumerate(letters):
        if not 0 <= letter < len(names):
            known = " ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
            also = "" if isinstance(given[place], str) else f", or a number below {len(names)}"
            raise InvalidInput(
                f"every letter must be one of {known}{also}; letter {place + 1} is {str(given[place])[:60]!r}"
            )
    return letters


def whole(given: Any) -> int:
    """The integer itself, or −1 (no letter and no state) if it is not an integer, such as 1.7."""
    try:
        return index(given)
    except TypeError:
        return -1


def word_array(words: Words, names: Sequence[str]) -> npt.NDArray[Any]:
    """Letters as numbers: an array of one dimension for one word, one word per row for several.

    A string or a list of letters (numbers or names) is one word; a list of lists or of strings that are no
    letters is several, which must have one length.
    """
    if isinstance(words, np.ndarray):
        return words
    if not isinstance(words, Iterable):
        raise InvalidInput(f"a word must be a string or a list of letters; got {words}")
    given = words if isinstance(words, str) else list(cast(Iterable[Any], words))
    if isinstance(given, str) or _is_word(given, names):
        return np.array(letter_numbers(given, names), dtype=np.int64)
    if all(isinstance(word, list | tuple) and not word for word in given):
        return np.empty((len(given), 0), dtype=np.int64)
    if not any(isinstance(word, str) or any(isinstance(a, str) for a in _letters(word)) for word in given):
        try:
            return np.asarray(given)
        except ValueError as error:  # numpy's message is about arrays
            lengths = sorted({len(word) for word in given if isinstance(word, Sized)})
            got = f"lengths {lengths[0]} to {lengths[-1]}" if len(lengths) > 1 else "other values"
            raise InvalidInput(f"words must have one length, each a list of letters; got {got}") from error
    rows = [letter_numbers(word, names) for word in given]
    if len({len(row) for row in rows}) > 1:
        raise InvalidInput(
            f"words must have one length; got lengths {min(map(len, rows))} to {max(map(len, rows))}"
        )
    return np.array(rows, dtype=np.int64)


def _is_word(given: list[Any], names: Sequence[str]) -> bool:
    """Whether the items are letters of one word; strings none of which is a letter are words."""
    if not all(isinstance(item, str | int | float | np.generic) for item in given):
        return False
    return not given or any(not isinstance(item, str) or item in names for item in given)


def _letters(word: Any) -> Iterable[Any]:
    return word if isinstance(word, list | tuple) else ()


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
    """

    table: StateArray
    start: int = 0
    state_names: tuple[str, ...] = ()
    letter_names: tuple[str, ...] = ()
    observe: tuple[int, ...] | None = None
    name: str = field(default="", compare=False)
    observation_names: tuple[str, ...] = ()

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
            *filter(None, (self.observation_names,)),
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
        letters = letter_numbers(word, self.letter_names)
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
        return letter_numbers(word, self.letter_names)

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
        return str(import_module("krohn.automata.diagram").diagram(self))  # on use: it depends on this part

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


# How large an automaton may be, checked before anything is built.


MAX_STATES = 500_000
MAX_ENTRIES = 20_000_000


def check_size(name: str, num_states: int, num_letters: int) -> None:
    """Refuses a table beyond the limits; counts from ``capped_factorial`` or ``capped_power`` will do."""
    if num_states > MAX_STATES:
        count = f"{num_states:,}" if num_states < 10**12 else "more than a trillion"
        raise LimitExceeded(
            f"an automaton may have at most {MAX_STATES:,} states; {name} has {count}: choose a smaller one"
        )
    if num_states * num_letters > MAX_ENTRIES:
        raise LimitExceeded(
            f"a transition table may have at most {MAX_ENTRIES:,} entries; "
            f"{name} has {num_states:,} states × {num_letters:,} letters: choose fewer letters"
        )


def capped_factorial(n: int) -> int:
    """``n!``, or some number beyond every limit once it is that large: 15! is more than a trillion."""
    return factorial(min(n, 15))


def capped_power(base: int, exponent: int) -> int:
    """``base ** exponent``, or some number beyond every limit once it is that large, as 2⁴⁰ is."""
    power: int = base ** min(exponent, 40)
    return power


# An automaton whose output is its observation: acceptance of a regex, the walls of a grid.


@dataclass(frozen=True, eq=False, repr=False)
class Observed(Semiautomaton):
    """An automaton whose networks output φ(q) instead of q; it must have an observation map."""

    @property
    def target(self) -> Target:
        """What a network of it outputs."""
        return "observation"

    @property
    def outputs(self) -> tuple[int, ...]:
        """φ(q) for every state."""
        assert self.observe is not None
        return self.observe

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs: of the observations, as numerals if they have none."""
        return self.observation_names or tuple(map(str, range(self.num_observations)))


def with_target(automaton: Semiautomaton, target: Target) -> Semiautomaton:
    """The automaton with states or observations as its output."""
    if target == automaton.target:
        return automaton
    if automaton.observe is None:
        raise InvalidInput(
            "target observation needs an automaton that shows something: a regex, a name with @, a file with "
            "observe; or take target state"
        )
    kind = Observed if target == "observation" else Semiautomaton
    return kind(**{field.name: getattr(automaton, field.name) for field in fields(Semiautomaton)})


# The graph: states that words reach, sinks, strong components.


Node = TypeVar("Node", bound=Hashable)


def reachable(automaton: Semiautomaton) -> Semiautomaton:
    """The part reachable from the start, in breadth-first order; unchanged if that is everything."""
    order = reachable_states(automaton)
    if len(order) == automaton.num_states:
        return automaton
    place = np.zeros(automaton.num_states, dtype=np.int32)
    place[order] = np.arange(len(order))
    return renumber(automaton, order, place)


def renumber(automaton: Semiautomaton, chosen: Sequence[int], place: np.ndarray) -> Semiautomaton:
    """The automaton on the ``chosen`` states; ``place[q]`` is the new number of the state for q."""
    observe = automaton.observe
    return Semiautomaton(
        place[automaton.table[chosen]],
        start=int(place[automaton.start]),
        state_names=tuple(automaton.state_names[state] for state in chosen),
        letter_names=automaton.letter_names,
        observe=None if observe is None else tuple(observe[state] for state in chosen),
        name=automaton.name,
        observation_names=automaton.observation_names,
    )


def reachable_states(automaton: Semiautomaton) -> list[int]:
    """The states reachable from the start, in breadth-first order."""
    return explore(automaton.start, automaton.table.tolist().__getitem__)[0]


def sink_states(automaton: Semiautomaton) -> list[int]:
    """The states that no letter leaves."""
    stays = automaton.table == np.arange(automaton.num_states)[:, None]
    return np.flatnonzero(stays.all(axis=1)).tolist()


def explore(
    first: Node, after: Callable[[Node], Iterable[Node]], most: float = inf, refusal: str = ""
) -> tuple[list[Node], list[list[int]]]:
    """All nodes that words lead to, breadth first, and for each the numbers of those after it.

    More than ``most`` are refused with the sentence ``refusal``.
    """
    order, number, rows = [first], {first: 0}, list[list[int]]()
    for node in order:  # grows during iteration
        row = []
        for target in after(node):
            if target not in number:
                number[target] = len(order)
                order.append(target)
            row.append(number[target])
        rows.append(row)
        if len(order) > most:
            raise LimitExceeded(refusal)
    return order, rows


def strong_components(successors: Sequence[Sequence[int]], first: int = 0) -> list[list[int]]:
    """The components in reverse topological order: every edge leads into an earlier component.

    Only the nodes from ``first`` on are visited; no edge may lead to the others.
    """
    count = len(successors)
    order = [0] * count  # 0 = unseen; afterwards the low link, count + 1 once its component is closed
    closed, clock, stack, result = count + 1, 0, list[int](), list[list[int]]()
    for root in range(first, count):
        if order[root]:
            continue
        if not successors[root]:
            order[root] = closed
            result.append([root])
            continue
        clock += 1
        order[root] = clock
        stack.append(root)
        trail = [(root, iter(successors[root]), clock)]
        while trail:
            node, edges, seen = trail[-1]
            for target in edges:
                low = order[target]
                if not low:
                    clock += 1
                    order[target] = clock
                    stack.append(target)
                    trail.append((target, iter(successors[target]), clock))
                    break
                if low < order[node]:
                    order[node] = low
            else:
                trail.pop()
                low = order[node]
                if trail and low < order[trail[-1][0]]:
                    order[trail[-1][0]] = low
                if low == seen:
                    result.append(_close(node, stack, order, closed))
    return result


def _close(node: int, stack: list[int], order: list[int], closed: int) -> list[int]:
    start = len(stack) - 1
    while stack[start] != node:
        start -= 1
    members = stack[start:]
    del stack[start:]
    for member in members:
        order[member] = closed
    return members

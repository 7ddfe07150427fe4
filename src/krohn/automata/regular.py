"""Regular expressions as automata: tokens, positions, subsets, minimisation.

Tokens are operators, repetitions, and atoms that read one letter.

A state of the position automaton (Glushkov 1961, McNaughton and Yamada 1960) is a position in the unfolded
expression that reads a letter; ``follow`` says which can come next. There are no ε-moves, and all moves into
a position read the same letters. Sets of positions are integers, one bit per position, so that unions are
single operations. The tests compare every automaton with the one that automata-lib builds from the same
expression.
"""

import re
import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_

import numpy as np

from krohn.automata.graph import explore
from krohn.automata.quotients import minimize
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded, plainly

# Tokens.


MAX_ALPHABET = 1_000

_TOKEN = re.compile(r"\\(.)|\[(\^?\]?(?:\\.|[^]\\])*)\]|\{(-?\d*)(,?)(-?\d*)\}|(.)", re.DOTALL)
_SIMPLE = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROL = dict(zip("nrtvfab", "\n\r\t\v\f\a\b", strict=True))
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_VISIBLE = frozenset(string.digits + string.ascii_letters + string.punctuation)
# Their complements contain white space, which is never a letter.
_SHORTHANDS = {"d": frozenset(string.digits), "w": _WORD, "S": _VISIBLE}
_WITH_SPACE = frozenset("sDW")
_NO_ESCAPES = _WORD - {"_", *_SHORTHANDS, *_WITH_SPACE, *_CONTROL}
"""Anchors, references and codes of Python's ``re`` are not read as the letters after the backslash."""


@dataclass(frozen=True)
class Atom:
    """Reads one letter: one of ``letters``, or any other one if ``negated``."""

    letters: frozenset[str]
    negated: bool = False


@dataclass(frozen=True)
class Repeat:
    """Repeats the preceding item ``least`` to ``most`` times; ``None`` for no upper bound."""

    least: int
    most: int | None


Token = Atom | Repeat | str  # a string is one of ( ) |


def tokens(pattern: str) -> list[Token]:
    """Tokenizes the pattern; anything invalid is refused with the reason."""
    result: list[Token] = []
    for match in _TOKEN.finditer(pattern):
        escaped, members, least, comma, most, single = match.groups()
        if escaped is not None:
            result.append(Atom(_escape(escaped)))
        elif members is not None:
            result.append(_class(members))
        elif least is not None:
            result.append(_repeat(match.group(), least, most if comma else least))
        elif single in _SIMPLE:
            result.append(Repeat(*_SIMPLE[single]))
        elif single in "[]{}\\":
            raise InvalidInput(f"{single} must be closed or escaped; write \\{single} for the letter")
        elif single in "^$&":
            raise InvalidInput(
                f"{single} is no operator here, a pattern matches whole words; write \\{single}"
            )
        elif single == ".":
            result.append(Atom(frozenset(), negated=True))
        else:
            result.append(single if single in "()|" else Atom(_letter(single)))
    return result


def letters_of(tokens: list[Token]) -> set[str]:
    """All letters that atoms name, including those they exclude."""
    return {letter for token in tokens if isinstance(token, Atom) for letter in token.letters}


def _letter(character: str) -> frozenset[str]:
    if character.isspace() or not character.isprintable():
        raise InvalidInput(f"letters must be printable characters, no white space; got {character!r}")
    return frozenset(character)


def _escape(character: str) -> frozenset[str]:
    if character in _WITH_SPACE:
        raise InvalidInput(f"letters must not be white space, which \\{character} contains")
    if character in _NO_ESCAPES:
        raise InvalidInput(f"\\{character} is no escape here; write {character} for the letter")
    return _SHORTHANDS.get(character) or _letter(_CONTROL.get(character, character))


def _repeat(text: str, least: str, most: str) -> Repeat:
    bounds = [int(bound[:9] or 0) for bound in (least, most)]
    unbounded = most == ""
    if text == "{}" or min(bounds) < 0 or (not unbounded and bounds[0] > bounds[1]):
        raise InvalidInput(
            f"a repetition must be {{m}}, {{m,}}, {{,n}} or {{m,n}} with 0 ≤ m ≤ n; got {text}"
        )
    return Repeat(bounds[0], None if unbounded else bounds[1])


def _class(text: str) -> Atom:
    """``[…]``: members, ranges and escapes; ``^`` in front negates."""
    negated = text.startswith("^")
    members = [
        (_escape(part[1]) if len(part) == 2 else part)  # an escape is a set, anything else a character
        for part in re.findall(r"\\.|.", text[negated:], re.DOTALL)
    ]
    if not members:
        raise InvalidInput("a class must have a member: [] and [^] have none")
    letters: set[str] = set()
    place = 0
    while place < len(members):
        first = members[place]
        if place + 2 < len(members) and members[place + 1] == "-":
            letters |= _range(first, members[place + 2])
            place += 3
        else:
            letters |= first if isinstance(first, frozenset) else _letter(first)
            place += 1
    return Atom(frozenset(letters), negated)


def _range(first: str | frozenset[str], last: str | frozenset[str]) -> set[str]:
    ends = [next(iter(end)) for end in (first, last) if len(end) == 1]
    if len(ends) < 2:
        raise InvalidInput("a range must go from a letter to a letter, as in [a-c]")
    codes = range(ord(ends[0]), ord(ends[1]) + 1)
    if not codes:
        raise InvalidInput(f"a range must not run backwards, as {ends[0]}-{ends[1]} does")
    if len(codes) > MAX_ALPHABET:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_ALPHABET:,} letters; a range has {len(codes):,}"
        )
    return {letter for code in codes for letter in _letter(chr(code))}


# Positions.


MAX_POSITIONS = 20_000
MAX_LINKS = 2_000_000


@dataclass(frozen=True)
class PatternPart:
    """A part of the expression: its positions ``begin`` to ``end``, and those where it can start and stop."""

    begin: int
    end: int
    first: int = 0
    last: int = 0
    empty: bool = True


class Positions:
    """Builds an expression part by part."""

    def __init__(self, alphabet: set[str]) -> None:
        self.alphabet = frozenset(alphabet)
        self.letters: list[frozenset[str]] = []
        self.follow: list[int] = []
        self._links = 0

    def _add(self, letters: frozenset[str], follow: int = 0) -> int:
        if len(self.letters) == MAX_POSITIONS:
            raise LimitExceeded(
                f"a pattern may unfold to at most {MAX_POSITIONS:,} positions; this one has more: "
                "use smaller repetition counts"
            )
        self.letters.append(letters)
        self.follow.append(follow)
        return len(self.letters) - 1

    def atom(self, atom: Atom) -> PatternPart:
        """A pattern that reads one letter of a set."""
        place = self._add(self.alphabet - atom.letters if atom.negated else atom.letters)
        return PatternPart(place, place + 1, 1 << place, 1 << place, empty=False)

    def nothing(self) -> PatternPart:
        """The empty word."""
        return PatternPart(len(self.letters), len(self.letters))

    def concatenate(self, left: PatternPart, right: PatternPart) -> PatternPart:
        """``left`` then ``right``."""
        self._link(left.last, right.first)
        first = left.first | (right.first if left.empty else 0)
        last = right.last | (left.last if right.empty else 0)
        return PatternPart(left.begin, right.end, first, last, left.empty and right.empty)

    def _link(self, last: int, first: int) -> None:
        self._links += last.bit_count()
        if self._links > MAX_LINKS:
            raise LimitExceeded(
                f"a pattern may join its positions at most {MAX_LINKS:,} times; this one needs more: use "
                "smaller repetition counts"
            )
        for place in bits(last):
            self.follow[place] |= first

    def repeat(self, part: PatternPart, times: Repeat) -> PatternPart:
        """Copies of ``part`` in sequence; those beyond the least count are optional."""
        if times.most == 0:
            return PatternPart(part.begin, part.end)
        wanted = times.least if times.most is None else times.most
        copies = [part, *(self._copy(part) for _ in range(1, wanted))]
        if times.most is None:
            self._link(copies[-1].last, copies[-1].first)
        optional = (replace(each, empty=each.empty or n >= times.least) for n, each in enumerate(copies))
        return reduce(self.concatenate, optional)

    def _copy(self, part: PatternPart) -> PatternPart:
        shift = len(self.letters) - part.begin
        for place in range(part.begin, part.end):
            self._add(self.letters[place], self.follow[place] << shift)
        return PatternPart(
            part.begin + shift, part.end + shift, part.first << shift, part.last << shift, empty=part.empty
        )

    def unite(self, left: PatternPart, right: PatternPart) -> PatternPart:
        """Union."""
        first, last = left.first | right.first, left.last | right.last
        return PatternPart(left.begin, right.end, first, last, left.empty or right.empty)


def bits(mask: int) -> Iterator[int]:
    """The members of a set of positions."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass
class _PatternLevel:
    """Parser state inside one pair of parentheses: ``left | parts``, of which the last may be repeated."""

    left: PatternPart | None = None
    parts: list[PatternPart] = field(default_factory=list)


def parse(tokens: list[Token], positions: Positions) -> PatternPart:
    """The whole expression. ``|`` binds weakest, repetitions tightest."""
    levels = [_PatternLevel()]
    before: Token = ""
    for token in tokens:
        level = levels[-1]
        if isinstance(token, Atom):
            level.parts.append(positions.atom(token))
        elif token == "(":
            levels.append(_PatternLevel())
        elif token == ")":
            if len(levels) == 1:
                raise InvalidInput("a ) has no ( before it")
            levels.pop()
            levels[-1].parts.append(positions.nothing() if before == "(" else _close(level, positions))
        elif isinstance(token, Repeat):
            if not level.parts:
                raise InvalidInput("a repetition needs something before it")
            level.parts[-1] = positions.repeat(level.parts[-1], token)
        else:
            levels[-1] = _PatternLevel(_close(level, positions))
        before = token
    if len(levels) > 1:
        raise InvalidInput("a ( is never closed")
    if not tokens:
        return positions.nothing()
    return _close(levels[0], positions)


def _close(level: _PatternLevel, positions: Positions) -> PatternPart:
    if not level.parts:
        raise InvalidInput("| must have something on both sides; use ()")
    sequence = reduce(positions.concatenate, level.parts)
    return sequence if level.left is None else positions.unite(level.left, sequence)


MAX_PATTERN = 2_000
MAX_SUBSETS = 50_000
MAX_MEMBERS = 2_000_000


@plainly
def from_regex(pattern: str, alphabet: Iterable[str] | None = None) -> Semiautomaton:
    """The minimal complete DFA of ``pattern``; observation 1 means that the word read so far matches.

    The syntax is ``| * + ? . {m,n} [a-c] [^a] \\d`` and parentheses over one-character letters; ``()`` is the
    empty word. A pattern matches whole words; write ``\\^`` for the letter. The letters are those of the
    pattern and of ``alphabet``, sorted; state 0 is the start, the others follow in breadth-first order.

    Example:
        >>> even = krohn.from_regex("(ab)*")
        >>> even.num_states, even.letter_names, [even.observe[state] for state in even.run([0, 1, 1])]
        (3, ('a', 'b'), [0, 1, 0])
    """
    if len(pattern) > MAX_PATTERN:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_PATTERN:,} characters; got {len(pattern):,}: shorten it"
        )
    try:
        token_list = tokens(pattern)
        letters = sorted(letters_of(token_list) | set(alphabet or ()))
        positions = Positions(set(letters))
        whole = parse(token_list, positions)
    except InvalidInput as error:
        raise InvalidInput(
            f"a pattern must be a regular expression such as (ab)*|b+; got {pattern!r}: {error}"
        ) from error
    _check_letters(pattern, letters)
    table, accept = _determinize(positions, whole, letters)
    automaton = Semiautomaton(np.array(table), letter_names=tuple(letters), observe=tuple(accept))
    return replace(minimize(automaton), state_names=(), name=f"regex:{pattern}")


def _check_letters(pattern: str, letters: list[str]) -> None:
    if not 1 <= len(letters) <= MAX_ALPHABET:
        raise InvalidInput(
            f"a pattern must have 1 to {MAX_ALPHABET:,} letters; {pattern[:60]!r} has {len(letters):,}"
        )
    for letter in letters:
        if len(letter) != 1 or letter.isspace() or not letter.isprintable():
            raise InvalidInput(
                f"a letter of a pattern must be one printable character, no white space; got {letter!r}"
            )


def _determinize(
    positions: Positions, whole: PatternPart, letters: list[str]
) -> tuple[list[list[int]], list[int]]:
    """The subset construction; subsets are numbered in the order in which they are reached."""
    reading = dict.fromkeys(letters, 0)
    for place, read in enumerate(positions.letters):
        for letter in read:
            reading[letter] |= 1 << place
    start = -1  # not a set of positions: nothing read yet
    refusal = (
        f"the automaton of a pattern may have at most {MAX_SUBSETS:,} states before minimisation, "
        f"sets of {MAX_MEMBERS:,} positions together; this one has more: choose a simpler pattern"
    )
    members = 0

    def after(subset: int) -> list[int]:
        nonlocal members
        members += 0 if subset == start else subset.bit_count()
        if members > MAX_MEMBERS:
            raise LimitExceeded(refusal)
        follow = map(positions.follow.__getitem__, bits(subset)) if subset != start else (whole.first,)
        following = reduce(or_, follow, 0)
        return [following & reading[letter] for letter in letters]

    subsets, table = explore(start, after, MAX_SUBSETS, refusal)
    return table, [int(bool(whole.empty if subset == start else subset & whole.last)) for subset in subsets]

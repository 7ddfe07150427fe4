"""Tokens of regular expressions: operators, repetitions, and atoms that read one letter."""

import re
import string
from dataclasses import dataclass

from krohn.errors import InvalidInput, LimitExceeded

MAX_ALPHABET = 1_000

_TOKEN = re.compile(r"\\(.)|\[([^\]]*)\]|\{(-?\d*)(,?)(-?\d*)\}|(.)", re.DOTALL)
_SIMPLE = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROL = dict(zip("nrtvfab", "\n\r\t\v\f\a\b", strict=True))
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_VISIBLE = frozenset(string.digits + string.ascii_letters + string.punctuation)
# Their complements contain white space, which is never a letter.
_SHORTHANDS = {"d": frozenset(string.digits), "w": _WORD, "S": _VISIBLE}
_WITH_SPACE = frozenset("sDW")


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
        elif single in "^&":
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
        if place + 2 < len(members) and members[place + 1] == "-" and not (place == 0 and first == "-"):
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
    if len(codes) > MAX_ALPHABET:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_ALPHABET:,} letters; a range has {len(codes):,}"
        )
    return {letter for code in codes for letter in _letter(chr(code))}

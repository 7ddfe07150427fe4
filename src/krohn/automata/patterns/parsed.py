"""A pattern as nodes of a nondeterministic automaton: ``re`` parses it, and what it names is read here.

Nodes read a character of a set, split, or ask something of their neighbours: anchors, boundaries,
look-ahead and look-behind are one mechanism, conditions that are decided when the next character is known.
"""

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from re import _parser as syntax  # type: ignore[attr-defined]
from typing import Any

from krohn.automata.patterns.characters import EVERYTHING, LAST, Runs, characters_of, complement, joined
from krohn.errors import InvalidInput, LimitExceeded, Unsupported

END, NEWLINE, WORD, ASCII_WORD = 1, 2, 4, 8
"""Kinds of neighbours: the end of the word, a newline, a character of a word in Unicode, in ASCII."""
KINDS = {NEWLINE: r"\n", WORD: r"\w", ASCII_WORD: r"(?a:\w)"}
FIRST_BEHIND = 16
"""The kind of the first look-behind; the others follow, a bit each."""
MAX_NODES = 20_000
DONE, MET = 0, 1
"""Nodes: the pattern has ended; a look-ahead has."""


@dataclass(frozen=True)
class Read:
    """Reads a character of the set of that number."""

    characters: int
    then: int


@dataclass(frozen=True)
class Split:
    """Goes any of the ways; a list, since a loop leads back to itself."""

    ways: list[int]


@dataclass(frozen=True)
class Test:
    """Goes on if neighbours are of these kinds: ``any`` of them, ``none`` before, or both agree or differ."""

    kind: str
    before: int
    after: int
    then: int


@dataclass(frozen=True)
class Look:
    """Goes on if what follows matches from ``entry``, or if it does not."""

    negated: bool
    entry: int
    then: int


Node = Read | Split | Test | Look | None


class Nodes:
    """The nodes of a pattern, from its end to its start."""

    def __init__(self) -> None:
        self.nodes: list[Node] = [None, None]
        self.sets: dict[Runs, int] = {}
        self.kinds = 0
        self.behind: list[int] = []

    def add(self, node: Node) -> int:
        """The number of one more node."""
        if len(self.nodes) >= MAX_NODES:
            raise LimitExceeded(
                f"a pattern may unfold to at most {MAX_NODES:,} nodes; this one has more: use smaller counts"
            )
        self.nodes.append(node)
        return len(self.nodes) - 1

    def read(self, runs: Runs, then: int) -> int:
        """A node that reads one of the characters."""
        return self.add(Read(self.sets.setdefault(runs, len(self.sets)), then))

    def anything(self, then: int) -> int:
        """Any characters before what follows."""
        loop = self.add(Split([]))
        self._ways(loop).extend([self.read(EVERYTHING, loop), then])
        return loop

    def _ways(self, node: int) -> list[int]:
        split = self.nodes[node]
        assert isinstance(split, Split)
        return split.ways

    def sequence(self, items: Iterable[Any], flags: int, then: int) -> int:
        """Items one after the other."""
        for operator, argument in reversed(list(items)):
            then = self._item(str(operator), argument, flags, then)
        return then

    def _item(self, operator: str, argument: Any, flags: int, then: int) -> int:
        runs = read_by(operator, argument, flags)
        if runs is not None:
            return self.read(runs, then)
        match operator:
            case "BRANCH":
                return self.add(Split([self.sequence(part, flags, then) for part in argument[1]]))
            case "SUBPATTERN":
                _, plus, minus, part = argument
                minus |= re.U if plus & re.A else 0
                return self.sequence(part, (flags | plus) & ~minus, then)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(argument, flags, then, then)
            case "POSSESSIVE_REPEAT":
                return self._possessive(argument, flags, then)
            case "ATOMIC_GROUP":
                if not _one_way(argument):
                    raise Unsupported("an atomic group (?>…) must have no choice in it")
                return self.sequence(argument, flags, then)
            case "AT":
                return self._anchor(str(argument), flags, then)
            case "ASSERT" | "ASSERT_NOT":
                return self._look(operator == "ASSERT_NOT", argument, flags, then)
            case "FAILURE":
                return self.add(Split([]))
            case "GROUPREF" | "GROUPREF_IGNORE":
                raise Unsupported(f"no finite automaton reads a back-reference such as \\{argument}")
            case "GROUPREF_EXISTS":
                raise Unsupported("a conditional group (?(…)…|…) is not read")
        raise Unsupported(f"this part of a pattern is not read: {operator}")

    def _repeat(self, argument: Any, flags: int, at_most: int, stop: int) -> int:
        """``stop`` follows where more could be read, ``at_most`` after the largest count."""
        least, most, part = argument
        if most == syntax.MAXREPEAT:
            entry = self.add(Split([]))
            self._ways(entry).extend([self.sequence(part, flags, entry), stop])
        else:
            entry = at_most
            for _ in range(most - least):
                entry = self.add(Split([self.sequence(part, flags, entry), stop]))
        for _ in range(least):
            before = self.sequence(part, flags, entry)
            if before == entry:  # nothing, any number of times
                break
            entry = before
        return entry

    def _possessive(self, argument: Any, flags: int, then: int) -> int:
        """X*+ reads all it can, X*(?!X): a*+a matches nothing."""
        least, most, part = argument
        runs = read_by(str(part[0][0]), part[0][1], flags) if len(part) == 1 else None
        if runs is None and (least != most or not _one_way(part)):
            raise Unsupported("a possessive repetition must be of one character, or of one way to match")
        stop = then if runs is None else self.add(Look(True, self.read(runs, MET), then))
        return self._repeat(argument, flags, then, stop)

    def _look(self, negated: bool, argument: Any, flags: int, then: int) -> int:
        direction, part = argument
        if direction > 0:
            return self.add(Look(negated, self.sequence(part, flags, MET), then))
        if any(name in {"ASSERT", "ASSERT_NOT", "AT"} for name in _operators(part)):
            raise Unsupported("a look-behind (?<=…) must have no conditions inside")
        self.behind.append(self.sequence(part, flags, MET))
        kind = FIRST_BEHIND << (len(self.behind) - 1)
        return self.add(Test("none" if negated else "any", kind, 0, then))

    def _anchor(self, name: str, flags: int, then: int) -> int:
        lines = bool(flags & re.M)
        if name in {"AT_BOUNDARY", "AT_NON_BOUNDARY"}:
            word = ASCII_WORD if flags & re.A else WORD
            self.kinds |= word
            return self.add(Test("differ" if name == "AT_BOUNDARY" else "agree", word, word, then))
        if name not in {"AT_BEGINNING_STRING", "AT_BEGINNING", "AT_END_STRING", "AT_END"}:
            raise Unsupported(f"this anchor is not read: {name}")
        newline = NEWLINE if lines and not name.endswith("STRING") else 0
        self.kinds |= newline
        if name.startswith("AT_BEGINNING"):
            return self.add(Test("any", END | newline, 0, then))
        if newline or name == "AT_END_STRING":
            return self.add(Test("any", 0, END | newline, then))
        stop = self.add(Test("any", 0, END, MET))  # $ is (?=\n?\Z)
        rest = self.add(Split([stop, self.read(((10, 10),), stop)]))
        return self.add(Look(False, rest, then))


def read_by(operator: str, argument: Any, flags: int) -> Runs | None:
    """The characters that an item reads, if it reads one."""
    if operator in {"LITERAL", "NOT_LITERAL", "IN", "ANY"}:
        if operator == "ANY":
            return EVERYTHING if flags & re.S else complement(((10, 10),))
        inside = argument if operator == "IN" else [(operator, argument)]
        if not flags & re.I:
            return _set(inside, flags)
        negated = "^" if operator == "NOT_LITERAL" else ""
        return characters_of(f"[{negated}{''.join(map(_source, inside))}]", flags & (re.I | re.A))
    return None


def _set(members: Iterable[tuple[Any, Any]], flags: int) -> Runs:
    runs, negated = list[tuple[int, int]](), False
    for operator, value in members:
        match str(operator):
            case "NEGATE":
                negated = True
            case "NOT_LITERAL":
                negated = True
                runs.append((value, value))
            case "LITERAL":
                runs.append((value, value))
            case "RANGE":
                runs.append(value)
            case "CATEGORY":
                runs += characters_of(_category(value), flags & re.A)
    result = joined(runs)
    return complement(result) if negated else result


def _source(member: tuple[Any, Any]) -> str:
    operator, value = member
    match str(operator):
        case "NEGATE":
            return "^"
        case "RANGE":
            return f"{_escape(value[0])}-{_escape(value[1])}"
        case "CATEGORY":
            return _category(value)
    return _escape(value)


def _escape(code: int) -> str:
    return f"\\U{code:08x}"


def _category(name: Any) -> str:
    kind = str(name).removeprefix("CATEGORY_")
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[kind.removeprefix("NOT_")]
    return "\\" + (letter.upper() if kind.startswith("NOT_") else letter)


def items_of(parsed: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, Any]]:
    """All items, those inside others too."""
    for operator, argument in parsed:
        name = str(operator)
        yield name, argument
        if name == "BRANCH":
            below = argument[1]
        elif name == "SUBPATTERN":
            below = [argument[3]]
        elif name == "ATOMIC_GROUP":
            below = [argument]
        elif name.endswith("REPEAT"):
            below = [argument[2]]
        else:
            below = [argument[1]] if name.startswith("ASSERT") else []
        for part in below:
            yield from items_of(part)


def _operators(parsed: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    return (name for name, _ in items_of(parsed))


def _one_way(parsed: Iterable[tuple[Any, Any]]) -> bool:
    plain = {"LITERAL", "NOT_LITERAL", "IN", "ANY", "AT", "SUBPATTERN", "POSSESSIVE_REPEAT", "ATOMIC_GROUP"}
    return all(name in plain for name in _operators(parsed))


@dataclass(frozen=True)
class Parsed:
    """A pattern's nodes, where they are entered, and the characters that it names.

    Attributes:
        plain: whether it is made of single characters alone, as ``(a|b)*abb``.
    """

    nodes: Nodes
    entry: int
    named: frozenset[int]
    plain: bool


def parse(pattern: str, flags: int, *, search: bool) -> Parsed:
    """The nodes of a pattern; to search is to allow anything before and after it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sets that look like those of another dialect
            tree = syntax.parse(pattern, flags)
        nodes = Nodes()
        entry = nodes.sequence(tree, tree.state.flags, nodes.anything(DONE) if search else DONE)
        named, plain = _named(tree, tree.state.flags)
    except RecursionError as error:
        raise LimitExceeded("a pattern may be nested some hundred levels deep; this one is deeper") from error
    except (re.error, OverflowError) as error:
        raise InvalidInput(f"Python's re does not read it: {error}") from error
    return Parsed(nodes, nodes.anything(entry) if search else entry, named, plain and not search)


def _named(tree: Any, flags: int) -> tuple[frozenset[int], bool]:
    """The characters that a pattern names one by one, and whether it reads no others."""
    codes, plain = set[int](), not flags & re.I
    for name, argument in items_of(tree):
        members = argument if name == "IN" else [(name, argument)]
        for operator, value in members:
            kind = str(operator)
            if kind in {"LITERAL", "NOT_LITERAL"}:
                codes.add(value)
            elif kind == "RANGE" and value[1] - value[0] < 1_000:
                codes.update(range(value[0], value[1] + 1))
            plain &= kind not in {
                "NOT_LITERAL",
                "RANGE",
                "CATEGORY",
                "NEGATE",
                "ANY",
                "AT",
                "ASSERT",
                "ASSERT_NOT",
            }
        if name == "SUBPATTERN" and argument[1]:
            plain = False
    return frozenset(codes), plain and all(32 < code <= LAST for code in codes)

"""``from_regex``: the minimal automaton of a pattern of Python's ``re``, over classes of characters."""

import logging
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import numpy as np

from krohn.automata.patterns.characters import Runs, classes, name_of
from krohn.automata.patterns.determinised import Determinised, kind_sets, letters_of
from krohn.automata.patterns.parsed import Parsed, parse
from krohn.automata.quotients import minimize
from krohn.automata.reading.arrows import distinct
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.typed import plainly
from krohn.errors import InvalidInput, KrohnError, LimitExceeded

Match = Literal["full", "search"]
MAX_PATTERN, MAX_ALPHABET = 20_000, 4_096
_FLAGS = {"i": re.I, "m": re.M, "s": re.S, "x": re.X, "a": re.A}
_ELSEWHERE = {
    "U": "in which part of a packet Snort looks",
    "G": "how much of it matches",
    "g": "how often it matches",
    "u": "that characters are those of Unicode, as here",
}
_ELSEWHERE |= dict.fromkeys("IPHDMCKSYBOR", _ELSEWHERE["U"])
"""Flags of other programs that do not say whether a text matches, and what they say."""
_TEXTBOOK = {"+": "|", "∪": "|", "|": "|", "·": "", "∘": "", "ε": "(?:)", "λ": "(?:)", "∅": "(?!)", " ": ""}
_LOG = logging.getLogger(__name__)


@plainly
def from_regex(
    pattern: str, alphabet: Iterable[str] | None = None, *, match: Match = "full", textbook: bool = False
) -> Semiautomaton:
    """The minimal complete DFA of ``pattern``; observation 1 means that the word read so far matches.

    The dialect is that of Python's ``re``, as far as it is regular: look-ahead and look-behind too, but no
    back-references. Letters are classes of characters that the pattern does not tell apart, as ``[a-z]``;
    words are read character by character. A pattern of plain characters alone, as ``(a|b)*abb``, has these
    as its letters; of any other pattern the characters that it does not read are a letter too. With
    ``alphabet`` the letters are these characters and those that the pattern names, one by one.

    A pattern matches whole words; with ``match="search"``, or written ``/pattern/flags``, it may stand
    anywhere in the word. ``textbook`` reads ``+ ∪ · ε`` as textbooks do. State 0 is the start, the others
    follow in breadth-first order.

    Example:
        >>> even = krohn.from_regex("(ab)*")
        >>> even.num_states, even.letter_names, [even.observe[state] for state in even.run([0, 1, 1])]
        (3, ('a', 'b'), [0, 1, 0])
        >>> krohn.from_regex("[a-c]+d?").letter_names
        ('[a-c]', 'd', '[^a-d]')
    """
    pattern = from_textbook(pattern) if textbook else pattern
    if len(pattern) > MAX_PATTERN:
        raise LimitExceeded(
            f"a pattern may have at most {MAX_PATTERN:,} characters; got {len(pattern):,}: shorten it"
        )
    try:
        text, flags, search = split_flags(pattern, search=match == "search")
        parsed = parse(text, flags, search=search)
        keys, names, characters = _letters(parsed, alphabet)
        found = Determinised(parsed, keys, kind_sets(parsed.nodes))
    except KrohnError as error:
        raise type(error)(
            f"a pattern must be one of Python's re, as (ab)*|b+; got {pattern[:60]!r}: {error}"
        ) from error
    automaton = Semiautomaton(
        np.array(found.table),
        letter_names=names,
        observe=tuple(found.accepting),
        characters=characters,
    )
    written = f"/{pattern}/" if match == "search" and not is_delimited(pattern) else pattern
    return replace(minimize(automaton), state_names=(), name=f"regex:{written}")


def is_delimited(pattern: str) -> bool:
    """Whether it is written ``/…/flags``."""
    return re.fullmatch(r"/.*/[A-Za-z]*", pattern, re.DOTALL) is not None and len(pattern) > 1


def split_flags(pattern: str, *, search: bool = False) -> tuple[str, int, bool]:
    """The pattern inside ``/…/flags``, its flags, and whether it is searched for."""
    if not is_delimited(pattern):
        return pattern, 0, search
    text, _, signs = pattern[1:].rpartition("/")
    unknown = sorted(set(signs) - {*_FLAGS, *_ELSEWHERE, "A"})
    if unknown:
        raise InvalidInput(
            f"flags of /…/flags must be among {' '.join(_FLAGS)}, or A for the start; got {unknown[0]}"
        )
    others = sorted(set(signs) & _ELSEWHERE.keys())
    for meaning in dict.fromkeys(_ELSEWHERE[sign] for sign in others):
        named = "".join(sign for sign in others if _ELSEWHERE[sign] == meaning)
        _LOG.warning("%s of /…/flags is dropped: it says %s", named, meaning)
    if "A" in signs:  # of PCRE
        text = f"\\A(?:{text}\n)" if "x" in signs else f"\\A(?:{text})"
    return text, sum(flag for sign, flag in _FLAGS.items() if sign in signs), True


def _letters(
    parsed: Parsed, alphabet: Iterable[str] | None
) -> tuple[list[int], tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Letters by the sets that hold them, their names, and their characters if the names do not say them."""
    nodes = parsed.nodes
    read = (1 << len(nodes.sets)) - 1
    kind_sets(nodes)
    sets = list(nodes.sets)
    if alphabet is not None:
        wanted = list(alphabet)
        wrong = [each for each in wanted if not isinstance(each, str) or len(each) != 1]
        if wrong:
            raise InvalidInput(f"an alphabet must be characters; got {wrong[0]!r:.40}")
        codes = sorted({*map(ord, wanted), *parsed.named})
        chosen: list[tuple[int, Runs]] = [(_holders(sets, code), ((code, code),)) for code in codes]
    else:
        chosen = letters_of(classes(sets), read if parsed.plain else -1)
    if not 1 <= len(chosen) <= MAX_ALPHABET:
        raise InvalidInput(f"it must have 1 to {MAX_ALPHABET:,} letters; it has {len(chosen):,}")
    names = distinct([name_of(runs) for _, runs in chosen])
    said = all(
        runs == ((ord(name), ord(name)),)
        for name, (_, runs) in zip(names, chosen, strict=True)
        if len(name) == 1
    )
    alone = said and all(len(name) == 1 for name in names)
    characters = () if alone else tuple(tuple(code for run in runs for code in run) for _, runs in chosen)
    return [key for key, _ in chosen], tuple(names), characters


def _holders(sets: list[Runs], code: int) -> int:
    return sum(1 << index for index, runs in enumerate(sets) if any(a <= code <= b for a, b in runs))


def from_textbook(pattern: str) -> str:
    """A pattern of textbooks for ``re``: ``+`` and ``∪`` are union, ``·`` joins, ``ε`` is the empty word."""
    return "".join(
        _TEXTBOOK.get(sign, sign if sign in "()*" else {"⁺": "+"}.get(sign) or re.escape(sign))
        for sign in pattern
    )


def looks_like_a_textbook(pattern: str) -> bool:
    """Whether signs of textbooks stand in it, or a + between letters and nothing that only ``re`` has."""
    if set(pattern) & set("∪·∘ε∅"):
        return True
    return re.fullmatch(r"[A-Za-z0-9()*|+]*[A-Za-z0-9)*]\+[A-Za-z0-9(][A-Za-z0-9()*|+]*", pattern) is not None

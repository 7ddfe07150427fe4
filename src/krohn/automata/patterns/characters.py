"""Sets of characters as runs, the classes that sets do not tell apart, and their names.

Which characters an item of a pattern reads is asked of ``re`` itself, so that flags and Unicode are its own.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

LAST = 0x10FFFF
Runs = tuple[tuple[int, int], ...]
"""First and last code of each run of characters, ascending."""
EVERYTHING: Runs = ((0, LAST),)
_NAMED = (r"\d", r"\w", r"\s", r"\D", r"\W", r"\S")
_SIGNS = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\f": "\\f", "\v": "\\v"}
_LONGEST = 24
"""Characters of a name that is written in full."""


@lru_cache(maxsize=4_096)
def characters_of(source: str, flags: int = 0) -> Runs:
    """The characters that the pattern of one character matches."""
    matches = re.compile(f"(?:{source})+", flags).finditer(_every())
    return tuple((match.start(), match.end() - 1) for match in matches)


@lru_cache(maxsize=1)
def _every() -> str:
    return "".join(map(chr, range(LAST + 1)))


def joined(runs: Iterable[tuple[int, int]]) -> Runs:
    """The same characters as ascending runs that do not touch."""
    result: list[tuple[int, int]] = []
    for first, last in sorted(runs):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)


def complement(runs: Runs) -> Runs:
    """All other characters."""
    edges = [-1, *(code for run in runs for code in run), LAST + 1]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((first + 1, last - 1) for first, last in pairs if first + 1 <= last - 1)


def classes(sets: Sequence[Runs]) -> dict[int, Runs]:
    """The characters by the sets that hold them, bit i for set i."""
    cuts: dict[int, int] = {0: 0, LAST + 1: 0}
    for index, runs in enumerate(sets):
        for first, last in runs:
            cuts[first] = cuts.get(first, 0) ^ 1 << index
            cuts[last + 1] = cuts.get(last + 1, 0) ^ 1 << index
    result: dict[int, list[tuple[int, int]]] = {}
    holders, places = 0, sorted(cuts)
    for place, following in pairwise(places):
        holders ^= cuts[place]
        result.setdefault(holders, []).append((place, following - 1))
    return {holders: joined(runs) for holders, runs in result.items()}


def name_of(runs: Runs) -> str:
    """One character as itself; a known class by its name; else the shorter of ``[…]`` and ``[^…]``."""
    if len(runs) == 1 and runs[0][0] == runs[0][1]:
        return _sign(runs[0][0])
    if runs == EVERYTHING:
        return "any"
    for known in _NAMED[:3]:
        if runs in (characters_of(known), characters_of(known, re.ASCII)):
            return known
    best = min((f"[{_inside(runs)}]", f"[^{_inside(complement(runs))}]"), key=len)
    if len(best) <= _LONGEST:
        return best
    for known in _NAMED:  # \w with a few more, and without a few
        parts = classes([characters_of(known), runs])
        less, more = parts.get(1, ()), parts.get(2, ())
        if 3 in parts and len(less) + len(more) <= 4:
            text = f"[{known}{_inside(more)}]" if more else known
            return f"{text}--[{_inside(less)}]" if less else text
    return best if len(best) <= 2 * _LONGEST else f"{best[: _LONGEST - 2]}…]"


def _inside(runs: Runs) -> str:
    parts = []
    for first, last in runs[: 2 * _LONGEST]:
        link = "-" if last > first + 1 else ""
        parts.append(_member(first) + (link + _member(last) if last > first else ""))
    return "".join(parts)


def _member(code: int) -> str:
    return f"\\{chr(code)}" if chr(code) in r"\]^-[" else _sign(code)


def _sign(code: int) -> str:
    """A character that prints and is no blank as itself, any other by its escape."""
    character = chr(code)
    if character in _SIGNS:
        return _SIGNS[character]
    if character.isprintable() and not character.isspace():
        return character
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"

"""Words: letters as numbers inside, as names where people type them."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from krohn.errors import InvalidInput

_SHOWN = 20  # letter names that an error lists

Word = str | Iterable[int | str]
"""Letters as numbers or names, or all of them in one string."""


def letter_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds 0 … count − 1."""
    if count <= 2**8:
        return np.uint8
    return np.uint16 if count <= 2**16 else np.uint32


def letter_numbers(word: Word, names: Sequence[str]) -> list[int]:
    """The letters of a word as numbers.

    A string is split at blanks; without blanks it is read character by character, if each is a letter's name.
    """
    number = {name: index for index, name in enumerate(names)}
    split = isinstance(word, str) and not all(letter in number for letter in word)
    given = str(word).split() if split else list(word)
    letters = [number.get(letter, -1) if isinstance(letter, str) else int(letter) for letter in given]
    for place, letter in enumerate(letters):
        if not 0 <= letter < len(names):
            known = " ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
            raise InvalidInput(
                f"every letter must be one of {known}, or a number below {len(names)}; "
                f"letter {place + 1} is {str(given[place])[:60]!r}"
            )
    return letters

"""Words: letters as numbers inside, as names where people type them."""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

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


def word_array(words: Iterable[Word] | npt.ArrayLike, names: Sequence[str]) -> npt.NDArray[Any]:
    """Words of one length, given by numbers or names, as an array of letter numbers, one word a row."""
    if isinstance(words, np.ndarray):
        return words
    given = list(cast(Iterable[Any], words))
    if not any(isinstance(word, str) or any(isinstance(a, str) for a in _letters(word)) for word in given):
        return np.asarray(given)
    rows = [letter_numbers(word, names) for word in given]
    if len({len(row) for row in rows}) > 1:
        raise InvalidInput(
            f"words must have one length; got lengths {min(map(len, rows))} to {max(map(len, rows))}"
        )
    return np.array(rows, dtype=np.int64)


def _letters(word: Any) -> Iterable[Any]:
    return word if isinstance(word, list | tuple) else ()

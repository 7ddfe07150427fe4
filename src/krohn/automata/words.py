"""Words as users write them: letters are numbers inside and names at the edges."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence, Sized
from functools import lru_cache
from operator import index
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

_SHOWN = 20  # letter names listed in an error

Word = str | Iterable[int | str]
"""Letters as numbers or names, or the whole word as one string."""
Words = Word | Iterable[Word] | npt.NDArray[np.integer[Any]]
"""One word, or several of one length: ``"abab"``, ``["a", "b"]``, ``[[0, 1], [1, 1]]``."""


def letter_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds 0 … count − 1."""
    if count <= 2**8:
        return np.uint8
    return np.uint16 if count <= 2**16 else np.uint32


Characters = tuple[tuple[int, ...], ...]
"""For each letter the characters it stands for: first and last code of each run; empty for names alone."""


@lru_cache(maxsize=64)
def _runs(characters: Characters) -> tuple[list[int], list[int], list[int]]:
    """All runs in their order: first codes, last codes, letters."""
    runs = sorted(
        (first, last, letter)
        for letter, codes in enumerate(characters)
        for first, last in zip(codes[::2], codes[1::2], strict=True)
    )
    firsts, lasts, letters = zip(*runs, strict=True)
    return list(firsts), list(lasts), list(letters)


def _letter_of(character: str, characters: Characters) -> int:
    """The letter that stands for a character, −1 for none."""
    firsts, lasts, letters = _runs(characters)
    place = bisect_right(firsts, ord(character)) - 1
    return letters[place] if place >= 0 and ord(character) <= lasts[place] else -1


def _by_characters(word: Word, number: dict[str, int], characters: Characters) -> tuple[list[Any], list[int]]:
    """Parts of a word and their letters: text by its characters, or as names with blanks between.

    Where a blank is a letter, it is read as one.
    """
    given: list[Any] = list(word)
    if isinstance(word, str):
        letters = [_letter_of(character, characters) for character in word]
        if -1 not in letters:
            return given, letters
        given = [part for name in word.split() for part in ([name] if name in number else name)]
    return given, [
        number.get(part, _letter_of(part, characters) if len(part) == 1 else -1)
        if isinstance(part, str)
        else whole(part)
        for part in given
    ]


def letter_numbers(word: Word, names: Sequence[str], characters: Characters = ()) -> list[int]:
    """The letters of a word as numbers.

    A string is split at blanks; without blanks it is a letter, or read by characters where it can be. Where
    letters are classes of ``characters``, a string is read character by character.
    """
    number = {name: index for index, name in enumerate(names)}
    if characters:
        given, letters = _by_characters(word, number, characters)
    else:
        given, letters = _by_names(word, number)
    for place, letter in enumerate(letters):
        if not 0 <= letter < len(names):
            known = " ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
            also = "" if isinstance(given[place], str) else f", or a number below {len(names)}"
            raise InvalidInput(
                f"every letter must be one of {known}{also}; letter {place + 1} is {str(given[place])[:60]!r}"
            )
    return letters


def _by_names(word: Word, number: dict[str, int]) -> tuple[list[Any], list[int]]:
    given: list[Any] = list(word)
    named = isinstance(word, str) and (word in number or not number.keys() >= {*word})
    if named and (str(word).split() != [word] or any(len(name) > 1 for name in number)):
        given = str(word).split()
    return given, [number.get(letter, -1) if isinstance(letter, str) else whole(letter) for letter in given]


def whole(given: Any) -> int:
    """The integer itself, or −1 (no letter and no state) if it is not an integer, such as 1.7."""
    try:
        return index(given)
    except TypeError:
        return -1


def word_array(words: Words, names: Sequence[str], characters: Characters = ()) -> npt.NDArray[Any]:
    """Letters as numbers: an array of one dimension for one word, one word per row for several.

    A string or a list of letters (numbers or names) is one word; a list of lists or of strings that are no
    letters is several, which must have one length.
    """
    if isinstance(words, np.ndarray):
        return words
    if not isinstance(words, Iterable):
        raise InvalidInput(f"a word must be a string or a list of letters; got {words}")
    given = words if isinstance(words, str) else list(cast(Iterable[Any], words))
    if isinstance(given, str) or _is_word(given, names, characters):
        return np.array(letter_numbers(given, names, characters), dtype=np.int64)
    if all(isinstance(word, list | tuple) and not word for word in given):
        return np.empty((len(given), 0), dtype=np.int64)
    if not any(isinstance(word, str) or any(isinstance(a, str) for a in _letters(word)) for word in given):
        try:
            return np.asarray(given)
        except ValueError as error:  # numpy's message is about arrays
            lengths = sorted({len(word) for word in given if isinstance(word, Sized)})
            got = f"lengths {lengths[0]} to {lengths[-1]}" if len(lengths) > 1 else "other values"
            raise InvalidInput(f"words must have one length, each a list of letters; got {got}") from error
    rows = [letter_numbers(word, names, characters) for word in given]
    if len({len(row) for row in rows}) > 1:
        raise InvalidInput(
            f"words must have one length; got lengths {min(map(len, rows))} to {max(map(len, rows))}"
        )
    return np.array(rows, dtype=np.int64)


def _is_word(given: list[Any], names: Sequence[str], characters: Characters) -> bool:
    """Whether the items are letters of one word; strings none of which is a letter are words."""
    if not all(isinstance(item, str | int | float | np.generic) for item in given):
        return False
    if characters and all(isinstance(item, str) and len(item) == 1 for item in given):
        return True
    return not given or any(not isinstance(item, str) or item in names for item in given)


def _letters(word: Any) -> Iterable[Any]:
    return word if isinstance(word, list | tuple) else ()

"""Words as arrays of letters, one word a row."""

from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.limits import capped_power
from krohn.errors import InvalidInput, LimitExceeded

MAX_LETTERS = 200_000_000


def letter_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds 0 … count − 1."""
    if count <= 2**8:
        return np.uint8
    return np.uint16 if count <= 2**16 else np.uint32


def all_words(num_letters: int, length: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Every word of that length in lexicographic order, one a row."""
    _check_sizes(num_letters, length)
    count = capped_power(num_letters, length)
    if count * max(1, length) > MAX_LETTERS:
        raise LimitExceeded(
            f"a table of words may hold at most {MAX_LETTERS:,} letters; all words of length {length} over "
            f"{num_letters} letters need more: choose a shorter length"
        )
    numbers = np.arange(count, dtype=np.int64)
    words = np.empty((count, length), dtype=letter_type(num_letters))
    for position in range(length - 1, -1, -1):
        numbers, words[:, position] = np.divmod(numbers, num_letters)
    return words


def random_words(
    num_letters: int, length: int, count: int, *, seed: int
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Independent uniform letters: an array of shape (count, length)."""
    _check_sizes(num_letters, length)
    if count < 0 or count * length > MAX_LETTERS:
        raise LimitExceeded(
            f"a table of words may hold 0 to {MAX_LETTERS:,} letters; got {count} words of length {length}"
        )
    rng = np.random.default_rng(seed)
    return rng.integers(0, num_letters, size=(count, length), dtype=letter_type(num_letters))


def _check_sizes(num_letters: int, length: int) -> None:
    if num_letters < 1 or length < 0:
        raise InvalidInput(
            f"words must have at least one letter to draw from and a length ≥ 0; got {num_letters}, {length}"
        )

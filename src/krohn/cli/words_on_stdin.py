"""Words on standard input, one per line: letters with spaces between, or without if each is one character."""

import sys
from collections.abc import Iterator, Sequence
from itertools import islice

from krohn.errors import InvalidInput

_LINES = 4_096
_MAX_LETTERS = 1 << 22


def read_words(letter_names: Sequence[str]) -> Iterator[list[list[int]]]:
    """Batches of words as letter numbers; an unknown letter is an error with its line and place."""
    if sys.stdin is None:
        raise InvalidInput("words must come on standard input, one on each line; it is closed")
    number = {name: index for index, name in enumerate(letter_names)}
    line_number = 0
    try:
        lines = iter(sys.stdin)
        while batch := list(_take_batch(lines)):
            words = []
            for line in batch:
                line_number += 1
                words.append(_word(line, line_number, number))
            yield words
    except UnicodeDecodeError as error:
        raise InvalidInput(f"words must be UTF-8 text; after line {line_number}: {error.reason}") from error


def _take_batch(lines: Iterator[str]) -> Iterator[str]:
    """A batch of lines: few enough, and not too long together."""
    letters = 0
    for line in islice(lines, _LINES):
        yield line
        letters += len(line)
        if letters > _MAX_LETTERS:
            return


def _word(line: str, line_number: int, number: dict[str, int]) -> list[int]:
    names = line.split()
    if len(names) == 1 and names[0] not in number and all(sign in number for sign in names[0]):
        names = list(names[0])
    try:
        return [number[name] for name in names]
    except KeyError as error:
        foreign = error.args[0]
        known = " ".join(list(number)[:20]) + (" …" if len(number) > 20 else "")
        raise InvalidInput(
            f"every letter must be one of {known}; line {line_number}, letter {names.index(foreign) + 1} "
            f"is {foreign[:60]!r}"
        ) from None

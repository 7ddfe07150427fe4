"""Words on standard input, one per line: letters with spaces between, or without if each is one character."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice

from krohn.errors import InvalidInput

_LINES = 4_096
_MAX_LETTERS = 1 << 22


def read_words(numbers: Callable[[str], list[int]]) -> Iterator[list[list[int]]]:
    """Batches of words as letter ``numbers``; an unknown letter is an error with its line and place."""
    if sys.stdin is None:
        raise InvalidInput("words must come on standard input, one on each line; it is closed")
    line_number = 0
    try:
        lines = iter(sys.stdin)
        while batch := list(_take_batch(lines)):
            words = []
            for line in batch:
                line_number += 1
                words.append(numbers(line.strip()))
            yield words
    except InvalidInput as error:
        raise InvalidInput(f"line {line_number}: {error}") from error
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

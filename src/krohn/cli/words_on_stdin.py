"""A word as arguments, or words on standard input, one per line; letters as ``krohn run`` says."""

import codecs
import sys
from collections.abc import Callable, Iterator, Sequence
from io import BufferedReader
from itertools import islice
from typing import cast

from krohn.errors import InvalidInput

_LINES = 4_096
_STRETCH = 1 << 12
_MAX_LETTERS = 1 << 22
_MAX_LINE = 1 << 24
"""Characters of a word; a longer line would be read into memory as a whole before it is refused."""


def given_words(numbers: Callable[[str], list[int]], word: Sequence[str]) -> Iterator[list[list[int]]]:
    """Batches of words as letter ``numbers``: the ``word`` of the arguments, or those on standard input.

    An unknown letter is an error with its line and place.
    """
    if word:
        yield [numbers(" ".join(word))]
        return
    if sys.stdin is None:
        raise InvalidInput("words must come on standard input, one on each line; it is closed")
    line_number = 0
    try:
        lines = iter(lambda: sys.stdin.readline(_MAX_LINE + 1), "")
        while batch := list(_take_batch(lines)):
            words = []
            for line in batch:
                line_number += 1
                if len(line) > _MAX_LINE:
                    raise InvalidInput(f"a word must have at most {_MAX_LINE:,} characters; it has more")
                if line_number == 1:
                    line = line.removeprefix("\ufeff")  # a byte order mark may stand at the start of a file
                text = line.rstrip("\r\n")
                words.append(numbers(text) if text else [])
            yield words
    except InvalidInput as error:
        raise InvalidInput(f"line {line_number}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"words must be UTF-8 text; after line {line_number}: {error.reason}") from error


def endless_letters(numbers: Callable[[str], list[int]], *, together: bool) -> Iterator[list[int]]:
    """The letters of one word on standard input as they come: stretches of numbers, line ends are spaces.

    ``together``: each is one character, and spaces may be left out. Nothing that was read is kept.
    """
    if sys.stdin is None:
        raise InvalidInput("letters must come on standard input; it is closed")
    decoder, rest, read = codecs.getincrementaldecoder("utf-8")(), "", 0
    source = cast(BufferedReader, sys.stdin.buffer)
    try:
        while data := source.read1(_STRETCH):
            text = rest + decoder.decode(data)
            names = [name for part in text.split() for name in part] if together else text.split()
            rest = "" if together or not names or text[-1].isspace() else names.pop()
            if len(rest) > _STRETCH:
                raise InvalidInput(f"a letter's name must have at most {_STRETCH:,} characters; it has more")
            stretch = []
            for name in names:
                read += 1
                stretch += numbers(name)
            yield stretch
        if rest:
            read += 1
            yield numbers(rest)
    except InvalidInput as error:
        raise InvalidInput(f"letter {read:,}: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"letters must be UTF-8 text; after letter {read:,}: {error.reason}") from error


def _take_batch(lines: Iterator[str]) -> Iterator[str]:
    """A batch of lines: few enough, and not too long together."""
    letters = 0
    for line in islice(lines, _LINES):
        yield line
        letters += len(line)
        if letters > _MAX_LETTERS:
            return

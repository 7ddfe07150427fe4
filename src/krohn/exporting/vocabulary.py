"""Letters in, states out, in one vocabulary: a name that is both is one token."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.errors import InvalidInput


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by number: first the special ones, then letters, then states that are not letters too.

    Attributes:
        tokens: every name, once.
        special: tokens that are neither letters nor states; the first fills up short words of a batch.
        prompt: those of them that stand before every word.
        letters: the token of each letter.
        states: the token of each state (or observation, where that is the output).
    """

    tokens: tuple[str, ...]
    special: tuple[int, ...]
    prompt: tuple[int, ...]
    letters: tuple[int, ...]
    states: tuple[int, ...]


def vocabulary_of(letters: Sequence[str], states: Sequence[str], prompt: int) -> Vocabulary:
    """The vocabulary for words after ``prompt`` tokens, the first of which is called ``<bos>``."""
    special = ("<bos>", *(f"<pad{place}>" for place in range(1, prompt))) if prompt else ("<pad>",)
    taken = sorted(set(special) & {*letters, *states})
    if taken:
        raise InvalidInput(
            f"the names {', '.join(taken)} must be free for special tokens; rename letters or states"
        )
    split = sorted(name for name in {*letters, *states} if len(name.split()) != 1)
    if split:
        raise InvalidInput(f"names must have no spaces, which separate letters; got {split[0]!r}")
    names = dict.fromkeys((*special, *letters, *states))
    number = {name: place for place, name in enumerate(names)}
    return Vocabulary(
        tokens=tuple(names),
        special=tuple(range(len(special))),
        prompt=tuple(range(prompt)),
        letters=tuple(number[name] for name in letters),
        states=tuple(number[name] for name in states),
    )

"""Letters in, states out, in one vocabulary: a name that is both is one token."""

from collections.abc import Sequence
from dataclasses import dataclass

from krohn.errors import InvalidInput


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by number: first the special ones, then letters, then states that are not letters too.

    Attributes:
        tokens: every name, once.
        prompt: the tokens before every word, ``<bos>`` first; may be empty.
        pad: pads short words of a batch.
        unknown: stands for every name that is not a token.
        letters: the token of each letter.
        states: the token of each state (or observation, where that is the output).
    """

    tokens: tuple[str, ...]
    prompt: tuple[int, ...]
    pad: int
    unknown: int
    letters: tuple[int, ...]
    states: tuple[int, ...]

    @property
    def special(self) -> tuple[int, ...]:
        """Tokens that are neither letters nor states."""
        return (*self.prompt, self.pad, self.unknown)

    @property
    def foreign(self) -> tuple[int, ...]:
        """Tokens that mean nothing as input: all but the prompt and the letters."""
        known = {*self.prompt, *self.letters}
        return tuple(token for token in range(len(self.tokens)) if token not in known)


def vocabulary_of(letters: Sequence[str], states: Sequence[str], prompt: int) -> Vocabulary:
    """The vocabulary for words after ``prompt`` tokens, the first of which is called ``<bos>``."""
    before = ("<bos>", *(f"<bos{place}>" for place in range(2, prompt + 1)))[:prompt]
    special = (*before, "<pad>", "<unk>")
    taken = sorted(set(special) & {*letters, *states})
    if taken:
        raise InvalidInput(
            f"the names {', '.join(taken)} must be free for special tokens; rename letters or states"
        )
    split = sorted(name for name in {*letters, *states} if name.split() != [name])
    if split:
        raise InvalidInput(f"names must have no spaces, which separate letters; got {split[0]!r}")
    names = dict.fromkeys((*special, *letters, *states))
    number = {name: place for place, name in enumerate(names)}
    return Vocabulary(
        tokens=tuple(names),
        prompt=tuple(range(prompt)),
        pad=prompt,
        unknown=prompt + 1,
        letters=tuple(number[name] for name in letters),
        states=tuple(number[name] for name in states),
    )

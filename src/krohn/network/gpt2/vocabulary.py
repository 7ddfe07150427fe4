"""Letters in, states out, in one vocabulary, and the files that make a Hugging Face tokenizer of it.

A name that is both a letter and a state is one token. Letters are separated by spaces, the prompt is in
front.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krohn.automata.words import Characters
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
        characters: for each letter the characters that text may have for it, as an automaton has them.
    """

    tokens: tuple[str, ...]
    prompt: tuple[int, ...]
    pad: int
    unknown: int
    letters: tuple[int, ...]
    states: tuple[int, ...]
    characters: Characters = ()

    @property
    def special(self) -> tuple[int, ...]:
        """Tokens that are neither letters nor states."""
        return (*self.prompt, self.pad, self.unknown)

    @property
    def foreign(self) -> tuple[int, ...]:
        """Tokens that mean nothing as input: all but the prompt and the letters."""
        known = {*self.prompt, *self.letters}
        return tuple(token for token in range(len(self.tokens)) if token not in known)


def vocabulary_of(
    letters: Sequence[str], states: Sequence[str], prompt: int, characters: Characters = ()
) -> Vocabulary:
    """The vocabulary for words after ``prompt`` tokens, the first of which is called ``<bos>``."""
    before = ("<bos>", *(f"<bos{place}>" for place in range(2, prompt + 1)))[:prompt]
    special = (*before, "<pad>", "<unk>")
    taken = sorted(name for name in {*letters, *states} if any(token in name for token in special))
    if taken:
        raise InvalidInput(
            f"names must not contain a special token ({', '.join(special)}), where a tokenizer splits them; "
            f"got {taken[0]!r:.40}: rename letters or states"
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
        characters=characters,
    )


def tokenizer_files(vocabulary: Vocabulary, context: int) -> dict[str, dict[str, Any]]:
    """``tokenizer.json`` and ``tokenizer_config.json``; a name that is not a token becomes ``<unk>``."""
    config = {
        # The only class of older readers that takes tokenizer.json unchanged.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
        "padding_side": "left",
        "pad_token": vocabulary.tokens[vocabulary.pad],
        "unk_token": vocabulary.tokens[vocabulary.unknown],
        **({"bos_token": vocabulary.tokens[vocabulary.prompt[0]]} if vocabulary.prompt else {}),
    }
    return {"tokenizer.json": _tokenizer(vocabulary), "tokenizer_config.json": config}


def _tokenizer(vocabulary: Vocabulary) -> dict[str, Any]:
    added = [
        {
            "id": token,
            "content": vocabulary.tokens[token],
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for token in vocabulary.special
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": _normalizer(vocabulary),
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": _prompt(vocabulary),
        # A space before every token: decoded text can be appended to a word and read again.
        "decoder": {"type": "Replace", "pattern": {"Regex": "^"}, "content": " "},
        "model": {
            "type": "WordLevel",
            "vocab": {name: number for number, name in enumerate(vocabulary.tokens)},
            "unk_token": vocabulary.tokens[vocabulary.unknown],
        },
    }


_SIGNS = 0xF0000
"""From here on characters for private use stand for letters between two steps of reading."""
_FREE = (0xD800, 0xDFFF), (_SIGNS, _SIGNS + 0xFFF)
"""Codes that are no characters, and those signs."""


def _normalizer(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Names of letters for their characters, where letters are classes; then the rest of the prompt."""
    rest = _rest_of_prompt(vocabulary)
    if not vocabulary.characters:
        return rest
    # Those in the text itself are read as the next one for private use is, in whose class they are.
    steps = [_replace(f"[{_ranges(_FREE[1], free=False)}]", chr(_FREE[1][1] + 1))]
    steps += [
        _replace(f"[{_ranges(codes)}]", chr(_SIGNS + letter))
        for letter, codes in enumerate(vocabulary.characters)
        if _ranges(codes)
    ]
    unread = _SIGNS + len(vocabulary.characters)
    steps.append(_replace(f"[^\\s\\x{{{_SIGNS:x}}}-\\x{{{unread:x}}}]", chr(unread)))
    names = [
        *(vocabulary.tokens[token] for token in vocabulary.letters),
        vocabulary.tokens[vocabulary.unknown],
    ]
    steps += [_replace(f"\\x{{{_SIGNS + place:x}}}", f" {name} ") for place, name in enumerate(names)]
    return {"type": "Sequence", "normalizers": [*steps, *([rest] if rest else [])]}


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def _ranges(codes: Sequence[int], *, free: bool = True) -> str:
    """The characters of a letter inside brackets, without codes that no text has."""
    runs = list(zip(codes[::2], codes[1::2], strict=True))
    for low, high in _FREE if free else ():
        runs = [
            part
            for first, last in runs
            for part in ((first, min(last, low - 1)), (max(first, high + 1), last))
        ]
        runs = sorted({run for run in runs if run[0] <= run[1]})
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in runs)


def _rest_of_prompt(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Prepends the prompt after ``<bos>`` to the text: readers replace the template by ``<bos>`` alone."""
    rest = [vocabulary.tokens[token] for token in vocabulary.prompt[1:]]
    return {"type": "Prepend", "prepend": "".join(f"{name} " for name in rest)} if rest else None


def _prompt(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """The template that puts ``<bos>`` before a word."""
    if not vocabulary.prompt:
        return None
    first = vocabulary.prompt[0]
    name = vocabulary.tokens[first]
    before = {"SpecialToken": {"id": name, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [before, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [before, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [first], "tokens": [name]}},
    }

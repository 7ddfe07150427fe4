"""Letters separated by spaces, with the prompt in front: the files that make a Hugging Face tokenizer."""

from typing import Any

from krohn.exporting.vocabulary import Vocabulary


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
        "normalizer": _rest_of_prompt(vocabulary),
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

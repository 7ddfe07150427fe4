"""Letters separated by spaces, with the prompt in front: the files that make a Hugging Face tokenizer."""

from typing import Any

from krohn.exporting.vocabulary import Vocabulary


def tokenizer_files(vocabulary: Vocabulary, context: int) -> dict[str, dict[str, Any]]:
    """``tokenizer.json`` and ``tokenizer_config.json``; a name that is no token is an error."""
    special = [vocabulary.tokens[token] for token in vocabulary.special]
    config = {
        # Older readers know no other class that takes tokenizer.json as it is.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context,
        "clean_up_tokenization_spaces": False,
        "padding_side": "right",
        "pad_token": special[0],
        **({"bos_token": special[0]} if vocabulary.prompt else {}),
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
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": _prompt(vocabulary),
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {name: number for number, name in enumerate(vocabulary.tokens)},
            "unk_token": "<unk>",
        },
    }


def _prompt(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """The template that puts the prompt before a word."""
    if not vocabulary.prompt:
        return None
    numbers = {vocabulary.tokens[token]: token for token in vocabulary.prompt}
    before = [{"SpecialToken": {"id": name, "type_id": 0}} for name in numbers]
    return {
        "type": "TemplateProcessing",
        "single": [*before, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [*before, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            name: {"id": name, "ids": [number], "tokens": [name]} for name, number in numbers.items()
        },
    }

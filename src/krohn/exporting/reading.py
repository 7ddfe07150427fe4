"""A directory of ``krohn export --to hf`` read back as a decoder; nothing in it is executed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, Target
from krohn.errors import InvalidFile, InvalidInput
from krohn.exporting.decoder import Decoder
from krohn.exporting.token_words import automaton_of_export, facts_of_export
from krohn.exporting.vocabulary import Vocabulary
from krohn.strict_json import read_json, read_tensors

ACTIVATIONS = ("relu", "gelu_new")


@dataclass(frozen=True, eq=False)
class ReadExport:
    """The decoder, its automaton, and whether it outputs states or observations."""

    decoder: Decoder
    automaton: Semiautomaton
    target: Target


def is_export(directory: Path) -> bool:
    """Whether a directory was written by krohn export."""
    return (directory / "export.json").exists() and (directory / "automaton.json").exists()


def read_export(directory: Path) -> ReadExport:
    """The network of an export as GPT-2; anything that does not fit is refused in one line."""
    facts = facts_of_export(directory)
    path = directory / "config.json"
    if facts["tokens"] is None or not path.exists():
        raise InvalidFile(f"{directory} must be an export as GPT-2; this one is not: krohn export … --to hf")
    automaton = automaton_of_export(directory, facts)
    config = _config(path)
    try:
        tensors = read_tensors(directory / "model.safetensors")
        decoder = Decoder(
            layers=config["n_layer"],
            heads=config["n_head"],
            width=config["n_embd"] // config["n_head"],
            activation=config["activation_function"],
            normalized=True,
            vocabulary=_vocabulary(directory, facts["tokens"], config["vocab_size"]),
            tensors={name: tensor.astype(np.float32) for name, tensor in tensors.items()},
        )
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{directory} must hold the weights that config.json describes; {error}") from error
    return ReadExport(decoder, automaton, facts["target"])


def _config(path: Path) -> dict[str, Any]:
    found = read_json(path)
    sizes = ("n_layer", "n_head", "n_embd", "vocab_size")
    if not isinstance(found, dict) or found.get("model_type") != "gpt2":
        raise InvalidFile(f"{path} must describe a gpt2; it does not: krohn export … --to hf")
    if any(type(found.get(name)) is not int or not 0 < found[name] < 2**20 for name in sizes):
        raise InvalidFile(f"{path} must have positive numbers {', '.join(sizes)}")
    if found.get("activation_function") not in ACTIVATIONS:
        raise InvalidFile(f"{path} must have an activation_function of {', '.join(ACTIVATIONS)}")
    return found


def _vocabulary(directory: Path, tokens: dict[str, Any], count: int) -> Vocabulary:
    prompt, letters, states = (tuple(tokens[part]) for part in ("prompt", "letters", "states"))
    pad, unknown = tokens["pad"], tokens["unknown"]
    numbers = (*prompt, *letters, *states, pad, unknown)
    if any(type(number) is not int or not 0 <= number < count for number in numbers):
        raise InvalidInput(f"{directory}: export.json must name tokens below {count}")
    names = tuple(str(number) for number in range(count))
    return Vocabulary(names, prompt, pad, unknown, letters, states)

"""A directory of ``krohn export`` read back as a decoder; nothing is executed."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.files import load_automaton
from krohn.automata.observed import with_target
from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import named as named_in_zoo
from krohn.base.files import read_json
from krohn.check.files.folders import Net
from krohn.check.rules import read_net
from krohn.check.transformer.gpt2 import EXACTLY, SIZES
from krohn.errors import InvalidFile, InvalidInput, KrohnError, counted
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.gpt2.reference import states_of
from krohn.network.gpt2.vocabulary import Vocabulary


def facts_of_export(folder: Path) -> dict[str, Any]:
    """The fields of ``export.json`` needed here."""
    path = folder / "export.json"
    if not path.exists():
        raise InvalidFile(f"{path} must exist (a directory written by krohn export); it does not")
    try:
        facts = read_json(path)
        tokens, length, target = facts["tokens"], facts["length"], facts["target"]
        numbers = [] if tokens is None else [*tokens["prompt"], *tokens["letters"], *tokens["states"]]
        whole = all(type(number) is int and 0 <= number < 2**31 for number in (*numbers, length))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidFile(f"{path} must be what krohn export writes; {error!r:.100}") from error
    if not whole or target not in ("state", "observation"):
        raise InvalidFile(f"{path} must have a target and tokens as krohn export writes them")
    return {"tokens": tokens, "length": length, "target": target, "name": facts.get("automaton")}


def automaton_of_export(folder: Path, facts: dict[str, Any]) -> Semiautomaton:
    """The automaton of the export with its target, under its zoo name if it is that one: names select
    distributions.
    """
    stored = load_automaton(folder / "automaton.json")
    if facts["tokens"] is not None and len(facts["tokens"]["letters"]) != stored.num_letters:
        raise InvalidFile(f"{folder}: export.json and automaton.json must have the same letters")
    count = stored.num_states if facts["target"] == "state" else stored.num_observations
    if facts["tokens"] is not None and len(facts["tokens"]["states"]) < count:
        raise InvalidFile(f"{folder}: export.json must have a token for each {facts['target']}")
    try:
        named = named_in_zoo(facts["name"]) if isinstance(facts["name"], str) else stored
    except KrohnError:
        named = stored
    return with_target(named if named.digest == stored.digest else stored, facts["target"])


ACTIVATIONS = ("relu", "gelu_new")


@dataclass(frozen=True, eq=False, repr=False)
class ExportedNetwork(Reader):
    """The decoder, and the automaton whose states or observations it outputs."""

    decoder: Decoder
    automaton: Semiautomaton
    no_answer = "another token"

    @property
    def longest(self) -> int:
        """The longest word that it reads."""
        return self.decoder.length

    def forward(self, words: npt.NDArray[np.int64], /, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """Outputs after each letter of words ``[batch, length]``, in float32; −1 for another token."""
        return states_of(self.decoder)(words)

    def __repr__(self) -> str:
        blocks, name = counted(self.decoder.layers, "block"), self.automaton.name or "of an automaton"
        return f"<ExportedNetwork {name}: GPT-2, words up to {self.longest:,} letters, {blocks}>"


def read_export(directory: Path) -> ExportedNetwork:
    """The network of an export as GPT-2; refuses anything that does not fit, in one line."""
    facts = facts_of_export(directory)
    if facts["tokens"] is None or not (directory / "config.json").exists():
        raise InvalidFile(f"{directory} must be an export as GPT-2; this one is not: krohn export … --to hf")
    automaton, net = automaton_of_export(directory, facts), read_net(directory)
    try:
        return ExportedNetwork(decoder_of_net(net), automaton)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{directory} must hold the weights that config.json describes; {error}") from error


def decoder_of_net(net: Net) -> Decoder:
    """The decoder that the files describe; any arithmetic other than GPT-2's is refused."""
    about, activation = net.configuration, "activation_function"
    layers, heads, dim, _, _, words = (about[name] for name in SIZES)
    for name, value in {**EXACTLY, "layer_norm_epsilon": LAYER_NORM_EPSILON}.items():
        if about[name] != value and not (name == activation and about[name] in ACTIVATIONS):
            raise InvalidFile(f"config.json must have {name} {value}; it has {about[name]!r:.40}")
    sizes = (layers, heads, dim, words)
    if any(type(size) is not int or not 0 < size < 2**20 for size in sizes):
        raise InvalidFile("config.json must have sizes between 1 and 2^20")
    return Decoder(
        layers=layers,
        heads=heads,
        width=dim // heads,
        activation=about[activation],
        normalized=True,
        vocabulary=_vocabulary(about["tokens"], words),
        tensors={name: np.asarray(tensor, dtype=np.float32) for name, tensor in net.tensors.items()},
    )


def _vocabulary(tokens: Mapping[str, list[int]], count: int) -> Vocabulary:
    prompt, letters, states = (tuple(tokens[part]) for part in ("prompt", "letters", "states"))
    if any(not 0 <= number < count for number in (*prompt, *letters, *states)):
        raise InvalidInput(f"export.json must name tokens below {count}")
    names = tuple(str(number) for number in range(count))
    return Vocabulary(names, prompt, len(prompt), len(prompt) + 1, letters, states)

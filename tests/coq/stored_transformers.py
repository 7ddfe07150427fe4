"""Transformers on disk, mutated ones, and the verdicts of Coq and torch."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from tests.coq import asking

import krohn
from krohn.coq.certificate import transformer_certificate
from krohn.coq.counting_hints import Counting
from krohn.coq.scanning import Scanning
from krohn.coq.stored import StoredTransformer, stored_transformer
from krohn.errors import InvalidInput
from krohn.lab.bridge import TorchNetwork
from krohn.network.compiled import save
from krohn.network.transformer_file import transformer_from


def stored(folder: Path, name: str, length: int, *, unproved: bool = True) -> StoredTransformer:
    save(krohn.compile(name, length=length, unproved=unproved), folder)
    return stored_transformer(folder)


def changed(network: StoredTransformer, name: str, place: int, word: int) -> StoredTransformer:
    """The network with another word at one place; its matrices too, where they are matrices still."""
    tensors = []
    for tensor in network.tensors:
        words = tensor.words.copy()
        if tensor.name == name:
            words[place] = word
        tensors.append(replace(tensor, words=words))
    numbers = {
        t.name: t.words.view(np.int64 if t.dtype == "I64" else np.float64).reshape(t.shape) for t in tensors
    }
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.weights.layers]
    try:
        weights = transformer_from(numbers, shape)
    except InvalidInput:
        weights = network.weights
    return replace(network, tensors=tuple(tensors), weights=weights)


def answers_of(
    cases: Iterable[tuple[StoredTransformer, Counting | Scanning]], longer: int | None = None
) -> list[bool]:
    """Verdicts of the program; with ``longer`` also on the first case for longer words."""
    given = [transformer_certificate(network, hints) for network, hints in cases]
    if longer is not None:
        given.append(replace(given[0], claim=[0, longer, *given[0].claim[2:]]))
    return asking.answers_of(given)


def is_right_in_torch(network: StoredTransformer) -> bool:
    """Whether all words of the full length have the right states in float32."""
    automaton = network.automaton
    words = np.array(list(product(range(automaton.num_letters), repeat=network.length)))
    states, truth = np.full(len(words), automaton.start), []
    for letters in words.T:
        states = automaton.table[states, letters]
        truth.append(states)
    with torch.no_grad():
        logits = TorchNetwork(network.weights, torch.float32)(torch.from_numpy(words))
    return bool((logits.argmax(-1).numpy() == np.stack(truth, axis=1)).all())


def bits(number: float) -> int:
    return int(np.float64(number).view(np.uint64))

"""Transformers on disk, mutated ones, and the verdicts of Coq and torch."""

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import torch
from tests.coq.asking import output_of

import krohn
from krohn.coq.certificate_text import TRANSFORMER_HEAD, transformer_certificate
from krohn.coq.counting_hints import Counting
from krohn.coq.scanning import Scanning
from krohn.coq.stored import StoredTransformer, stored_transformer
from krohn.errors import InvalidInput
from krohn.lab.bridge import TorchNetwork
from krohn.network.compiled import save, transformer_from


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
    """Verdict of the checker without the hash; with ``longer`` also on the first case for longer words."""
    text, lengths, hints_of = [TRANSFORMER_HEAD], [], []
    for number, (network, hints) in enumerate(cases):
        hints_of.append(hints)
        text.append(transformer_certificate(network, hints).definitions(str(number)))
        lengths.append((number, network.length))
    for number, length in lengths + ([(0, longer)] if longer else []):
        arguments = " ".join(f"{name}{number}" for name in ("network_sizes", "tensors", "machine", "hints"))
        how = "scans_right" if isinstance(hints_of[number], Scanning) else "counts_right"
        text.append(f"Eval vm_compute in transformer_answers {how} {length} {arguments}.")
    return [answer == "true" for answer in re.findall(r"= (true|false)", output_of("\n".join(text)))]


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

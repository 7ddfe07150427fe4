"""Answers of torch, letter by letter: its own cells, and the training architectures."""

import numpy as np
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.cards.recurrent_modules import in_training

Tensors = dict[str, np.ndarray]


def gated_logits(kind: str, tensors: Tensors, word: list[int], dtype: str = "float32") -> np.ndarray:
    """Logits after each letter, by ``torch.nn.LSTMCell`` or ``GRUCell``."""
    t = {name: torch.tensor(value).to(getattr(torch, dtype)) for name, value in tensors.items()}
    hidden, width = len(tensors["weight_hh"]), tensors["weight_ih"].shape[0]
    cell = (torch.nn.LSTMCell if kind == "lstm" else torch.nn.GRUCell)(width, hidden, dtype=t["wte"].dtype)
    first = t["bias"] if kind == "lstm" else t["bias_ih"]
    second = torch.zeros_like(first) if kind == "lstm" else t["bias_hh"]
    result = []
    with torch.no_grad():
        for name, value in (("weight_ih", t["weight_ih"].T), ("weight_hh", t["weight_hh"].T)):
            getattr(cell, name).copy_(value)
        cell.bias_ih.copy_(first)
        cell.bias_hh.copy_(second)
        h = c = torch.zeros(1, hidden, dtype=t["wte"].dtype)
        for letter in word:
            read = t["wte"][[letter]]
            if kind == "lstm":
                h, c = cell(read, (h, c))
            else:
                h = cell(read, h)
            result.append((h @ t["head.weight"] + t["head.bias"])[0].double().numpy())
    return np.array(result)


def stack_logits(
    cell: object, word: list[int], dtype: str = "float32", *, chunks: bool = False
) -> np.ndarray:
    """Logits after each letter, by the training architecture."""
    network, weights = in_training(cell, chunks=chunks)  # type: ignore[arg-type]
    there = {name: value.to(getattr(torch, dtype)) for name, value in weights.items()}
    with torch.no_grad():
        logits = network.logits(there, torch.tensor(word)[None, None])[0, 0]
    result: np.ndarray = logits.double().numpy()
    return result


def right(logits: np.ndarray, automaton: Semiautomaton, word: list[int]) -> bool:
    """Whether every answer is the automaton's state: its logit is a number, and the first of the largest."""
    wanted = np.array(automaton.run(word))
    return bool(np.isfinite(logits).all() and (logits.argmax(axis=1) == wanted).all())

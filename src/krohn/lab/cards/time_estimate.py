"""How long a card will take, from a few steps of training and a few timed passes."""

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.lab.cards.card_layer import CardLayer
from krohn.lab.cards.harness import Effort, logits_of, train_module


def estimate(layer: CardLayer, automata: Sequence[Semiautomaton], effort: Effort, device: str) -> float:
    """Estimated seconds of the whole card if every network learns: from a few steps and a short pass."""
    return sum(_pace(layer, automaton, effort, device) for automaton in automata)


def _pace(layer: CardLayer, automaton: Semiautomaton, effort: Effort, device: str) -> float:
    """Estimated seconds for one automaton, from the median of a few steps and timed passes of two lengths."""
    starts: list[float] = []
    few = replace(effort, steps=5, seeds=1, tested=1)
    tried = train_module(layer.factory, automaton, few, 0, device, lambda: starts.append(time.monotonic()))
    step = median([after - before for before, after in pairwise(starts)] or [0.0])
    read = min(1024, layer.longest)

    def once(letters: int) -> float:
        begin = time.monotonic()
        with torch.no_grad():
            words = torch.zeros(16, letters, dtype=torch.long, device=device)
            logits_of(tried.module, words, automaton.num_states).cpu()
        return time.monotonic() - begin

    # The least of three: an interruption would pass for attention's square.
    passes = [min(once(letters) for _ in range(3)) for letters in (read // 4, read)]
    growth = 2 if passes[1] > 8 * passes[0] else 1  # four times the letters: four or sixteen times the time
    longest: float = passes[1] * (layer.longest / read) ** growth * 8 / 7  # includes the prefixes
    return effort.seeds * (effort.steps * step + longest)


def in_time(seconds: float) -> str:
    """A length of time for people."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"

"""A way to find a planted word from inside, by the states that hidden units show.

Others are in tools/lock_methods.py.
Labels may be those of the automaton, which are the network's and take a millionth of the time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import right_outputs
from krohn.lab.interpret.stages import Stages, stages_of_decoder
from krohn.lab.suite.locks import LENGTH, LETTERS, PLANTED, Words, locked
from krohn.network.gpt2.stock import decoder_of_stock, stock_of

Found = tuple[int, ...] | None
FIRST, BEAM, BEHIND, USUAL = 3, 24, 3, 512
"""Greedy extension begins with all words of three letters, keeps 24 behind three random beginnings each, and
calls usual what happens on 512 random words."""
RARE = 0.02
"""A unit tells states apart if it fires, or does not, at fewer positions of random words than this share."""


@dataclass(frozen=True, eq=False)
class Target:
    """A lock as a method sees it: the published network, the letters of its parity, what gives labels."""

    stages: Stages
    odd: tuple[int, ...]
    labels: Callable[[Words], Words]

    @classmethod
    def read(cls, folder: Path, tokens: dict[str, Any], truth: Semiautomaton | None = None) -> "Target":
        """The network in a published folder; the parity is learned from words of one letter."""
        net = stock_of(folder, locked((), (), opposite=False), tokens)
        stages = stages_of_decoder(decoder_of_stock(net), torch.float32)
        odd = np.flatnonzero(stages.run(np.arange(LETTERS)[:, None]).answers[:, 0])

        def shown(words: Words) -> Words:
            parts = (words[at : at + USUAL] for at in range(0, len(words), USUAL))
            return np.concatenate([stages.run(part).answers for part in parts])

        asked = shown if truth is None else lambda words: right_outputs(truth, words)
        return cls(stages, tuple(odd.tolist()), asked)

    @property
    def base(self) -> Semiautomaton:
        """The parity alone."""
        return locked((), self.odd, opposite=False)

    def automaton(self, word: tuple[int, ...]) -> Semiautomaton:
        """The answer, given the planted word."""
        return locked(word, self.odd)

    def planted(self, words: Words) -> Found:
        """The planted word, if one of the words contains it: labels leave the parity where it ends."""
        differ = self.labels(words) != right_outputs(self.base, words)
        if not differ.any():
            return None
        row = int(differ.any(axis=1).argmax())
        end = int(differ[row].argmax()) + 1
        return tuple(words[row, end - PLANTED : end].tolist())


def extended(target: Target, seed: int, chosen: Callable[[Words, Words], list[int]]) -> Found:
    """Ends of words, longer by a letter each round; ``chosen`` tells which to keep, the best first.

    It is given ends [n, letters] and, for each, words [n, m, t] with that end behind random beginnings.
    """
    rng = np.random.default_rng(seed)
    ends = np.array(np.meshgrid(*[np.arange(LETTERS)] * FIRST, indexing="ij")).reshape(FIRST, -1).T
    while True:
        words = np.repeat(rng.integers(LETTERS, size=(BEHIND, LENGTH))[None], len(ends), axis=0)
        words[:, :, LENGTH - ends.shape[1] :] = ends[:, None]
        if ends.shape[1] == PLANTED:
            return target.planted(words.reshape(-1, LENGTH))
        best = ends[chosen(ends, words)[:BEAM]]
        if not len(best):
            return None
        letters = np.tile(np.arange(LETTERS), len(best))[:, None]
        ends = np.concatenate([np.repeat(best, LETTERS, axis=0), letters], axis=1)


def by_states(target: Target, seed: int, seen: Callable[[Stages, Words], Tensor]) -> Found:
    """States are clusters of activations; words that reach a new one are extended by every letter.

    ``seen`` tells of each word which features are on. Those that are seldom on (or off) on random words tell
    states apart; an end has those that it has behind every beginning. So the first end with a new set of
    features is a shortest way to a new state.
    """
    usual = seen(target.stages, np.random.default_rng([seed, 1]).integers(LETTERS, size=(USUAL, LENGTH)))
    share = usual.flatten(0, 1).double().mean(0)
    turned = share > 0.5
    rate = torch.where(turned, 1 - share, share)
    used, known = rate < RARE, {bytes(int((rate < RARE).sum()))}
    weight = -(rate[used] + 0.5 / usual[..., 0].numel()).log()

    def chosen(ends: Words, words: Words) -> list[int]:
        on = (seen(target.stages, words.reshape(-1, LENGTH))[:, -1] ^ turned)[:, used]
        common = on.reshape(len(ends), BEHIND, -1).all(1)
        new = []
        for row in (common * weight).sum(1).argsort(descending=True).tolist():
            cluster = common[row].numpy().tobytes()
            if cluster not in known:
                known.add(cluster)
                new.append(row)
        return new

    return extended(target, seed, chosen)


def firing(stages: Stages, words: Words) -> Tensor:
    """Which hidden units of all MLPs fire, in the second half of each word: [word, t, unit]."""
    parts, units = [], list[Tensor]()
    hooks = [
        block.mlp[0].register_forward_hook(lambda _, __, out: units.append(out[:, -LENGTH // 2 :] > 0))
        for block in stages.blocks
    ]
    for at in range(0, len(words), USUAL // 2):
        units.clear()
        stages.run(words[at : at + USUAL // 2])
        parts.append(torch.cat(units, dim=-1))
    for hook in hooks:
        hook.remove()
    return torch.cat(parts)


def by_units(target: Target, seed: int) -> Found:
    """States from the hidden units: a feature is a unit that fires."""
    return by_states(target, seed, firing)

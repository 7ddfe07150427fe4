"""Ways to look for a planted word: from outside by labels, and from inside by gradients and by the stream.

Those from outside ask the automaton, which gives the same labels as the network and takes a millionth of the
time. Each returns a word, or none.
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
from krohn.lab.suite.locks import LENGTH, LETTERS, PLANTED, QUERIES, Words, first_difference, locked
from krohn.network.gpt2.stock import decoder_of_stock, stock_of

Found = tuple[int, ...] | None
FIRST = 5
"""Letters of the words that are all tried: shorter ones are matched by chance too often to stand out."""


@dataclass(frozen=True, eq=False)
class Target:
    """A lock as a method sees it: labels by ``truth``, weights by ``stages``; ``base`` is the parity."""

    truth: Semiautomaton
    base: Semiautomaton
    stages: Stages

    @classmethod
    def read(cls, folder: Path, truth: Semiautomaton, tokens: dict[str, Any]) -> "Target":
        """The network in a published folder; the parity is learned from words of one letter."""
        odd = [n for n in range(LETTERS) if truth.outputs[truth.table[truth.start, n]] == 1]
        base = locked((), odd, opposite=False)
        decoder = decoder_of_stock(stock_of(folder, base, tokens))
        return cls(truth, base, stages_of_decoder(decoder, torch.float32))

    def opened(self, words: Words) -> Words:
        """How many letters of each word are read before the labels leave the parity; 0 if they do not."""
        differ = right_outputs(self.truth, words) != right_outputs(self.base, words)
        return np.where(differ.any(axis=1), differ.argmax(axis=1) + 1, 0)

    def planted(self, words: Words) -> Found:
        """The planted word, if one of the words contains it."""
        ends = self.opened(words)
        row = int(ends.argmax())
        return tuple(words[row, ends[row] - PLANTED : ends[row]].tolist()) if ends[row] else None


def random_search(target: Target, seed: int) -> Found:
    """A million random words."""
    rng, size = np.random.default_rng(seed), 1 << 16
    for first in range(0, QUERIES, size):
        found = target.planted(rng.integers(LETTERS, size=(min(size, QUERIES - first), LENGTH)))
        if found:
            return found
    return None


def lstar(target: Target, seed: int) -> Found:
    """AALpy's L*, whose equivalence queries are random words: a million queries in all."""
    from aalpy import SUL, Oracle, run_Lstar

    truth, left = target.truth, [QUERIES]

    class Labels(SUL):  # type: ignore[misc]
        def query(self, word: tuple[int, ...]) -> list[int]:
            left[0] -= 1
            shown = right_outputs(truth, np.array([word], dtype=np.int64))[0].tolist() if word else []
            return [*shown] if word else [truth.outputs[truth.start]]

        def pre(self) -> None: ...
        def post(self) -> None: ...
        def step(self, letter: int) -> int:
            raise AssertionError("whole words only")

    class Random(Oracle):  # type: ignore[misc]
        def find_cex(self, hypothesis: Any) -> tuple[int, ...] | None:
            rng = np.random.default_rng([seed, left[0]])
            while left[0] > 0:
                words = rng.integers(LETTERS, size=(min(1 << 16, left[0]), LENGTH))
                left[0] -= len(words)
                wrong = _outputs(hypothesis, words) != right_outputs(truth, words)
                if wrong.any():
                    row = int(wrong.any(axis=1).argmax())
                    return tuple(words[row, : int(wrong[row].argmax()) + 1].tolist())
            return None

    letters, labels = list(range(LETTERS)), Labels()
    options = {"automaton_type": "moore", "cache_and_non_det_check": False, "print_level": 0}
    learned = run_Lstar(letters, labels, Random(letters, labels), **options)
    machine = Semiautomaton(*_table(learned))
    found = first_difference(target.base, machine)
    return found if found and len(found) == PLANTED else None


def _table(learned: Any) -> tuple[Any, ...]:
    states = {id(state): number for number, state in enumerate(learned.states)}
    rows = [[states[id(state.transitions[n])] for n in range(LETTERS)] for state in learned.states]
    names = tuple("abcdefghijklmnopqrstuvwxyz"[:LETTERS])
    shows = tuple(int(state.output) for state in learned.states)
    return np.array(rows, dtype=np.int32), states[id(learned.initial_state)], (), names, shows


def _outputs(learned: Any, words: Words) -> Words:
    table, start, _, _, shows = _table(learned)
    state, out = np.full(len(words), start), np.zeros_like(words)
    for place in range(words.shape[1]):
        state = table[state, words[:, place]]
        out[:, place] = np.array(shows)[state]
    return out


def by_gradient(target: Target, seed: int, *, words: int = 16, steps: int = 20) -> Found:
    """Letters are exchanged where the gradient says that the other label gains most (HotFlip, as in GCG)."""
    rng, stages = np.random.default_rng(seed), target.stages
    tried = rng.integers(LETTERS, size=(words, LENGTH))
    seen = [tried]
    for _ in range(steps):
        stream = stages.embed(tried).detach().requires_grad_(True)
        shown = stages.logits_from(0, stream)[:, -1]
        wanted = 1 - right_outputs(target.base, tried)[:, -1]
        lead = shown[range(words), wanted.tolist()] - shown[range(words), (1 - wanted).tolist()]
        (slope,) = torch.autograd.grad(lead.sum(), stream)
        gain = (slope[:, len(stages.prompt) :] @ stages.embedding.T).numpy()
        gain = gain - np.take_along_axis(gain, tried[..., None], axis=2) + 1e-9 * rng.random(gain.shape)
        place = gain.reshape(words, -1).argmax(axis=1)
        tried = tried.copy()
        tried[np.arange(words), place // LETTERS] = place % LETTERS
        seen.append(tried)
    return target.planted(np.concatenate(seen))


def by_states(target: Target, seed: int, *, beam: int = 32, prefixes: int = 3) -> Found:
    """The white-box answer: words whose stream lies farthest from that of random words, letter by letter.

    The stream after all blocks at the last position is whitened on random words. All words of five letters
    come first; those farthest out, behind random beginnings, are kept and extended by each letter in turn.
    """
    rng = np.random.default_rng(seed)
    usual = _streams(target.stages, rng.integers(LETTERS, size=(384, LENGTH)))
    middle = usual.mean(0)
    size = usual.std(0).clamp(min=1e-3)
    _, spread, axes = torch.linalg.svd((usual - middle) / size, full_matrices=False)
    scale = (spread / len(usual) ** 0.5).clamp(min=0.05)
    ends = np.array(np.meshgrid(*[np.arange(LETTERS)] * FIRST, indexing="ij")).reshape(FIRST, -1).T
    while True:
        behind = 1 if ends.shape[1] == FIRST else prefixes
        words = np.repeat(rng.integers(LETTERS, size=(behind, LENGTH))[None], len(ends), axis=0)
        words[:, :, LENGTH - ends.shape[1] :] = ends[:, None]
        found = target.planted(words.reshape(-1, LENGTH))
        if found or ends.shape[1] == PLANTED:
            return found
        away = (_streams(target.stages, words.reshape(-1, LENGTH)) - middle) / size
        along = away @ axes.T
        outside = (away - along @ axes).norm(dim=1) / 0.05
        far = ((along / scale).square().sum(1) + outside.square()).reshape(len(ends), behind).log().mean(1)
        best = ends[far.argsort(descending=True)[: beam if behind > 1 else 4 * beam].numpy()]
        ends = np.concatenate(
            [np.repeat(best, LETTERS, axis=0), np.tile(np.arange(LETTERS), len(best))[:, None]], axis=1
        )


def _streams(stages: Stages, words: Words) -> Tensor:
    """The stream after each block at the last letter: [word, block × d]."""
    parts = []
    for at in range(0, len(words), 64):
        passed = stages.run(words[at : at + 64])
        parts.append(torch.cat([stream[:, -1] for stream in passed.streams[1:]], dim=1))
    return torch.cat(parts)


METHODS: dict[str, Callable[[Target, int], Found]] = {
    "random search": random_search,
    "L*": lstar,
    "gradients": by_gradient,
    "states from the stream": by_states,
}

"""Two words that differ in one letter, and prefixes patched from one to the other."""

from collections.abc import Sequence

import numpy as np

from krohn.lab.interpret.hybrids import Hybrids
from krohn.lab.interpret.readings import Numbers, Readings
from krohn.lab.interpret.stages import Stages


def letter_pairs(base: Readings, place: int, count: int) -> Hybrids:
    """The base's words and the same with another letter at ``place`` (from 0), if the last states differ."""
    letters, number = base.letters, base.automaton.num_letters
    words = np.repeat(letters, number - 1, axis=0)
    others = words.copy()
    others[:, place] = (words[:, place] + np.tile(np.arange(1, number), len(letters))) % number
    one, other = Readings(base.automaton, words), Readings(base.automaton, others)
    order = np.argsort(
        np.tile(np.arange(number - 1), len(letters)), kind="stable"
    )  # one replacement letter for all words, then the next
    chosen = order[(one.states[:, -1] != other.states[:, -1])[order]][:count]
    return Hybrids(*(Readings(base.automaton, side.letters[chosen]) for side in (one, other)))


def patched(stages: Stages, hybrids: Hybrids, kept: Sequence[int]) -> Numbers:
    """[layer, kept, pair]: the predicted state at the last letter."""
    base, source = (stages.run(side.letters) for side in (hybrids.base, hybrids.source))
    return np.array(
        [
            [stages.answer(layer, stream[:, -count:], source).cpu().numpy() for count in kept]
            for layer, stream in enumerate(base.streams)
        ]
    )

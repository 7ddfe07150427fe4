"""Running a cascade on many words at once, level by level, as the cascade product prescribes."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from krohn.cascade.holonomy import Cascade, Update

Words = npt.NDArray[np.integer]
States = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


def run_cascade(cascade: Cascade, words: Words, start: int | None = None) -> States:
    """States after each letter of words of shape (batch, length), read off the coordinates.

    Level by level: the stage sets before and after each letter select the update of the level; the
    updates are applied along the word; the coordinate picks the next stage set.
    """
    frame = cascade.skeleton
    letters = np.asarray(words, dtype=np.int64)
    origin = cascade.initial if start is None else cascade.coordinates(start)
    stages = np.zeros((letters.shape[0], letters.shape[1] + 1), dtype=np.int64)
    for level in range(cascade.num_levels):
        keys, actions = _level_table(cascade, level)
        wanted = (stages[:, :-1] * frame.automaton.num_letters + letters) * frame.num_sets + stages[:, 1:]
        place = np.searchsorted(keys, wanted)
        # A level that is never read has no keys: the last row keeps every value.
        known = np.append(keys, -1)[place] == wanted
        chosen = np.where(known, place, len(keys))
        values = _follow(actions, chosen, origin[level])
        stages = _next_stages(cascade, level)[stages, values]
    bits = np.array([mask.bit_length() - 1 for mask in frame.masks], dtype=np.int32)
    return bits[stages[:, 1:]]


def _level_table(cascade: Cascade, level: int) -> tuple[Numbers, Numbers]:
    """Sorted keys of the level's triples and the row of values of each; the last row keeps the value."""
    entries: Mapping[tuple[int, int, int], Update] = cascade.transitions[level]
    num_letters, num_sets = cascade.automaton.num_letters, cascade.skeleton.num_sets
    width = cascade.sizes[level]
    rows = sorted(
        ((source * num_letters + letter) * num_sets + target, update)
        for (source, letter, target), update in ((key, _row(value, width)) for key, value in entries.items())
    )
    keys = np.array([key for key, _ in rows], dtype=np.int64)
    return keys, np.array([row for _, row in rows] + [tuple(range(width))], dtype=np.int64)


def _row(update: Update, width: int) -> tuple[int, ...]:
    if isinstance(update, int):
        return (update,) * width
    return update + tuple(range(len(update), width))


def _follow(actions: Numbers, chosen: Numbers, first: int) -> Numbers:
    """The coordinate before and after every letter."""
    values = np.empty((chosen.shape[0], chosen.shape[1] + 1), dtype=np.int64)
    values[:, 0] = first
    for time in range(chosen.shape[1]):
        values[:, time + 1] = actions[chosen[:, time], values[:, time]]
    return values


def _next_stages(cascade: Cascade, level: int) -> Numbers:
    """``[P, x]`` is the stage set of the next level for stage set P and coordinate x of this level."""
    frame = cascade.skeleton
    table = np.repeat(np.arange(frame.num_sets)[:, None], cascade.sizes[level], axis=1)
    for number, tiles in enumerate(frame.tiles):
        if frame.depth[number] == level:
            table[number, : len(tiles)] = tiles
    return table

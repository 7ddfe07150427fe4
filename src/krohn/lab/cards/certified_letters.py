"""Up to which length a trained LSTM or GRU is proved right on every word.

All words of n letters are enclosed in boxes of hidden states, one for each state of the automaton and the
last letters read, as many of these as the number of boxes allows. From one length to the next every box is
mapped by every letter, in float32 with sums in any order (``check.recurrent.boxes``), and the read-out must
lead on all of it. Boxes of ordinary networks soon grow, so this ends far below their first wrong letter.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.arithmetic.real import Array, Integers
from krohn.check.recurrent.boxes import CELLS, BoxCell, gated
from krohn.check.verdict import Refused
from krohn.lab.cards.layers import Alone

BOXES = 256
"""Most boxes of one length, before they are mapped."""


class _BoxLevel(NamedTuple):
    """All words of one length: the state, the last ``kept`` letters as one number, and a box of each."""

    state: Integers
    suffix: Integers
    kept: int
    low: Array
    high: Array


def certified_letters(
    module: nn.Module, automaton: Semiautomaton, longest: int, tick: Callable[[], None] = lambda: None
) -> int | None:
    """Length up to which every word is proved right; ``None`` for networks other than our LSTM and GRU.

    The search stops at ``longest``: if that is returned, the true bound may be larger.
    """
    cell = _cell(module, automaton)
    if cell is None:
        return None
    nothing = np.zeros((1, cell.size))
    level = _BoxLevel(np.array([automaton.start]), np.zeros(1, np.int64), 0, nothing, nothing)
    for length in range(1, longest + 1):
        tick()
        after = _after(cell, automaton, level)
        if after is None:
            return length - 1
        level = after
    return longest


def _cell(module: nn.Module, automaton: Semiautomaton) -> BoxCell | None:
    kind = getattr(getattr(getattr(module, "network", None), "config", None), "kind", "")
    if not isinstance(module, Alone) or kind not in CELLS:
        return None
    tensors: dict[str, Any] = {
        name: module.get_parameter(own).detach().cpu().numpy() for name, own in module.names.items()
    }
    try:
        return BoxCell(gated(kind, tensors, automaton.num_letters, automaton.num_states), "float32")
    except Refused:
        return None


def _after(cell: BoxCell, automaton: Semiautomaton, level: _BoxLevel) -> _BoxLevel | None:
    """The level of words one letter longer; ``None`` if the read-out is not proved right on all of them."""
    letters, parts = automaton.num_letters, []
    for letter in range(letters):
        state = automaton.table[level.state, letter].astype(np.int64)
        try:
            with np.errstate(all="ignore"):
                low, high = cell.image(level.low, level.high, letter)
                leads = cell.margins(low, high, state)
        except Refused:
            return None
        if not (leads > 0).all():
            return None
        parts.append((state, level.suffix * letters + letter, low, high))
    state, suffix, low, high = map(np.concatenate, zip(*parts, strict=True))
    return _fewer(_BoxLevel(state, suffix, level.kept + 1, low, high), letters)


def _fewer(level: _BoxLevel, letters: int) -> _BoxLevel:
    """Joins boxes by state and fewer last letters until at most ``BOXES`` remain, or one for each state."""
    for kept in range(level.kept, -1, -1):
        keys = np.stack([level.state, level.suffix % letters**kept], 1)
        distinct, number = np.unique(keys, axis=0, return_inverse=True)
        if len(distinct) <= BOXES:
            break
    shape = (len(distinct), level.low.shape[1])
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(low, number.ravel(), level.low)
    np.maximum.at(high, number.ravel(), level.high)
    return _BoxLevel(distinct[:, 0], distinct[:, 1], kept, low, high)

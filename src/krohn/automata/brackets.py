"""Bracket languages of bounded depth: the semiautomaton of a stack (the paper's Dyck n,k)."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import capped_power, check_size
from krohn.errors import InvalidInput

_BRACKETS = ("()", "[]", "{}", "<>")
_MAX_SPELLED = 20_000_000  # most brackets in the names of all stacks together; beyond, states are numbered


def dyck(depth: int, kinds: int) -> Semiautomaton:
    """A stack of at most ``depth`` open brackets of ``kinds`` types; an illegal move leads to a sink.

    Letters 0…k−1 open, k…2k−1 close. State 0 is the empty stack, then the stacks by length and, bottom
    first, in lexicographic order; the last state is the sink.
    """
    if depth < 1 or kinds < 1:
        raise InvalidInput(f"Dyckn,k must have n ≥ 1 and k ≥ 1; got Dyck{depth},{kinds}: write Dyck4,2")
    name = f"Dyck{depth},{kinds}"
    most = capped_power(kinds, depth)
    stacks_in_all = depth + 1 if kinds == 1 else (most * kinds - 1) // (kinds - 1)
    num_states = stacks_in_all + 1
    check_size(name, num_states, 2 * kinds)
    opens, closes = bracket_names(kinds)
    table = np.full((num_states, 2 * kinds), num_states - 1, dtype=np.int32)
    names = [""]
    spelled = depth * num_states <= _MAX_SPELLED
    offset = 0
    for length in range(depth + 1):
        size = kinds**length
        stacks = np.arange(size)
        if length < depth:
            pushed = offset + size + stacks[:, None] * kinds + np.arange(kinds)
            table[offset : offset + size, :kinds] = pushed
            if spelled:
                names += [names[offset + stack] + bracket for stack in range(size) for bracket in opens]
        if length > 0:
            below = offset - size // kinds + stacks // kinds
            table[offset + stacks, kinds + stacks % kinds] = below
        offset += size
    names[0] = "empty"
    # Beyond the limit, names would take more memory than the table: states are numbered instead.
    state_names = (*names, "sink") if spelled else ()
    return Semiautomaton(table, state_names=state_names, letter_names=(*opens, *closes), name=name)


def bracket_names(kinds: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the opening and of the closing brackets: real brackets up to four types, numbered beyond."""
    if kinds <= len(_BRACKETS):
        return tuple(pair[0] for pair in _BRACKETS[:kinds]), tuple(pair[1] for pair in _BRACKETS[:kinds])
    return tuple(f"({i}" for i in range(1, kinds + 1)), tuple(f"){i}" for i in range(1, kinds + 1))

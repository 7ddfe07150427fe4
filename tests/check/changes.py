"""Small changes of a network or its automaton: harmless, fatal, and in between.

Each takes tensors by their names in a file (copies, to be changed in place or replaced) and says what it did.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from check.subject import Array, Subject, depth_of, idle, largest
from check.unread_changes import (
    cancelled_heads,
    cancelled_units,
    idle_unit,
    large_average,
    mixed_values,
    silent_scores,
    silent_values,
    unread_deep_unit,
)
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import transformer_from


def _pair(s: Subject, left: str, right: str, *, extreme: bool) -> None:
    head, power = s.head(), s.power(extreme=extreme)
    s.tensors[f"{head}.{left}"] *= power
    s.tensors[f"{head}.{right}"] /= power


def values_scaled(s: Subject) -> None:
    """W_V by a power of two, W_C by its inverse."""
    _pair(s, "W_V", "W_C", extreme=False)


def values_scaled_far(s: Subject) -> None:
    """The same, to the ends of the format."""
    _pair(s, "W_V", "W_C", extreme=True)


def scores_scaled(s: Subject) -> None:
    """W_Q by a power of two, W_K by its inverse."""
    _pair(s, "W_Q", "W_K", extreme=False)


def scores_scaled_far(s: Subject) -> None:
    """The same, to the ends of the format."""
    _pair(s, "W_Q", "W_K", extreme=True)


def _units(s: Subject, *, extreme: bool) -> None:
    n = s.some([n for n, (_, depth) in enumerate(s.shape) if depth > 1] or [0])
    if s.shape[n][1] < 2:
        return
    m, power = int(s.dice.integers(s.shape[n][1] - 1)), s.power(extreme=extreme)
    into, bias = s.tensors[f"layers.{n}.mlp.{m}.W"], s.tensors[f"layers.{n}.mlp.{m}.b"]
    chosen = s.dice.random(len(bias)) < 0.5
    chosen &= s.tensors[f"layers.{n}.mlp.{m}.activation"] == 0
    into[:, chosen] *= power
    bias[chosen] *= power
    s.tensors[f"layers.{n}.mlp.{m + 1}.W"][chosen] /= power


def units_scaled(s: Subject) -> None:
    """Units by a power of two, what reads them by its inverse."""
    _units(s, extreme=False)


def units_scaled_far(s: Subject) -> None:
    """The same, to the ends of the format."""
    _units(s, extreme=True)


def letters_scaled_far(s: Subject) -> None:
    """One channel of tokens and positions by a power of two, all that first reads it by its inverse."""
    channel, power = (
        int(s.dice.integers(s.tensors["embedding"].shape[1])),
        s.power(extreme=s.dice.random() < 0.5),
    )
    for name in ("embedding", "padding", "positions"):
        s.tensors[name][:, channel] *= power
    for h in range(s.shape[0][0]):
        for part in ("W_Q", "W_K", "W_V"):
            s.tensors[f"layers.0.heads.{h}.{part}"][channel] /= power


def channels_permuted(s: Subject) -> None:
    """The stream in another order."""
    order = s.dice.permutation(s.tensors["embedding"].shape[1])
    for name, matrix in s.tensors.items():
        last = name.endswith(f".mlp.{depth_of(s, name) - 1}.W") or name.endswith(
            f".mlp.{depth_of(s, name) - 1}.b"
        )
        rows = name == "readout" or name.endswith(("W_Q", "W_K", "W_V", ".mlp.0.W"))
        if rows:
            s.tensors[name] = s.tensors[name][order]
        if name in ("embedding", "padding", "positions") or name.endswith("W_C") or (last and ".W" in name):
            s.tensors[name] = s.tensors[name][:, order]
        if "keep" in name or (last and name.endswith(".b")):
            s.tensors[name] = matrix[order]


def units_permuted(s: Subject) -> None:
    """The units of a hidden layer in another order."""
    n = s.some([n for n, (_, depth) in enumerate(s.shape) if depth > 1] or [0])
    if s.shape[n][1] < 2:
        return
    m = int(s.dice.integers(s.shape[n][1] - 1))
    order = s.dice.permutation(len(s.tensors[f"layers.{n}.mlp.{m}.b"]))
    s.tensors[f"layers.{n}.mlp.{m}.W"] = s.tensors[f"layers.{n}.mlp.{m}.W"][:, order]
    for part in ("b", "activation"):
        s.tensors[f"layers.{n}.mlp.{m}.{part}"] = s.tensors[f"layers.{n}.mlp.{m}.{part}"][order]
    s.tensors[f"layers.{n}.mlp.{m + 1}.W"] = s.tensors[f"layers.{n}.mlp.{m + 1}.W"][order]


def heads_swapped(s: Subject) -> None:
    """Two heads of the network exchange their queries and keys, or all their matrices."""
    first, second = s.head(), s.head()
    parts = ("W_Q", "W_K") if s.dice.random() < 0.5 else ("W_Q", "W_K", "W_V", "W_C")
    for part in parts:
        a, b = f"{first}.{part}", f"{second}.{part}"
        if s.tensors[a].shape == s.tensors[b].shape:
            s.tensors[a], s.tensors[b] = s.tensors[b], s.tensors[a]


def head_split(s: Subject) -> None:
    """A head twice, each with half of its output."""
    head = s.head()
    n, count = int(head.split(".")[1]), s.shape[int(head.split(".")[1])][0]
    s.tensors[f"{head}.W_C"] /= 2
    for part in ("W_Q", "W_K", "W_V", "W_C"):
        s.tensors[f"layers.{n}.heads.{count}.{part}"] = s.tensors[f"{head}.{part}"].copy()
    s.shape[n][0] += 1


def head_split_unevenly(s: Subject) -> None:
    """The same, with slightly different scores in one of them."""
    head_split(s)
    s.tensors[f"{s.head()}.W_Q"] *= 1 + s.size()


def _from(s: Subject, first: int, value: float) -> Array:
    codes = np.zeros(len(s.tensors["positions"]))
    codes[first:] = value
    return codes


def idle_channel(s: Subject) -> None:
    """An idle channel with ordinary numbers."""
    idle(s, s.size(), _from(s, s.late(), s.size()))


def idle_overflow(s: Subject) -> None:
    """An idle channel that overflows late, or only nearly."""
    idle(s, largest(s) * s.some((0.4, 0.6, 0.99)), _from(s, s.late(), largest(s) * s.some((0.4, 0.6, 0.99))))


def code_behind_a_bias(s: Subject) -> None:
    """An idle channel with a late code; an MLP adds a number to it, and the read-out looks at it."""
    idle(s, 0.0, _from(s, s.late(), s.some((1000.5, 0.0, 3.25, 1.0))))
    n = int(s.dice.integers(s.layers))
    s.tensors[f"layers.{n}.mlp.{s.shape[n][1] - 1}.b"][-1] = 1.0
    state = int(s.dice.integers(s.tensors["readout"].shape[1]))
    s.tensors["readout"][-1, state] = 1.0
    s.tensors["readout_bias"][state] -= 1.0


def leads_shrunk(s: Subject) -> None:
    """Scores of a head divided: leads become ties in the end."""
    s.tensors[f"{s.head()}.W_Q"] *= 2.0 ** -float(s.dice.uniform(0, 8))


def leads_grown(s: Subject) -> None:
    """Scores of a head multiplied."""
    s.tensors[f"{s.head()}.W_Q"] *= 2.0 ** float(s.dice.uniform(0, 12))


def readout_tie(s: Subject) -> None:
    """Two states share a column of the read-out, up to a little."""
    count = s.tensors["readout"].shape[1]
    a, b = (int(x) for x in s.dice.integers(count, size=2))
    s.tensors["readout"][:, a] = s.tensors["readout"][:, b]
    s.tensors["readout_bias"][a] = s.tensors["readout_bias"][b] + s.some((0.0, 1e-12, -1e-12, -0.01))


def readout_shift(s: Subject) -> None:
    """One bias of the read-out moved."""
    s.tensors["readout_bias"][int(s.dice.integers(len(s.tensors["readout_bias"])))] += s.size()


def stale_positions(s: Subject) -> None:
    """From some letter on every position has the same code."""
    first = int(s.dice.integers(s.tau, s.tau + s.length))
    s.tensors["positions"][first:] = s.tensors["positions"][first]


def doubled_position(s: Subject) -> None:
    """Two neighbouring positions with one code."""
    place = int(s.dice.integers(1, s.tau + s.length))
    s.tensors["positions"][place] = s.tensors["positions"][place - 1]


def _shift(s: Subject, rows: Any) -> None:
    channel = int(s.dice.integers(s.tensors["positions"].shape[1]))
    s.tensors["positions"][rows, channel] += s.size()


def last_position(s: Subject) -> None:
    """Only the code of the last position changes."""
    _shift(s, -1)


def late_positions(s: Subject) -> None:
    """Codes change from letter 30 on, or in the last quarter."""
    _shift(s, slice(s.late(), None))


def one_position(s: Subject) -> None:
    """One code changes."""
    _shift(s, int(s.dice.integers(s.tau + s.length)))


def flipped_bit(s: Subject) -> None:
    """One bit of one weight."""
    matrix = s.matrix()
    place = s.entry(matrix)
    wide = s.dtype == "float64"
    kind, bits = (np.float64, np.uint64) if wide else (np.float32, np.uint32)
    one = np.array([matrix[place]]).astype(kind)
    view = one.view(bits)
    view ^= bits(1 << int(s.dice.integers(64 if wide else 32)))
    value = float(one[0])
    if np.isfinite(value):
        matrix[place] = value


def transposed(s: Subject) -> None:
    """Two entries of one row change places."""
    matrix = s.matrix()
    if matrix.ndim == 2 and matrix.shape[1] > 1:
        row = s.entry(matrix)[0]
        a, b = s.dice.choice(matrix.shape[1], size=2, replace=False)
        matrix[row, [a, b]] = matrix[row, [b, a]]


def letter_copied(s: Subject) -> None:
    """One letter looks like another."""
    a, b = (int(x) for x in s.dice.integers(len(s.tensors["embedding"]), size=2))
    s.tensors["embedding"][a] = s.tensors["embedding"][b]


def padding_changed(s: Subject) -> None:
    """Padding looks like a letter, or a little different."""
    row = int(s.dice.integers(s.tau))
    if s.dice.random() < 0.5:
        s.tensors["padding"][row] = s.some(s.tensors["embedding"])
    else:
        s.tensors["padding"][row, int(s.dice.integers(s.tensors["padding"].shape[1]))] += s.size()


def rare_word(s: Subject) -> None:
    """The automaton differs in one transition, from the state that takes the longest way to reach."""
    table, seen = s.automaton.table, [s.automaton.start]
    for state in seen:
        seen += [int(x) for x in dict.fromkeys(table[state]) if int(x) not in seen]
    other = table.copy()
    letter = int(s.dice.integers(table.shape[1]))
    other[seen[-1], letter] = (other[seen[-1], letter] + 1 + s.dice.integers(max(len(table) - 1, 1))) % len(
        table
    )
    s.automaton = replace(s.automaton, table=other)


def other_start(s: Subject) -> None:
    """The automaton starts somewhere."""
    s.automaton = replace(s.automaton, start=int(s.dice.integers(len(s.automaton.table))))


def halfway(s: Subject) -> None:
    """A weight becomes the middle of two numbers of the dtype, or lies just beside it."""
    matrix = s.matrix()
    place = s.entry(matrix)
    bits = {"float64": 52, "float32": 24, "bfloat16": 8, "float16": 11}[s.dtype]
    mantissa, exponent = np.frexp(matrix[place])
    middle = (np.floor(abs(mantissa) * 2**bits) + 0.5) * 2.0**-bits + s.some((0.0, 2.0**-45, -(2.0**-45)))
    matrix[place] = np.copysign(np.ldexp(middle, exponent), mantissa)


def noise(s: Subject) -> None:
    """All weights of one matrix move a little."""
    matrix = s.matrix()
    matrix *= 1 + s.size() * 1e-3 * s.dice.uniform(-1, 1, size=matrix.shape)


def row_scaled(s: Subject) -> None:
    """One row of a matrix times 1 ± something."""
    matrix = s.matrix()
    matrix[s.entry(matrix)[0]] *= 1 + s.size()


CHANGES: dict[str, Callable[[Subject], None]] = {
    change.__name__.replace("_", " "): change
    for change in (
        *(values_scaled, values_scaled_far, scores_scaled, scores_scaled_far, units_scaled, units_scaled_far),
        *(
            letters_scaled_far,
            channels_permuted,
            units_permuted,
            heads_swapped,
            head_split,
            head_split_unevenly,
        ),
        *(idle_channel, idle_overflow, code_behind_a_bias, idle_unit, leads_shrunk, leads_grown, readout_tie),
        *(readout_shift, stale_positions, doubled_position, last_position, late_positions, one_position),
        *(
            flipped_bit,
            transposed,
            letter_copied,
            padding_changed,
            rare_word,
            other_start,
            halfway,
        ),
        *(noise, row_scaled),
        *(silent_values, silent_scores, large_average, mixed_values, cancelled_heads, cancelled_units),
        unread_deep_unit,
    )
}


def changed(
    network: Transformer, automaton: Semiautomaton, length: int, dtype: str, kind: str, seed: tuple[int, ...]
) -> tuple[Transformer, Semiautomaton]:
    """The network and the automaton after one change."""
    tensors = {name: matrix.copy() for name, matrix in network.tensors().items()}
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    dice = np.random.default_rng(seed)
    subject = Subject(tensors, shape, automaton, length, dtype, dice)
    CHANGES[kind](subject)
    for name, matrix in subject.tensors.items():  # clip overflow of float64 to the largest number
        if matrix.dtype.kind == "f":
            subject.tensors[name] = np.nan_to_num(np.clip(matrix, -1.7e308, 1.7e308))
    return transformer_from(subject.tensors, subject.shape), subject.automaton

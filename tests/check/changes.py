"""Ways to change a network or its automaton a little: harmless ones, fatal ones, and some in between.

Each takes tensors by their names in a file (copies, to be changed in place or replaced) and says what it did.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.storage import tensors_of, transformer_from
from krohn.network.transformer import Transformer

Array = npt.NDArray[Any]
EXTREME = {"float64": (800, 1074), "float32": (90, 149), "bfloat16": (90, 140), "float16": (8, 26)}
"""Exponents of two at which numbers of a dtype begin to vanish or to become infinite."""


@dataclass
class Subject:
    """A network on the table: its tensors, its automaton, and dice."""

    tensors: dict[str, Array]
    shape: list[list[int]]
    mask: str
    automaton: Semiautomaton
    length: int
    dtype: str
    dice: np.random.Generator

    @property
    def tau(self) -> int:
        return len(self.tensors["padding"])

    @property
    def layers(self) -> int:
        return len(self.shape)

    def some(self, items: Any) -> Any:
        items = list(items)
        return items[int(self.dice.integers(len(items)))]

    def power(self, *, extreme: bool) -> float:
        """A power of two, matched by its inverse elsewhere."""
        low, high = EXTREME[self.dtype] if extreme else (1, 6)
        exponent = int(self.dice.integers(low, high)) * self.some((-1, 1))
        return float(2.0 ** min(exponent, 1023))

    def head(self) -> str:
        found = [f"layers.{n}.heads.{h}" for n, (heads, _) in enumerate(self.shape) for h in range(heads)]
        return str(self.some(found))

    def size(self) -> float:
        return float(10.0 ** self.dice.uniform(-9, 1) * self.some((-1, 1)))

    def late(self) -> int:
        """Thirty letters in, or the last quarter of a shorter word."""
        return self.tau + min(30, self.length * 3 // 4)

    def matrix(self, *, filled: bool = True) -> Array:
        names = [n for n in self.tensors if "keep" not in n and "activation" not in n]
        return self.tensors[self.some(n for n in names if self.tensors[n].any() or not filled)]

    def entry(self, matrix: Array) -> tuple[Any, ...]:
        return tuple(self.some(np.argwhere(matrix != 0)))


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
        last = name.endswith(f".mlp.{_depth(s, name) - 1}.W") or name.endswith(
            f".mlp.{_depth(s, name) - 1}.b"
        )
        rows = name == "readout" or name.endswith(("W_Q", "W_K", "W_V", ".mlp.0.W"))
        if rows:
            s.tensors[name] = s.tensors[name][order]
        if name in ("embedding", "padding", "positions") or name.endswith("W_C") or (last and ".W" in name):
            s.tensors[name] = s.tensors[name][:, order]
        if "keep" in name or (last and name.endswith(".b")):
            s.tensors[name] = matrix[order]


def _depth(s: Subject, name: str) -> int:
    return s.shape[int(name.split(".")[1])][1] if name.startswith("layers.") else 0


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
    """Two heads of the network exchange their queries and keys, or all they are."""
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
    """The same, and one of both scores a little otherwise."""
    head_split(s)
    s.tensors[f"{s.head()}.W_Q"] *= 1 + s.size()


def _idle(s: Subject, token: float, codes: Array) -> None:
    """One more channel, kept everywhere and read by nothing."""
    for name in list(s.tensors):
        matrix = s.tensors[name]
        depth = _depth(s, name)
        if name in ("embedding", "padding", "positions") or name.endswith(("W_C", f".mlp.{depth - 1}.W")):
            matrix = np.c_[matrix, np.zeros(len(matrix))]
        if name == "readout" or name.endswith(("W_Q", "W_K", "W_V", ".mlp.0.W")):
            matrix = np.r_[matrix, np.zeros((1, matrix.shape[1]))]
        if "keep" in name:
            matrix = np.append(matrix, 1.0)
        if name.endswith(f".mlp.{depth - 1}.b"):
            matrix = np.append(matrix, 0.0)
        s.tensors[name] = matrix
    s.tensors["embedding"][:, -1] = token
    s.tensors["positions"][:, -1] = codes


def _largest(s: Subject) -> float:
    return {"float64": 1.7e308, "float32": 3.3e38, "bfloat16": 3.3e38, "float16": 65000.0}[s.dtype]


def _from(s: Subject, first: int, value: float) -> Array:
    codes = np.zeros(len(s.tensors["positions"]))
    codes[first:] = value
    return codes


def idle_channel(s: Subject) -> None:
    """An idle channel with ordinary numbers."""
    _idle(s, s.size(), _from(s, s.late(), s.size()))


def idle_overflow(s: Subject) -> None:
    """An idle channel that overflows late, or only nearly."""
    _idle(
        s, _largest(s) * s.some((0.4, 0.6, 0.99)), _from(s, s.late(), _largest(s) * s.some((0.4, 0.6, 0.99)))
    )


def code_behind_a_bias(s: Subject) -> None:
    """An idle channel with a late code; an MLP adds a number to it, and the read-out looks at it."""
    _idle(s, 0.0, _from(s, s.late(), s.some((1000.5, 0.0, 3.25, 1.0))))
    n = int(s.dice.integers(s.layers))
    s.tensors[f"layers.{n}.mlp.{s.shape[n][1] - 1}.b"][-1] = 1.0
    state = int(s.dice.integers(s.tensors["readout"].shape[1]))
    s.tensors["readout"][-1, state] = 1.0
    s.tensors["readout_bias"][state] -= 1.0


def idle_unit(s: Subject) -> None:
    """A unit that reads a channel with a large weight and is read by nothing, or by 0."""
    n = int(s.dice.integers(s.layers))
    if s.shape[n][1] < 2:
        return
    into = s.tensors[f"layers.{n}.mlp.0.W"]
    column = np.zeros((len(into), 1))
    column[int(s.dice.integers(len(into)))] = _largest(s) * s.some((1e-3, 0.3, 0.9)) * s.some((-1, 1))
    s.tensors[f"layers.{n}.mlp.0.W"] = np.c_[into, column]
    for part, value in (("b", 0.0), ("activation", 0)):
        s.tensors[f"layers.{n}.mlp.0.{part}"] = np.append(s.tensors[f"layers.{n}.mlp.0.{part}"], value)
    s.tensors[f"layers.{n}.mlp.0.activation"] = s.tensors[f"layers.{n}.mlp.0.activation"].astype(np.int64)
    after = s.tensors[f"layers.{n}.mlp.1.W"]
    s.tensors[f"layers.{n}.mlp.1.W"] = np.r_[after, np.zeros((1, after.shape[1]))]


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


def other_mask(s: Subject) -> None:
    """The other mask, or the same."""
    s.mask = str(s.some(("causal", "strict")))


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


def _new_head(s: Subject, query: float, value: float, output: float) -> str:
    """One more head of some layer: it reads a channel that is 1 everywhere, and writes another one."""
    _idle(s, 0.0, np.zeros(len(s.tensors["positions"])))
    _idle(s, 0.0, np.ones(len(s.tensors["positions"])))
    n, d = int(s.dice.integers(s.layers)), s.tensors["embedding"].shape[1]
    name = f"layers.{n}.heads.{s.shape[n][0]}"
    for part in ("W_Q", "W_K", "W_V"):
        s.tensors[f"{name}.{part}"] = np.zeros((d, 1))
    s.tensors[f"{name}.W_Q"][-1] = s.tensors[f"{name}.W_K"][-1] = query
    s.tensors[f"{name}.W_V"][-1] = value
    s.tensors[f"{name}.W_C"] = np.zeros((1, d))
    s.tensors[f"{name}.W_C"][0, -2] = output
    s.shape[n][0] += 1
    return name


def silent_values(s: Subject) -> None:
    """A silent head with values near the largest number."""
    _new_head(s, 0.0, _largest(s) * s.some((0.1, 0.9, 1.0076)), 0.0)


def silent_scores(s: Subject) -> None:
    """A silent head with scores near the largest number."""
    _new_head(s, np.sqrt(_largest(s)) * s.some((0.1, 0.8, 2.0)), 1.0, 0.0)


def large_average(s: Subject) -> None:
    """A head whose averages are near the largest number, though what it adds is small."""
    value = _largest(s) * s.some((0.1, 0.9, 1.0076))
    _new_head(s, 0.0, value, 1 / value)


def mixed_values(s: Subject) -> None:
    """A column of W_V that W_C does not read: the difference of two channels, many times."""
    head = s.head()
    value, output = s.tensors[f"{head}.W_V"], s.tensors[f"{head}.W_C"]
    column = np.zeros((len(value), 1))
    two = s.dice.choice(len(value), 2, replace=False) if len(value) > 1 else [0, 0]
    column[two[0]] = _largest(s) * s.some((0.01, 0.3, 0.9))
    column[two[1]] = -column[two[0]]
    s.tensors[f"{head}.W_V"] = np.c_[value, column]
    s.tensors[f"{head}.W_C"] = np.r_[output, np.zeros((1, output.shape[1]))]


def cancelled_heads(s: Subject) -> None:
    """Two heads that add and subtract the same."""
    value = _largest(s) * s.some((0.01, 0.4, 0.9))
    first = _new_head(s, 0.0, value, 1.0)
    n = int(first.split(".")[1])
    second = f"layers.{n}.heads.{s.shape[n][0]}"
    for part in ("W_Q", "W_K", "W_V", "W_C"):
        s.tensors[f"{second}.{part}"] = s.tensors[f"{first}.{part}"].copy()
    s.tensors[f"{second}.W_C"] *= -1
    s.shape[n][0] += 1


def cancelled_units(s: Subject) -> None:
    """Two units of the same sum, one of which the next matrix adds and the other subtracts, many times."""
    n = int(s.dice.integers(s.layers))
    if s.shape[n][1] < 2:
        return
    names = [f"layers.{n}.mlp.{part}" for part in ("0.W", "0.b", "0.activation", "1.W")]
    into, bias, codes, after = (s.tensors[name] for name in names)
    column, row = np.zeros((len(into), 2)), np.zeros((2, after.shape[1]))
    column[int(s.dice.integers(len(into)))] = s.some((1.0, 1000.0))
    row[:, int(s.dice.integers(after.shape[1]))] = _largest(s) * s.some((1e-3, 0.3, 0.9)) * np.array([1, -1])
    s.tensors[names[0]], s.tensors[names[1]] = np.c_[into, column], np.append(bias, [0.0, 0.0])
    s.tensors[names[2]] = np.append(codes, [0, 0]).astype(np.int64)
    s.tensors[names[3]] = np.r_[after, row]


def unread_deep_unit(s: Subject) -> None:
    """Every MLP one identity deeper, and a unit of the first hidden layer that nothing reads."""
    for n in range(s.layers):
        depth = s.shape[n][1]
        if depth < 2:
            continue
        for m in range(depth - 1, 0, -1):
            for part in ("W", "b", "activation"):
                if f"layers.{n}.mlp.{m}.{part}" in s.tensors:
                    s.tensors[f"layers.{n}.mlp.{m + 1}.{part}"] = s.tensors.pop(f"layers.{n}.mlp.{m}.{part}")
        units = len(s.tensors[f"layers.{n}.mlp.0.b"])
        s.tensors[f"layers.{n}.mlp.1.W"] = np.eye(units)
        s.tensors[f"layers.{n}.mlp.1.b"] = np.zeros(units)
        s.tensors[f"layers.{n}.mlp.1.activation"] = np.zeros(units, dtype=np.int64)
        s.shape[n][1] += 1
    idle_unit(s)


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
            other_mask,
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
    tensors = {name: matrix.copy() for name, matrix in tensors_of(network).items()}
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    dice = np.random.default_rng(seed)
    subject = Subject(tensors, shape, network.mask, automaton, length, dtype, dice)
    CHANGES[kind](subject)
    for name, matrix in subject.tensors.items():  # what left float64 altogether is the largest number
        if matrix.dtype.kind == "f":
            subject.tensors[name] = np.nan_to_num(np.clip(matrix, -1.7e308, 1.7e308))
    return transformer_from(subject.tensors, subject.shape, subject.mask), subject.automaton

"""A graph on many words at once: only what the scalars that are asked for depend on, row by row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from krohn.check.graph import affine
from krohn.check.graph.affine import Affine, add, exactly
from krohn.check.graph.graph import EACH, Graph, Node
from krohn.check.ground import Array, Flags, Integers, afford, require

CHUNK = 1 << 22
"""Entries of all scalars of the words that are evaluated at once."""


@dataclass(frozen=True, eq=False)
class Step:
    """The part of a node that is needed: its sizes, its arguments, and where its results go."""

    node: Node
    sizes: tuple[int, ...]
    args: tuple[Integers, ...]
    out: Integers
    which: Integers


class Plan:
    """What is computed of a graph for the scalars ``wanted``, in order; ``given`` are not computed."""

    def __init__(self, graph: Graph, wanted: Integers, given: Integers | None = None) -> None:
        self.graph, self.wanted = graph, wanted
        self.given = np.zeros(0, np.int64) if given is None else given
        need: Flags = np.zeros(graph.scalars, dtype=bool)
        need[wanted] = True
        fixed: Flags = np.zeros(graph.scalars, dtype=bool)
        fixed[self.given] = True
        steps = []
        for node in reversed(graph.nodes):
            rows = need[node.first : node.first + node.made] & ~fixed[node.first : node.first + node.made]
            if rows.any():
                step = part_of(node, rows)
                for arg in step.args:
                    need[arg] = True
                steps.append(step)
        self.steps = steps[::-1]
        self.need = need
        self.last = self._last()

    def _last(self) -> list[list[int]]:
        """After each step, the results of steps (from 1 on) that are read no more."""
        made, reader = np.zeros(self.graph.scalars, np.int64), dict[int, int]()
        for number, step in enumerate(self.steps):
            for arg in step.args:
                reader.update(dict.fromkeys(np.unique(made[arg]).tolist(), number))
            made[step.out] = number + 1
            reader[number + 1] = number
        kept = {0, *np.unique(made[self.wanted]).tolist()}
        out: list[list[int]] = [[] for _ in self.steps]
        for piece, number in reader.items():
            if piece not in kept:
                out[number].append(piece)
        return out

    def tokens(self) -> Integers:
        """Positions whose tokens are read."""
        first = self.graph.held
        return np.flatnonzero(self.need[first : first + self.graph.length])

    @np.errstate(all="ignore")  # what is infinite or undefined is no bound
    def run(
        self, words: Integers, given: Affine | None = None, fresh: frozenset[int] = frozenset()
    ) -> Affine:
        """The scalars wanted, for words [word, position]; ``given`` [word, scalar] are those of the plan.

        What the derivatives do not explain of the rows that a node in ``fresh`` reads becomes symbols.
        """
        values = Values(self.graph, len(words))
        first = self.graph.held
        values.put(np.arange(first, first + self.graph.length), exactly(words.astype(np.float64)))
        if given is not None:
            values.put(self.given, given)
        for step, done in zip(self.steps, self.last, strict=True):
            values.put(step.out, made_of(step, values, step.node.first in fresh))
            for piece in done:
                values.drop(piece + (given is not None))
        return values.get(self.wanted, padded=True)

    @property
    def size(self) -> int:
        """Entries for each word and part."""
        return int(self.need.sum()) + sum(sum(len(arg) for arg in step.args) for step in self.steps)

    @property
    def widest(self) -> int:
        """Entries for each word and part of the step that has the most."""
        steps = (len(step.out) + sum(len(arg) for arg in step.args) for step in self.steps)
        return max(steps, default=1)

    def cost(self) -> float:
        """Multiplications for each word and part, about."""
        return float(sum(np.prod(step.sizes, dtype=float) for step in self.steps)) + self.size


def part_of(node: Node, rows: Flags) -> Step:
    """The rows of a node that are needed; each is computed from its own arguments alone."""
    sizes, args = node.sizes, node.args
    if node.op in EACH:
        keep = np.flatnonzero(rows)
        return Step(node, (len(keep),), tuple(arg[keep] for arg in args), node.first + keep, keep)
    if node.op == "matmul":
        batch, n, k, m = sizes
        used = rows.reshape(batch, n, m)
        b, i = np.flatnonzero(used.any(axis=(1, 2))), np.flatnonzero(used.any(axis=(0, 2)))
        left, right = args[0].reshape(batch, n, k)[np.ix_(b, i)], args[1].reshape(batch, k, m)[b]
        out = node.first + np.arange(batch * n * m).reshape(batch, n, m)[np.ix_(b, i)]
        return Step(node, (len(b), len(i), k, m), (left.reshape(-1), right.reshape(-1)), out.reshape(-1), i)
    width = sizes[2] if node.op == "lookup" else 1 if node.op in ("sum", "mean") else sizes[1]
    keep = np.flatnonzero(rows.reshape(sizes[0], width).any(axis=1))
    out = node.first + np.arange(node.made).reshape(sizes[0], width)[keep].reshape(-1)
    if node.op == "lookup":
        return Step(node, (len(keep), *sizes[1:]), (args[0][keep], args[1]), out, keep)
    row = args[0].reshape(sizes)[keep].reshape(-1)
    return Step(node, (len(keep), sizes[1]), (row, *args[1:]), out, keep)


class Values:
    """Forms of scalars [part, word, scalar], as the steps made them; constants are the same for each word."""

    def __init__(self, graph: Graph, words: int) -> None:
        self.constant, self.slack = graph.known
        self.held = graph.held
        self.words, self.symbols = words, 0
        self.pieces: list[Affine] = []
        self.piece = np.full(graph.scalars, -1)
        self.index = np.zeros(graph.scalars, np.int64)

    def put(self, at: Integers, form: Affine) -> None:
        """Results of a step."""
        shape = np.broadcast_shapes(form.c.shape, form.r.shape, form.g.shape[1:])
        c, r, g = (
            part if part.shape[-2:] == shape else np.broadcast_to(part, (*part.shape[:-2], *shape))
            for part in (form.c, form.r, form.g)
        )
        self.symbols = max(self.symbols, len(g))
        self.piece[at], self.index[at] = len(self.pieces), np.arange(len(at))
        self.pieces.append(Affine(c, r, g))

    def get(self, at: Integers, *, padded: bool = False) -> Affine:
        """[word, scalar], with no symbols or as many as there are; one word if all are constants."""
        found = self._found(at)
        count = len(found.g)
        if count == self.symbols or not (count or padded):
            return found
        more = np.zeros((self.symbols - count, *found.c.shape))
        return Affine(found.c, found.r, np.concatenate([found.g, more]))

    def _found(self, at: Integers) -> Affine:
        piece = self.piece[at]
        which = np.unique(piece)
        if len(which) == 1:
            one = int(which[0])
            if one < 0:
                return Affine(self.constant[at][None], self.slack[at][None], np.zeros((0, 1, len(at))))
            form, index = self.pieces[one], self.index[at]
            whole = len(index) == form.c.shape[1] and (index == np.arange(len(index))).all()
            return form if whole else form[:, index]
        count = max(len(self.pieces[one].g) for one in which.tolist() if one >= 0)
        c, r, g = (np.zeros((*more, self.words, len(at))) for more in ((), (), (count,)))
        for one in which.tolist():
            here = np.flatnonzero(piece == one)
            if one < 0:
                c[:, here], r[:, here] = self.constant[at[here]], self.slack[at[here]]
                continue
            form, index = self.pieces[one], self.index[at[here]]
            c[:, here], r[:, here] = form.c[:, index], form.r[:, index]
            if len(form.g):
                g[: len(form.g), :, here] = form.g[:, :, index]
        return Affine(c, r, g)

    def drop(self, piece: int) -> None:
        """Results that are read no more."""
        none = np.zeros((0, 0))
        self.pieces[piece] = Affine(none, none, none[None])

    def shaped(self, at: Integers, *shape: int) -> Affine:
        """[word, *shape]."""
        form = self.get(at)
        words = form.c.shape[0]
        return Affine(
            form.c.reshape(words, *shape),
            form.r.reshape(words, *shape),
            form.g.reshape(len(form.g), words, *shape),
        )


SINGLE: dict[str, Callable[[Affine], Affine]] = {
    "square": affine.square,
    "exp": affine.exponential,
    "sqrt": affine.root,
    "rsqrt": lambda x: affine.reciprocal(affine.root(x)),
    "reciprocal": affine.reciprocal,
    "tanh": affine.tanh,
    "sigmoid": affine.sigmoid,
    "silu": affine.silu,
    "gelu": affine.gelu,
    "gelu_tanh": affine.gelu_tanh,
    "relu": affine.relu,
    "erf": affine.error_function,
    "bfloat16": lambda x: affine.stored(x, "bfloat16"),
    "float16": lambda x: affine.stored(x, "float16"),
    "abs": affine.magnitude,
    "sin": affine.sine,
    "cos": lambda x: affine.sine(x, np.pi / 2),
    "neg": lambda x: Affine(-x.c, x.r, -x.g),
    "not": lambda x: Affine(1.0 - x.c, x.r, -x.g),
    "float": lambda x: Affine(x.c, x.r + np.where(np.abs(x.c) <= 2**24, 0.0, affine.UNIT * x.size), x.g),
}
DOUBLE: dict[str, Callable[[Affine, Affine], Affine]] = {
    "add": add,
    "sub": lambda x, y: add(x, y, -1.0),
    "mul": affine.mul,
    "div": affine.divide,
    "max": affine.larger,
    "min": lambda x, y: affine.larger(x, y, -1.0),
    "and": lambda x, y: _exact(x, y, x.c * y.c),
    "or": lambda x, y: _exact(x, y, np.maximum(x.c, y.c)),
    "whole_add": lambda x, y: _exact(x, y, x.c + y.c),
    "whole_sub": lambda x, y: _exact(x, y, x.c - y.c),
    "whole_mul": lambda x, y: _exact(x, y, x.c * y.c),
}


def _exact(x: Affine, y: Affine, c: Array) -> Affine:
    known = (x.rad == 0) & (y.rad == 0) & (np.abs(c) < 2.0**53)
    return Affine(c, np.where(known, 0.0, np.inf), np.zeros((0, *c.shape)))


def made_of(step: Step, values: Values, fresh: bool) -> Affine:
    """What the step makes [word, scalar]."""
    node, sizes = step.node, step.sizes
    if node.op in EACH:
        got = [values.get(arg) for arg in step.args]
        if node.op == "where":
            return affine.choose(*got)
        if node.op in SINGLE:
            return SINGLE[node.op](got[0])
        if node.op in DOUBLE:
            return DOUBLE[node.op](*got)
        return affine.compare(node.op, *got)
    if node.op == "lookup":
        return looked_up(step, values)
    if node.op == "matmul":
        b, n, k, m = sizes
        x, y = values.shaped(step.args[0], b, n, k), values.shaped(step.args[1], b, k, m)
        x = opened(x, values.symbols) if fresh else x
        return flat(affine.matmul(x, y, node.rounds, node.scale))
    x = values.shaped(step.args[0], *sizes)
    if fresh:
        x = opened(x, values.symbols)
    if node.op in ("sum", "mean"):
        return affine.total(x) if node.op == "sum" else affine.mean(x)
    if node.op == "softmax":
        return flat(affine.softmax(x, node.rounds))
    gain, shift = (values.shaped(arg, 1, sizes[1]) for arg in step.args[1:])
    return flat(affine.norm(x, gain, shift, node.epsilon))


def flat(x: Affine) -> Affine:
    """[word, scalar]."""
    words = len(x.c)
    return Affine(x.c.reshape(words, -1), x.r.reshape(words, -1), x.g.reshape(len(x.g), words, x.c[0].size))


def opened(x: Affine, symbols: int) -> Affine:
    """Each r as a symbol of its own behind all there are: the same enclosure, with derivatives."""
    words, entries = len(x.c), x.c[0].size
    own = np.zeros((symbols + entries, words, entries))
    own[: len(x.g)] = x.g.reshape(len(x.g), words, entries)
    own[symbols + np.arange(entries), :, np.arange(entries)] = x.r.reshape(words, entries).T
    return Affine(x.c, np.zeros_like(x.r), own.reshape(len(own), *x.c.shape))


def looked_up(step: Step, values: Values) -> Affine:
    """Rows of a table by tokens; a number outside of it may give anything."""
    n, rows, width = step.sizes
    at = affine.whole(values.get(step.args[0]))
    table = step.args[1].reshape(rows, width)
    require((table < values.held).all(), "a table must be of constants")
    inside = (at >= 0) & (at < rows)
    scalars = table[np.where(inside, at, 0)]  # [word, n, width]
    c = values.constant[scalars].reshape(len(at), n * width)
    r = values.slack[scalars] + np.where(inside, 0.0, np.inf)[..., None]
    return Affine(c, r.reshape(len(at), n * width), np.zeros((0, *c.shape)))


def in_parts(plan: Plan, words: Integers, symbols: int = 0) -> list[slice]:
    """Words that are evaluated together."""
    afford((2 + symbols) * plan.widest, "a word and its symbols", each=64)
    each = max(1, CHUNK // ((2 + symbols) * plan.widest))
    return [slice(first, first + each) for first in range(0, len(words), each)]


# Rule: what a scalar depends on.
# Conclusion: of each scalar, positions that include all whose tokens it can depend on. Why: an entry depends
# on what its arguments do, an entry of a row on the whole row, of a product on a row and a column.
def positions_of(graph: Graph, given: Mapping[int, int] | None = None) -> Flags:
    """[scalar, position]; ``given`` scalars depend on none."""
    afford(graph.scalars * graph.length, "what scalars depend on", each=4)
    out = np.zeros((graph.scalars, graph.length), dtype=bool)
    out[graph.held : graph.held + graph.length] = np.eye(graph.length, dtype=bool)
    held = np.zeros(graph.scalars, dtype=bool)
    held[[*(given or {})]] = True
    for node in graph.nodes:
        made: Flags
        seen = [out[arg] for arg in node.args]
        sizes = node.sizes
        if node.op in EACH:
            made = np.array(np.logical_or.reduce(seen))
        elif node.op == "matmul":
            b, n, k, m = sizes
            row = np.asarray(seen[0].reshape(b, n, k, -1).any(axis=2))[:, :, None]
            column = np.asarray(seen[1].reshape(b, k, m, -1).any(axis=1))[:, None]
            made = (row | column).reshape(b * n * m, -1)
        elif node.op == "lookup":
            made = np.repeat(seen[0], sizes[2], axis=0)
        else:
            rows = np.asarray(seen[0].reshape(*sizes, -1).any(axis=1))
            made = rows if node.op in ("sum", "mean") else np.repeat(rows, sizes[1], axis=0)
        span = slice(node.first, node.first + node.made)
        made[held[span]] = False
        out[span] = made
    return out

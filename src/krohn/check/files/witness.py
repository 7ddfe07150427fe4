"""Witnesses as the checker reads them from JSON data.

A witness is structure only, integers and the worth of counters, and is trusted nowhere: every shape and every
label is checked before anything is computed with it, and whatever does not fit is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from krohn.check.ground import Array, Flags, Integers, Refused, require
from krohn.errors import LimitExceeded

MAX_ENTRIES = 20_000_000
MAX_TRANSITIONS = 150_000
"""Most transitions of all machines of a witness together."""
MAX_NUMBERS = 2_500_000
"""Most transitions of a machine times channels of the stream, or times values that a state holds for a head:
the checker holds some dozens of arrays of that size, less than a gigabyte.
"""
MAX_STEPS = 10_000
"""A layer takes at most six."""
MAX_PARTS = 64
MAX_NUMBER = 1 << 40
EMPTY, UNKNOWN = -1, -2


@dataclass(frozen=True)
class Merge:
    """Labels for states and classes; new counters ``turn @ old``, each worth a column of ``wide``."""

    states: Integers
    classes: Integers
    turn: Integers
    wide: Array


@dataclass(frozen=True)
class Lift:
    """A machine over the one before: states with a base state each, and the classes they show."""

    follow: Integers
    base: Integers
    shown: Integers


@dataclass(frozen=True)
class Silent:
    """A head that adds nothing."""


@dataclass(frozen=True)
class Sum:
    """Equal weights on all letters: class c adds ``steps[c]`` to counters, whose worth is ``wide``."""

    query_of: Integers
    key_of: Integers
    steps: Integers
    wide: Array


@dataclass(frozen=True)
class Back:
    """Copies from a fixed distance back: states hold the last values, and the counts since then.

    A state may leave a value open.
    """

    query_of: Integers
    key_of: Integers
    value_of: Integers
    distance: int
    held: Integers
    offset: Integers


@dataclass(frozen=True)
class Cells:
    """Copies the latest (or earliest) member of the best cell present; ``member``: key groups, padding."""

    query_of: Integers
    key_of: Integers
    value_of: Integers
    member: Flags
    order: tuple[tuple[int, ...], ...]
    held: Integers
    offset: Integers
    earliest: bool = False


Rule = Silent | Sum | Back | Cells
HOLDS = (Back, Cells)


@dataclass(frozen=True)
class Pair:
    """Two heads with a memory that add position codes into one channel."""

    first: int
    second: int


@dataclass(frozen=True)
class Attention:
    """A lift with one rule per head, and pairs of heads whose positions are compared."""

    lift: Lift
    heads: tuple[Rule, ...]
    pairs: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Fold:
    """What a state keeps of a counter: its residue, or the counter clamped to two ends."""

    modulus: int
    low: int
    high: int

    def __call__(self, sums: Integers) -> Integers:
        """What is kept of these sums."""
        return sums % self.modulus if self.modulus else np.clip(sums, self.low, self.high)


@dataclass(frozen=True)
class Tabulate:
    """A lift whose states know a fold of every counter, with an MLP."""

    lift: Lift
    folds: tuple[Fold, ...]
    kept: Integers
    wide: Array


Cut = tuple[int, Integers]


@dataclass(frozen=True)
class Scan:
    """What letters and padding do to points; before layer l ``channels[l, p]`` holds where p is sent.

    ``cuts`` has for each layer whose MLP composes in rounds: after which matrix a round ends, and which units
    then hold where the points of each window are sent.
    """

    letters: Integers
    padding: Integers
    channels: Integers
    cuts: tuple[tuple[Cut, ...], ...] = ()


@dataclass(frozen=True)
class EachWord:
    """Nothing: all words are run, in intervals."""


Step = Merge | Attention | Tabulate


@dataclass(frozen=True)
class Layered:
    """Layer by layer. Without a clock, codes of positions that repeat are places like all others.

    ``alike``: the machines read classes of letters, those that neither network nor automaton tells apart.
    """

    steps: tuple[Step, ...]
    clock: bool = True
    alike: bool = False


@dataclass(frozen=True)
class Part:
    """Channels that are read out, what their columns are worth, a label for each state, and a proof."""

    channels: Integers
    worth: Array
    labels: Integers
    proof: Layered


@dataclass(frozen=True)
class Parts:
    """Parts that do not interact, each with a proof of its own."""

    parts: tuple[Part, ...]


Witness = Layered | Scan | Parts | EachWord

T = TypeVar("T")
Payload = Mapping[str, Any]


def witness_from(payload: object) -> Witness:
    """The witness in a certificate file; anything malformed is refused."""
    try:
        require(isinstance(payload, dict), "witness: it must be an object")
        if _get(payload, "kind") == "words":
            return EachWord()
        if _get(payload, "kind") == "scan":
            maps = _integers(payload, "letters", 2), _integers(payload, "padding", 1)
            channels, layers = _integers(payload, "channels", 2), payload.get("cuts", [])  # type: ignore[attr-defined]
            require(isinstance(layers, list) and len(layers) in (0, len(channels) - 1), "witness: cuts")
            require(all(isinstance(cuts, list) for cuts in layers), "witness: cuts")
            return Scan(*maps, channels, tuple(tuple(_cut(cut) for cut in cuts) for cuts in layers))
        if _get(payload, "kind") == "parts":
            parts = _get(payload, "parts")
            few = isinstance(parts, list) and 1 <= len(parts) <= MAX_PARTS
            require(few, f"witness: parts must be a list of at most {MAX_PARTS}")
            return Parts(tuple(map(_part, parts)))
        return _layered(payload)  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, RecursionError) as error:
        raise Refused(f"witness: malformed ({type(error).__name__})") from error


def _part(payload: Payload) -> Part:
    channels, worth = _integers(payload, "channels", 1), _floats(payload, "worth", 1)
    return Part(channels, worth, _integers(payload, "labels", 1), _layered(_get(payload, "proof")))


def _layered(payload: Payload) -> Layered:
    require(_get(payload, "kind") == "layered", "witness: unknown kind")
    steps = _get(payload, "steps")
    few = isinstance(steps, list) and len(steps) <= MAX_STEPS
    require(few, f"witness: steps must be a list of at most {MAX_STEPS:,}")
    clock, alike = payload.get("clock", True), payload.get("alike", False)
    require(isinstance(clock, bool), "witness: clock must be true or false")
    require(isinstance(alike, bool), "witness: alike must be true or false")
    return Layered(tuple(_one_of(STEPS, step) for step in steps), clock, alike)


def assert_moderate(steps: Sequence[Step], channels: int) -> None:
    """Bounds the machines of a witness, in a network of this many channels, before any of them is run."""
    machines, counters, most = [step for step in steps if not isinstance(step, Merge)], 0, 0
    total = sum(step.lift.follow.size for step in machines)
    if total > MAX_TRANSITIONS:
        raise LimitExceeded(
            f"the machines of a witness may have {MAX_TRANSITIONS:,} transitions; got {total:,}"
        )
    size = 0
    for step in steps:
        if isinstance(step, Merge):
            counters = len(step.turn)
        else:
            size, sums = step.lift.follow.size, step.heads if isinstance(step, Attention) else ()
            counters += sum(rule.steps.shape[1] for rule in sums if isinstance(rule, Sum))
            most = max(most, size * _held(step))
        most = max(most, size * max(channels, counters), channels * counters)
    if most > MAX_NUMBERS:
        raise LimitExceeded(
            f"a machine of a witness may have {MAX_NUMBERS:,} numbers, its transitions times channels, "
            f"counters or values held for a head; got {most:,}"
        )


def _held(step: "Attention | Tabulate") -> int:
    """The most values and offsets that a state holds for one head."""
    rules = step.heads if isinstance(step, Attention) else ()
    held = [
        (rule.held.shape[1] + 1) * (rule.offset.shape[2] + 1) for rule in rules if isinstance(rule, HOLDS)
    ]
    return max(held, default=0)


def _one_of(readers: Mapping[str, Callable[[Payload], T]], payload: object) -> T:
    kind = _get(payload, "kind")
    require(isinstance(kind, str) and kind in readers, "witness: unknown kind")
    return readers[kind](payload)  # type: ignore[arg-type]


def _get(payload: object, key: str) -> Any:
    require(isinstance(payload, dict) and key in payload, f"witness: {key} is missing")
    return payload[key]  # type: ignore[index]


def _integers(payload: object, key: str, axes: int, least: int = 0) -> Integers:
    """An array of whole numbers; an empty one may state its shape as {"shape": [...]}."""
    given = _get(payload, key)
    values = _empty(given, np.int64) if isinstance(given, dict) else np.asarray(given)
    if not values.size:
        values = values.astype(np.int64)
    fits = values.dtype.kind == "i" and values.ndim == axes
    fits = fits and bool((values >= least).all() and (values <= MAX_NUMBER).all())
    require(fits, f"witness: {key} must be whole numbers")
    return values.astype(np.int64)


def _floats(payload: object, key: str, axes: int) -> Array:
    given = _get(payload, key)
    values = _empty(given, np.float64) if isinstance(given, dict) else np.asarray(given)
    require(values.dtype.kind in "if" and values.ndim == axes, f"witness: {key} must be numbers")
    made = values.astype(np.float64)
    require(np.isfinite(made), f"witness: {key} must be finite")
    return made


def _empty(given: dict[str, Any], kind: npt.DTypeLike) -> npt.NDArray[Any]:
    shape = _get(given, "shape")
    require(isinstance(shape, list) and 0 in shape and len(shape) <= 3, "witness: shape")
    require(all(type(n) is int and 0 <= n <= MAX_ENTRIES for n in shape), "witness: shape")
    return np.zeros(shape, dtype=kind)


def _whole(payload: object, key: str, least: int, most: int) -> int:
    value = _get(payload, key)
    require(type(value) is int and least <= value <= most, f"witness: {key} must be a whole number")
    return int(value)


def _cut(payload: object) -> Cut:
    return _whole(payload, "stage", 1, 10_000), _integers(payload, "units", 2)


def _lift(payload: Payload) -> Lift:
    follow, base = _integers(payload, "follow", 2), _integers(payload, "base", 1)
    shown = _integers(payload, "shown", 2)
    fits = follow.size and follow.shape == shown.shape and base.shape == follow.shape[:1]
    require(fits and (follow < len(follow)).all() and (shown < follow.size).all(), "witness: machine")
    return Lift(follow, base, shown)


def _merge(payload: Payload) -> Merge:
    parts = _integers(payload, "states", 1), _integers(payload, "classes", 1)
    require(parts[0].size and parts[1].size, "witness: merge")
    require((parts[0] < parts[0].size).all() and (parts[1] < parts[1].size).all(), "witness: labels")
    return Merge(*parts, _integers(payload, "turn", 2, -MAX_NUMBER), _floats(payload, "wide", 2))


def _attention(payload: Payload) -> Attention:
    heads = _get(payload, "heads")
    pairs = payload.get("pairs", [])
    require(isinstance(heads, list) and isinstance(pairs, list), "witness: heads")
    compared = tuple(Pair(*(_whole(pair, key, 0, len(heads) - 1) for key in PAIR)) for pair in pairs)
    require(all(pair.first != pair.second for pair in compared), "witness: a pair of one head")
    return Attention(_lift(payload), tuple(_one_of(HEAD_RULES, head) for head in heads), compared)


def _groups(payload: Payload) -> tuple[Integers, Integers]:
    return _integers(payload, "query_of", 1), _integers(payload, "key_of", 1)


def _sum(payload: Payload) -> Sum:
    steps, wide = _integers(payload, "steps", 2, -MAX_NUMBER), _floats(payload, "wide", 2)
    require(steps.shape[1] == wide.shape[1], "witness: steps")
    return Sum(*_groups(payload), steps, wide)


def _back(payload: Payload) -> Back:
    distance, held = _whole(payload, "distance", 0, MAX_ENTRIES), _integers(payload, "held", 2, UNKNOWN)
    offset = _integers(payload, "offset", 3, -MAX_NUMBER)
    require(held.shape[1] == distance and offset.shape[:2] == held.shape, "witness: delay line")
    require(held != EMPTY, "witness: delay line")
    return Back(*_groups(payload), _integers(payload, "value_of", 1), distance, held, offset)


def _cells(payload: Payload) -> Cells:
    member, held = _integers(payload, "member", 2), _integers(payload, "held", 2, UNKNOWN)
    offset, orders = _integers(payload, "offset", 3, -MAX_NUMBER), _get(payload, "order")
    require((member <= 1).all() and len(member), "witness: cells")
    require(held.shape[1] == len(member) and offset.shape[:2] == held.shape, "witness: cells")
    require(isinstance(orders, list) and all(isinstance(order, list) for order in orders), "witness: order")
    named = [cell for order in orders for cell in order]
    require(all(type(cell) is int and 0 <= cell < len(member) for cell in named), "witness: order")
    order, earliest = tuple(tuple(cells) for cells in orders), payload.get("earliest", False)
    require(type(earliest) is bool, "witness: cells")
    value_of = _integers(payload, "value_of", 1)
    return Cells(*_groups(payload), value_of, member.astype(bool), order, held, offset, earliest)


def _tabulate(payload: Payload) -> Tabulate:
    lift, kept = _lift(payload), _integers(payload, "kept", 2, -MAX_NUMBER)
    folds = _integers(payload, "folds", 2, -MAX_NUMBER)  # rows: modulus (0: clamp), low, high
    fits = (
        folds.shape[1:] == (3,) and kept.shape == (len(lift.follow), len(folds)) and (folds[:, 0] >= 0).all()
    )
    require(fits and ((folds[:, 0] > 0) | (folds[:, 1] <= folds[:, 2])).all(), "witness: folds")
    rules = tuple(Fold(*map(int, fold)) for fold in folds)
    _whole(payload, "blocks", 1, 1)  # of a layer there is one; certificates say so
    return Tabulate(lift, rules, kept, _floats(payload, "wide", 2))


PAIR = ("first", "second")
HEAD_RULES: dict[str, Callable[[Payload], Rule]] = {
    "silent": lambda payload: Silent(),
    "sum": _sum,
    "back": _back,
    "cells": _cells,
}
STEPS: dict[str, Callable[[Payload], Step]] = {
    "merge": _merge,
    "attention": _attention,
    "mlp": _tabulate,
}

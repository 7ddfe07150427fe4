"""Exact weights of one Transformer block, shared by all loops: Theorem 1, made uniform in the length.

A map of the states is written as one-hot rows: where each point goes. The points are the states, or fewer:
the classes of congruences that together still tell all maps apart, as five points do for the 60 states of A5.
In a loop a head copies the map of the letters before beside that of the letters read; a unit of the MLP for
each q, p and r writes "q goes to r" where q goes to p and p to r, and a unit for each channel clears it.
Codes then snap the stream to one of the maps, and add the state after it, which the read-out copies.
LayerNorm only scales and shifts, since the squares of all streams that it reads have one sum. Before the
first letter stands the identity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.algebra.transition_semigroup import list_elements
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget
from krohn.cascade.congruences import Partition, congruences, principal_congruences, subdirect_parts
from krohn.check.looped.block import EPSILON, cost_of
from krohn.check.looped.rules import KIND, LOOPED_WORK, MOST
from krohn.errors import LimitExceeded, Unsupported

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Channel = Callable[[Ints, Ints], Ints]

SHARP = 40.0
"""Half of it goes into the GELU of a unit whose conditions hold, and minus half at most into every other."""
FOCUS = 120.0
"""Score by which the far letter leads: a sigmoid of it is 1 in float32."""
MOST_CONGRUENCES, MOST_PAIRS = 60, 2_000


@dataclass(frozen=True, eq=False)
class Maps:
    """The maps of the states that words induce, on as few points as tell them apart.

    Attributes:
        images: of the points [maps, points], one block of points after the other.
        blocks: points of each block; a map sends a block to itself.
        letters: the map of each letter.
        states: the state after each map, from the start.
        one: the images of the identity [points].
    """

    images: Ints
    blocks: tuple[int, ...]
    letters: Ints
    states: Ints
    one: Ints


def maps_of(automaton: Semiautomaton) -> Maps:
    """The maps of a word or more; refused where there are too many to be codes."""
    try:
        found = list_elements(automaton.letters, MOST)
    except LimitExceeded as error:
        raise Unsupported(f"a looped block needs at most {MOST:,} maps of the states by words; "
                          f"{automaton.name or 'this automaton'} has more: {INSTEAD}") from error  # fmt: skip
    rows = np.asarray(found.rows, dtype=np.int64)
    parts = fewest_points(automaton, rows)
    firsts = [np.unique(part, return_index=True)[1] for part in parts]
    starts = np.concatenate([[0], np.cumsum([len(first) for first in firsts])])
    images = [
        start + np.array(part)[rows[:, first]]
        for part, first, start in zip(parts, firsts, starts, strict=False)
    ]
    return Maps(
        np.concatenate(images, axis=1),
        tuple(len(first) for first in firsts),
        np.array([found.index(letter) for letter in automaton.letters]),
        rows[:, automaton.start],
        np.arange(starts[-1]),
    )


def fewest_points(automaton: Semiautomaton, rows: Ints) -> tuple[Partition, ...]:
    """Congruences that together tell all maps apart; of those tried the ones with the fewest units.

    Tried are all states, each congruence alone, the subdirect parts, and coarse congruences first, each that
    tells more maps apart, without those that are not needed in the end.
    """
    letters, budget = tuple(map(tuple, automaton.letters)), Budget(UNITS)
    whole = tuple(range(automaton.num_states))
    tried: list[tuple[Partition, ...]] = [(whole,)]
    try:
        principal = principal_congruences(letters, MOST_PAIRS, budget)
        subdirect = subdirect_parts(letters, principal, budget)
        known = congruences(letters, principal, subdirect, MOST_CONGRUENCES, budget)
    except LimitExceeded:
        return (whole,)
    tried += [subdirect, *((one,) for one in known)]
    chosen: list[Partition] = []
    for one in sorted(known, key=lambda part: (max(part), part)):
        if told_apart(rows, (*chosen, one)) > told_apart(rows, chosen):
            chosen.append(one)
    for one in chosen[::-1]:
        rest = [part for part in chosen if part != one]
        if told_apart(rows, rest) == told_apart(rows, chosen):
            chosen = rest
    tried.append(tuple(chosen))
    faithful = [parts for parts in tried if parts and told_apart(rows, parts) == len(rows)]
    return min(faithful, key=lambda parts: sum((max(part) + 1) ** 3 for part in parts))


def told_apart(rows: Ints, parts: tuple[Partition, ...] | list[Partition]) -> int:
    """How many maps differ on the classes."""
    if not parts:
        return 1
    return len(np.unique(np.concatenate([np.array(part)[rows] for part in parts], axis=1), axis=0))


INSTEAD = "compile deltaproduct, rankone, lstm or gru, or a Transformer for words up to a --length"


def looped(automaton: Semiautomaton) -> dict[str, Floats]:
    """The tensors by name, without padding."""
    maps = maps_of(automaton)
    count, points = maps.images.shape
    places = np.cumsum([0, *(size * size for size in maps.blocks)])
    channels = int(places[-1])
    dim = 2 * channels + automaton.num_states
    units = sum(size**3 for size in maps.blocks) + dim
    pairs = float(count * count + automaton.num_letters * (automaton.num_letters + 1))
    if cost_of(dim, units, count, pairs) + 8 * pairs * (automaton.num_states + 1) > LOOPED_WORK:
        raise Unsupported(
            f"a looped block for {automaton.name or 'this automaton'} needs {count:,} codes of {dim:,} "
            f"numbers and {units:,} units, more than the checker evaluates for all pairs: {INSTEAD}"
        )
    # The channel of "q goes to p", by the numbers of both points.
    block = np.repeat(np.arange(len(maps.blocks)), maps.blocks)
    first = np.concatenate([[0], np.cumsum(maps.blocks)])[block]
    width, inside = np.array(maps.blocks)[block], np.arange(points) - first

    def channel(q: Ints, p: Ints) -> Ints:
        return np.asarray(places[block[q]] + inside[q] * width[q] + inside[p])

    def written(images: Ints) -> Floats:
        """One-hot rows of maps [n, points]."""
        rows = np.zeros((len(images), dim), np.float32)
        rows[np.arange(len(images))[:, None], channel(np.arange(points), images)] = 1
        return rows

    codes, one = written(maps.images), written(maps.one[None])
    codes[np.arange(count), 2 * channels + maps.states] = 1
    one[0, 2 * channels + automaton.start] = 1
    w = {name: np.zeros(shape, np.float32) for name, shape in _shapes(automaton, dim, units, count).items()}
    w["wte"][:], w["none"][:], w["codes"][:] = codes[maps.letters], one[0], codes
    for name, ones in (("h.0.ln_1", points + 1), ("h.0.ln_2", 2 * points + 1), ("h.0.ln_3", points),
                       ("ln_f", points + 1)):  # fmt: skip
        mean = ones / dim
        w[f"{name}.weight"][:] = math.sqrt(mean * (1 - mean) + EPSILON)
        w[f"{name}.bias"][:] = mean
    w["h.0.attn.c_attn.bias"][0] = w["h.0.attn.slot"][1, 0] = math.sqrt(FOCUS * math.sqrt(dim))
    w["h.0.attn.c_attn.weight"][:, 2 * dim :] = np.eye(dim)
    w["h.0.attn.c_proj.weight"][:channels, channels : 2 * channels] = np.eye(channels)
    _write_products(w, maps, channel, channels)
    w["head.weight"][2 * channels + np.arange(automaton.num_states), np.arange(automaton.num_states)] = 1
    return w


def _write_products(w: dict[str, Floats], maps: Maps, channel: Channel, channels: int) -> None:
    """The MLP: a unit for each q, p and r, then one for each channel, which clears it."""
    dim = len(w["none"])
    reads, bias, writes = (w[f"h.0.mlp.{name}"] for name in ("c_fc.weight", "c_fc.bias", "c_proj.weight"))
    start, unit = 0, 0
    for size in maps.blocks:
        q, p, r = (part.ravel() + start for part in np.indices((size, size, size)))
        place = unit + np.arange(size**3)
        reads[channels + channel(q, p), place] = SHARP
        reads[channel(p, r), place] = SHARP
        bias[place] = -1.5 * SHARP
        writes[place, channel(q, r)] = 2 / SHARP
        start, unit = start + size, unit + size**3
    every = np.arange(dim)
    reads[every, unit + every] = SHARP
    bias[unit + every] = -0.5 * SHARP
    writes[unit + every, every] = -2 / SHARP


def _shapes(automaton: Semiautomaton, dim: int, units: int, count: int) -> dict[str, tuple[int, ...]]:
    vectors = (
        "none", "ln_f.weight", "ln_f.bias", "h.0.attn.c_proj.bias", "h.0.mlp.c_proj.bias",
        *(f"h.0.{norm}.{part}" for norm in ("ln_1", "ln_2", "ln_3") for part in ("weight", "bias")),
    )  # fmt: skip
    return {
        **dict.fromkeys(vectors, (dim,)),
        "wte": (automaton.num_letters, dim), "codes": (count, dim), "codes_bias": (count,),
        "h.0.attn.c_attn.weight": (dim, 3 * dim), "h.0.attn.c_attn.bias": (dim,),
        "h.0.attn.slot": (2, 2 * dim), "h.0.attn.c_proj.weight": (dim, dim),
        "h.0.mlp.c_fc.weight": (dim, units), "h.0.mlp.c_fc.bias": (units,),
        "h.0.mlp.c_proj.weight": (units, dim),
        "head.weight": (dim, automaton.num_states), "head.bias": (automaton.num_states,),
    }  # fmt: skip


def model_of(tensors: dict[str, Floats]) -> dict[str, object]:
    """The options of ``krohn train --model looped`` that give tensors of these shapes."""
    dim, units = tensors["h.0.mlp.c_fc.weight"].shape
    sizes = {"dim": dim, "heads": 1, "mlp": units, "codes": len(tensors["codes"])}
    return {"kind": KIND, **sizes, "noise": 0.0, "norm": True, "blocks": 1, "supervise": "loops"}

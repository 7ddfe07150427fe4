"""Explicit weights of one-layer recurrent networks that track an automaton on words of every length."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from krohn.algebra.generated_group import GeneratedGroup
from krohn.algebra.permutation import Permutation, is_permutation
from krohn.automata.quotients import reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, LimitExceeded
from krohn.recurrent.cells import Cell, Delta, Gru, Lstm, RankOne, Tensors
from krohn.recurrent.elementary import swaps_and_merges
from krohn.recurrent.small_action import small_action

GAIN = 512.0
"""Slope of the gates: half of it saturates a sigmoid in float32."""
MAX_PARAMETERS = 50_000_000


def lstm(automaton: Semiautomaton) -> Lstm:
    """Units (p, a), "was in p and read a", and one unit "started"; each is an "and", by its input gate.

    Forget gate 0, output gate and candidate 1: a unit that is on holds tanh 1, one that is off 0.
    """
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    _check_size(units * 4 * units)
    high = np.float64(np.float32(np.tanh(np.float32(1))))
    recurrent = np.zeros((units, 4 * units))
    recurrent[:-1, : units - 1] = comes.T * GAIN / high
    recurrent[-1, : units - 1] = -starts * GAIN / high
    bias = np.repeat([0.0, -GAIN, GAIN, GAIN], units)
    bias[: units - 1] = (starts - 1.5) * GAIN
    bias[units - 1] = GAIN / 2
    inward = np.zeros((automaton.num_letters, 4 * units))
    inward[:, : units - 1] = letters * GAIN
    head = np.vstack([_targets(automaton), np.zeros(automaton.num_states)])
    return Lstm(
        _floats(
            {**_embedding(automaton), "weight_ih": inward, "weight_hh": recurrent, "bias": bias} | _head(head)
        )
    )


def gru(automaton: Semiautomaton) -> Gru:
    """The same units, ±1 by the candidate; update gate 0, reset gate 1. At the start all units are 0."""
    comes, starts, letters = _conditions(automaton)
    units = len(comes) + 1
    _check_size(units * 3 * units)
    first = slice(2 * units, 3 * units - 1)
    recurrent = np.zeros((units, 3 * units))
    recurrent[:-1, first] = comes.T * GAIN / 2
    sources = comes.sum(axis=1)
    recurrent[-1, first] = -(starts - sources / 2) * GAIN
    bias = np.repeat([GAIN, -GAIN, 0.0], units)
    bias[first] = (sources / 2 + (starts - sources / 2) - 1.5) * GAIN
    bias[-1] = GAIN
    inward = np.zeros((automaton.num_letters, 3 * units))
    inward[:, first] = letters * GAIN
    targets = np.vstack([_targets(automaton), np.zeros(automaton.num_states)]) / 2
    tensors = {"weight_ih": inward, "weight_hh": recurrent, "bias_ih": bias, "bias_hh": np.zeros(3 * units)}
    return Gru(_floats({**_embedding(automaton), **tensors} | _head(targets, targets.sum(axis=0))))


def rankone(automaton: Semiautomaton) -> RankOne:
    """One-hot states less the start's; each letter as swaps and merges, one step each."""
    n = automaton.num_states
    plans = [swaps_and_merges(letter) for letter in automaton.letters]
    steps = max(1, *map(len, plans))
    _check_size(2 * len(plans) * steps * n)
    move, look = np.zeros((2, len(plans), steps, n))
    for a, plan in enumerate(plans):
        for s, (kind, i, j) in enumerate(plan):
            move[a, s, j], move[a, s, i] = 1, -1
            look[a, s, j] = 1
            look[a, s, i] = -1 if kind == "swap" else 0
    return RankOne(
        _floats(
            {"move": move, "look": look, "write": -look[..., automaton.start]}
            | _head(np.eye(n), np.eye(n)[automaton.start])
        )
    )


def deltaproduct(automaton: Semiautomaton) -> Delta:
    """Permutations as reflections, resets by the gate and one write; every number is dyadic.

    Points have a doubled code, (1, 1) at their place, so that the key of a swap, (1, 1, −1, −1)/2, has length
    one. A column of the memory follows one point; a group uses few points and several columns.
    """
    part = set(reachable_states(automaton))
    kinds = [_kind(letter, part) for letter in automaton.letters]
    if "other" in kinds:
        raise InvalidInput(
            "one DeltaProduct layer is built where each letter permutes the states or resets them; "
            f"letter {automaton.letter_names[kinds.index('other')]} does neither: choose lstm, gru or rankone"
        )
    permuting = [a for a, kind in enumerate(kinds) if kind == "permutation"]
    if permuting:
        action = dict(zip(permuting, small_action([automaton.letters[a] for a in permuting]), strict=True))
        columns, places = _tracked(automaton, action)
        if part <= places.keys():
            return _delta(automaton, action, columns, places)
    own = {a: automaton.letters[a] for a in permuting}
    return _delta(automaton, own, (automaton.start,), {q: (q,) for q in range(automaton.num_states)})


def _tracked(
    automaton: Semiautomaton, action: dict[int, Permutation]
) -> tuple[tuple[int, ...], dict[int, tuple[int, ...]]]:
    """Points whose images tell the states apart, and these images for each state that permutations reach.

    Nothing is reached if a state does not determine the images, as where the group moves fewer states.
    """
    degree = len(next(iter(action.values())))
    base = GeneratedGroup(list(action.values()), degree).chain.base or (0,)
    places = {automaton.start: tuple(base)}
    queue = [automaton.start]
    for state in queue:
        for letter, images in action.items():
            target = automaton.step(state, letter)
            moved = tuple(images[point] for point in places[state])
            if places.setdefault(target, moved) != moved:
                return tuple(base), {}
            if target not in queue:
                queue.append(target)
    return tuple(base), places if len(set(places.values())) == len(places) else {}


def _delta(
    automaton: Semiautomaton,
    action: dict[int, Permutation],
    columns: tuple[int, ...],
    places: dict[int, tuple[int, ...]],
) -> Delta:
    """``places[q]`` lists where the columns' points are in state q; letters without an action are resets."""
    points = len(next(iter(action.values()))) if action else automaton.num_states
    code = np.repeat(np.eye(points), 2, axis=1)
    plans = [
        _reflections(action[a], code, columns)
        if a in action
        else _writes(places[automaton.step(automaton.start, a)], code, columns)
        for a in range(automaton.num_letters)
    ]
    steps = max(1, *map(len, plans))
    _check_size(len(plans) * steps * 2 * points)
    key = np.zeros((len(plans), steps, 2 * points))
    value, beta = np.zeros((len(plans), steps, len(columns))), np.zeros((len(plans), steps))
    for a, plan in enumerate(plans):
        for s, (strength, k, v) in enumerate(plan):
            beta[a, s], key[a, s], value[a, s] = strength, k, v
    weight = np.zeros((2 * points, len(columns), automaton.num_states))
    bias = np.full(automaton.num_states, -2.0 * len(columns))  # of states that are never reached
    for q, images in places.items():
        bias[q] = sum(float(place == own) for place, own in zip(images, columns, strict=True))
        for column, place in enumerate(images):
            weight[:, column, q] = code[place] / 2
    gate = np.array([float(a in action) for a in range(len(plans))])
    tensors = {"key": key, "value": value, "beta": beta, "gate": gate}
    return Delta(_floats(tensors | _head(weight.reshape(-1, automaton.num_states), bias)))


Steps = list[tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]]
"""β, k, v of each step; a memory's column holds the code of its point's image less that of the point."""


def _reflections(letter: Permutation, code: npt.NDArray[np.float64], columns: tuple[int, ...]) -> Steps:
    own = code[list(columns)]
    keys = [(code[i] - code[j]) / 2 for _, i, j in swaps_and_merges(letter)]
    return [(2.0, k, -own @ k) for k in keys]


def _writes(target: tuple[int, ...], code: npt.NDArray[np.float64], columns: tuple[int, ...]) -> Steps:
    """After the gate has emptied the memory: one write a column, which leaves those before as they are."""
    wanted = code[list(target)] - code[list(columns)]
    done = np.zeros_like(wanted)
    steps: Steps = []
    for column, row in enumerate(wanted):
        if row.any():
            key = row / 2
            value = done @ key
            value[column] = 2.0
            steps.append((1.0, key, value))
            done[column] = row
    return steps


def _kind(letter: Permutation, part: set[int]) -> str:
    if is_permutation(letter):
        return "permutation"
    return "reset" if len({letter[q] for q in part}) == 1 else "other"


def _conditions(
    automaton: Semiautomaton,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """For each unit (p, a): which units lead to p; whether p is the start; whether a is each letter."""
    table, n, k = automaton.table, automaton.num_states, automaton.num_letters
    p, a = np.divmod(np.arange(n * k), k)
    comes = (table.reshape(-1)[None, :] == p[:, None]).astype(np.float64)
    return (
        comes,
        (p == automaton.start).astype(np.float64),
        (a[None] == np.arange(k)[:, None]).astype(np.float64),
    )


def _targets(automaton: Semiautomaton) -> npt.NDArray[np.float64]:
    return np.eye(automaton.num_states)[automaton.table.reshape(-1)]


def _embedding(automaton: Semiautomaton) -> dict[str, npt.NDArray[np.float64]]:
    return {"wte": np.eye(automaton.num_letters)}


def _head(
    weight: npt.NDArray[np.float64], bias: npt.NDArray[np.float64] | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    return {"head.weight": weight, "head.bias": np.zeros(weight.shape[1]) if bias is None else bias}


def _floats(tensors: dict[str, npt.NDArray[np.float64]]) -> Tensors:
    return {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in tensors.items()}


def _check_size(count: int) -> None:
    if count > MAX_PARAMETERS:
        raise LimitExceeded(
            f"a network may have at most {MAX_PARAMETERS:,} parameters; this one needs {count:,}"
        )


WITNESSES: dict[str, Callable[[Semiautomaton], Cell]] = {
    "deltaproduct": deltaproduct,
    "rankone": rankone,
    "lstm": lstm,
    "gru": gru,
}

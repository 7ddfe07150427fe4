"""What the algebra and the statistics of an automaton say before any network is trained.

Statistics are of uniform words of one length from a fixed seed (`krohn.construct.learnability`).
"""

from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.algebra.equal_lengths import equal_lengths
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import group_of_one_length
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transition_semigroup import list_elements
from krohn.automata.graph import strong_components
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.learnability import is_one_way, read, sample_words, sensitivity
from krohn.errors import LimitExceeded

MOST_ELEMENTS = 30_000
MOST_SETS = 60_000
Table = npt.NDArray[np.integer[Any]]


def predictors(automaton: Semiautomaton, length: int = 32) -> dict[str, Any]:
    """All predictors of one automaton; ``None`` where a limit was reached."""
    table = np.asarray(automaton.table, dtype=np.int64)
    return {
        "states": automaton.num_states,
        "letters": automaton.num_letters,
        **_algebra(automaton),
        **_statistics(automaton, length),
        "one_way": is_one_way(automaton),
        "mixing": mixing(table, automaton.start, length),
    }


def _algebra(automaton: Semiautomaton) -> dict[str, Any]:
    letters = tuple(automaton.letters)
    try:
        size = len(list_elements(letters, MOST_ELEMENTS).rows)
    except LimitExceeded:
        size = None
    result: dict[str, Any] = {"semigroup": size}
    try:
        orbit = ImageOrbit(letters, MOST_SETS)
        parts = [component for component in orbit.components if component.rank > 1]
        held = [component.group for component in parts if not component.group.is_trivial]
        result["aperiodic"] = not held
        result["levels"] = len({component.rank for component in parts})
        largest = max(held, key=lambda group: group.order, default=None)
        result["group"] = 1 if largest is None else largest.order
        result["derived"] = max((derived_length(group) for group in held), default=0)
        result["length_decides"] = not held or group_of_one_length(orbit) is None
    except LimitExceeded:
        result |= dict.fromkeys(("aperiodic", "levels", "group", "derived", "length_decides"))
    inner = equal_lengths(automaton)
    result["permutations"] = inner is not None
    result["g0"] = None if inner is None else inner.group.order
    result["g0_derived"] = None if inner is None else derived_length(inner.group)
    return result


def derived_length(group: PermutationGroup) -> int:
    """Steps of the derived series down to the trivial group; 99 if the group is not solvable."""
    series = group.derived_series
    return len(series) - 1 if series[-1].is_trivial else 99


def _statistics(automaton: Semiautomaton, length: int) -> dict[str, Any]:
    table = np.asarray(automaton.table, dtype=np.int64)
    states = len(table)
    words, _ = sample_words(automaton.num_letters, length)
    share = np.bincount(read(table, automaton.start, words), minlength=states) / len(words)
    maps = np.tile(np.arange(states), (len(words), 1))
    need = np.full(len(words), length)
    for count in range(1, length + 1):
        maps = np.take_along_axis(maps, table.T[words[:, length - count]], 1)
        known = (maps == maps[:, :1]).all(1) & (need == length)
        need[known] = np.minimum(need[known], count)
    return {
        "sensitivity": sensitivity(automaton, length),
        "entropy": round(float(-(share[share > 0] * np.log(share[share > 0])).sum()) + 0.0, 3),
        "memory": round(float(need.mean()), 2),
        "period": period(table),
        "sink": bool((table == np.arange(states)[:, None]).all(1).any()),
    }


def mixing(table: Table, start: int, most: int) -> int:
    """Letters of uniform words until the state is within .05 of where it is ``period·64`` letters later.

    The distance is half the sum of the differences of probabilities; ``most`` if it takes longer.
    """
    states, letters = table.shape
    step = np.zeros((states, states))
    for letter in range(letters):
        step[np.arange(states), table[:, letter]] += 1 / letters
    far = np.linalg.matrix_power(step, period(table) * 64)
    row = np.eye(states)[start]
    for count in range(most):
        if 0.5 * np.abs(row @ far - row).sum() <= 0.05:
            return count
        row = row @ step
    return most


def period(table: Table) -> int:
    """The least common multiple of the periods of the closed classes: lengths of closed walks, up to 64."""
    result = 1
    for part in strong_components(table.tolist()):
        members = set(part)
        if any(target not in members for state in part for target in table[state].tolist()):
            continue
        distance, common, order = {part[0]: 0}, 0, [part[0]]
        for state in order:
            for target in table[state].tolist():
                if target not in distance:
                    distance[target] = distance[state] + 1
                    order.append(target)
                common = gcd(common, distance[state] + 1 - distance[target])
        result = result * common // gcd(result, common)
    return min(result, 64)

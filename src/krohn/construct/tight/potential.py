"""Steps that depend on the stage set before a letter, summed without looking back.

If step(before, letter, after) = u(letter, after) + ψ(after) − ψ(before) modulo m for every step that
counts, then the sum of all steps is the sum of the u, which every position knows of itself, plus
ψ(now) − ψ(start). Steps at resets do not count: what follows a reset is measured from there. ψ and u are
found by following equations ψ(p) − ψ(q) = step(q, a, s) − step(p, a, s), one for each two sets that a
letter brings together.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from krohn.cascade.levels import Triple


@dataclass(frozen=True)
class Potential:
    """``steps[letter, after]`` are the u and ``level[set]`` the ψ, with ψ(start) = 0."""

    steps: dict[tuple[int, int], int]
    level: dict[int, int]


def potential(
    counted: Mapping[Triple, int], others: set[Triple], start: int, modulus: int
) -> Potential | None:
    """The u and ψ for the steps that count, 0 where unconstrained; ``None`` if there are none."""
    known: dict[tuple[int, int], tuple[int, int]] = {}
    links: dict[int, list[tuple[int, int]]] = {}
    for (before, letter, after), step in sorted(counted.items()):
        other, same = known.setdefault((letter, after), (before, step))
        links.setdefault(before, []).append((other, step - same))
        links.setdefault(other, []).append((before, same - step))
    level: dict[int, int] = {}
    for first in (start, *sorted(links)):
        queue = [first] if first not in level else []
        level.setdefault(first, 0)
        for stage in queue:
            for other, more in links.get(stage, ()):
                wanted = (level[stage] + more) % modulus
                if other not in level:
                    level[other] = wanted
                    queue.append(other)
                elif level[other] != wanted:
                    return None
    for before, _, after in (*counted, *others):
        level.setdefault(before, 0)
        level.setdefault(after, 0)
    steps = {(letter, after): 0 for _, letter, after in others}
    for (letter, after), (before, step) in known.items():
        steps[letter, after] = (step - level[after] + level[before]) % modulus
    return Potential(steps, level)

"""A prefix sum as a walk on a line: key classes in a row, and each letter moves at most one place along it.

Looking back from a position, the places visited so far form an interval around its own, and a place further
away was last visited earlier. So the order of all last visits is an interleaving of the places to the left
with those to the right. It is all a head of Theorem 3 can tell, and a machine can follow it.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from krohn.certify.certificate import Record
from krohn.certify.scores import Scores
from krohn.certify.stream import Integers, Machine, Stream

LEFT, RIGHT = "L", "R"


@dataclass(frozen=True, eq=False)
class Walk:
    """``place[key class]`` on the line, the step of every letter of the machine, places of the padding."""

    place: Integers
    steps: Integers
    pads: Integers


def walk_of(stream: Stream, scores: Scores, record: Record) -> Walk:
    """Proves that the keys of a head are a walk; refuses otherwise."""
    edges = _edges(stream.machine, scores, stream.length, record)
    pads = scores.key_of_pad
    linked = {(a, b) for a, b in pairwise(pads.tolist())}
    linked |= {(a, b) for a, b, _ in edges}
    place = _on_a_line(linked, len(scores.keys), record)
    steps = np.zeros(stream.machine.follow.shape[1], dtype=np.int64)
    known: dict[int, int] = {}
    for before, after, letter in edges:
        moved = int(place[after] - place[before])
        if known.setdefault(letter, moved) != moved:
            raise record.refuse("visits", "a letter does not always move the same way")
    for letter, moved in known.items():
        steps[letter] = moved
    return Walk(place, steps, place[pads])


def _edges(machine: Machine, scores: Scores, length: int, record: Record) -> set[tuple[int, int, int]]:
    """Key class before, key class after, letter: for every step of every word of at most this length."""
    last = {0: int(scores.key_of_pad[-1])}
    frontier, edges = [0], set()
    shown, follow = scores.key_of[machine.shown].tolist(), machine.follow.tolist()
    for depth in range(length):
        reached = []
        for state in frontier:
            for letter, (key, after) in enumerate(zip(shown[state], follow[state], strict=True)):
                edges.add((last[state], key, letter))
                if depth + 1 == length:
                    continue
                if after not in last:
                    last[after] = key
                    reached.append(after)
                elif last[after] != key:
                    raise record.refuse(
                        "visits", "what a position looked like decides nothing about the next"
                    )
        frontier = reached
    return edges


def _on_a_line(linked: set[tuple[int, int]], count: int, record: Record) -> Integers:
    """Numbers the classes along the path that their links form."""
    beside: dict[int, set[int]] = {}
    for a, b in linked:
        beside.setdefault(a, set())
        beside.setdefault(b, set())
        if a != b:
            beside[a].add(b)
            beside[b].add(a)
    ends = [key for key, others in beside.items() if len(others) < 2]
    if not ends or max(len(others) for others in beside.values()) > 2:
        raise record.refuse("visits", "the keys of a head do not lie on a line")
    place = np.full(count, -1, dtype=np.int64)
    here: int | None = min(ends)
    number = 0
    while here is not None:
        place[here], number = number, number + 1
        here = next((key for key in beside[here] if place[key] < 0), None)
    if number != len(beside) or number != count:
        raise record.refuse("visits", "the keys of a head do not lie on one line")
    return place


def pattern_after_padding(pads: Integers, reach: int) -> str:
    """Sides of the visited places around the last padding position, the latest visit first."""
    here, times = int(pads[-1]), {int(place): time for time, place in enumerate(pads)}
    near = [place for place in times if 0 < abs(place - here) <= reach]
    near.sort(key=lambda place: -times[place])
    return "".join(LEFT if place < here else RIGHT for place in near)


def next_patterns(pattern: str, step: int, reach: int) -> list[str]:
    """What the pattern may be after a step: a place that comes into reach may have been visited any time
    before those nearer on its side, if they all were.
    """
    if step == 0:
        return [pattern]
    ahead, behind = (RIGHT, LEFT) if step > 0 else (LEFT, RIGHT)
    left = behind + pattern.replace(ahead, "", 1)
    if left.count(behind) > reach:
        cut = left.rfind(behind)
        left = left[:cut] + left[cut + 1 :]
    if pattern.count(ahead) < reach:
        return [left]
    first = max(left.rfind(ahead) + 1, 1)
    return [left, *(left[:k] + ahead + left[k:] for k in range(first, len(left) + 1))]


def ranks_of(patterns: list[str], offsets: list[int]) -> Integers:
    """``[pattern, head]``: which of the visits, the latest first, a head finds; 0 is the position itself."""
    width = max(map(len, patterns), default=0)
    letters = np.array([list(pattern.ljust(width)) for pattern in patterns]).reshape(len(patterns), width)
    ranks = np.zeros((len(patterns), len(offsets)), dtype=np.int64)
    for side in (LEFT, RIGHT):
        met = np.cumsum(letters == side, axis=1)
        for head, offset in enumerate(offsets):
            if width and offset and (offset < 0) == (side == LEFT):
                wanted = np.minimum(abs(offset), met[:, -1])
                ranks[:, head] = np.where(wanted > 0, (met < wanted[:, None]).sum(axis=1) + 1, 0)
    return ranks

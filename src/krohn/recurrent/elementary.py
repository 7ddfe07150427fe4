"""A map of states as swaps and merges of two states: one step of a recurrent layer each."""

from collections.abc import Sequence

Step = tuple[str, int, int]
"""``("swap", i, j)`` exchanges i and j; ``("merge", i, j)`` sends j to i and leaves the rest."""


def components(images: Sequence[int]) -> int:
    """Connected components of the graph with an edge from each state to its image."""
    root = list(range(len(images)))

    def find(state: int) -> int:
        while root[state] != state:
            state = root[state]
        return state

    for state, image in enumerate(images):
        root[find(state)] = find(image)
    return sum(find(state) == state for state in range(len(images)))


def swaps_and_merges(images: Sequence[int]) -> list[Step]:
    """The map as n − components(map) steps, in order.

    Fewer do not suffice in the one-hot code: each step moves along one direction, and the map less the
    identity has that rank. Cycles come first, as swaps; then the trees that lead to them, from the root.
    """
    recurring = set(range(len(images)))
    for _ in images:
        recurring = {images[state] for state in recurring}
    steps: list[Step] = []
    seen: set[int] = set()
    for state in sorted(recurring):
        while state not in seen:
            seen.add(state)
            orbit = [images[state]]
            while orbit[-1] != state:
                orbit.append(images[orbit[-1]])
            seen.update(orbit)
            steps += [("swap", state, other) for other in orbit[:-1]]
    done, rest = set(recurring), set(range(len(images))) - recurring
    while rest:
        ready = sorted(state for state in rest if images[state] in done)
        steps += [("merge", images[state], state) for state in ready]
        done.update(ready)
        rest.difference_update(ready)
    return steps

"""The whole dependency function of a cascade, listed over all chains and letters."""

from collections.abc import Iterator

from krohn.cascade.holonomy import Cascade, Update

Triple = tuple[int, int, int]


def transitions(cascade: Cascade) -> tuple[dict[Triple, Update], ...]:
    """Per level (P, a, P′) → update; only where P′ is active at the level, for elsewhere it is not read."""
    levels: list[dict[Triple, Update]] = [{} for _ in range(cascade.num_levels)]
    for letter in range(cascade.automaton.num_letters):
        queue = [(0, 0)] if cascade.num_levels else []
        for pair in queue:
            below = (
                each for each in _below(cascade, letter, pair, levels) if cascade.skeleton.tiles[each[1]]
            )
            queue += [each for each in dict.fromkeys(below) if each not in queue]
    return tuple(levels)


def _below(
    cascade: Cascade, letter: int, pair: tuple[int, int], levels: list[dict[Triple, Update]]
) -> Iterator[tuple[int, int]]:
    (source, target), frame = pair, cascade.skeleton
    before, after = frame.depth[source], frame.depth[target]
    if before < after:
        yield from ((tile, target) for tile in frame.tiles[source])
        return
    update = levels[after][source, letter, target] = cascade.update(source, letter, target)
    goal = frame.tiles[target]
    if isinstance(update, tuple):
        yield from ((tile, goal[value]) for tile, value in zip(frame.tiles[source], update, strict=True))
        return
    yield from ((tile, goal[update]) for tile in (frame.tiles[source] if before == after else (source,)))

"""Channels for registers and position codes: each lives from birth to last reading, then is reused."""

from dataclasses import dataclass

from krohn.network.layout import Channel


@dataclass(frozen=True)
class Lifetime:
    """A channel's content, the moment it is written and the last moment it is read."""

    content: Channel
    birth: int
    death: int


def allocate(lifetimes: list[Lifetime], moments: int) -> tuple[tuple[Channel, ...], ...]:
    """The content of every channel at every moment; as few channels as are ever alive at once.

    A channel is free for new content at the first moment after its last reading: the block between
    the two moments reads the old content and writes the new one. Ties go to the lowest number, so
    the result is reproducible.
    """
    busy_until: list[int] = []
    held: list[list[Channel]] = []
    for life in sorted(lifetimes, key=lambda item: item.birth):
        free = next((n for n, until in enumerate(busy_until) if until < life.birth), len(busy_until))
        if free == len(busy_until):
            busy_until.append(-1)
            held.append([Channel()] * moments)
        busy_until[free] = life.death
        span = range(life.birth, life.death + 1)
        held[free][life.birth : life.death + 1] = [life.content for _ in span]
    return tuple(zip(*held, strict=True))

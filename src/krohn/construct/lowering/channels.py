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
    held: list[list[tuple[int, int, Channel]]] = []
    for life in sorted(lifetimes, key=lambda item: item.birth):
        free = next((n for n, until in enumerate(busy_until) if until < life.birth), len(busy_until))
        if free == len(busy_until):
            busy_until.append(-1)
            held.append([])
        busy_until[free] = life.death
        held[free].append((life.birth, life.death, life.content))
    return tuple(tuple(_content(spans, moment) for spans in held) for moment in range(moments))


def _content(spans: list[tuple[int, int, Channel]], moment: int) -> Channel:
    return next((what for birth, death, what in spans if birth <= moment <= death), Channel())

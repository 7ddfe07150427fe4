"""The layout proved for every word: the machine of the weights beside the machine of the program.

Both machines read the same letters. Wherever they are together, a channel must hold what the layout says its
register holds; where both carry prefix sums, every letter must move both alike. What is kept though nothing
reads it, sums that are written differently on both sides and machines that guess are left to the comparison
on words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krohn.certify.arithmetic import Array
from krohn.certify.findings import Record
from krohn.certify.machine import Integers, Machine, distinct_rows
from krohn.certify.program_proof import Registers
from krohn.certify.stream import Stream
from krohn.network.program import Program
from krohn.network.transformer import Channel, Layout

CLOSE = 1e-3
MAX_PAIRS = 100_000


@dataclass(frozen=True, eq=False)
class Meetings:
    """Which classes of both machines meet, and the steps of counters that one letter makes on both sides."""

    classes: Integers  # n × 2
    steps: Array  # m × counters of the weights
    other_steps: Array  # m × counters of the program


def prove_layout(
    layout: Layout,
    program: Program,
    streams: Sequence[Stream],
    registers: Sequence[Registers],
    length: int,
    record: Record,
) -> None:
    """Raises ``Refuted`` if some word makes a channel hold something else; notes how many were proved."""
    named = proved = 0
    for moment, (channels, stream, state) in enumerate(zip(layout.moments, streams, registers, strict=True)):
        claims = [(n, c) for n, c in enumerate(channels) if c.register in state.value]
        named += sum(bool(channel.register) for channel in channels)
        met = _meetings(stream.machine, state.machine, min(length, state.limit)) if claims else None
        if met is None:
            continue
        for number, channel in claims:
            verdict = _holds(channel, number, program, stream, state, met)
            if verdict is False:
                text = f"channel {number} does not hold {channel.name} at moment {moment} on some word"
                raise record.refuse("hints", text)
            proved += bool(verdict)
    record.note("hints", f"{proved} of {named} named channels proved to hold their registers on every word")


def _meetings(ours: Machine, theirs: Machine, length: int) -> Meetings | None:
    """Breadth-first over pairs of states; ``None`` where a machine guesses or there are too many."""
    if ours.choices * theirs.choices > 1:
        return None
    width = theirs.num_states
    seen = {0}
    frontier = np.zeros(1, dtype=np.int64)
    classes, steps = [], []
    for _ in range(length):
        mine, other = np.divmod(frontier, width)
        shown = np.stack([ours.shown[mine], theirs.shown[other]], axis=-1).reshape(-1, 2)
        classes.append(distinct_rows(shown)[0])
        moved = np.concatenate([ours.steps[mine], theirs.steps[other]], axis=2)
        steps.append(distinct_rows(moved.reshape(len(shown), moved.shape[2]))[0])
        after = np.unique(ours.follow[mine] * width + theirs.follow[other])
        fresh = [int(pair) for pair in after if int(pair) not in seen]
        seen.update(fresh)
        if len(seen) > MAX_PAIRS:
            return None
        frontier = np.array(fresh, dtype=np.int64)
        if not fresh:
            break
    moves, count = np.concatenate(steps).astype(np.float64), ours.steps.shape[2]
    return Meetings(distinct_rows(np.concatenate(classes))[0], moves[:, :count], moves[:, count:])


def _holds(
    channel: Channel, number: int, program: Program, stream: Stream, state: Registers, met: Meetings
) -> bool | None:
    """Whether the channel holds its register in all classes that meet; ``None`` where that is not decided."""
    wide, share = stream.wide[number], channel.scale * state.share[channel.register]
    value = state.value[channel.register].astype(np.float64)
    if stream.lost[number] > 0:
        return None  # nothing read it, so it was forgotten
    if channel.part:
        if share.any():
            return None
        turn = 2 * np.pi / (program.register[channel.register].high + 1)
        value = np.cos(turn * value) if channel.part == "cos" else np.sin(turn * value)
    apart = np.abs(met.steps @ wide - met.other_steps @ share)
    if (apart * stream.length > CLOSE).any():
        return None
    wanted = channel.scale * value[met.classes[:, 1]]
    off = np.abs(stream.nominal[met.classes[:, 0], number] - wanted)
    return bool((off <= CLOSE * (1 + np.abs(wanted)) + stream.radius[number]).all())

"""Heads whose scores do not depend on the word: they copy from a fixed distance (heads of Theorem 1)."""

import numpy as np

from krohn.certify.action import Action
from krohn.certify.arithmetic import Arithmetic, Array
from krohn.certify.findings import Record
from krohn.certify.machine import Integers
from krohn.certify.scores import Scores
from krohn.certify.softmax import Leak, copied_error, leak_of
from krohn.certify.stream import Stream
from krohn.certify.values import Values, delivered
from krohn.network.transformer import Head

SELECTS = 0.05
"""Above this much leaked weight a head is not a selecting one."""
MAX_DISTANCE = 64


def distance_of(scores: Scores, arith: Arithmetic) -> tuple[int, Leak] | None:
    """The k with target max(t − k, 0) for every letter t, and the leak; ``None`` if there is none."""
    if len(scores.queries) != 1 or len(scores.letter_keys) != 1 or not len(scores.seen):
        return None
    table = np.where(scores.seen, scores.steady(), -np.inf)
    tau = len(scores.key_of_pad)
    chosen = table.argmax(axis=1)
    positions = tau + np.arange(len(table))
    distance = int(positions[-1] - chosen[-1])
    if (chosen != np.maximum(positions - distance, 0)).any():
        return None
    others = table.copy()
    others[np.arange(len(table)), chosen] = -np.inf
    target = np.where(np.isneginf(others) & scores.seen, table, -np.inf)
    leak = leak_of(target, others, others, scores.error, arith)
    return (distance, leak) if leak.total < SELECTS else None


def look_back(
    stream: Stream, head: Head, scores: Scores, values: Values, arith: Arithmetic, record: Record
) -> Action | None:
    """The head as a delay line of values that starts with those of the padding; ``None`` if it is not one."""
    found = distance_of(scores, arith)
    if found is None:
        return None
    distance, leak = found
    if distance > MAX_DISTANCE:
        raise record.refuse("look-back", f"a distance of {distance} needs the proof of Theorem 1")
    counters = np.flatnonzero(values.wide.any(axis=1)) if values.wide.size else np.zeros(0, dtype=np.int64)
    tau, width = stream.num_padding, 1 + len(counters)
    line = [int(values.of_pad[max(tau - 1 - n, 0)]) for n in range(distance)]
    start = np.zeros((distance, width), dtype=np.int64)
    start[:, 0] = line

    def advance(memory: Integers, shown: Integers, steps: Integers) -> tuple[Integers, Integers]:
        count, letters = shown.shape
        cells = np.empty((count, letters, distance + 1, width), dtype=np.int64)
        cells[:, :, 0, 0], cells[:, :, 0, 1:] = values.of[shown], 0
        cells[:, :, 1:] = memory.reshape(count, 1, distance, width)
        cells[:, :, 1:, 1:] -= steps[:, :, None, counters]
        return cells[:, :, :distance].reshape(count, letters, -1), cells[:, :, distance]

    def finish() -> tuple[Array, Array, Array]:
        record.require("look-back", 2 * scores.error, leak.gap, leak.lead_of(f"position t − {distance}"))
        error = values.error + copied_error(
            leak, values.spread, values.stride, values.size, scores.seen.shape[1], arith
        )
        return delivered(head, values, error, arith)

    return Action(f"copies from {distance} back", start.reshape(-1), advance, counters, finish)

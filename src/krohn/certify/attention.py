"""One attention block folded into the stream: each head proved to be a memory, a delay or a sum."""

from dataclasses import replace

import numpy as np

from krohn.certify.action import Action, Averaging
from krohn.certify.arithmetic import Arithmetic, Array, add_error
from krohn.certify.averaging import average
from krohn.certify.findings import Record
from krohn.certify.looking_back import look_back
from krohn.certify.machine import Integers, Machine, distinct_rows, explore
from krohn.certify.padding import attend_padding
from krohn.certify.recalling import recall
from krohn.certify.scores import Scores, scores_of
from krohn.certify.stream import Stream, resolved
from krohn.certify.values import values_of
from krohn.network.transformer import Head, Layer


def attend(stream: Stream, layer: Layer, mask: str, arith: Arithmetic, record: Record) -> Stream:
    """The stream after the heads and the residual."""
    for head in layer.heads:
        seen = np.abs(stream.wide).T @ (np.abs(head.query).sum(axis=1) + np.abs(head.key).sum(axis=1))
        stream = resolved(stream, np.flatnonzero(seen))
    actions: list[Action] = []
    sums: list[Averaging] = []
    pad_parts, pad_error = [stream.pads * layer.keep_attention], stream.pad_radius * layer.keep_attention
    pad_sizes = [np.abs(pad_parts[0]) + pad_error]
    for head in layer.heads:
        scores = scores_of(stream, head, arith, mask, record)
        if not np.isfinite(scores.error):
            raise record.refuse("range", "scores may overflow")
        added, error = attend_padding(stream, head, mask, scores.error, arith)
        pad_parts.append(added)
        pad_sizes.append(np.abs(added) + error)
        pad_error = pad_error + error
        if not head.output.any():
            # It adds 0, unless what it adds 0 times is infinite.
            largest = float((stream.size() @ np.abs(head.value)).max(initial=0.0))
            record.require("range", largest, arith.largest, "values of a head that adds nothing stay finite")
            continue
        found = _classify(stream, head, scores, arith, record)
        (actions if isinstance(found, Action) else sums).append(found)  # type: ignore[arg-type]
    pad_error = pad_error + add_error(arith, pad_sizes, pad_error)
    mixed = _explore(stream, layer, actions, sums, arith)
    return replace(mixed, pads=np.sum(pad_parts, axis=0), pad_radius=pad_error)


def _classify(
    stream: Stream, head: Head, scores: Scores, arith: Arithmetic, record: Record
) -> Action | Averaging:
    values = values_of(stream, head, arith, record)
    found: Action | Averaging | None = average(stream, head, scores, values, arith, record)
    if found is None:
        found = look_back(stream, head, scores, values, arith, record)
    return found if found is not None else recall(stream, head, scores, values, arith, record)


def _explore(
    stream: Stream, layer: Layer, actions: list[Action], sums: list[Averaging], arith: Arithmetic
) -> Stream:
    """The machine that also remembers what the heads need, and the vectors its classes hold."""
    old = stream.machine
    ends = np.cumsum([1, *(len(action.start) for action in actions)])
    added = np.concatenate([np.zeros((len(stream.nominal), 0), dtype=np.int64), *(s.steps for s in sums)], 1)

    def expand(rows: Integers) -> tuple[Integers, Integers]:
        shown, steps = old.shown[rows[:, 0]], old.steps[rows[:, 0]]
        parts, outputs = [old.follow[rows[:, 0]][..., None]], [shown[..., None]]
        for action, first, last in zip(actions, ends, ends[1:], strict=False):
            memory, out = action.advance(rows[:, first:last], shown, steps)
            parts.append(memory)
            outputs.append(out)
        return np.concatenate(parts, axis=2), np.concatenate([*outputs, steps, added[shown]], axis=2)

    start = np.concatenate([[0], *(action.start for action in actions)]).astype(np.int64)
    follow, outputs = explore(start, expand, stream.length)
    counters = len(stream.reach) + added.shape[1]
    width = outputs.shape[2] - counters
    distinct, classes = distinct_rows(outputs[..., :width].reshape(-1, width))
    shown = classes.reshape(follow.shape)
    machine = replace(old, follow=follow, shown=shown, steps=outputs[..., width:])
    return _combine(stream, layer, machine, distinct, actions, sums, arith)


def _combine(
    stream: Stream,
    layer: Layer,
    machine: Machine,
    distinct: Integers,
    actions: list[Action],
    sums: list[Averaging],
    arith: Arithmetic,
) -> Stream:
    keep = layer.keep_attention
    own = distinct[:, 0]
    parts: list[Array] = [stream.nominal[own] * keep]
    radius = stream.radius * keep
    wide = stream.wide * keep[:, None]
    sizes = [stream.size()[None, :] * keep]
    column = 1
    for action in actions:
        rows, carried, error = action.finish()
        numbers, offsets = distinct[:, column], distinct[:, column + 1 : column + 1 + len(action.counters)]
        column += 1 + len(action.counters)
        parts.append(rows[numbers] + offsets @ carried[action.counters])
        wide[:, action.counters] += carried[action.counters].T
        radius = radius + error
        far = np.abs(stream.reach).max(axis=1, initial=0) @ np.abs(carried)
        sizes.append(np.abs(parts[-1]).max(axis=0, keepdims=True) + far + error)
    for item in sums:
        parts.append(item.own[own] + item.origin)
        wide = np.concatenate([wide, item.wide], axis=1)
        radius = radius + item.error
        far = np.abs(item.wide) @ np.abs(item.reach).max(axis=1, initial=0)
        sizes.append(np.abs(parts[-1]).max(axis=0, keepdims=True) + far + item.error)
    reach = np.concatenate([stream.reach, *(item.reach for item in sums)])
    return replace(
        stream,
        machine=machine,
        nominal=np.sum(parts, axis=0),
        radius=radius + add_error(arith, sizes, radius),
        wide=wide,
        reach=reach,
        places=stream.places * keep,
        lost=stream.lost * keep,
    )

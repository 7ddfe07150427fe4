"""The scores of one head for every word at once: finitely many query and key classes, all positions."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from krohn.certify.arithmetic import OWN, SAFE, Arithmetic, Array
from krohn.certify.certificate import Record
from krohn.certify.stream import Integers, Stream, cluster, standing
from krohn.network.forward import visible
from krohn.network.transformer import Head

MAX_SCORES = 1 << 31
KEPT_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Scores:
    """Query class a at t scores ``(queries[a] + turn_q[t]) · (keys[b] + turn_k[i])`` on class b at i.

    ``error`` bounds how far any computed score is from that; all but ``common`` of it is there even between
    scores of one query on one key class. ``allowed[b, i]`` says where class b can
    stand; ``seen[t, i]`` what letter t (counted from 0) sees.
    """

    queries: Array
    keys: Array
    turn_q: Array
    turn_k: Array
    query_of: Integers
    key_of: Integers
    key_of_pad: Integers
    allowed: npt.NDArray[np.bool_]
    seen: npt.NDArray[np.bool_]
    error: float
    common: float
    kept: dict[int, Array] = field(default_factory=dict)

    @property
    def letter_keys(self) -> list[int]:
        """The key classes that letters can have."""
        return sorted(set(self.key_of.tolist()))

    def table(self, query: int) -> Array:
        """``[key class, letter t, position i]`` for one query class."""
        if query in self.kept:
            return self.kept[query]
        queries = self.queries[query] + self.turn_q
        keys = self.keys[:, None, :] + self.turn_k[None, :, :]
        flat = keys.reshape(len(keys) * len(self.turn_k), keys.shape[2]) @ queries.T
        out: Array = np.ascontiguousarray(flat.reshape(len(keys), len(self.turn_k), -1).swapaxes(1, 2))
        if out.nbytes * len(self.queries) < KEPT_BYTES:
            self.kept[query] = out
        return out

    def steady(self) -> Array:
        """``[letter t, position i]`` where there is one query class and letters have one key class."""
        whole = self.table(0)
        at = np.full(len(self.turn_k), self.letter_keys[0])
        at[: len(self.key_of_pad)] = self.key_of_pad
        out: Array = whole[at, :, np.arange(len(at))].T
        return out


def scores_of(stream: Stream, head: Head, arith: Arithmetic, mask: str, record: Record) -> Scores:
    """Classes, positions and the error of a head's scores; prefix sums they look at must be written out."""
    tau = stream.num_padding
    if (stream.wide.T @ np.concatenate([head.query, head.key], axis=1)).any():
        raise record.refuse("scores", "a head looks at a sum that is not written out")
    queries, query_of, query_drift = cluster(stream.nominal @ head.query)
    own_keys = stream.nominal @ head.key
    pad_keys = stream.pads @ head.key - stream.places[:tau] @ head.key
    keys, which, key_drift = cluster(np.concatenate([own_keys, pad_keys]))
    turn_q, turn_k = stream.places[tau:] @ head.query, stream.places @ head.key
    if len(queries) * len(keys) * stream.length * len(turn_k) > MAX_SCORES:
        raise record.refuse("scores", f"{len(queries)} × {len(keys)} classes are too many to compare")
    allowed = np.zeros((len(keys), len(turn_k)), dtype=bool)
    if stream.clocked:
        where = standing(stream.machine, stream.length)
        np.logical_or.at(allowed[:, tau:], which[: len(where)], where)
    else:
        allowed[np.unique(which[: len(own_keys)]), tau:] = True
    allowed[which[len(own_keys) :], np.arange(tau)] = True
    error, common = _score_error(stream, head, arith, query_drift, key_drift)
    return Scores(
        queries,
        keys,
        turn_q,
        turn_k,
        query_of,
        which[: len(own_keys)],
        which[len(own_keys) :],
        allowed,
        visible(len(turn_k), mask)[tau:],
        error,
        common,
    )


def _score_error(
    stream: Stream, head: Head, arith: Arithmetic, drift_q: Array, drift_k: Array
) -> tuple[float, float]:
    """The error of a score, and the part of it that a query adds to all keys of one class alike."""
    pad_size = np.abs(stream.pads).max(axis=0, initial=0.0) + stream.pad_radius
    size, radius = np.maximum(stream.size(), pad_size), np.maximum(stream.radius, stream.pad_radius)

    def projected(weight: Array, drift: Array, values: Array) -> tuple[Array, Array]:
        terms = (weight != 0).sum(axis=0) + 1
        error = radius @ np.abs(weight) + drift
        error = error + SAFE * (arith.inner + 2 * OWN) * terms * (size @ np.abs(weight))
        largest = np.abs(values).max(axis=0, initial=0.0)
        return largest + error, error + (arith.unit * (largest + error) if arith.half else 0.0)

    tau = stream.num_padding
    reach_q = np.abs(stream.nominal @ head.query).max(axis=0, initial=0.0)
    reach_q = reach_q + np.abs(stream.places[tau:] @ head.query).max(axis=0, initial=0.0)
    reach_k = np.abs(stream.nominal @ head.key).max(axis=0, initial=0.0)
    reach_k = reach_k + np.abs(stream.places @ head.key).max(axis=0, initial=0.0)
    reach_k = np.maximum(reach_k, np.abs(stream.pads @ head.key).max(axis=0, initial=0.0))
    query, query_error = projected(head.query, drift_q, reach_q[None])
    key, key_error = projected(head.key, drift_k, reach_k[None])
    width = head.query.shape[1]
    # Half types keep scores in the inner type, as fused attention does.
    rounding = SAFE * (arith.inner + 2 * OWN) * (width + 1) * float(query @ key)
    # Half types keep scores, but not queries and keys, in float32.
    stored = max(float(query.max(initial=0)), float(key.max(initial=0)))
    if not (stored < arith.largest and float(query @ key) < max(arith.largest, 3.4e38)):
        return float("inf"), 0.0
    turns = stream.places @ head.key
    apart = np.ptp(turns, axis=0) if len(turns) else np.zeros(width)
    common = float(np.maximum(key - apart, 0.0) @ query_error)
    return float(query @ key_error + key @ query_error + rounding), common

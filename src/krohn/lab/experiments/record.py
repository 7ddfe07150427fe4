"""The stored record of one trained replicate, and the rule for merging two records of it."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krohn.base.files import shown
from krohn.base.typed import fit_fields
from krohn.errors import InvalidInput

# A diverged replicate had a non-finite loss: its last good state is its result; it is not rerun.
STATUSES = ("partial", "diverged", "done")


def canonical(payload: Any) -> str:
    """The one JSON text of ``payload``: sorted keys, no spaces, no NaN."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One replicate of one run: configuration, result, environment and times.

    ``metrics`` holds the final numbers, the training curve and, under ``"evaluations"``, one entry for
    each evaluation. ``sequences`` counts the training sequences this replicate has actually seen.
    """

    run_id: str
    replicate: int
    seed: int
    status: str
    sequences: int
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    environment: Mapping[str, Any]
    code: str
    started: str
    finished: str

    def __post_init__(self) -> None:
        _check_types(self)
        _ = self.accuracy  # refuses a record without a result
        if not self.run_id:
            raise InvalidInput("a record must name its run; got an empty run id")
        if self.status not in STATUSES:
            known = ", ".join(STATUSES)
            raise InvalidInput(f"a record's status must be one of {known}; got {self.status!r}")
        if self.replicate < 0 or self.sequences < 0:
            given = f"replicate {self.replicate}, sequences {self.sequences}"
            raise InvalidInput(f"a record's counts must not be negative; got {given}")

    @property
    def key(self) -> tuple[str, int]:
        """The primary key of a record in a store."""
        return self.run_id, self.replicate

    @property
    def accuracy(self) -> float:
        """Token accuracy on the test set."""
        judged = self.metrics.get("test")
        result = judged.get("accuracy") if isinstance(judged, Mapping) else None
        if isinstance(result, bool) or not isinstance(result, int | float) or not 0 <= result <= 1:
            raise InvalidInput(
                f"the metrics of run {self.run_id} must have an accuracy on test words, from 0 to 1; "
                f"got {shown(result)}"
            )
        return float(result)

    @property
    def evaluations(self) -> Mapping[str, Any]:
        """The evaluations that were made of the trained replicate, by name."""
        result = self.metrics.get("evaluations", {})
        if not isinstance(result, Mapping):
            raise InvalidInput(f"the evaluations of a record must be an object; got {shown(result)}")
        return result


@dataclass(frozen=True, kw_only=True)
class Member:
    """A run as a part of an experiment: the cell of the table it fills."""

    experiment: str
    scale: str
    run_id: str
    label: Mapping[str, Any]

    def __post_init__(self) -> None:
        _check_types(self)


def _check_types(value: Record | Member) -> None:
    """Refuses values of the wrong type: files and stores are untrusted input."""
    _, reasons = fit_fields(value)
    if reasons:
        raise InvalidInput("; ".join(reasons))


@dataclass(frozen=True)
class Conflict:
    """Two finished records of one replicate that disagree, by the digests of their metrics."""

    run_id: str
    replicate: int
    kept: str
    dropped: str


def digest(payload: Any) -> str:
    """Twelve hexadecimal digits that stand for ``payload``."""
    return hashlib.sha256(canonical(payload).encode()).hexdigest()[:12]


def survivor(first: Record, second: Record) -> tuple[Record, Conflict | None]:
    """The record that stays when both describe the same replicate.

    The rule is symmetric in the two records, so that merging stores in any order gives the same store. The
    more complete status wins; tie-breakers: more sequences, more evaluations, the earlier one, the
    smaller digests. Two finished records are reported as a conflict when something that both measured
    differs; times and environment do not count.
    """
    assert first.key == second.key
    kept, dropped = sorted((first, second), key=_precedence)
    outcomes = [digest(_outcome(record, other)) for record, other in ((kept, dropped), (dropped, kept))]
    if first.status == second.status == "done" and outcomes[0] != outcomes[1]:
        return kept, Conflict(*first.key, *outcomes)
    return kept, None


def conflict_lines(conflicts: Sequence[Conflict]) -> list[str]:
    """One line for each run that has conflicts."""
    counts = Counter(conflict.run_id for conflict in conflicts)
    return [
        f"run {run_id}: two different results of {count} replicate{'s' if count > 1 else ''}; "
        "kept of each pair the more complete, else the earlier one"
        for run_id, count in sorted(counts.items())
    ]


def _outcome(record: Record, other: Record) -> dict[str, Any]:
    """The reproducible part of a record, restricted to what the other record has too."""
    timeless = {
        name: value
        for name, value in record.metrics.items()
        if name in other.metrics and name not in ("seconds", "evaluations")
    }
    shared = [name for name in record.evaluations if name in other.evaluations]
    return timeless | {"evaluations": {name: record.evaluations[name] for name in shared}}


def _precedence(record: Record) -> tuple[int, int, int, str, str, str]:
    progress = STATUSES.index(record.status)
    return (
        -progress,
        -record.sequences,
        -len(record.evaluations),
        record.finished,
        digest([record.metrics, record.environment, record.code, record.started]),
        digest([record.seed, record.config]),
    )

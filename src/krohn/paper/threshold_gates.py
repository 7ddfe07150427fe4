"""Circuits of threshold gates: a gate is 1 if the weighted sum of its wires reaches its threshold.

Weights are integers; and, or, not and majority are special cases. Gates with the same inputs are built
once. Wire 0 is always 0, wire 1 always 1, then come the inputs, then the gates.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from krohn.errors import LimitExceeded
from krohn.paper.gate_circuit import FALSE, TRUE, Circuit

MAX_WIRES = 20_000_000

Form = tuple[dict[int, int], int]
"""A linear form of wires: weights, and a constant."""


@dataclass
class Gates:
    """Builds a circuit gate by gate; constants need no gates."""

    inputs: int
    rows: list[tuple[tuple[tuple[int, int], ...], int]] = field(default_factory=list)
    wires: int = 0
    known: dict[tuple[tuple[tuple[int, int], ...], int], int] = field(default_factory=dict)

    def threshold(self, weights: Mapping[int, int], bound: int) -> int:
        """The wire that is 1 where ``Σ weights·wires ≥ bound``."""
        bound -= weights.get(TRUE, 0)
        terms = tuple(sorted((wire, w) for wire, w in weights.items() if w and wire not in (FALSE, TRUE)))
        if sum(min(w, 0) for _, w in terms) >= bound:
            return TRUE
        if sum(max(w, 0) for _, w in terms) < bound:
            return FALSE
        if len(terms) == 1 and terms[0][1] > 0:
            return terms[0][0]
        if (terms, bound) not in self.known:
            self.known[terms, bound] = 2 + self.inputs + len(self.rows)
            self.rows.append((terms, bound))
            self.wires += len(terms)
            if self.wires > MAX_WIRES:
                raise LimitExceeded(
                    f"a circuit may have at most {MAX_WIRES:,} wires; this one needs more: choose shorter "
                    "words"
                )
        return self.known[terms, bound]

    def conjunction(self, wires: Sequence[int]) -> int:
        """1 where all are 1."""
        distinct = set(wires)
        return self.threshold(dict.fromkeys(distinct, 1), len(distinct))

    def disjunction(self, wires: Iterable[int]) -> int:
        """1 where at least one is 1."""
        return self.threshold(dict.fromkeys(wires, 1), 1)

    def indicators(self, form: Form, values: Sequence[int]) -> dict[int, int]:
        """For each of its possible values, in increasing order, the wire that says the form has it."""
        weights, constant = form
        reach = [self.threshold(weights, value - constant) for value in values[1:]]
        at_least = [TRUE, *reach, FALSE]
        return {
            value: self.threshold({at_least[i]: 1} | ({at_least[i + 1]: -1} if at_least[i + 1] else {}), 1)
            for i, value in enumerate(values)
        }

    def finish(self, outputs: Sequence[Sequence[int]]) -> Circuit:
        """The circuit of the gates that the outputs depend on."""
        first = 2 + self.inputs
        needed: set[int] = set()
        waiting = [wire for row in outputs for wire in row]
        while waiting:
            wire = waiting.pop()
            if wire >= first and wire not in needed:
                needed.add(wire)
                waiting += [source for source, _ in self.rows[wire - first][0]]
        number = {wire: wire for wire in range(first)}
        number |= {wire: first + index for index, wire in enumerate(sorted(needed))}
        level = [0] * (first + len(needed))
        sources, weights, thresholds = [], [], []
        for wire in sorted(needed):
            terms, bound = self.rows[wire - first]
            read = [number[source] for source, _ in terms]
            level[number[wire]] = 1 + max(level[source] for source in read)
            sources.append(np.array(read))
            weights.append(np.array([weight for _, weight in terms]))
            thresholds.append(bound)
        named = tuple(tuple(number[wire] for wire in row) for row in outputs)
        return Circuit(
            self.inputs, tuple(sources), tuple(weights), tuple(thresholds), tuple(level[first:]), named
        )

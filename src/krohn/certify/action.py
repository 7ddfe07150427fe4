"""What a head was proved to do: a finite memory, a rule how letters change it, and what it delivers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from krohn.certify.arithmetic import Array
from krohn.certify.machine import Integers

Advance = Callable[[Integers, Integers, Integers], tuple[Integers, Integers]]
"""Memory ``[n, w]``, class ``[n, letters]``, steps ``[n, letters, k]`` → memory ``[n, letters, w]`` and
output ``[n, letters, p]``: the number of the value delivered, then its offset from each counter."""


@dataclass(frozen=True, eq=False)
class Action:
    """A head as a machine. ``counters`` lists the stream's counters that delivered values carry along.

    After the machine has been explored, ``finish`` gives the value rows, the coefficients of counters
    (d columns) and the error of every channel: only what was really selected needs a bound.
    """

    text: str
    start: Integers
    advance: Advance
    counters: Integers
    finish: Callable[[], tuple[Array, Array, Array]]


@dataclass(frozen=True, eq=False)
class Averaging:
    """A head that adds up: class c adds ``steps[c, n]`` to new counter n, worth ``wide[:, n]`` each."""

    text: str
    steps: Integers
    wide: Array
    origin: Array
    own: Array  # classes × d: what to take off because a strict head does not see its own position
    reach: Integers
    error: Array


@dataclass
class Usage:
    """Which query class met which choice while the machine was explored."""

    met: set[tuple[int, int]] = field(default_factory=set)

    def note(self, query: int, choice: int, where: np.ndarray) -> None:
        """Notes a choice if it happened anywhere."""
        if where.any():
            self.met.add((query, choice))

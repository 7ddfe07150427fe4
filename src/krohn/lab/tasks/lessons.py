"""What hints ask for: intermediate results of a construction, as labels for every letter of a word.

``doubling.py`` has those of Theorem 1, ``cascade_levels.py`` those of Theorem 2.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Hint:
    """What is asked after one block.

    Attributes:
        block: 1 for the first.
        about: for people: ``last 4 letters`` or ``level 1``.
        classes: number of answers.
        parts: answers at each letter: 1, or one for each state.
    """

    block: int
    about: str
    classes: int
    parts: int = 1


@dataclass(frozen=True, eq=False)
class Lessons:
    """The hints of a run and their labels.

    Attributes:
        hints: by block.
        labels: for letters [..., T] the classes [hints, ..., T, parts].
    """

    hints: tuple[Hint, ...]
    labels: Callable[[Tensor], Tensor]

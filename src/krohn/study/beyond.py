"""How far a trained network holds: words longer than those of training, and positions that it never saw."""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from krohn.automata.sampling import sample
from krohn.study.readings import Readings
from krohn.study.subject import Subject

LENGTHS = (1.0, 1.1, 1.25, 1.5, 2.0, 4.0)
"""Lengths of words, as multiples of those of training."""
SHIFTS = (1, 2, 4, 8, 16)
WORDS = 24
SEED = 1 << 20


@dataclass(frozen=True)
class Beyond:
    """Right states on words longer than those of training.

    Attributes:
        beyond: the share of right states among the letters ``from`` .. ``to``; the first part are the trained
            lengths.
        first_wrong: the first wrong letter of each word, from 1; 0 if there is none.
        shifts: words of the trained length whose first letter is given the position ``shift`` later: the
            share of right states by shift. All positions were seen in training but the last ones.
    """

    beyond: list[dict[str, float]]
    first_wrong: list[int]
    shifts: list[dict[str, float]]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def beyond(subject: Subject, trained: int) -> Beyond:
    """Measures a network that takes words up to four times the ``trained`` length."""
    stages, longest = subject.stages, round(LENGTHS[-1] * trained)
    letters = sample(subject.automaton, length=longest, count=WORDS, seed=SEED).letters.astype(np.int64)
    answers = np.concatenate([stages.run(part).said for part in np.split(letters, 4)])
    states = Readings(subject.automaton, letters).states
    right = answers == states
    ends = [round(part * trained) for part in LENGTHS]
    parts = [
        {"from": start + 1, "to": end, "right": float(right[:, start:end].mean())}
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    first = np.where(right.all(axis=1), 0, right.argmin(axis=1) + 1)
    prompt, shifts = len(stages.prompt), []
    for shift in SHIFTS:
        rest = stages.positions[prompt + shift : prompt + shift + trained]
        later = replace(stages, positions=torch.cat([stages.positions[:prompt], rest]))
        right = later.run(letters[:, :trained]).said == states[:, :trained]
        shifts.append({"shift": shift, "right": float(right.mean())})
    return Beyond(parts, first.tolist(), shifts)

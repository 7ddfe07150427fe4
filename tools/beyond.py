"""Length generalisation of a trained network: longer words, and positions not seen in training."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch

from krohn.automata.sampling import sample
from krohn.lab.interpret.readings import Numbers, Readings
from krohn.lab.interpret.subject import Subject

LENGTHS = (1.0, 1.1, 1.25, 1.5, 2.0, 4.0)
"""Lengths of words, as multiples of those of training."""
SHIFTS = (1, 2, 4, 8, 16)
WORDS = 24
SEED = 1 << 20


@dataclass(frozen=True)
class Beyond:
    """Right states on words longer than those of training.

    Attributes:
        beyond: the share of right states among the letters ``from`` .. ``to``; the first entry covers the
            trained length.
        first_wrong: the first wrong letter of each word, from 1; 0 if there is none.
        shifts: words of the trained length with every position moved ``shift`` later; all positions but the
            last ``shift`` were seen in training. For each ``shift``, the share of ``right`` answers, of
            answers that would be right if the first letter were read ``twice`` or not at all (``without``),
            and of answers that ``follow`` from the previous answer by the letter.
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
    answers = np.concatenate([stages.run(part).answers for part in np.split(letters, 4)])
    states = Readings(subject.automaton, letters).states
    right = answers == states
    ends = [round(part * trained) for part in LENGTHS]
    parts = [
        {"from": start + 1, "to": end, "right": float(right[:, start:end].mean())}
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    first = np.where(right.all(axis=1), 0, right.argmin(axis=1) + 1)
    return Beyond(parts, first.tolist(), later_positions(subject, letters[:, :trained]))


def later_positions(
    subject: Subject, letters: Numbers, shifts: Sequence[int] = SHIFTS
) -> list[dict[str, float]]:
    """Scores on the same words with each letter at a position ``shift`` later."""
    stages, prompt = subject.stages, len(subject.stages.prompt)
    rows = []
    for shift in shifts:
        rest = stages.positions[prompt + shift : prompt + shift + letters.shape[1]]
        later = replace(stages, positions=torch.cat([stages.positions[:prompt], rest]))
        rows.append({"shift": shift, **_explained(subject, letters, later.run(letters).answers)})
    return rows


def _explained(subject: Subject, letters: Numbers, answers: Numbers) -> dict[str, float]:
    """The shares of ``Beyond.shifts`` for the answers [word, letter] to words at shifted positions."""
    words = {
        "right": Readings(subject.automaton, letters).states,
        "twice": Readings(subject.automaton, np.concatenate([letters[:, :1], letters], axis=1)).states[:, 1:],
        "without": Readings(subject.automaton, letters[:, 1:]).states,
    }
    shares = {
        name: float((answers[:, -states.shape[1] :] == states).mean()) for name, states in words.items()
    }
    after = subject.automaton.table[answers[:, :-1], letters[:, 1:]]
    return {**shares, "follow": float((after == answers[:, 1:]).mean())}

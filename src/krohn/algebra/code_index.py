"""Equal 64-bit codes get one number: a hash table that takes whole batches at a time.

A slot holds one code. The few codes that find another one in their slot are kept in a dictionary.
"""

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]

_FREE = np.iinfo(np.int32).max
_LOAD = 8  # the table grows when there are fewer slots than these for each code


class CodeIndex:
    """Numbers codes in the order in which they are entered; ``distinct`` counts the different ones."""

    def __init__(self) -> None:
        self.distinct = 0
        self._size = 0
        self._codes: Codes = np.empty(1 << 12, dtype=np.int64)
        self._numbers: Numbers = np.arange(1 << 12, dtype=np.int32)
        self._clear(60_013)

    def __len__(self) -> int:
        return self._size

    def enter(self, codes: Codes) -> tuple[Numbers, Places]:
        """The number of the first code equal to each, and the places in ``codes`` of those that are new."""
        begin, end = self._size, self._size + len(codes)
        if end > len(self._codes):
            self._codes = np.concatenate([self._codes[:begin], np.empty(2 * end, dtype=np.int64)])
            self._numbers = np.arange(len(self._codes), dtype=np.int32)
        self._size = end
        self._codes[begin:end] = codes
        numbers = self._numbers[begin:end]
        answers = self._settle(codes, numbers)
        new = (answers == numbers).nonzero()[0]
        self.distinct += len(new)
        if self.distinct * _LOAD > len(self._slots):
            self._enlarge()
        return answers, new

    def _settle(self, codes: Codes, numbers: Numbers) -> Numbers:
        slots = codes % len(self._slots)
        # The least number gets the slot: earlier codes keep theirs, and of equal new ones the first counts.
        np.minimum.at(self._slots, slots, numbers)
        answers = self._slots.take(slots)
        wrong = (self._codes.take(answers) != codes).nonzero()[0]
        if len(wrong):
            crowded = zip(codes[wrong].tolist(), numbers[wrong].tolist(), strict=True)
            answers[wrong] = [self._crowded.setdefault(code, number) for code, number in crowded]
        return answers

    def _clear(self, size: int) -> None:
        self._slots: Numbers = np.full(size, _FREE, dtype=np.int32)
        self._crowded: dict[int, int] = {}

    def _enlarge(self) -> None:
        slotted = self._slots[self._slots != _FREE]
        held = np.concatenate([slotted, np.array(list(self._crowded.values()), dtype=np.int32)])
        # Odd, so that every bit of a code counts.
        self._clear(4 * len(self._slots) + 3)
        self._settle(self._codes.take(held), held)

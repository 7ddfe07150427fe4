"""Froidure–Pin for long layers: right products are looked up where a smaller word is known.

For an element ``x = c s`` (first letter c) and a letter a: if ``s a`` has a smaller word ``p b``, then
``x a = (c p) b`` is read off the Cayley graphs; only otherwise is a product computed.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


class LongLayers:
    """Continues a search whose words up to some length are known; at most 256 states.

    ``right`` and ``left`` hold the products of all elements but those of the last layer; ``prefix``
    and ``last`` are known for all. Arrays grow by doubling and are valid up to ``len(number)``.
    """

    def __init__(
        self,
        letters: Sequence[Sequence[int]],
        number: dict[bytes, int],
        layers: Sequence[slice],
        right: IntArray,
        left: IntArray,
        words: tuple[IntArray, IntArray],
    ) -> None:
        self.number = number
        self.letters = np.array(letters, dtype=np.uint8)
        self.singles = np.array([number[bytes(letter)] for letter in letters], dtype=np.int32)
        self.rows = np.frombuffer(b"".join(number), dtype=np.uint8).reshape(len(number), -1)
        missing = np.full((len(number) - len(right), len(letters)), -1, dtype=np.int32)
        self.right = np.concatenate([right, missing])
        self.left = np.concatenate([left, missing])
        self.prefix, self.last = words
        self.first, self.suffix = self.last.copy(), np.full(len(number), -1, dtype=np.int32)
        for layer in layers[1:]:
            shorter, letter = self.prefix[layer], self.last[layer]
            self.first[layer] = self.first[shorter]
            tail = self.suffix[shorter]
            self.suffix[layer] = np.where(tail < 0, self.singles[letter], self.right[tail, letter])
        # reduced[i, a]: the product of i and a was new, so the word of i followed by a is its least word.
        self.reduced: Flags = np.zeros(self.right.shape, dtype=np.bool_)
        longer = self.prefix >= 0
        self.reduced[self.prefix[longer], self.last[longer]] = True

    def run(self, start: int, refuse_too_many: Callable[[], None]) -> None:
        """Finds every element and fills both Cayley graphs from element ``start``, a layer's first, on."""
        while start < len(self.number):
            stop = len(self.number)
            following = self.right[self.suffix[start:stop]]
            needed = self.reduced[self.suffix[start:stop]]
            self._multiply(start, following, needed)
            self._look_up(start, stop, following, ~needed)
            heads = self.left[self.prefix[start:stop]]
            self.left[start:stop] = self.right[heads, self.last[start:stop, None]]
            refuse_too_many()
            start = stop
        size = len(self.number)
        self.right, self.left = self.right[:size], self.left[:size]
        self.prefix, self.last = self.prefix[:size], self.last[:size]

    def _multiply(self, start: int, following: IntArray, needed: Flags) -> None:
        """Computes the needed products of a layer and appends the new elements."""
        places, acting = np.nonzero(needed)
        products = self.letters[acting[:, None], self.rows[start + places]]
        enter, number, known = self.number.setdefault, self.number, len(self.number)
        # A void view turns each row into one byte string without a loop in Python.
        keys = products.view(f"V{products.shape[1]}").ravel().tolist()
        numbers = np.array([enter(key, len(number)) for key in keys], dtype=np.int32)
        self.right[start + places, acting] = numbers
        if len(number) == known:
            return
        new = np.searchsorted(np.maximum.accumulate(numbers), np.arange(known, len(number)))
        self._grow(len(number))
        added = slice(known, len(number))
        places, acting = places[new], acting[new]
        self.rows[added] = products[new]
        self.prefix[added], self.last[added] = start + places, acting
        self.first[added], self.suffix[added] = self.first[start + places], following[places, acting]
        self.reduced[start + places, acting] = True

    def _look_up(self, start: int, stop: int, following: IntArray, known: Flags) -> None:
        """Reads the other products of a layer off the Cayley graphs."""
        places, acting = np.nonzero(known)
        target = following[places, acting]
        shorter, last = self.prefix[target], self.last[target]
        first = self.first[start:stop][places]
        heads = np.where(shorter < 0, self.singles[first], self.left[shorter, first])
        places = places + start
        # c p may itself belong to this layer; then its own product must be there first.
        while len(places):
            values = self.right[heads, last]
            self.right[places, acting] = values
            waiting = values < 0
            places, acting, heads, last = places[waiting], acting[waiting], heads[waiting], last[waiting]

    def _grow(self, size: int) -> None:
        room = len(self.rows)
        if size <= room:
            return
        extra = max(size, 2 * room) - room
        for name in ("rows", "right", "left", "prefix", "last", "first", "suffix", "reduced"):
            array = getattr(self, name)
            fresh = np.full((extra, *array.shape[1:]), 0 if name in ("rows", "reduced") else -1, array.dtype)
            setattr(self, name, np.concatenate([array, fresh]))

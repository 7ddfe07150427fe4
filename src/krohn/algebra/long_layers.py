"""Froidure–Pin for long layers: right products are looked up where a smaller word is known.

For an element ``x = c s`` (first letter c) and a letter a: if ``s a`` has a smaller word ``p b``, then
``x a = (c p) b`` is read off the Cayley graphs; only otherwise is a product computed.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
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
        self.letters = letters
        padding = bytes(range(len(letters[0]), 256))
        self.tables = [bytes(letter) + padding for letter in letters]
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
            suffix = self.suffix[start:stop]
            following = self.right.take(suffix, axis=0).ravel()
            needed = self.reduced.take(suffix, axis=0)
            self._multiply(start, following, needed)
            self._look_up(start, stop, following, np.flatnonzero(~needed.ravel()))
            heads = self.left.take(self.prefix[start:stop], axis=0) * len(self.letters)
            self.left[start:stop] = self.right.ravel().take(heads + self.last[start:stop, None])
            refuse_too_many()
            start = stop
        size = len(self.number)
        self.right, self.left = self.right[:size], self.left[:size]
        self.prefix, self.last = self.prefix[:size], self.last[:size]

    def _multiply(self, start: int, following: IntArray, needed: Flags) -> None:
        """Computes the needed products of a layer and appends the new elements."""
        pairs = np.flatnonzero(needed.ravel())
        places, acting = np.divmod(pairs, len(self.letters))
        keys = self._products(start, needed, pairs)
        enter, number, known = self.number.setdefault, self.number, len(self.number)
        numbers = np.array([enter(key, len(number)) for key in keys.tolist()], dtype=np.int32)
        self.right[start + places, acting] = numbers
        if len(number) == known:
            return
        new = np.searchsorted(np.maximum.accumulate(numbers), np.arange(known, len(number)))
        self._grow(len(number))
        added = slice(known, len(number))
        places, acting = places[new], acting[new]
        self.rows[added] = keys[new].view(np.uint8).reshape(len(new), -1)
        self.prefix[added], self.last[added] = start + places, acting
        self.first[added], self.suffix[added] = self.first[start + places], following[pairs[new]]
        self.reduced[start + places, acting] = True

    def _products(self, start: int, needed: Flags, pairs: Ints) -> npt.NDArray[np.void]:
        """The products of the pairs (element, letter), each as one opaque byte string."""
        count, kind = len(self.letters), np.dtype(f"V{self.rows.shape[1]}")
        keys = np.empty(len(pairs), dtype=kind)
        order = np.cumsum(needed.ravel()) - 1
        for letter, table in enumerate(self.tables):
            chosen = np.flatnonzero(needed[:, letter])
            # One translation for the whole layer: the rows joined, sent through the letter's table.
            joined = self.rows.take(start + chosen, axis=0).tobytes().translate(table)
            keys[order[chosen * count + letter]] = np.frombuffer(joined, dtype=kind)
        return keys

    def _look_up(self, start: int, stop: int, following: IntArray, pairs: Ints) -> None:
        """Reads the other products of a layer off the Cayley graphs."""
        count = len(self.letters)
        target = following.take(pairs)
        shorter, last = self.prefix.take(target), self.last.take(target)
        first = self.first[start:stop].take(pairs // count)
        heads = self.left.ravel().take(shorter * count + first)
        single = np.flatnonzero(shorter < 0)
        heads[single] = self.singles[first[single]]
        sources, slots = heads * count + last, pairs + start * count
        right = self.right.ravel()
        # c p may itself belong to this layer; then its own product must be there first.
        while len(slots):
            values = right.take(sources)
            right[slots] = values
            waiting = np.flatnonzero(values < 0)
            sources, slots = sources[waiting], slots[waiting]

    def _grow(self, size: int) -> None:
        room = len(self.rows)
        if size <= room:
            return
        extra = max(size, 2 * room) - room
        for name in ("rows", "right", "left", "prefix", "last", "first", "suffix", "reduced"):
            array = getattr(self, name)
            fresh = np.full((extra, *array.shape[1:]), 0 if name in ("rows", "reduced") else -1, array.dtype)
            setattr(self, name, np.concatenate([array, fresh]))

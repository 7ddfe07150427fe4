"""The syntactic semigroup, listed, for the classes that need its elements."""

from collections.abc import Collection, Sequence
from functools import cached_property

from krohn.algebra.classes.recognizer import Pattern, Recognizer, Witness, Word, pattern
from krohn.algebra.transition_semigroup import ElementList, list_elements

MOST_ELEMENTS = 20_000


class Syntactic:
    """The maps of the non-empty words on the minimal automaton; refuses more than ``MOST_ELEMENTS``.

    Without an identity that no word induces: so a letter that is no identity keeps its tier visible.
    """

    def __init__(self, language: Recognizer) -> None:
        self.language = language
        self.elements: ElementList = list_elements(language.letters, MOST_ELEMENTS)
        self.size = len(self.elements)
        self.right = self.elements.right.tolist()
        self.left = self.elements.left.tolist()
        self.r_class, self.l_class = self.elements.r_class, self.elements.l_class
        self.idempotents = frozenset(self.elements.idempotents)

    @cached_property
    def d_class(self) -> list[int]:
        """A number for each element's D-class: R-classes that share an L-class."""
        above = list(range(max(self.r_class) + max(self.l_class) + 2))

        def find(i: int) -> int:
            while above[i] != i:
                above[i] = above[above[i]]
                i = above[i]
            return i

        shift = max(self.r_class) + 1
        for right, left in zip(self.r_class, self.l_class, strict=True):
            above[find(right)] = find(shift + left)
        return [find(r) for r in self.r_class]

    @cached_property
    def bases(self) -> list[int]:
        """One idempotent for each regular D-class: local monoids of one class are isomorphic."""
        first: dict[int, int] = {}
        for e in sorted(self.idempotents):
            first.setdefault(self.d_class[e], e)
        return list(first.values())

    def word(self, x: int) -> Word:
        """The shortest word of an element."""
        return self.elements.word(x)

    def product(self, x: int, y: int) -> int:
        """x, then y."""
        for letter in self.word(y):
            x = self.right[x][letter]
        return x

    def _reach(self, x: int, arcs: Sequence[Sequence[int]]) -> frozenset[int]:
        seen, stack = {x}, [x]
        while stack:
            for y in arcs[stack.pop()]:
                if y not in seen:
                    seen.add(y)
                    stack.append(y)
        return frozenset(seen)

    @cached_property
    def _sides(self) -> dict[tuple[int, bool], frozenset[int]]:
        return {}

    def _side(self, e: int, right: bool) -> frozenset[int]:
        if (e, right) not in self._sides:
            self._sides[e, right] = self._reach(e, self.right if right else self.left)
        return self._sides[e, right]

    def between(self, e: int, f: int) -> list[int]:
        """e S f for idempotents e and f."""
        return sorted(self._side(e, True) & self._side(f, False))

    def route(self, x: int, y: int, right: bool) -> Word:
        """The shortest w with x w = y, or with w x = y, in reading order."""
        arcs = self.right if right else self.left
        parents: dict[int, tuple[int, int] | None] = {x: None}
        for z in (queue := [x]):
            if z == y:
                break
            for a, following in enumerate(arcs[z]):
                if following not in parents:
                    parents[following] = (z, a)
                    queue.append(following)
        word = []
        step = parents[y]
        while step is not None:
            z, a = step
            word.append(a)
            step = parents[z]
        return tuple(reversed(word)) if right else tuple(word)

    @staticmethod
    def same(elements: Collection[int], classes: Sequence[int]) -> tuple[int, int] | None:
        """Two of the elements in one class, the first in order."""
        seen: dict[int, int] = {}
        for x in sorted(elements):
            other = seen.setdefault(classes[x], x)
            if other != x:
                return other, x
        return None

    def told_apart(self, x: int, y: int, one: Pattern, two: Pattern, note: str) -> Witness:
        """Both patterns in a context that tells apart the elements x and y that they induce for every n."""
        language, a, b = self.language, self.elements[x], self.elements[y]
        words = language.words_to
        q = min((q for q in range(language.size) if a[q] != b[q]), key=lambda q: len(words[q]))
        end = language.separating_word(a[q], b[q])
        return Witness(tuple(_within(words[q], each, end) for each in (one, two)), "differ", note)


def _within(start: Word, middle: Pattern, end: Word) -> Pattern:
    return Pattern((*pattern(start).parts, *middle.parts, *pattern(end).parts))

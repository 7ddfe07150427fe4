"""Golden values of 52 transition semigroups (source line inside the file), and naive oracles."""

import json
from pathlib import Path
from typing import Any

Letters = tuple[tuple[int, ...], ...]

_FILE = json.loads((Path(__file__).parent / "golden.json").read_text())
SOURCE: str = _FILE["source"]
CASES: dict[str, dict[str, Any]] = _FILE["cases"]


def letters_of(case: dict[str, Any]) -> Letters:
    return tuple(tuple(letter) for letter in case["generators"])


def naive_elements(letters: Letters) -> list[tuple[int, ...]]:
    """All products of letters by breadth-first search."""
    elements = list(dict.fromkeys(letters))
    seen = set(elements)
    for element in elements:
        for letter in letters:
            image = tuple(letter[state] for state in element)
            if image not in seen:
                seen.add(image)
                elements.append(image)
    return elements


def times(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(second[state] for state in first)


class NaiveGreen:
    """Green's relations from their definitions: equal principal ideals."""

    def __init__(self, letters: Letters) -> None:
        self.elements = naive_elements(letters)
        self.right = {x: frozenset([x, *(times(x, s) for s in self.elements)]) for x in self.elements}
        self.left = {x: frozenset([x, *(times(s, x) for s in self.elements)]) for x in self.elements}
        self.two_sided = {x: frozenset(y for s in self.left[x] for y in self.right[s]) for x in self.elements}

    def counts(self) -> tuple[int, int, int, int, int, int]:
        """Numbers of D, R, L, H-classes, regular D-classes and idempotents."""
        d = {x: self.two_sided[x] for x in self.elements}
        h = {(self.right[x], self.left[x]) for x in self.elements}
        idempotents = [x for x in self.elements if times(x, x) == x]
        return (
            len(set(d.values())),
            len(set(self.right.values())),
            len(set(self.left.values())),
            len(h),
            len({d[x] for x in idempotents}),
            len(idempotents),
        )

    def subgroup_orders(self) -> list[int]:
        """Orders of the non-trivial maximal subgroups, one for each D-class that has any."""
        orders: dict[frozenset[tuple[int, ...]], int] = {}
        for e in self.elements:
            if times(e, e) == e:
                key = (self.right[e], self.left[e])
                orders[self.two_sided[e]] = sum((self.right[x], self.left[x]) == key for x in self.elements)
        return sorted(order for order in orders.values() if order > 1)

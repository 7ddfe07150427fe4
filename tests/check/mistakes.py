"""Mistakes that versions of the checker have made, to be put back into its code: tests must see each."""

import inspect
from collections.abc import Callable
from types import ModuleType

import pytest

from krohn.check.arithmetic.format import Box, Format
from krohn.check.transformer import scan


def rewritten(patch: pytest.MonkeyPatch, module: ModuleType, name: str, right: str, wrong: str) -> None:
    """A function of a module with one piece of its text replaced."""
    text = inspect.getsource(vars(module)[name])
    assert right in text, f"{name} has changed: find the mistake another place, or take it out of this list"
    patch.setattr(module, name, vars(module)[name])  # undone after the test
    exec(compile(text.replace(right, wrong), str(module.__file__), "exec"), vars(module))


def one_matrix(patch: pytest.MonkeyPatch) -> None:
    """The matrix of an MLP without hidden layers is left out."""
    right = "untouched(layer)"
    rewritten(patch, scan, "_in_rounds", right, f"({right} | (len(layer.weights) == 1))")


def cache_key(patch: pytest.MonkeyPatch) -> None:
    """A pair of windows is taken for a single one with the same units."""
    rewritten(patch, scan, "_by_cases", ", said, shape]", "]")


def representative_row(patch: pytest.MonkeyPatch) -> None:
    """Channels that no logit reads are taken to be as in the first row."""
    rewritten(patch, scan, "_decode", "moment.box.over(0).spread(", "moment.box[0].spread(")


def two_stores(patch: pytest.MonkeyPatch) -> None:
    """Product, bias and stream are stored three times, and two are counted."""
    right = Format.add

    def unstored(self: Format, left: Box, other: Box) -> Box:
        made, rounds = right(self, left, other), self.inner.error(left.size + other.size, 1.0, 0.0)
        return Box((left.part + other.part).widen(rounds), made.beyond)

    patch.setattr(Format, "add", unstored)
    patch.setattr(Format, "off_sum", lambda self, left, other: self.inner.error(left + other, 1.0, 0.0))


Mistake = Callable[[pytest.MonkeyPatch], None]
SEEN: dict[Mistake, int] = {one_matrix: 25, cache_key: 98, representative_row: 8, two_stores: 1}
"""A generated scan whose numbers leave a box where the mistake is made."""

"""Rows of counters, and hulls of rows by label, beside their naive meanings."""

from itertools import product

import numpy as np
import pytest

from krohn.check.ground import Real, Refused, hull
from krohn.check.transformer.stream import every_choice


def test_every_choice_is_the_product_of_the_sets_in_its_order() -> None:
    dice = np.random.default_rng(0)
    sets = [np.arange(count) * 7 + count for count in (1, 0, 3, 2, 5)]
    lengths = set()
    for _ in range(200):
        chosen = dice.integers(5, size=(dice.integers(4), dice.integers(4)))
        wanted = [list(one) for row in chosen for one in product(*(sets[k].tolist() for k in row))]
        assert every_choice(sets, chosen).tolist() == wanted
        lengths.add(len(wanted))
    assert 0 in lengths
    assert max(lengths) > 50


def test_hulls_are_least_and_greatest_per_label_and_no_label_is_left_out() -> None:
    dice = np.random.default_rng(1)
    for count in (1, 2, 40):
        labels = np.r_[dice.permutation(7), dice.integers(7, size=count)]
        lo = dice.normal(size=(len(labels), 3))
        rows = Real(lo, lo + dice.random(lo.shape))
        box = hull(rows, labels)
        for label in range(7):
            assert (box.lo[label] == rows.lo[labels == label].min(axis=0)).all()
            assert (box.hi[label] == rows.hi[labels == label].max(axis=0)).all()
        with pytest.raises(Refused, match="left out"):
            hull(rows, np.where(labels == 3, 2, labels))

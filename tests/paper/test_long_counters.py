"""Theorem 2's counters have a unit for every sum: words that are too long for them are refused at once."""

import pytest

from krohn.errors import Unsupported
from unproved import compile


def test_counters_that_are_too_wide_are_refused_with_what_helps() -> None:
    with pytest.raises(Unsupported, match=r"at most 14,563 letters.*use --activation sin.*method auto"):
        compile("S4", 1_000_000, method="paper")


def test_sines_have_the_same_width_at_every_length() -> None:
    widths = {
        compile("S4", length, method="paper", activation="sin").sizes()["mlp_width"] for length in (8, 4000)
    }
    assert len(widths) == 1

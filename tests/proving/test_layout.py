"""What tokens mean: outputs of a machine with outputs at arrows, where the start shows none."""

import numpy as np
import pytest

import krohn
from krohn.errors import InvalidInput
from krohn.proving.layout import layout_for, shown_by

BEGUN = krohn.Semiautomaton(
    np.array([[1, 2], [1, 2], [1, 2]]), 0, observe=(0, 1, 2), observation_names=("ε", "low", "high")
)


def test_what_only_the_start_shows_needs_no_token() -> None:
    given = {"observations": {"low": 4, "high": 5}}
    assert layout_for(shown_by(BEGUN, given), given, None)["states"] == [6, 4, 5]


def test_what_a_letter_leads_to_needs_one() -> None:
    given = {"observations": {"low": 4}}
    with pytest.raises(InvalidInput, match="must name ε, low, high"):
        layout_for(shown_by(BEGUN, given), given, None)

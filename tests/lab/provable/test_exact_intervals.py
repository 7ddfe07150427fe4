"""The exact binomial interval against its definition and published values."""

from math import comb

import pytest

from krohn.lab.provable.exact import clopper_pearson


@pytest.mark.parametrize(("successes", "trials"), [(1, 7), (3, 9), (8, 9), (20, 50)])
def test_each_end_leaves_a_fortieth_to_its_tail(successes: int, trials: int) -> None:
    def chance(counts: range, p: float) -> float:
        return sum(comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in counts)

    low, high = clopper_pearson(successes, trials, 0.95)
    assert chance(range(successes, trials + 1), low) == pytest.approx(0.025, abs=1e-9)
    assert chance(range(successes + 1), high) == pytest.approx(0.025, abs=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.308498),
        (5, 10, 0.187086, 0.812914),
        (10, 10, 0.691502, 1.0),
        (90, 100, 0.823778, 0.950995),
    ],
)
def test_the_interval_is_that_of_clopper_and_pearson(
    successes: int, trials: int, low: float, high: float
) -> None:
    assert clopper_pearson(successes, trials, 0.95) == pytest.approx((low, high), abs=2e-6)

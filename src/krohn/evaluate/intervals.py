"""Confidence interval of a proportion: Wilson's."""

from math import sqrt

# Two-sided 95%.
_QUANTILE = 1.959963984540054


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95% interval of a probability, given successes and trials; (0, 1) without trials."""
    assert 0 <= successes <= trials
    if trials == 0:
        return 0.0, 1.0
    share, square = successes / trials, _QUANTILE**2
    centre = (share + square / (2 * trials)) / (1 + square / trials)
    half = _QUANTILE / (1 + square / trials) * sqrt(share * (1 - share) / trials + square / (4 * trials**2))
    return max(0.0, centre - half), min(1.0, centre + half)

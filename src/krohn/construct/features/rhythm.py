"""Which positions look alike to several features at once."""

from collections.abc import Iterable
from math import lcm

from krohn.construct.features.feature import Feature


def common_rhythm(features: Iterable[Feature]) -> tuple[int, int]:
    """The position from which on all of them repeat, and the period."""
    early, period = 1, 1
    for feature in features:
        early, period = max(early, feature.early), lcm(period, feature.period)
    return early, period

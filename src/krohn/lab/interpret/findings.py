"""Measurements of one variable after one layer: shares with Wilson's intervals, and the sample sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt

from krohn.errors import InvalidInput

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


@dataclass(frozen=True)
class Share:
    """A share with Wilson's 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> "Share":
        """From the numbers of hits and trials."""
        low, high = wilson(hits, trials)
        return cls(hits / trials, low, high)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The measurements of one variable in one layer: what a probe reads, and what swaps do if any can tell.

    Attributes:
        layer: number of blocks before the measurement.
        causal: share of swaps after which the network's answer is what the algebra predicts; ``None`` if it
            predicts nothing.
        stays: share of swaps that change nothing although the source's state differs, where the algebra
            predicts this.
        controls: the causal share of subspaces that should not matter, by name.
        rest: the causal share of all other directions: high where the stream holds the variable twice.
        probe: accuracy of a linear probe, with an interval over words.
        baseline: accuracy of guessing.
        selectivity: accuracy of the probe less that on shuffled labels.
        chance: score of the same answers after a random permutation among swaps from one state.
        role, dimension, ridge: selected on the validation words.
        pairs: number of swaps.
        alike: whether no pair of words separates the variable from the state.
        final: whether this is after the last block, where only the read-out follows.
    """

    layer: int
    probe: Share
    baseline: float
    selectivity: float
    causal: Share | None = None
    stays: Share | None = None
    controls: Mapping[str, Share] = field(default_factory=dict)
    rest: Share | None = None
    chance: float | None = None
    role: str = ""
    dimension: int = 0
    ridge: float = 0.0
    pairs: int = 0
    alike: bool = False
    final: bool = False

    @property
    def control(self) -> float | None:
        """The highest of the controls."""
        return max((share.value for share in self.controls.values()), default=None)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Numbers of words and pairs, as set by the effort."""

    fit: int = 192
    tune: int = 96
    judge: int = 192
    tuned_pairs: int = 48
    judged_pairs: int = 160

    @classmethod
    def of(cls, effort: float) -> "Amount":
        """Scaled by the effort."""
        if not 0.05 <= effort <= 100:
            raise InvalidInput(f"the effort must lie in 0.05–100; got {effort:g}")
        scaled = {name: max(32, round(count * effort)) for name, count in vars(cls()).items()}
        return cls(**scaled)

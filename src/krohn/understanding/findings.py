"""What is measured of one variable after one layer: shares with intervals, and how much is run for them."""

from dataclasses import dataclass

from krohn.errors import InvalidInput
from krohn.evaluate.intervals import wilson


@dataclass(frozen=True)
class Share:
    """A share with Wilson's 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, trials: int) -> "Share":
        """Of so many trials so many hits."""
        low, high = wilson(hits, trials)
        return cls(hits / trials, low, high)


@dataclass(frozen=True)
class Finding:
    """What was measured of one variable after so many blocks.

    Attributes:
        causal: swaps after which the network says what the algebra predicts; ``None`` where nothing is
        predicted. controls: the same for subspaces that should not matter, by name.
        rest: the same for all directions but the subspace's: high where the stream holds the variable twice.
        variance: the same for as many directions of largest variance; no control, for they may hold the
        variable. probe: accuracy of a linear probe, its interval by words; ``baseline`` is guessing,
        ``selectivity`` is
            the accuracy less that on shuffled labels.
        stays: swaps that change nothing where the algebra predicts that, though the source's state is
        another. chance: what the same answers would score if they were dealt out at random among swaps from
        one state. by_place: the causal share in the first, second and last third of the word.
        chosen: role, dimension and ridge, chosen on other words; ``alike``: no telling pairs;
            ``final``: after the last block, where only the read-out follows.
    """

    layer: int
    causal: Share | None
    stays: Share | None
    controls: dict[str, Share]
    rest: Share | None
    variance: Share | None
    probe: Share
    baseline: float
    selectivity: float
    chance: float | None = None
    by_place: tuple[float | None, ...] = ()
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
    """How many words and pairs: all that the effort decides."""

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

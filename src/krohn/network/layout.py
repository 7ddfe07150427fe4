"""What every channel of the residual stream means, at every moment of the forward pass."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput


@dataclass(frozen=True)
class Channel:
    """One channel at one moment: ``value = scale · register`` or a position code.

    ``part`` is ``cos`` or ``sin`` for the two channels of a register held on a circle. A channel
    with neither register nor position code is free: nothing reads it until it is written again.
    """

    register: str = ""
    position: str = ""
    scale: float = 1.0
    part: str = ""

    def __post_init__(self) -> None:
        if self.register and self.position:
            raise InvalidInput(f"a channel holds {self.register} or {self.position}, not both")
        if self.part not in ("", "cos", "sin"):
            raise InvalidInput(f"part must be cos, sin or empty; got {self.part!r}")
        if not (np.isfinite(self.scale) and self.scale != 0):
            raise InvalidInput(f"a channel's scale must be finite and not 0; got {self.scale}")

    @property
    def name(self) -> str:
        """What people call it."""
        return (f"{self.register} {self.part}".strip() or self.position) or "free"


@dataclass(frozen=True)
class HeadMeaning:
    """What one head does, and which attention operations of the program's layer it carries out."""

    text: str
    operations: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Channels at moments 0 (embedding), 2l+1 (after attention of layer l), 2l+2 (after its MLP)."""

    moments: tuple[tuple[Channel, ...], ...]
    heads: tuple[tuple[HeadMeaning, ...], ...]

    def __post_init__(self) -> None:
        if len(self.moments) != 2 * len(self.heads) + 1:
            raise InvalidInput(
                f"{len(self.heads)} layers need {2 * len(self.heads) + 1} moments; got {len(self.moments)}"
            )
        if len({len(moment) for moment in self.moments}) > 1:
            raise InvalidInput("every moment must describe the same number of channels")

    def find(self, moment: int, register: str, part: str = "") -> int | None:
        """The channel that holds a register at a moment, ``None`` if none does."""
        for index, channel in enumerate(self.moments[moment]):
            if channel.register == register and channel.part == part:
                return index
        return None

    def find_position(self, moment: int, code: str) -> int | None:
        """The channel that holds a position code at a moment."""
        names = [channel.position for channel in self.moments[moment]]
        return names.index(code) if code in names else None

    def registers(self, moment: int, stream: npt.NDArray[np.floating]) -> dict[str, npt.NDArray[np.float64]]:
        """The registers' values read off the stream ``[…, position, channel]``; a circle's cos and sin."""
        return {
            channel.name: np.asarray(stream[..., index], dtype=np.float64) / channel.scale
            for index, channel in enumerate(self.moments[moment])
            if channel.register
        }


def plain_layout(names: Sequence[str], heads: Sequence[Sequence[str]]) -> Layout:
    """A layout whose channels hold the same registers at every moment, as in the paper's constructions."""
    moment = tuple(Channel(register=name) for name in names)
    meanings = tuple(tuple(HeadMeaning(text) for text in layer) for layer in heads)
    return Layout(moments=(moment,) * (2 * len(meanings) + 1), heads=meanings)

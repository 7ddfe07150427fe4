"""The meaning of every channel of the residual stream at every moment of the forward pass."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput
from krohn.network.program import Meaning


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
        """The register or position code it holds, or ``free``."""
        return (f"{self.register} {self.part}".strip() or self.position) or "free"


@dataclass(frozen=True)
class HeadMeaning:
    """What one head does, and which attention operations of the program's layer it carries out."""

    text: str
    operations: tuple[int, ...] = ()


@dataclass(frozen=True)
class Layout:
    """Channels at moments 0 (embedding), 2l+1 (after attention of layer l), 2l+2 (after its MLP).

    ``registers`` are the meanings of those that the channels hold, where no program has them.
    """

    moments: tuple[tuple[Channel, ...], ...]
    heads: tuple[tuple[HeadMeaning, ...], ...]
    registers: tuple[Meaning, ...] = ()

    def __post_init__(self) -> None:
        if len(self.moments) != 2 * len(self.heads) + 1:
            raise InvalidInput(
                f"{len(self.heads)} layers need {2 * len(self.heads) + 1} moments; got {len(self.moments)}"
            )
        if len({len(moment) for moment in self.moments}) > 1:
            raise InvalidInput("every moment must describe the same number of channels")

    def read(self, moment: int, stream: npt.NDArray[np.floating]) -> dict[str, npt.NDArray[np.float64]]:
        """The registers' values read off the stream ``[…, position, channel]``; a circle's cos and sin."""
        return {
            channel.name: np.asarray(stream[..., index], dtype=np.float64) / channel.scale
            for index, channel in enumerate(self.moments[moment])
            if channel.register
        }

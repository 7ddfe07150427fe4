"""One coordinate of a gridworld as two local layers; a k-dimensional grid lifts k of them side by side."""

from dataclasses import dataclass

from krohn.network.transformer import Layer


@dataclass(frozen=True, eq=False)
class Axis:
    """``layers`` on local channels: shared ones first, then ``names``; the state ends in ``output``."""

    names: tuple[str, ...]
    layers: tuple[Layer, Layer]
    output: int

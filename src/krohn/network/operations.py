"""What a block may do to registers: attention operations and position-wise maps, by their names."""

from krohn.network.attention_operations import (
    AttentionOperation,
    LatestMatch,
    LatestWrite,
    LookBack,
    PlaceSum,
    PrefixSum,
    latest,
)
from krohn.network.position_maps import (
    Clamp,
    Linear,
    Modulo,
    PositionMap,
    Registers,
    Row,
    Select,
    Table,
    Values,
    combine,
    formula,
)

__all__ = [
    "AttentionOperation",
    "Clamp",
    "LatestMatch",
    "LatestWrite",
    "Linear",
    "LookBack",
    "Modulo",
    "PlaceSum",
    "PositionMap",
    "PrefixSum",
    "Registers",
    "Row",
    "Select",
    "Table",
    "Values",
    "combine",
    "formula",
    "latest",
]

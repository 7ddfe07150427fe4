"""One-layer GRU, R replicates at once; the same cell as ``torch.nn.GRU``."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from krohn.lab.models.architectures.lstm import Carried, CellConfig, CellNetwork
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Weights


@dataclass(frozen=True, kw_only=True)
class GruConfig(CellConfig):
    """Sizes of the GRU."""

    kind: ClassVar[str] = "gru"

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Gru(self, vocabulary, classes)


class Gru(CellNetwork):
    """(1 − z)·n + z·h, where the reset gate acts on the whole recurrent part of n, bias included."""

    gates, biases, parts = 3, ("bias_ih", "bias_hh"), 1

    def cell(self, weights: Weights, gate: Tensor, carried: Carried) -> Carried:
        """See ``CellNetwork``."""
        (h,) = carried
        recurrent = torch.baddbmm(weights["bias_hh"][:, None], h, weights["weight_hh"])
        if gate.is_cuda:  # torch's own fused cell: one kernel instead of about eight
            flat = (part.flatten(0, 1) for part in (gate, recurrent, h))
            fused: Tensor = torch.ops.aten._thnn_fused_gru_cell(*flat)[0]
            return (fused.view(h.shape),)
        width = h.shape[-1]
        bent = (gate[..., : 2 * width] + recurrent[..., : 2 * width]).sigmoid()
        reset, update = bent.chunk(2, -1)
        fresh = torch.addcmul(gate[..., 2 * width :], reset, recurrent[..., 2 * width :]).tanh()
        return ((1 - update) * fresh + update * h,)


ARCHITECTURE = GruConfig

"""One-layer GRU, R replicates at once; the same cell as ``torch.nn.GRU``."""

from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from krohn.models.architectures.lstm import CellConfig
from krohn.models.kernels import plain
from krohn.models.kernels.plain import one_hot
from krohn.models.network import Decoder, Layout, Network, Noise, Parameter, Weights, padded


@dataclass(frozen=True, kw_only=True)
class GruConfig(CellConfig):
    """Sizes of the GRU."""

    kind: ClassVar[str] = "gru"

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Gru(self, vocabulary, classes)


class Gru(Network):
    """The network; parameter names are those of ``torch.nn.GRU``, matrices transposed to [in, out]."""

    def __init__(self, config: GruConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        hidden, width, bound = config.hidden, padded(classes), config.hidden**-0.5
        letters = (padded(vocabulary), config.embedding)
        self.layout = Layout.of(
            [
                Parameter("wte", letters, "normal", 1.0, used=(vocabulary, config.embedding)),
                Parameter("weight_ih", (config.embedding, 3 * hidden), "uniform", bound),
                Parameter("weight_hh", (hidden, 3 * hidden), "uniform", bound),
                Parameter("bias_ih", (3 * hidden,), "uniform", bound),
                Parameter("bias_hh", (3 * hidden,), "uniform", bound),
                Parameter("head.weight", (hidden, width), "uniform", bound, used=(hidden, classes)),
                Parameter("head.bias", (width,)),
            ]
        )

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        h, states = _zeros(weights, tokens.shape[1]), []
        for gate in _input_gates(weights, tokens):
            h = _cell(weights, gate, h)
            states.append(h)
        return _read_out(weights, torch.stack(states, 2).flatten(1, 2), self.classes).view(*tokens.shape, -1)

    def decoder(self, weights: Weights, batch: int, length: int) -> Decoder:
        """See ``Network.decoder``."""
        return _GruDecoder(weights, batch, self.classes)


class _GruDecoder(Decoder):
    def __init__(self, weights: Weights, batch: int, classes: int) -> None:
        self._weights, self._classes, self._h = weights, classes, _zeros(weights, batch)

    def step(self, tokens: Tensor) -> Tensor:
        for gate in _input_gates(self._weights, tokens):
            self._h = _cell(self._weights, gate, self._h)
        return _read_out(self._weights, self._h, self._classes)

    def fork(self, rows: Tensor) -> Decoder:
        result = copy(self)
        result._h = self._h[:, rows]
        return result


def _input_gates(weights: Weights, tokens: Tensor) -> tuple[Tensor, ...]:
    """The part of the gates that depends on the input alone, one [R, B, 3·h] for each position."""
    table = weights["wte"]
    embedded = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table)
    gates = plain.linear(embedded, weights["weight_ih"]) + weights["bias_ih"][:, None]
    return gates.view(*tokens.shape, -1).unbind(2)


def _cell(weights: Weights, gate: Tensor, h: Tensor) -> Tensor:
    """(1 − z)·n + z·h, where the reset gate acts on the whole recurrent part of n, bias included."""
    recurrent = torch.baddbmm(weights["bias_hh"][:, None], h, weights["weight_hh"])
    if gate.is_cuda:  # torch's own fused cell: one kernel instead of about eight
        flat = (part.flatten(0, 1) for part in (gate, recurrent, h))
        fused: Tensor = torch.ops.aten._thnn_fused_gru_cell(*flat)[0]
        return fused.view(h.shape)
    width = h.shape[-1]
    bent = (gate[..., : 2 * width] + recurrent[..., : 2 * width]).sigmoid()
    reset, update = bent.chunk(2, -1)
    fresh = torch.addcmul(gate[..., 2 * width :], reset, recurrent[..., 2 * width :]).tanh()
    return (1 - update) * fresh + update * h


def _read_out(weights: Weights, rows: Tensor, classes: int) -> Tensor:
    return (plain.linear(rows, weights["head.weight"]) + weights["head.bias"][:, None])[..., :classes]


def _zeros(weights: Weights, batch: int) -> Tensor:
    like = weights["weight_hh"]
    return like.new_zeros(len(like), batch, like.shape[1])


ARCHITECTURE = GruConfig

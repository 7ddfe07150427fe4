"""One-layer LSTM (embedding 64, hidden 128 in the paper), R replicates at once."""

from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from krohn.models.kernels import plain
from krohn.models.kernels.lstm_recurrence import recurrence
from krohn.models.kernels.plain import one_hot
from krohn.models.network import Decoder, Layout, ModelConfig, Network, Noise, Parameter, Weights, padded


@dataclass(frozen=True, kw_only=True)
class CellConfig(ModelConfig):
    """Sizes of a network with one recurrent layer.

    Attributes:
        embedding: width of the token embeddings.
        hidden: width of the state.
    """

    embedding: int = 64
    hidden: int = 128

    def reasons(self, length: int) -> list[str]:
        """See ``ModelConfig.reasons``."""
        sizes = {"embedding": self.embedding, "hidden": self.hidden}
        return [f"{name} must be at least 1; got {size}" for name, size in sizes.items() if size < 1]


@dataclass(frozen=True, kw_only=True)
class LstmConfig(CellConfig):
    """Sizes of the LSTM."""

    kind: ClassVar[str] = "lstm"

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Lstm(self, vocabulary, classes)


class Lstm(Network):
    """The network; parameter names are those of ``torch.nn.LSTM``, matrices transposed to [in, out]."""

    def __init__(self, config: LstmConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        bound = config.hidden**-0.5
        gates, width = 4 * config.hidden, padded(classes)
        self.layout = Layout.of(
            [
                Parameter(
                    "wte",
                    (padded(vocabulary), config.embedding),
                    "normal",
                    1.0,
                    used=(vocabulary, config.embedding),
                ),
                Parameter("weight_ih", (config.embedding, gates), "uniform", bound),
                Parameter("weight_hh", (config.hidden, gates), "uniform", bound),
                Parameter("bias", (gates,), "uniform", bound),
                Parameter(
                    "head.weight", (config.hidden, width), "uniform", bound, used=(config.hidden, classes)
                ),
                Parameter("head.bias", (width,)),
            ]
        )

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        scores = self._scores(weights, tokens) + weights["head.bias"][:, None]
        return scores[..., : self.classes].reshape(*tokens.shape, self.classes)

    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        """See ``Network.loss``."""
        scores = (_scores_by_position if tokens.device.type == "cpu" else self._scores)(weights, tokens)
        labels = targets.flatten(1), shown.flatten(1), self.classes
        return plain.cross_entropy(scores, weights["head.bias"], *labels)

    def decoder(self, weights: Weights, batch: int, length: int) -> Decoder:
        """See ``Network.decoder``."""
        return _LstmDecoder(weights, batch, self.config.hidden, self.classes)

    def _scores(self, weights: Weights, tokens: Tensor) -> Tensor:
        gates = _input_gates(weights, tokens).view(*tokens.shape, -1).unbind(2)
        h = c = _zeros(weights, tokens.shape[1], self.config.hidden)
        states = []
        for gate in gates:
            h, c = _cell(weights, gate, h, c)
            states.append(h)
        return plain.linear(torch.stack(states, 2).flatten(1, 2), weights["head.weight"])


def _scores_by_position(weights: Weights, tokens: Tensor) -> Tensor:
    """As ``Lstm._scores``, for training on a CPU: position-major memory layout."""
    table = weights["wte"]
    embedded = plain.linear(one_hot(tokens.transpose(1, 2), table.shape[1], table.dtype), table)
    product = plain.linear(embedded, weights["weight_ih"])
    states = recurrence(product, weights["bias"], weights["weight_hh"], tokens.shape[1])
    return plain.linear(states, weights["head.weight"])


class _LstmDecoder(Decoder):
    def __init__(self, weights: Weights, batch: int, hidden: int, classes: int) -> None:
        self._weights, self._classes = weights, classes
        self._h = self._c = _zeros(weights, batch, hidden)

    def step(self, tokens: Tensor) -> Tensor:
        for gate in _input_gates(self._weights, tokens).view(*tokens.shape, -1).unbind(2):
            self._h, self._c = _cell(self._weights, gate, self._h, self._c)
        scores = plain.linear(self._h, self._weights["head.weight"]) + self._weights["head.bias"][:, None]
        return scores[..., : self._classes]

    def fork(self, rows: Tensor) -> Decoder:
        result = copy(self)
        result._h, result._c = self._h[:, rows], self._c[:, rows]
        return result


def _input_gates(weights: Weights, tokens: Tensor) -> Tensor:
    """The part of the gates that depends on the input alone, for all positions in one product."""
    table = weights["wte"]
    embedded = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table)
    return plain.linear(embedded, weights["weight_ih"]) + weights["bias"][:, None]


def _cell(weights: Weights, gate: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    recurrent = plain.linear(h, weights["weight_hh"])
    if gate.is_cuda:
        # torch's own fused cell: one kernel forward and one backward instead of about ten each.
        shape = h.shape
        flat = torch.ops.aten._thnn_fused_lstm_cell(
            gate.flatten(0, 1), recurrent.flatten(0, 1), c.reshape(-1, shape[2])
        )
        return flat[0].view(shape), flat[1].view(shape)
    i, f, g, o = (gate + recurrent).chunk(4, -1)
    c = torch.addcmul(f.sigmoid() * c, i.sigmoid(), g.tanh())
    return o.sigmoid() * c.tanh(), c


def _zeros(weights: Weights, batch: int, hidden: int) -> Tensor:
    like = weights["weight_hh"]
    return torch.zeros(len(like), batch, hidden, dtype=like.dtype, device=like.device)


ARCHITECTURE = LstmConfig

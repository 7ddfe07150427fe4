"""One recurrent layer, R replicates at once: what LSTM and GRU share, and the LSTM."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from krohn.lab.models.kernels import plain
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.models.network import ModelConfig, Network, Noise, round_up
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights

Carried = tuple[Tensor, ...]
"""What a cell hands on from letter to letter, each [R, B, h]: its state first."""


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


class CellNetwork(Network):
    """Embedding, one cell, read-out; parameter names are torch's, matrices transposed to [in, out].

    Attributes:
        gates: products of width h that a cell takes.
        biases: their names; the first is added to the product with the input.
        parts: tensors that it hands on.
    """

    gates: ClassVar[int]
    biases: ClassVar[tuple[str, ...]]
    parts: ClassVar[int]

    def __init__(self, config: CellConfig, vocabulary: int, classes: int) -> None:
        self.config, self.classes = config, classes
        hidden, embedding, width = config.hidden, config.embedding, round_up(classes)
        bound, gates = hidden**-0.5, self.gates * hidden
        letters = (round_up(vocabulary), embedding)
        self.layout = ParameterLayout.of(
            [
                Parameter("wte", letters, "normal", 1.0, used=(vocabulary, embedding)),
                Parameter("weight_ih", (embedding, gates), "uniform", bound),
                Parameter("weight_hh", (hidden, gates), "uniform", bound),
                *(Parameter(name, (gates,), "uniform", bound) for name in self.biases),
                Parameter("head.weight", (hidden, width), "uniform", bound, used=(hidden, classes)),
                Parameter("head.bias", (width,)),
            ]
        )

    @abstractmethod
    def cell(self, weights: Weights, gate: Tensor, carried: Carried) -> Carried:
        """What is handed on after a letter, whose part of the gates is ``gate`` [R, B, gates·h]."""

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        """See ``Network.logits``."""
        scores = self.scores(weights, tokens) + weights["head.bias"][:, None]
        return scores[..., : self.classes].reshape(*tokens.shape, self.classes)

    def scores(self, weights: Weights, tokens: Tensor) -> Tensor:
        """The logits [R, B·T, padded classes] without their bias."""
        like, states = weights["weight_hh"], []
        carried = (like.new_zeros(len(like), tokens.shape[1], like.shape[1]),) * self.parts
        for gate in self.input_gates(weights, tokens):
            carried = self.cell(weights, gate, carried)
            states.append(carried[0])
        return plain.linear(torch.stack(states, 2).flatten(1, 2), weights["head.weight"])

    def input_gates(self, weights: Weights, tokens: Tensor) -> tuple[Tensor, ...]:
        """The part of the gates that depends on the input alone, for all positions in one product."""
        table = weights["wte"]
        embedded = plain.linear(one_hot(tokens, table.shape[1], table.dtype), table)
        gates = plain.linear(embedded, weights["weight_ih"]) + weights[self.biases[0]][:, None]
        return gates.view(*tokens.shape, -1).unbind(2)


@dataclass(frozen=True, kw_only=True)
class LstmConfig(CellConfig):
    """Sizes of the LSTM."""

    kind: ClassVar[str] = "lstm"

    def build(self, vocabulary: int, classes: int) -> Network:
        """See ``ModelConfig.build``."""
        return Lstm(self, vocabulary, classes)


class Lstm(CellNetwork):
    """The cell of ``torch.nn.LSTM``, with one bias."""

    gates, biases, parts = 4, ("bias",), 2

    def cell(self, weights: Weights, gate: Tensor, carried: Carried) -> Carried:
        """See ``CellNetwork``."""
        h, c = carried
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

    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        """See ``Network.loss``; the bias of the logits is added where they are at least float32."""
        labels = targets.flatten(1), shown.flatten(1), self.classes
        return plain.cross_entropy(self.scores(weights, tokens), weights["head.bias"], *labels)


ARCHITECTURE = LstmConfig

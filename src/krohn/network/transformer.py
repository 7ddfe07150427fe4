"""The Transformer of the paper (appendix A.4) as immutable matrices.

A block is ``x ← keep ⊙ x + Σ_h softmax(x W_Q W_Kᵀ xᵀ) x W_V W_C`` followed by
``x ← keep' ⊙ x + mlp(x)``. ``keep`` is 1 on the channels that carry a residual connection and 0
elsewhere ("residual connections, sometimes restricted to certain dimensions"). There is no
``1/√k``, no normalisation, and no bias in attention, exactly as in the paper.

Axis names: ``d`` channels of the residual stream, ``k`` inner dimension of a head, ``T`` positions
of the input, ``τ`` padding positions in front of it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidInput

Matrix = npt.NDArray[np.float64]

RELU, SIN = 0, 1
"""Codes of the activation functions a hidden unit may have."""
OUTER = ("embedding", "padding", "positions", "readout", "readout_bias")


@dataclass(frozen=True, eq=False)
class Head:
    """One attention head: ``query, key: d × k``, ``value: d × v``, ``output: v × d``."""

    query: Matrix
    key: Matrix
    value: Matrix
    output: Matrix

    def __post_init__(self) -> None:
        for name in ("query", "key", "value", "output"):
            object.__setattr__(self, name, frozen_matrix(f"head.{name}", getattr(self, name), 2))
        if self.query.shape != self.key.shape or self.value.shape != self.output.T.shape:
            shapes = ", ".join(str(m.shape) for m in (self.query, self.key, self.value, self.output))
            raise InvalidInput(f"a head must have matrices d×k, d×k, d×v, v×d; got {shapes}")
        if 0 in (*self.query.shape, *self.value.shape):
            raise InvalidInput("a head must have inner dimensions of at least 1; got 0")
        if self.value.shape[0] != self.query.shape[0]:
            raise InvalidInput(
                f"query and value must read the same {len(self.query)} channels; got {len(self.value)}"
            )

    @property
    def width(self) -> int:
        """The paper's k: the largest inner dimension of the head."""
        return int(max(self.query.shape[1], self.value.shape[1]))


@dataclass(frozen=True, eq=False)
class Mlp:
    """Position-wise ``W_n(…act(W_1 x + b_1)…) + b_n``; ``weights[i]`` is ``in × out``.

    ``activations[i][j]`` is the code of unit ``j`` of hidden layer ``i`` (RELU or SIN).
    """

    weights: tuple[Matrix, ...]
    biases: tuple[Matrix, ...]
    activations: tuple[npt.NDArray[np.int64], ...] = ()

    def __post_init__(self) -> None:
        weights = tuple(frozen_matrix(f"mlp.{i}.W", w, 2) for i, w in enumerate(self.weights))
        biases = tuple(frozen_matrix(f"mlp.{i}.b", b, 1) for i, b in enumerate(self.biases))
        codes = self.activations or tuple(np.full(len(b), RELU) for b in biases[:-1])
        activations = tuple(_frozen_codes(code) for code in codes)
        if not weights or len(biases) != len(weights) or len(activations) != len(weights) - 1:
            raise InvalidInput(
                f"an MLP needs n ≥ 1 weights, n biases and n−1 activations; "
                f"got {len(weights)}, {len(biases)}, {len(activations)}"
            )
        for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            if weight.shape[1] != len(bias) or (index and weight.shape[0] != len(biases[index - 1])):
                raise InvalidInput(f"MLP matrix {index} does not fit: {weight.shape} with bias {bias.shape}")
        for activation, bias in zip(activations, biases, strict=False):
            if len(activation) != len(bias):
                raise InvalidInput(
                    f"there must be one activation per hidden unit; got {len(activation)} for {len(bias)}"
                )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", biases)
        object.__setattr__(self, "activations", activations)

    @property
    def hidden_widths(self) -> tuple[int, ...]:
        """The paper's d_1, …, d_{L'−1}."""
        return tuple(len(bias) for bias in self.biases[:-1])


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention block and one MLP block, each with its residual channels."""

    heads: tuple[Head, ...]
    mlp: Mlp
    keep_attention: Matrix
    keep_mlp: Matrix

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", tuple(self.heads))
        for name in ("keep_attention", "keep_mlp"):
            keep = frozen_matrix(name, getattr(self, name), 1)
            if not np.isin(keep, (0.0, 1.0)).all():
                raise InvalidInput(f"{name} must hold 0 (no residual) or 1 (residual) per channel")
            object.__setattr__(self, name, keep)


@dataclass(frozen=True, eq=False, repr=False)
class Transformer:
    """Embeddings, positions, padding, layers and a linear read-out whose arg max is the state."""

    embedding: Matrix  # letters × d
    padding: Matrix  # τ × d: embeddings of the padding tokens, which do not depend on the input
    positions: Matrix  # (τ + T) × d
    layers: tuple[Layer, ...]
    readout: Matrix  # d × states
    readout_bias: Matrix  # states

    def __post_init__(self) -> None:
        for name in OUTER:
            axes = 1 if name == "readout_bias" else 2
            object.__setattr__(self, name, frozen_matrix(name, getattr(self, name), axes))
        object.__setattr__(self, "layers", tuple(self.layers))
        _validate_channels(self)

    def __repr__(self) -> str:
        return f"<Transformer: depth {self.depth}, {self.dim} channels, {self.num_parameters:,} parameters>"

    @property
    def dim(self) -> int:
        """d, the number of channels of the residual stream."""
        return int(self.embedding.shape[1])

    @property
    def num_padding(self) -> int:
        """τ, the number of padding positions before the word."""
        return len(self.padding)

    @property
    def max_length(self) -> int:
        """T, the longest input the position encodings reach."""
        return len(self.positions) - len(self.padding)

    @property
    def depth(self) -> int:
        """Layers as the theorems count them: attention and an MLP of any depth.

        Blocks without heads go on with the MLP of the layer before them.
        """
        return sum(number == 0 or len(layer.heads) > 0 for number, layer in enumerate(self.layers))

    @property
    def heads(self) -> int:
        """H: the largest number of heads in one block."""
        return max((len(layer.heads) for layer in self.layers), default=0)

    @property
    def head_dim(self) -> int:
        """k: the largest inner dimension of a head."""
        return max((head.width for layer in self.layers for head in layer.heads), default=0)

    @property
    def mlp_width(self) -> int:
        """The largest hidden width of an MLP."""
        return max((width for layer in self.layers for width in layer.mlp.hidden_widths), default=0)

    @property
    def mlp_depth(self) -> int:
        """The most hidden layers of an MLP; the depth of the network does not count them."""
        return max((len(layer.mlp.hidden_widths) for layer in self.layers), default=0)

    @property
    def num_blocks(self) -> int:
        """Blocks of a stock decoder, with one hidden layer in each MLP, that do the same."""
        return sum(max(1, len(layer.mlp.hidden_widths)) for layer in self.layers)

    @property
    def max_weight(self) -> float:
        """∞-norm of the parameters of the blocks, the paper's weight norm (no embeddings, no read-out)."""
        return max(
            (float(np.abs(m).max(initial=0.0)) for _, m in self.named_parameters() if m.size), default=0.0
        )

    @property
    def num_parameters(self) -> int:
        """Entries of every matrix, embeddings, positions and read-out included."""
        outer = sum(getattr(self, name).size for name in OUTER)
        return sum(m.size for _, m in self.named_parameters()) + int(outer)

    def named_parameters(self) -> list[tuple[str, Matrix]]:
        """The trainable matrices of the blocks, by the names they have in a file."""
        named: list[tuple[str, Matrix]] = []
        for index, layer in enumerate(self.layers):
            for number, head in enumerate(layer.heads):
                prefix = f"layers.{index}.heads.{number}"
                named += [(f"{prefix}.W_Q", head.query), (f"{prefix}.W_K", head.key)]
                named += [(f"{prefix}.W_V", head.value), (f"{prefix}.W_C", head.output)]
            for number, (weight, bias) in enumerate(zip(layer.mlp.weights, layer.mlp.biases, strict=True)):
                named += [
                    (f"layers.{index}.mlp.{number}.W", weight),
                    (f"layers.{index}.mlp.{number}.b", bias),
                ]
        return named

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Every matrix by its name in a file."""
        named: dict[str, npt.NDArray[Any]] = {name: getattr(self, name) for name in OUTER}
        named.update(self.named_parameters())
        for index, layer in enumerate(self.layers):
            named[f"layers.{index}.keep_attention"] = layer.keep_attention
            named[f"layers.{index}.keep_mlp"] = layer.keep_mlp
            for number, codes in enumerate(layer.mlp.activations):
                named[f"layers.{index}.mlp.{number}.activation"] = codes
        return {name: np.ascontiguousarray(matrix) for name, matrix in named.items()}


def frozen_matrix(name: str, values: npt.ArrayLike, ndim: int) -> Matrix:
    """A read-only float64 copy; refuses the wrong rank and anything that is not finite."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != ndim:
        raise InvalidInput(f"{name} must have {ndim} axes; got shape {array.shape}")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} must be finite; it holds NaN or infinity")
    array.flags.writeable = False
    return array


def _frozen_codes(codes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    array = np.array(codes, dtype=np.int64)
    if array.ndim != 1 or not np.isin(array, (RELU, SIN)).all():
        raise InvalidInput("activations must be one code per hidden unit, 0 (ReLU) or 1 (sine)")
    array.flags.writeable = False
    return array


def _validate_channels(network: Transformer) -> None:
    d = network.dim
    if 0 in (*network.embedding.shape, *network.readout.shape) or network.max_length < 1:
        raise InvalidInput("a network must have letters, channels, states and positions for a word")
    parts = [("padding", network.padding.shape[1], d), ("positions", network.positions.shape[1], d)]
    parts += [("readout", len(network.readout), d)]
    parts += [("readout_bias", len(network.readout_bias), network.readout.shape[1])]
    for index, layer in enumerate(network.layers, start=1):
        own = {"keep_attention": len(layer.keep_attention), "keep_mlp": len(layer.keep_mlp)}
        own |= {"MLP input": len(layer.mlp.weights[0]), "MLP output": layer.mlp.weights[-1].shape[1]}
        own |= {f"head {number}": len(head.query) for number, head in enumerate(layer.heads, start=1)}
        parts += [(f"layer {index} {name}", size, d) for name, size in own.items()]
    wrong = [f"{name} has {size}, not {wanted}" for name, size, wanted in parts if size != wanted]
    if wrong:
        raise InvalidInput(f"every block must act on the same {d} channels: {'; '.join(wrong)}")

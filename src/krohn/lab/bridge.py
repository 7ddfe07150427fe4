"""A compiled network as an ordinary ``torch.nn.Module``: any dtype, any device, batches of words.

The names in ``state_dict()`` are the names in ``model.safetensors``, so weights travel both ways.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from krohn.base.portable import float_name
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import caster
from krohn.network.transformer import SIN, Head, Layer, Transformer

W = TypeVar("W", bound="Walk")
# Score matrix entries held at once: long words are attended to in blocks of rows.
SCORE_ENTRIES = 1 << 26


def product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right``; half types accumulate in float32, however a device treats subnormal numbers."""
    if left.dtype.itemsize >= 4:
        return left @ right
    return (left.float() @ right.float()).to(left.dtype)


def hidden_from(at: Tensor, count: int) -> Tensor:
    """[…, key]: the positions, of ``count``, that queries at ``at`` must not see: those after them."""
    return torch.arange(count, device=at.device) > at[..., None]


def attention(query: Tensor, keys: Tensor, hidden: Tensor) -> Tensor:
    """Weights [..., query, key]; half types keep scores and softmax in float32, as the certificate does."""
    wide = torch.promote_types(query.dtype, torch.float32)
    return (query.to(wide) @ keys.to(wide).mT).masked_fill(hidden, float("-inf")).softmax(-1)


def mix(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Values [word, head, t, width], weighted by attention over the visible positions."""
    words, heads, length, _ = query.shape
    rows = max(1, SCORE_ENTRIES // max(1, words * heads * length))
    places = torch.arange(length, device=query.device)
    parts = []
    for first in range(0, max(1, length), rows):
        here = slice(first, first + rows)
        weights = attention(query[:, :, here], keys, hidden_from(places[here], length))
        parts.append(product(weights.to(values.dtype), values))
    return torch.cat(parts, dim=2)


class TorchHeads(nn.Module, ABC):
    """Attention heads that run side by side; a call gives what they add to the stream, of what they mix."""

    @abstractmethod
    def offers(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values [word, head, n, width] at ``x`` [word, n, d]."""

    @property
    @abstractmethod
    def matrices(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Views of the matrices of queries, keys, values [head, d, width] and outputs [head, width, d]."""


class TorchHead(TorchHeads):
    """One attention head, without scale and bias, as in the paper."""

    def __init__(self, head: Head, dtype: torch.dtype) -> None:
        super().__init__()
        self.W_Q, self.W_K = _parameter(head.query, dtype), _parameter(head.key, dtype)
        self.W_V, self.W_C = _parameter(head.value, dtype), _parameter(head.output, dtype)

    def offers(self, x: Tensor) -> tuple[Tensor, ...]:
        """Three products, each rounded once."""
        return tuple(product(x, matrix)[:, None] for matrix in (self.W_Q, self.W_K, self.W_V))

    def forward(self, mixed: Tensor) -> Tensor:
        """Times W_C, rounded once."""
        return product(mixed[:, 0], self.W_C)

    @property
    def matrices(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Those of the paper."""
        return self.W_Q[None], self.W_K[None], self.W_V[None], self.W_C[None]


class TorchLinear(nn.Module):
    """``x W + b``, then nothing, ``relu``, ``gelu`` or ``gelu_new``, or for each unit the sine or ReLU."""

    W: Tensor
    b: Tensor

    def __init__(self, weight: Tensor, bias: Tensor, activation: str | Tensor | None) -> None:
        super().__init__()
        hold(self, W=weight, b=bias)
        if isinstance(activation, Tensor):
            hold(self, activation=activation)
            activation = "sin" if bool((activation == SIN).any()) else "relu"
        self.kind = activation

    def forward(self, x: Tensor) -> Tensor:
        """One layer of the MLP."""
        x = product(x, self.W) + self.b
        if self.kind == "sin":
            return torch.where(self.get_buffer("activation") == SIN, x.sin(), x.relu())
        if self.kind in ("gelu", "gelu_new"):
            return nn.functional.gelu(x, approximate="none" if self.kind == "gelu" else "tanh")
        return x.relu() if self.kind == "relu" else x


class TorchBlock(nn.Module):
    """Attention, then the MLP, each with its residual channels and what it reads of the stream."""

    keep_attention: Tensor  # 1 on the channels with a residual connection
    keep_mlp: Tensor

    def __init__(
        self,
        heads: Iterable[TorchHeads],
        mlp: Iterable[TorchLinear],
        keeps: Sequence[Tensor],
        norms: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        given = list(heads)
        alike = groupby(given, lambda one: [matrix.shape for matrix in one.matrices])
        self.sizes = [len(list(group)) for _, group in alike]
        self.heads, self.mlp = nn.ModuleList(given), nn.ModuleList(mlp)
        self.norms = nn.ModuleList(norms or (nn.Identity(), nn.Identity()))
        hold(self, keep_attention=keeps[0], keep_mlp=keeps[1])

    @property
    def sides(self) -> list[list[TorchHeads]]:
        """Its heads, neighbours of equal shapes together."""
        heads = (one for one in self.heads if isinstance(one, TorchHeads))
        return [list(islice(heads, size)) for size in self.sizes]

    def offers(self, x: Tensor) -> list[tuple[Tensor, ...]]:
        """Queries, keys and values at ``x``, of neighbours of equal shapes together."""
        x = self.norms[0](x)
        given = [[heads.offers(x) for heads in same] for same in self.sides]
        return [
            one[0] if len(one) == 1 else tuple(torch.cat(parts, dim=1) for parts in zip(*one, strict=True))
            for one in given
        ]

    def forward(self, stream: Tensor) -> Tensor:
        """The stream after the block."""
        return self.advance(stream, [mix(*one) for one in self.offers(stream)])

    def advance(self, x: Tensor, mixed: Sequence[Tensor]) -> Tensor:
        """``x`` after the block, given the values that its heads mix."""
        out = x * self.keep_attention
        for same, values in zip(self.sides, mixed, strict=True):
            for heads, own in zip(same, values.chunk(len(same), dim=1), strict=True):
                out = out + heads(own)
        return out * self.keep_mlp + self.apply_mlp(out)

    def apply_mlp(self, x: Tensor) -> Tensor:
        """The output of the MLP at ``x``."""
        x = self.norms[1](x)
        for linear in self.mlp:
            x = linear(x)
        return x

    @property
    def matrices(self) -> list[Tensor]:
        """Views of all matrices: those of heads, then those of the MLP."""
        own = [one for heads in self.heads if isinstance(heads, TorchHeads) for one in heads.matrices]
        return own + [linear.W for linear in self.mlp if isinstance(linear, TorchLinear)]


def _block(layer: Layer, dtype: torch.dtype) -> TorchBlock:
    """One layer of the paper's network."""
    kinds = [torch.tensor(np.array(kind)) for kind in layer.mlp.activations]
    given = zip(layer.mlp.weights, layer.mlp.biases, [*kinds, None], strict=True)
    return TorchBlock(
        (TorchHead(head, dtype) for head in layer.heads),
        (TorchLinear(_parameter(w, dtype), _parameter(b, dtype), kind) for w, b, kind in given),
        [torch.tensor(np.array(keep), dtype=dtype) for keep in (layer.keep_attention, layer.keep_mlp)],
    )


@dataclass(frozen=True, eq=False)
class Walk:
    """Embedding, blocks, read-out; words are letters [word, t], streams include the prompt before them."""

    embedding: Tensor  # letters × d
    prompt: Tensor  # τ × d
    positions: Tensor  # (τ + T) × d
    blocks: tuple[TorchBlock, ...]
    readout: Tensor  # d × states
    readout_bias: Tensor
    last_norm: nn.Module = field(default_factory=nn.Identity)

    def embed(self, words: Tensor | npt.NDArray[np.integer]) -> Tensor:
        """The stream before the first block."""
        letters = self.embedding[torch.as_tensor(words).long()]
        stream = torch.cat([self.prompt.expand(len(words), *self.prompt.shape), letters], dim=1)
        return stream + self.positions[: stream.shape[1]]

    def logits_from(self, layer: int, stream: Tensor) -> Tensor:
        """Logits of the states at every letter, from the stream after ``layer`` blocks."""
        for block in self.blocks[layer:]:
            stream = block(stream)
        return self.read(stream[:, len(self.prompt) :])

    def read(self, x: Tensor) -> Tensor:
        """Logits of the states."""
        return product(self.last_norm(x), self.readout) + self.readout_bias


class TorchNetwork(nn.Module):
    """The whole network: words of letters in, logits of states out.

    Attributes:
        proved: the float format in which it is proved; a shorter one gets a warning.
    """

    def __init__(
        self, network: Transformer, dtype: torch.dtype = torch.float64, proved: str | None = None
    ) -> None:
        super().__init__()
        self.proved = proved
        for name in ("embedding", "padding", "positions", "readout", "readout_bias"):
            setattr(self, name, _parameter(getattr(network, name), dtype))
        self.layers = nn.ModuleList(_block(layer, dtype) for layer in network.layers)
        self.max_length = network.max_length

    def walk(self, kind: type[W]) -> W:
        """The module's own tensors and layers, to be run from any of them on."""
        names = ("embedding", "padding", "positions", "readout", "readout_bias")
        embedding, prompt, positions, readout, bias = map(self.get_parameter, names)
        layers = tuple(layer for layer in self.layers if isinstance(layer, TorchBlock))
        return kind(embedding, prompt, positions, layers, readout, bias)

    def forward(self, words: Tensor) -> Tensor:
        """Logits ``[batch, length, states]`` of words ``[batch, length]``."""
        if words.ndim != 2 or words.shape[1] > self.max_length:
            raise InvalidInput(
                f"words must be [batch, length] with length ≤ {self.max_length}; got {tuple(words.shape)}"
            )
        walk = self.walk(Walk)
        own = walk.embedding.dtype
        if self.proved and torch.finfo(own).eps > torch.finfo(getattr(torch, self.proved)).eps:
            shorter = f"this network is proved in {self.proved} and runs in {str(own).removeprefix('torch.')}"
            warnings.warn(f"{shorter}, where its answers can be wrong", stacklevel=2)
        # One question, which krohn.verify answers for all letters without a word.
        if words.numel() and ((words < 0) | (words >= len(walk.embedding))).any():
            least, most = int(words.min()), int(words.max())
            raise InvalidInput(f"letters must lie in [0, {len(walk.embedding)}); got {least} to {most}")
        return walk.logits_from(0, walk.embed(words))

    @torch.no_grad()
    def states(self, words: Tensor) -> Tensor:
        """The states ``[batch, length]``: arg max of the logits; −1 where one is NaN."""
        scores: Tensor = self(words)
        return torch.where(scores.isnan().any(-1), -1, scores.argmax(-1))


def to_torch(
    network: CompiledNetwork | Transformer,
    *,
    dtype: torch.dtype | str = torch.float64,
    device: torch.device | str = "cpu",
) -> TorchNetwork:
    """The network as a module. On CUDA keep TF32 off: its 10-bit mantissa is too short for long sums."""
    if not isinstance(dtype, torch.dtype):
        caster(dtype)  # rejects unknown float formats
        dtype = getattr(torch, float_name(dtype))
    assert isinstance(dtype, torch.dtype)
    if isinstance(network, CompiledNetwork):
        return TorchNetwork(network.transformer, dtype, network.proved).to(device)
    return TorchNetwork(network, dtype).to(device)


def states_on_device(
    network: CompiledNetwork, dtype: str, device: str
) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """A function from words to states, computed in a named float format on a named torch device."""
    try:
        place = torch.device(device)
        module = to_torch(network.transformer, dtype=getattr(torch, dtype), device=place)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"the device must be one that torch has here; got {device!r}: {reason}") from error

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        result: npt.NDArray[np.int64] = module.states(torch.from_numpy(words).to(place)).cpu().numpy()
        return result

    return run


def hold(module: nn.Module, **tensors: Tensor) -> None:
    """Parameters as such; tensors that were computed, with or without gradients, as buffers."""
    for name, value in tensors.items():
        if isinstance(value, nn.Parameter):
            module.register_parameter(name, value)
        else:
            module.register_buffer(name, value)


def _parameter(matrix: np.ndarray, dtype: torch.dtype) -> nn.Parameter:
    """Rounded as the numpy pass rounds, so that a half type does not depend on how torch was built."""
    with np.errstate(over="ignore"):
        rounded = caster(str(dtype).removeprefix("torch."))(matrix)
    return nn.Parameter(torch.tensor(rounded, dtype=dtype))

"""A compiled network as an ordinary ``torch.nn.Module``: any dtype, any device, batches of words.

The names in ``state_dict()`` are the names in ``model.safetensors``, so weights travel both ways.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import caster, float_name
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

Matrices = Sequence[tuple[Tensor, Tensor]]
# Score matrix entries held at once: long words are attended to in blocks of rows.
SCORE_ENTRIES = 1 << 26


def product(left: Tensor, right: Tensor) -> Tensor:
    """``left @ right``; half types accumulate in float32, however a device treats subnormal numbers."""
    wide = torch.promote_types(left.dtype, torch.float32)
    return (left.to(wide) @ right.to(wide)).to(left.dtype)


def hidden_from(at: Tensor, count: int, *, strict: bool) -> Tensor:
    """[…, key]: the positions, of ``count``, that queries at ``at`` must not see; the first sees itself."""
    places = torch.arange(count, device=at.device)
    unseen = places > at[..., None] - int(strict)
    return unseen & ~((at[..., None] == 0) & (places == 0))


def attention(query: Tensor, keys: Tensor, hidden: Tensor) -> Tensor:
    """Weights [..., query, key]; half types keep scores and softmax in float32, as the certificate does."""
    wide = torch.promote_types(query.dtype, torch.float32)
    return (query.to(wide) @ keys.to(wide).mT).masked_fill(hidden, float("-inf")).softmax(-1)


def transformed(x: Tensor, matrices: Matrices, activations: Sequence[str | Tensor]) -> Tensor:
    """``x W + b`` and the activations, matrix after matrix; one matrix more than activations ends an MLP."""
    for index, (weight, bias) in enumerate(matrices):
        x = product(x, weight) + bias
        if index < len(activations):
            x = _activated(x, activations[index])
    return x


def _activated(x: Tensor, activation: str | Tensor) -> Tensor:
    """ReLU, ``gelu_new``, or the sine of the units in a mask and ReLU of the others."""
    if isinstance(activation, Tensor):
        return torch.where(activation, x.sin(), x.relu())
    return x.relu() if activation == "relu" else nn.functional.gelu(x, approximate="tanh")


class TorchHead(nn.Module):
    """One attention head, without scale and bias, as in the paper."""

    def __init__(self, head: Head, dtype: torch.dtype) -> None:
        super().__init__()
        self.W_Q, self.W_K = _parameter(head.query, dtype), _parameter(head.key, dtype)
        self.W_V, self.W_C = _parameter(head.value, dtype), _parameter(head.output, dtype)

    def forward(self, stream: Tensor, strict: bool) -> Tensor:
        """Mixes values over the visible positions of ``stream [batch, position, channel]``."""
        query, key, value = (product(stream, matrix) for matrix in (self.W_Q, self.W_K, self.W_V))
        batch, length, _ = stream.shape
        rows = max(1, SCORE_ENTRIES // max(1, batch * length))
        places = torch.arange(length, device=stream.device)
        mixed = []
        for first in range(0, length, rows):
            here = places[first : first + rows]
            weights = attention(query[:, first : first + rows], key, hidden_from(here, length, strict=strict))
            mixed.append(product(weights.to(stream.dtype), value))
        return product(torch.cat(mixed, dim=1), self.W_C) if mixed else stream


class TorchLinear(nn.Module):
    """``x W + b`` and the activation of each unit."""

    def __init__(self, mlp: Mlp, index: int, dtype: torch.dtype) -> None:
        super().__init__()
        self.W, self.b = _parameter(mlp.weights[index], dtype), _parameter(mlp.biases[index], dtype)
        self.is_hidden = index < len(mlp.activations)
        if self.is_hidden:
            self.register_buffer("activation", torch.tensor(np.array(mlp.activations[index])))
            self.has_sine = bool((mlp.activations[index] == SIN).any())

    @property
    def activations(self) -> tuple[str | Tensor, ...]:
        """What follows the matrix: nothing after the last one."""
        if not self.is_hidden:
            return ()
        return (self.get_buffer("activation") == SIN if self.has_sine else "relu",)

    def forward(self, stream: Tensor) -> Tensor:
        """One layer of the MLP."""
        return transformed(stream, ((self.W, self.b),), self.activations)


class TorchLayer(nn.Module):
    """One block: attention, then the MLP, each with its residual channels."""

    def __init__(self, layer: Layer, dtype: torch.dtype) -> None:
        super().__init__()
        self.heads = nn.ModuleList(TorchHead(head, dtype) for head in layer.heads)
        self.mlp = nn.ModuleList(
            TorchLinear(layer.mlp, index, dtype) for index in range(len(layer.mlp.weights))
        )
        for name in ("keep_attention", "keep_mlp"):
            self.register_buffer(name, torch.tensor(np.array(getattr(layer, name)), dtype=dtype))

    def forward(self, stream: Tensor, strict: bool) -> Tensor:
        """The stream after the block."""
        mixed = stream * self.get_buffer("keep_attention")
        for head in self.heads:
            mixed = mixed + head(stream, strict)
        hidden = mixed
        for linear in self.mlp:
            hidden = linear(hidden)
        return mixed * self.get_buffer("keep_mlp") + hidden


class TorchNetwork(nn.Module):
    """The whole network: words of letters in, logits of states out."""

    def __init__(self, network: Transformer, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        for name in ("embedding", "padding", "positions", "readout", "readout_bias"):
            setattr(self, name, _parameter(getattr(network, name), dtype))
        self.layers = nn.ModuleList(TorchLayer(layer, dtype) for layer in network.layers)
        self.strict = network.mask == "strict"
        self.max_length = network.max_length

    def forward(self, words: Tensor) -> Tensor:
        """Logits ``[batch, length, states]`` of words ``[batch, length]``."""
        if words.ndim != 2 or words.shape[1] > self.max_length:
            raise InvalidInput(
                f"words must be [batch, length] with length ≤ {self.max_length}; got {tuple(words.shape)}"
            )
        embedding, padding, positions = (self.get_parameter(n) for n in ("embedding", "padding", "positions"))
        least, most = (int(words.min()), int(words.max())) if words.numel() else (0, 0)
        if least < 0 or most >= len(embedding):
            raise InvalidInput(f"letters must lie in [0, {len(embedding)}); got {least} to {most}")
        pads = padding.expand(len(words), *padding.shape)
        stream = torch.cat([pads, embedding[words]], dim=1)
        stream = stream + positions[: stream.shape[1]]
        for layer in self.layers:
            stream = layer(stream, self.strict)
        out = product(stream[:, len(padding) :], self.get_parameter("readout"))
        return out + self.get_parameter("readout_bias")

    @torch.no_grad()
    def states(self, words: Tensor) -> Tensor:
        """The states ``[batch, length]``: arg max of the logits."""
        result: Tensor = self(words).argmax(dim=-1)
        return result


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
    matrices = network.transformer if isinstance(network, CompiledNetwork) else network
    return TorchNetwork(matrices, dtype).to(device)


def states_on_device(
    network: CompiledNetwork, dtype: str, device: str
) -> Callable[[npt.NDArray[np.int64]], npt.NDArray[np.int64]]:
    """A function from words to states, computed in a named float format on a named torch device."""
    try:
        place = torch.device(device)
        module = to_torch(network, dtype=getattr(torch, dtype), device=place)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"the device must be one that torch has here; got {device!r}: {reason}") from error

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        result: npt.NDArray[np.int64] = module.states(torch.from_numpy(words).to(place)).cpu().numpy()
        return result

    return run


def _parameter(matrix: np.ndarray, dtype: torch.dtype) -> nn.Parameter:
    """Rounded as the numpy pass rounds, so that a half type does not depend on how torch was built."""
    with np.errstate(over="ignore"):
        rounded = caster(str(dtype).removeprefix("torch."))(matrix)
    return nn.Parameter(torch.tensor(rounded, dtype=dtype))

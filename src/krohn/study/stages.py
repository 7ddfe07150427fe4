"""A network as stages: the stream between any two blocks can be read, edited, and run from there.

Compiled networks, trained GPTs and GPT-2 exports all become the same matrices, so that the same measurements
apply to each of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.bridge import TorchHead, TorchLayer, TorchLinear, attention, hidden_from, to_torch, transformed
from krohn.exporting.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.transformer import Transformer

Norm = tuple[Tensor, Tensor] | None
Tensors = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Block:
    """Attention and MLP; ``query``, ``key``, ``value`` are [head, d, width], ``output`` [head, width, d]."""

    query: Tensor
    key: Tensor
    value: Tensor
    output: Tensor
    biases: tuple[Tensor, Tensor, Tensor]  # [head, width] each
    output_bias: Tensor
    norms: tuple[Norm, Norm]
    keeps: tuple[Tensor, Tensor]  # 1 on the channels with a residual connection
    mlp: tuple[tuple[Tensor, Tensor], ...]
    activations: tuple[str | Tensor, ...]  # relu, gelu_new, or a mask of the units that take the sine

    def keys_values(self, stream: Tensor) -> tuple[Tensor, Tensor]:
        """What each position [word, t, d] offers: keys and values [word, head, t, width]."""
        x = normed(stream, self.norms[0])
        return _heads(x, self.key, self.biases[1]), _heads(x, self.value, self.biases[2])

    def attend(self, x: Tensor, keys: Tensor, hidden: Tensor) -> Tensor:
        """Attention weights [word, head, n, t] of the queries at ``x`` [word, n, d]."""
        query = _heads(normed(x, self.norms[0]), self.query, self.biases[0])
        return attention(query, keys, hidden)

    def advance_at(self, x: Tensor, others: tuple[Tensor, Tensor], hidden: Tensor, unseen: Tensor) -> Tensor:
        """``x`` [word, n, d] after the block: n alternatives for one position, each of which sees itself.

        ``others`` are the keys [word, head, width, t] and values [word, head, t, width] of the word, of which
        ``hidden`` are not seen; ``unseen`` are the words where the position does not see itself.
        """
        keys, values = others
        query, key, value = self.offered(x)
        scores = _small_product(query, keys).masked_fill(hidden, float("-inf"))
        own = (query * key).sum(-1, keepdim=True).masked_fill(unseen[:, None, None, None], float("-inf"))
        weights = torch.cat([scores, own], dim=-1).softmax(-1)
        return self._written(x, _small_product(weights[..., :-1], values) + weights[..., -1:] * value)

    @cached_property
    def _side_by_side(self) -> tuple[Tensor, Tensor]:
        """The matrices of queries, keys and values as one [d, all], and their biases."""
        with torch.inference_mode(False):  # they are kept, and a later pass may need gradients
            parts = zip((self.query, self.key, self.value), self.biases, strict=True)
            flat = [(matrix.transpose(0, 1).flatten(1), bias.flatten()) for matrix, bias in parts]
            return torch.cat([matrix for matrix, _ in flat], dim=1), torch.cat([bias for _, bias in flat])

    def offered(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values [word, head, n, width] at ``x``, in one product."""
        matrix, bias = self._side_by_side
        heads, _, width = self.query.shape
        flat = torch.addmm(bias, normed(x, self.norms[0]).flatten(0, 1), matrix)
        ends = (0, heads * width, 2 * heads * width, len(bias))
        parts = zip(pairwise(ends), (width, width, self.value.shape[2]), strict=True)
        return tuple(
            flat[:, first:last].view(*x.shape[:2], heads, size).transpose(1, 2)
            for (first, last), size in parts
        )

    def advance(self, x: Tensor, weights: Tensor, values: Tensor) -> Tensor:
        """``x`` [word, n, d] after the block, given what its queries attend to."""
        return self._written(x, weights @ values)

    def _written(self, x: Tensor, mixed: Tensor) -> Tensor:
        written = mixed.transpose(1, 2).flatten(2) @ self.output.flatten(0, 1) + self.output_bias
        x = x * self.keeps[0] + written
        return x * self.keeps[1] + self.transformed(x)

    def transformed(self, x: Tensor) -> Tensor:
        """The output of the MLP at ``x``."""
        return transformed(normed(x, self.norms[1]), self.mlp, self.activations)

    @property
    def idle_heads(self) -> list[bool]:
        """Which heads write nothing."""
        return [not bool(head.any()) for head in self.output]


@dataclass(frozen=True, eq=False)
class Stages:
    """Embedding, blocks, read-out; words are letters [word, t], streams include the prompt before them."""

    embedding: Tensor  # letters × d
    prompt: Tensor  # τ × d
    positions: Tensor  # (τ + T) × d
    blocks: tuple[Block, ...]
    last_norm: Norm
    readout: Tensor  # d × states
    readout_bias: Tensor
    strict: bool = False

    @property
    def dim(self) -> int:
        """Channels of the stream."""
        return int(self.embedding.shape[1])

    @property
    def length(self) -> int:
        """The longest word."""
        return len(self.positions) - len(self.prompt)

    def embed(self, letters: npt.NDArray[np.integer]) -> Tensor:
        """The stream before the first block."""
        words = self.embedding[torch.from_numpy(np.asarray(letters, dtype=np.int64))]
        stream = torch.cat([self.prompt.expand(len(words), *self.prompt.shape), words], dim=1)
        return stream + self.positions[: stream.shape[1]]

    def hidden(self, at: Tensor, count: int) -> Tensor:
        """[…, key]: the positions that queries at ``at`` must not see."""
        return hidden_from(at, count, strict=self.strict)

    def _hidden_from(self, first: int, stream: Tensor) -> Tensor:
        """[query, key], for the queries from ``first`` on."""
        count = stream.shape[1]
        return self.hidden(torch.arange(first, count, device=stream.device), count)

    def to(self, device: str) -> "Stages":
        """The same network on another device."""
        return cast(Stages, _on(device, self))

    @torch.inference_mode()
    def run(self, letters: npt.NDArray[np.integer], *, attention: bool = False) -> "Passed":
        """A whole pass that keeps the stream before the first block and after each."""
        stream = self.embed(letters)
        hidden = self._hidden_from(0, stream)
        streams, offered, seen = [stream], [], []
        for block in self.blocks:
            keys, values = block.keys_values(stream)
            weights = block.attend(stream, keys, hidden)
            stream = block.advance(stream, weights, values)
            streams.append(stream)
            offered.append((keys, values))
            if attention:
                seen.append(weights)
        logits = self.read(stream[:, len(self.prompt) :])
        return Passed(tuple(streams), tuple(offered), tuple(seen), logits.argmax(-1).cpu().numpy())

    @torch.inference_mode()
    def resume(self, layer: int, x: Tensor, past: "Past") -> Tensor:
        """States [n, k] predicted at the positions of ``past`` for k alternatives ``x`` [n, k, d].

        ``x`` is the stream after ``layer`` blocks. Everything before a position is as in the pass, and
        nothing after it is visible.
        """
        alone = torch.full_like(past.at, not self.strict, dtype=torch.bool) | (past.at == 0)
        for block, offered in zip(self.blocks[layer:], past.offered[layer:], strict=True):
            x = block.advance_at(x, offered, past.hidden, ~alone)
        return self.read(x).argmax(-1)

    @torch.inference_mode()
    def answer(self, layer: int, suffix: Tensor, passed: "Passed") -> Tensor:
        """The predicted state [word] at the last letter if the last positions are ``suffix`` [word, k, d]."""
        return self.last_logits(layer, suffix, passed).argmax(-1)

    def last_logits(self, layer: int, suffix: Tensor, passed: "Passed") -> Tensor:
        """Logits at the last letter if the last positions are ``suffix`` [word, k, d], with gradients.

        ``suffix`` is the stream after ``layer`` blocks; all positions before it are as in the pass. They do
        not see the suffix, so only its own positions are recomputed.
        """
        x, first = suffix, passed.streams[0].shape[1] - suffix.shape[1]
        hidden = self._hidden_from(first, passed.streams[0])
        for block, (keys, values) in zip(self.blocks[layer:], passed.offered[layer:], strict=True):
            key, value = block.keys_values(x)
            keys = torch.cat([keys[:, :, :first], key], dim=2)
            values = torch.cat([values[:, :, :first], value], dim=2)
            x = block.advance(x, block.attend(x, keys, hidden), values)
        return self.read(x[:, -1])

    @torch.inference_mode()
    def finish(self, layer: int, stream: Tensor) -> Tensor:
        """Predicted states at every letter, from ``stream`` after ``layer`` blocks."""
        return self._logits_from(layer, stream).argmax(-1)

    def logits(self, letters: npt.NDArray[np.integer]) -> Tensor:
        """Logits of the states at every letter, with gradients."""
        return self._logits_from(0, self.embed(letters))

    def _logits_from(self, layer: int, stream: Tensor) -> Tensor:
        hidden = self._hidden_from(0, stream)
        for block in self.blocks[layer:]:
            keys, values = block.keys_values(stream)
            stream = block.advance(stream, block.attend(stream, keys, hidden), values)
        return self.read(stream[:, len(self.prompt) :])

    def read(self, x: Tensor) -> Tensor:
        """Logits of the states."""
        return normed(x, self.last_norm) @ self.readout + self.readout_bias


@dataclass(frozen=True, eq=False)
class Passed:
    """A pass: streams [word, τ + t, d] by layer, keys and values, attention, predicted states [word, t]."""

    streams: tuple[Tensor, ...]
    offered: tuple[tuple[Tensor, Tensor], ...]
    attention: tuple[Tensor, ...]
    answers: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Past:
    """What positions ``at`` of some words can see of a pass: keys and values by block, and what is hidden."""

    offered: tuple[tuple[Tensor, Tensor], ...]
    hidden: Tensor
    at: Tensor

    @classmethod
    def of(cls, passed: Passed, rows: Tensor, at: Tensor) -> "Past":
        """Copies nothing at or after the last of the positions."""
        count = max(1, int(at.max()))
        offered = tuple(
            (keys[rows, :, :count].mT.contiguous(), values[rows, :, :count].contiguous())
            for keys, values in passed.offered
        )
        return cls(offered, (torch.arange(count) >= at[:, None])[:, None, None], at)


def stages_of_decoder(decoder: Decoder, dtype: torch.dtype) -> Stages:
    """A decoder in GPT-2's names, compiled or trained."""
    return stages_of_tensors(decoder, decoder_tensors(decoder, dtype))


def decoder_tensors(decoder: Decoder, dtype: torch.dtype) -> Tensors:
    """The decoder's matrices as torch tensors, by name."""
    return {name: torch.from_numpy(np.array(value)).to(dtype) for name, value in decoder.tensors.items()}


def stages_of_tensors(decoder: Decoder, tensors: Tensors) -> Stages:
    """A network of the decoder's shape with these matrices; gradients flow through to them."""
    names = decoder.vocabulary
    table, head = tensors["transformer.wte.weight"], tensors["lm_head.weight"][list(names.states)]
    return Stages(
        embedding=table[list(names.letters)],
        prompt=table[list(names.prompt)],
        positions=tensors["transformer.wpe.weight"],
        blocks=tuple(_decoder_block(decoder, tensors, index) for index in range(decoder.layers)),
        last_norm=_norm(tensors, "transformer.ln_f"),
        readout=head.T,
        readout_bias=head.new_zeros(len(head)),
    )


def stages_of_transformer(network: Transformer, dtype: torch.dtype = torch.float64) -> Stages:
    """A compiled network as the paper writes it: its module, with the heads of a layer side by side."""
    module = to_torch(network, dtype=dtype).requires_grad_(False)
    return Stages(
        embedding=module.get_parameter("embedding"),
        prompt=module.get_parameter("padding"),
        positions=module.get_parameter("positions"),
        blocks=tuple(_paper_block(layer) for layer in module.layers if isinstance(layer, TorchLayer)),
        last_norm=None,
        readout=module.get_parameter("readout"),
        readout_bias=module.get_parameter("readout_bias"),
        strict=module.strict,
    )


def _decoder_block(decoder: Decoder, tensors: Tensors, index: int) -> Block:
    prefix = f"transformer.h.{index}"
    own = {name.removeprefix(f"{prefix}."): value for name, value in tensors.items()}
    d, heads, width = decoder.dim, decoder.heads, decoder.width
    together = own["attn.c_attn.weight"].view(d, 3, heads, width).permute(1, 2, 0, 3)
    bias = own["attn.c_attn.bias"].view(3, heads, width)
    scale = 1.0 / math.sqrt(width)
    everywhere = torch.ones_like(own["attn.c_proj.bias"])
    return Block(
        query=together[0] * scale,
        key=together[1],
        value=together[2],
        output=own["attn.c_proj.weight"].view(heads, width, d),
        biases=(bias[0] * scale, bias[1], bias[2]),
        output_bias=own["attn.c_proj.bias"],
        norms=(_norm(tensors, f"{prefix}.ln_1"), _norm(tensors, f"{prefix}.ln_2")),
        keeps=(everywhere, everywhere),
        mlp=tuple((own[f"mlp.{part}.weight"], own[f"mlp.{part}.bias"]) for part in ("c_fc", "c_proj")),
        activations=(decoder.activation,),
    )


def _paper_block(layer: TorchLayer) -> Block:
    keeps = layer.get_buffer("keep_attention"), layer.get_buffer("keep_mlp")
    heads = [head for head in layer.heads if isinstance(head, TorchHead)]
    linears = [linear for linear in layer.mlp if isinstance(linear, TorchLinear)]
    query, key, value = (
        _stacked([getattr(head, name) for head in heads], keeps[0], 1) for name in ("W_Q", "W_K", "W_V")
    )
    none = query.new_zeros(len(heads), query.shape[2])
    return Block(
        query=query,
        key=key,
        value=value,
        output=_stacked([head.W_C for head in heads], keeps[0], 0),
        biases=(none, none, value.new_zeros(len(heads), value.shape[2])),
        output_bias=torch.zeros_like(keeps[0]),
        norms=(None, None),
        keeps=keeps,
        mlp=tuple((linear.W, linear.b) for linear in linears),
        activations=tuple(one for linear in linears for one in linear.activations),
    )


def _stacked(matrices: Sequence[Tensor], channels: Tensor, axis: int) -> Tensor:
    """Heads of different widths side by side, the narrow ones padded with zeros along ``axis``."""
    width = max((matrix.shape[axis] for matrix in matrices), default=1)
    shape = (len(channels), width) if axis else (width, len(channels))
    made = channels.new_zeros(len(matrices), *shape)
    for number, matrix in enumerate(matrices):
        made[number, : matrix.shape[0], : matrix.shape[1]] = matrix
    return made


def _on(device: str, value: object) -> object:
    """Every tensor inside, moved."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(_on(device, one) for one in value)
    if isinstance(value, Stages | Block):
        return replace(value, **{one.name: _on(device, getattr(value, one.name)) for one in fields(value)})  # type: ignore[arg-type]
    return value


def _norm(tensors: Tensors, name: str) -> Norm:
    gain = tensors.get(f"{name}.weight")
    return None if gain is None else (gain, tensors[f"{name}.bias"])


def normed(x: Tensor, norm: Norm) -> Tensor:
    """LayerNorm; nothing where there is none."""
    if norm is None:
        return x
    return torch.nn.functional.layer_norm(x, x.shape[-1:], *norm, eps=LAYER_NORM_EPSILON)


def _heads(x: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
    """[word, head, n, width]."""
    heads, dim, width = matrix.shape
    flat = x @ matrix.transpose(0, 1).reshape(dim, heads * width)
    return flat.view(*x.shape[:2], heads, width).transpose(1, 2) + bias[:, None]


def _small_product(one: Tensor, other: Tensor) -> Tensor:
    """Products [word, head, n, k] @ [word, head, k, m]; for a single row a sum, which is cheaper."""
    return (one.mT * other).sum(-2, keepdim=True) if one.shape[2] == 1 else one @ other

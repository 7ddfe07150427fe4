"""A network as stages: the stream between any two blocks can be read, edited, and run from there.

Compiled networks, trained GPTs and GPT-2 exports all become blocks of the same torch module, so that the same
measurements apply to each of them.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from krohn.lab.bridge import (
    TorchBlock,
    TorchHeads,
    TorchLinear,
    Walk,
    hidden_from,
    hold,
    product,
    to_torch,
)
from krohn.lab.bridge import attention as attention_weights
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.transformer import Transformer

Tensors = dict[str, Tensor]
Offered = list[tuple[Tensor, Tensor]]
"""Keys and values [word, head, t, width] in a block, of heads that run side by side together."""


class Stages(Walk):
    """The network with stops between its blocks."""

    @property
    def dim(self) -> int:
        """Channels of the stream."""
        return int(self.embedding.shape[1])

    @property
    def length(self) -> int:
        """The longest word."""
        return len(self.positions) - len(self.prompt)

    @torch.inference_mode()
    def run(self, letters: npt.NDArray[np.integer], *, attention: bool = False) -> "Passed":
        """A whole pass that keeps the stream before the first block and after each."""
        x = self.embed(letters)
        streams, offered, seen = [x], [], []
        places = torch.arange(x.shape[1], device=x.device)
        hidden = hidden_from(places, len(places))
        for block in self.blocks:
            own, weights, mixed = [], [], []
            for query, keys, values in block.offers(x):
                own.append((keys, values))
                weights.append(attention_weights(query, keys, hidden))
                mixed.append(product(weights[-1].to(values.dtype), values))
            x = block.advance(x, mixed)
            streams.append(x)
            offered.append(own)
            if attention:
                none = x.new_zeros(len(x), 0, x.shape[1], x.shape[1])
                seen.append(torch.cat([none, *weights], dim=1))
        logits = self.read(x[:, len(self.prompt) :])
        return Passed(tuple(streams), tuple(offered), tuple(seen), logits.argmax(-1).cpu().numpy())

    @torch.inference_mode()
    def resume(self, layer: int, x: Tensor, past: "Past") -> Tensor:
        """States [n, k] predicted at the positions of ``past`` for k alternatives ``x`` [n, k, d].

        ``x`` is the stream after ``layer`` blocks. Everything before a position is as in the pass, and
        nothing after it is visible.
        """
        for block, offered in zip(self.blocks[layer:], past.offered[layer:], strict=True):
            mixed = []
            for (query, key, value), (keys, values) in zip(block.offers(x), offered, strict=True):
                scores = _small_product(query, keys).masked_fill(past.hidden, float("-inf"))
                # The position's own key and value come from the changed stream, not from the pass.
                own = (query * key).sum(-1, keepdim=True)
                weights = torch.cat([scores, own], dim=-1).softmax(-1)
                mixed.append(_small_product(weights[..., :-1], values) + weights[..., -1:] * value)
            x = block.advance(x, mixed)
        return self.read(x).argmax(-1)

    def logits(self, letters: npt.NDArray[np.integer]) -> Tensor:
        """Logits of the states at every letter, with gradients."""
        return self.logits_from(0, self.embed(letters))


@dataclass(frozen=True, eq=False)
class Passed:
    """A pass: streams [word, τ + t, d] by layer, keys and values, attention, predicted states [word, t]."""

    streams: tuple[Tensor, ...]
    offered: tuple[Offered, ...]
    attention: tuple[Tensor, ...]
    answers: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Past:
    """What positions ``at`` of some words can see of a pass: keys and values by block, and what is hidden."""

    offered: tuple[Offered, ...]
    hidden: Tensor
    at: Tensor

    @classmethod
    def of(cls, passed: Passed, rows: Tensor, at: Tensor) -> "Past":
        """Copies nothing at or after the last of the positions."""
        count = max(1, int(at.max()))
        offered = tuple(
            [
                (keys[rows, :, :count].mT.contiguous(), values[rows, :, :count].contiguous())
                for keys, values in block
            ]
            for block in passed.offered
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


def stages_of_transformer(network: Transformer) -> Stages:
    """A compiled network as the paper writes it: its module."""
    return to_torch(network, dtype=torch.float64).requires_grad_(False).walk(Stages)


def _decoder_block(decoder: Decoder, tensors: Tensors, index: int) -> TorchBlock:
    prefix = f"transformer.h.{index}"
    own = {name.removeprefix(f"{prefix}."): value for name, value in tensors.items()}
    everywhere = torch.ones_like(own["attn.c_proj.bias"])
    kinds = {"c_fc": decoder.activation, "c_proj": None}
    return TorchBlock(
        heads=[DecoderHeads(decoder, own)],
        mlp=[
            TorchLinear(own[f"mlp.{part}.weight"], own[f"mlp.{part}.bias"], kind)
            for part, kind in kinds.items()
        ],
        keeps=(everywhere, everywhere),
        norms=[_norm(tensors, f"{prefix}.{name}") for name in ("ln_1", "ln_2")],
    )


class DecoderHeads(TorchHeads):
    """All heads of a block of GPT-2: one matrix gives their queries, keys and values."""

    matrix: Tensor  # d × (part, head, width), queries scaled
    bias: Tensor
    output: Tensor  # (head, width) × d
    output_bias: Tensor

    def __init__(self, decoder: Decoder, own: Tensors) -> None:
        super().__init__()
        self.shape = (3, decoder.heads, decoder.width)
        scale = torch.ones_like(own["attn.c_attn.bias"])
        scale[: decoder.heads * decoder.width] = 1.0 / math.sqrt(decoder.width)
        hold(self, matrix=own["attn.c_attn.weight"] * scale, bias=own["attn.c_attn.bias"] * scale)
        hold(self, output=own["attn.c_proj.weight"], output_bias=own["attn.c_proj.bias"])

    def offers(self, x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values in one product."""
        flat = torch.addmm(self.bias, x.flatten(0, 1), self.matrix)
        return flat.view(*x.shape[:2], *self.shape).permute(2, 0, 3, 1, 4).unbind()

    def forward(self, mixed: Tensor) -> Tensor:
        """All heads in one product, and the bias."""
        return mixed.transpose(1, 2).flatten(2) @ self.output + self.output_bias

    @property
    def matrices(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Head by head."""
        query, key, value = self.matrix.view(-1, *self.shape).permute(1, 2, 0, 3)
        return query, key, value, self.output.view(*self.shape[1:], -1)


class _Norm(nn.Module):
    """LayerNorm."""

    gain: Tensor
    shift: Tensor

    def __init__(self, gain: Tensor, shift: Tensor) -> None:
        super().__init__()
        hold(self, gain=gain, shift=shift)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.layer_norm(x, x.shape[-1:], self.gain, self.shift, eps=LAYER_NORM_EPSILON)


def _norm(tensors: Tensors, name: str) -> nn.Module:
    gain = tensors.get(f"{name}.weight")
    return nn.Identity() if gain is None else _Norm(gain, tensors[f"{name}.bias"])


def _small_product(one: Tensor, other: Tensor) -> Tensor:
    """Products [word, head, n, k] @ [word, head, k, m]; for a single row a sum, which is cheaper."""
    return (one.mT * other).sum(-2, keepdim=True) if one.shape[2] == 1 else one @ other

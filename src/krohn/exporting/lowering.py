"""Blocks without normalisation as a decoder in GPT-2's names, with LayerNorm neutralised if present.

With LayerNorm every position carries +C and −C on two channels that are never written. They dominate the
variance, so that it divides by C√(2/d) up to a relative error of |x|²/4C², and its gain multiplies by the
same. One more channel is always zero, and every reader subtracts it: that cancels the mean with its rounding.
The head has no bias, so it reads a constant: +C after the last LayerNorm, a channel of ones without any.
A last channel is 1 at tokens that mean nothing as input; there the head answers ``<unk>``.
"""

import math
from dataclasses import dataclass

import numpy as np

from krohn.exporting.standard_blocks import StandardBlock, StandardBlocks
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.gpt2.vocabulary import Vocabulary
from krohn.network.transformer import Head, Matrix

LEAD = 20.0
"""Logits by which the right state leads: sampling at temperature 1 returns it too."""

FOREIGN = 256.0
"""At a token that means nothing as input ``<unk>`` leads by this many times the largest logit of a word."""

ABOVE = 2.0**11
"""C over the largest |x|: |x|²/4C² then stays below half a unit of float32."""


@dataclass(frozen=True)
class Measured:
    """Calibration on words: the largest norm of the stream, the smallest lead and the largest logit."""

    stream: float
    lead: float
    logit: float


def lower(
    blocks: StandardBlocks,
    vocabulary: Vocabulary,
    seen: Measured,
    *,
    normalized: bool,
    above: float = ABOVE,
    half: bool = False,
) -> Decoder:
    """A decoder with the same arg max at every letter and a lead of 20; ``half``: sizes for half types."""
    heads = max([1, *(len(block.heads) for block in blocks.blocks)])
    widest = max([1, *(head.width for block in blocks.blocks for head in block.heads)])
    extra = 4 if normalized else 2
    if normalized and half:
        heads, width = _sizes_for_half_types(blocks.dim + extra, heads, widest)
        dim = heads * width
    elif normalized:
        width = max(math.ceil((blocks.dim + extra) / heads), widest)
        dim = heads * width
    else:  # a width whose root is a power of two: exact division, invisible to a proof
        width, dim = 4 ** ((widest - 1).bit_length() + 1 >> 1), blocks.dim + extra
    constant = power_of_two(above * max(seen.stream, 1.0)) if normalized else 1.0
    stream = _Stream(blocks.dim, dim, width, constant, normalized)
    inner = max(block.into.shape[1] for block in blocks.blocks)
    tensors = stream.outside(blocks, vocabulary, seen)
    for index, block in enumerate(blocks.blocks):
        prefix = f"transformer.h.{index}"
        tensors |= {f"{prefix}.{name}": value for name, value in stream.inside(block, heads, inner).items()}
    return Decoder(
        layers=len(blocks.blocks),
        heads=heads,
        width=width,
        activation="relu",
        normalized=normalized,
        vocabulary=vocabulary,
        tensors={name: np.ascontiguousarray(value, dtype=np.float32) for name, value in tensors.items()},
    )


def _sizes_for_half_types(channels: int, heads: int, widest: int) -> tuple[int, int]:
    """Heads and their width: the gain C√(2/d) and the root of the width become powers of two, and exact."""
    enough = next(2 * 4**power for power in range(16) if 2 * 4**power >= heads)
    return enough, next(4**power for power in range(16) if 4**power >= max(widest, channels / enough))


def power_of_two(least: float) -> float:
    """The least power of two that is not below."""
    fraction, power = math.frexp(least)
    return math.ldexp(1.0, power - (fraction == 0.5))


def outer_channels(plain: int) -> tuple[int, int, int, int]:
    """The channels after the plain ones: foreign, +C (or 1), and with LayerNorm −C and zero."""
    return plain, plain + 1, plain + 2, plain + 3


class _Stream:
    """``plain`` channels, the foreign one, the constant (its negative, the zero), padding to head width."""

    def __init__(self, plain: int, dim: int, width: int, constant: float, normalized: bool) -> None:
        self.plain, self.dim, self.width = plain, dim, width
        self.constant, self.normalized = constant, normalized
        self.foreign, self.high, self.low, self.zero = outer_channels(plain)
        # The deviation of a position that holds nothing but the pair: multiplying by it gives x back.
        self.gain = math.sqrt(2.0 * constant**2 / dim + LAYER_NORM_EPSILON)

    def outside(self, blocks: StandardBlocks, vocabulary: Vocabulary, seen: Measured) -> dict[str, Matrix]:
        """Embeddings, positions, the last LayerNorm and the head."""
        embedding = np.zeros((len(vocabulary.tokens), self.dim))
        embedding[list(vocabulary.prompt), : self.plain] = blocks.padding
        embedding[list(vocabulary.letters), : self.plain] = blocks.embedding
        embedding[list(vocabulary.foreign), self.foreign] = 1.0
        positions = np.zeros((len(blocks.positions), self.dim))
        positions[:, : self.plain] = blocks.positions
        positions[:, self.high] = self.constant
        tensors: dict[str, Matrix] = {
            "transformer.wte.weight": embedding,
            "transformer.wpe.weight": positions,
        }
        if self.normalized:
            positions[:, self.low] = -self.constant
            last = self.norm()
            # Only the last one lets the pair through, as the number 1: there it is the head's bias.
            last[self.high] = self.gain / self.constant
            tensors |= {"transformer.ln_f.weight": last, "transformer.ln_f.bias": np.zeros(self.dim)}
        return tensors | {"lm_head.weight": self.head(blocks, vocabulary, seen).T}

    def head(self, blocks: StandardBlocks, vocabulary: Vocabulary, seen: Measured) -> Matrix:
        """The read-out, scaled to the lead; tokens that are not states stay far below every logit seen."""
        scale = LEAD / seen.lead
        head = np.zeros((self.dim, len(vocabulary.tokens)))
        # Tokens that are not states: as far below zero as logits were measured above it, twice to be sure.
        head[self.high] = -2.0 * (scale * seen.logit + LEAD)
        states = list(vocabulary.states)
        head[:, states] = self.reader(scale * blocks.readout)
        head[self.high, states] = scale * blocks.readout_bias
        head[self.foreign, vocabulary.unknown] = FOREIGN * (scale * seen.logit + LEAD)
        if self.normalized:  # <unk> reads one channel more than ``reader`` knows of: its mean cancels here
            head[self.zero, vocabulary.unknown] = -head[self.foreign, vocabulary.unknown]
        return head

    def inside(self, block: StandardBlock, heads: int, inner: int) -> dict[str, Matrix]:
        """The tensors of one block by their names in it."""
        units = block.into.shape[1]
        into, bias = np.zeros((self.dim, inner)), np.zeros(inner)
        into[:, :units], bias[:units] = self.reader(block.into), block.into_bias
        out = np.zeros((inner, self.dim))
        out[:units, : self.plain] = block.out
        attention, projection = self.attention(block.heads, heads)
        tensors = {
            "attn.c_attn.weight": attention,
            "attn.c_attn.bias": np.zeros(attention.shape[1]),
            "attn.c_proj.weight": projection,
            "attn.c_proj.bias": np.zeros(self.dim),
            "mlp.c_fc.weight": into,
            "mlp.c_fc.bias": bias,
            "mlp.c_proj.weight": out,
            "mlp.c_proj.bias": np.pad(block.out_bias, (0, self.dim - self.plain)),
        }
        if self.normalized:
            for name in ("ln_1", "ln_2"):
                tensors |= {f"{name}.weight": self.norm(), f"{name}.bias": np.zeros(self.dim)}
        return tensors

    def attention(self, given: tuple[Head, ...], heads: int) -> tuple[Matrix, Matrix]:
        """Queries, keys and values side by side, and the projection; GPT-2 divides scores by √width."""
        width = self.width
        together = np.zeros((self.dim, 3, heads, width))
        projection = np.zeros((heads, width, self.dim))
        for number, head in enumerate(given):
            inner, carried = head.query.shape[1], head.value.shape[1]
            together[:, 0, number, :inner] = self.reader(math.sqrt(width) * head.query)
            together[:, 1, number, :inner] = self.reader(head.key)
            together[:, 2, number, :carried] = self.reader(head.value)
            projection[number, :carried, : self.plain] = head.output
        return together.reshape(self.dim, -1), projection.reshape(-1, self.dim)

    def norm(self) -> Matrix:
        """The gain of a LayerNorm: undoes its scale, and zeroes the pair."""
        gain = np.full(self.dim, self.gain)
        gain[[self.high, self.low]] = 0.0
        return gain

    def reader(self, matrix: Matrix) -> Matrix:
        """[plain, n] as [dim, n]; after a LayerNorm the channel that is always zero cancels the mean."""
        wide = np.zeros((self.dim, matrix.shape[1]))
        wide[: self.plain] = matrix
        if self.normalized:
            wide[self.zero] = -matrix.sum(axis=0)
        return wide

"""Known networks made hard to recognise: decoy heads and units, GPT-2 form, a rotation of the stream.

Function and algorithm stay the same. Decoys hold what the algorithm does not use: averages of the letters,
earlier letters, functions of the letter, in channels that are never read. A probe finds all of that.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.errors import Unsupported
from krohn.exporting.from_compiled import measure
from krohn.exporting.lowering import lower, outer_channels
from krohn.exporting.standard_blocks import StandardBlock, StandardBlocks, standard_blocks
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.vocabulary import vocabulary_of
from krohn.network.transformer import Head, Matrix

SHARP = 60.0
"""Scores of a decoy that looks at one place."""
ROUNDS = 4
"""Rounds of mixing in a rotation: 4⁴ channels can reach each other."""
NONE, DECOYS, ROTATED = "plain", "decoys", "rotated"
DISGUISES = (NONE, DECOYS, ROTATED)
DECOY_HEADS, DECOY_UNITS = 3, 4
"""Heads of each block, and hidden units of each MLP in the suite, that do nothing."""


@dataclass(frozen=True, eq=False)
class Disguised:
    """The same function in three forms.

    Attributes:
        decoder: the input of a method under test.
        plain: the same before the rotation, where every channel has a meaning.
        turn: the compiled network's stream times this is ``decoder``'s stream.
    """

    decoder: Decoder
    plain: Decoder
    turn: Matrix


def disguise(network: CompiledNetwork, kind: str, seed: int, *, units: int = 0) -> Disguised:
    """The network as a GPT-2: unchanged, with decoys (heads and hidden units), or with decoys and a rotation.

    Units have a random stream of their own, so that heads and rotation are the same with and without them.
    """
    rng = np.random.default_rng(seed)
    blocks = standard_blocks(network.transformer)
    if kind != NONE:
        letter = blocks.dim  # the first channel that decoys add
        blocks = with_decoys(blocks, DECOY_HEADS, rng)
        blocks = with_decoy_units(blocks, letter, units, np.random.default_rng([seed, 1]))
    automaton = network.automaton
    names = vocabulary_of(automaton.letter_names, automaton.output_names, network.transformer.num_padding)
    plain = lower(blocks, names, measure(blocks, network), normalized=True)
    if kind != ROTATED:
        return Disguised(plain, plain, np.eye(plain.dim))
    _, high, low, _ = outer_channels(blocks.dim)
    turn = Rotation.draw([channel for channel in range(plain.dim) if channel not in (high, low)], rng)
    return Disguised(rotate(plain, turn), plain, turn.after(np.eye(plain.dim)))


def with_decoys(blocks: StandardBlocks, count: int, rng: np.random.Generator) -> StandardBlocks:
    """Each block gets ``count`` heads that write letters' averages and random mixtures to unread channels."""
    marks = rng.integers(-64, 65, size=len(blocks.embedding)) / 32
    old, new = blocks.dim, blocks.dim + 1 + count
    letter = old  # a channel with a number for each letter, for decoys only

    def wider(matrix: Matrix, *axes: int) -> Matrix:
        return np.pad(matrix, [(0, new - old if axis in axes else 0) for axis in range(matrix.ndim)])

    embedding = wider(blocks.embedding, 1)
    embedding[:, letter] = marks
    return replace(
        blocks,
        embedding=embedding,
        padding=wider(blocks.padding, 1),
        positions=wider(blocks.positions, 1),
        readout=wider(blocks.readout, 0),
        blocks=tuple(
            _add_decoys(block, old, [_decoy(old, letter, letter + 1 + n, n, rng, new) for n in range(count)])
            for block in blocks.blocks
        ),
    )


def with_decoy_units(
    blocks: StandardBlocks, letter: int, count: int, rng: np.random.Generator
) -> StandardBlocks:
    """Each MLP gets ``count`` units that read the decoys' letter and write to unread channels after it."""

    def wider(block: StandardBlock) -> StandardBlock:
        into, out = np.zeros((blocks.dim, count)), np.zeros((count, blocks.dim))
        into[letter] = rng.integers(-32, 33, size=count) / 32
        out[:, letter + 1 :] = rng.integers(-8, 9, size=out[:, letter + 1 :].shape) / 32
        return replace(
            block,
            into=np.concatenate([block.into, into], axis=1),
            into_bias=np.concatenate([block.into_bias, rng.integers(-32, 33, size=count) / 32]),
            out=np.concatenate([block.out, out]),
            roles=(*block.roles, *["idle"] * count),
        )

    return replace(blocks, blocks=tuple(map(wider, blocks.blocks))) if count else blocks


def _decoy(old: int, letter: int, target: int, kind: int, rng: np.random.Generator, dim: int) -> Head:
    """A decoy head: kind 0 averages, the others attend by a random bilinear form of the stream."""
    query, key, value, output = (np.zeros(shape) for shape in ((dim, 2), (dim, 2), (dim, 1), (1, dim)))
    if kind:
        query[:old], key[:old] = (rng.integers(-64, 65, size=(old, 2)) * SHARP / 256 for _ in range(2))
    value[letter, 0] = output[0, target] = 1.0
    return Head(query, key, value, output)


def _add_decoys(block: StandardBlock, old: int, decoys: list[Head]) -> StandardBlock:
    dim = len(decoys[0].query) if decoys else old

    def head(given: Head) -> Head:
        more = ((0, dim - old), (0, 0))
        query, key, value = (np.pad(part, more) for part in (given.query, given.key, given.value))
        return Head(query, key, value, np.pad(given.output, more[::-1]))

    return replace(
        block,
        heads=(*map(head, block.heads), *decoys),
        into=np.pad(block.into, ((0, dim - old), (0, 0))),
        out=np.pad(block.out, ((0, 0), (0, dim - old))),
        out_bias=np.pad(block.out_bias, (0, dim - old)),
    )


@dataclass(frozen=True, eq=False)
class Rotation:
    """An orthogonal matrix that leaves the vector of ones alone, as rounds of mixing four channels at a time.

    Four channels x become half their sum less x: orthogonal, its own inverse, and made of exact halves. So
    rotated weights have the same bits on every machine, unlike a decomposition of a random matrix. The pair
    ±C that stabilises LayerNorm is not rotated: spread over all channels it would cost float32 the digits
    that the others need.
    """

    orders: tuple[npt.NDArray[np.int64], ...]

    @classmethod
    def draw(cls, channels: list[int], rng: np.random.Generator) -> "Rotation":
        """In each round the channels are shuffled and grouped by fours; up to three are left out."""
        return cls(tuple(rng.permutation(np.array(channels)) for _ in range(ROUNDS)))

    def after(self, matrix: Matrix) -> Matrix:
        """``matrix @ turn``: rotated rows of the stream."""
        out = np.array(matrix, dtype=np.float64)
        for order in self.orders:
            a, b, c, d = (order[part : len(order) // 4 * 4 : 4] for part in range(4))
            half = ((out[..., a] + out[..., b]) + (out[..., c] + out[..., d])) / 2
            for part in (a, b, c, d):
                out[..., part] = half - out[..., part]
        return out

    def before(self, matrix: Matrix) -> Matrix:
        """``turnᵀ @ matrix``: reads the rotated stream as ``matrix`` reads the plain one."""
        return self.after(matrix.T).T


def rotate(decoder: Decoder, turn: Rotation) -> Decoder:
    """The same function with the stream rotated; gains of LayerNorms are folded into the next matrices."""
    tensors = {name: tensor.astype(np.float64) for name, tensor in decoder.tensors.items()}
    readers = {
        f"transformer.h.{i}.{r}": f"transformer.h.{i}.{n}" for i in range(decoder.layers) for r, n in _READ
    }
    for name, norm in readers.items():
        gain = _take(tensors, norm)
        tensors[f"{name}.weight"] = turn.before(gain[:, None] * tensors[f"{name}.weight"])
    gain = _take(tensors, "transformer.ln_f")
    tensors["lm_head.weight"] = turn.after(tensors["lm_head.weight"] * gain)
    for name in ("transformer.wte.weight", "transformer.wpe.weight"):
        tensors[name] = turn.after(tensors[name])
    for index in range(decoder.layers):
        for writer in ("attn.c_proj", "mlp.c_proj"):
            for part in ("weight", "bias"):
                name = f"transformer.h.{index}.{writer}.{part}"
                tensors[name] = turn.after(tensors[name])
    return replace(
        decoder,
        tensors={name: np.ascontiguousarray(part, dtype=np.float32) for name, part in tensors.items()},
    )


_READ = (("attn.c_attn", "ln_1"), ("mlp.c_fc", "ln_2"))


def _take(tensors: dict[str, Matrix], norm: str) -> Matrix:
    """Removes and returns the gain of a LayerNorm."""
    if tensors[f"{norm}.bias"].any():
        raise Unsupported(f"{norm} must have no shift to be folded into the matrix after it")
    gain = tensors[f"{norm}.weight"]
    tensors[f"{norm}.weight"] = np.ones_like(gain)
    return gain

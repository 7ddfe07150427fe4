"""Known networks made hard to recognise: decoy heads, GPT-2 form, a random rotation of the stream.

The function stays the same, and so does the algorithm. Decoys keep what the algorithm does not use: averages
of the letters, letters some places back, in channels that nobody reads. A probe finds all of that.
"""

from dataclasses import replace

import numpy as np

from krohn.errors import Unsupported
from krohn.exporting.decoder import Decoder
from krohn.exporting.from_compiled import measured
from krohn.exporting.lowering import lowered
from krohn.exporting.standard_blocks import StandardBlock, StandardBlocks, standard_blocks
from krohn.exporting.vocabulary import vocabulary_of
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Head, Matrix

SHARP = 60.0
"""Scores of a decoy that looks at one place."""


def disguised(network: CompiledNetwork, seed: int, *, decoys: int = 3) -> Decoder:
    """The network as a GPT-2 whose heads are not all of use and whose channels mean nothing by themselves."""
    rng = np.random.default_rng(seed)
    blocks = with_decoys(standard_blocks(network.transformer), decoys, rng)
    automaton = network.automaton
    names = vocabulary_of(automaton.letter_names, automaton.output_names, network.transformer.num_padding)
    return rotated(lowered(blocks, names, measured(blocks, network), normalized=True), rng)


def with_decoys(blocks: StandardBlocks, count: int, rng: np.random.Generator) -> StandardBlocks:
    """Each block gets ``count`` heads that write letters' averages and random mixtures where nobody reads."""
    marks = rng.standard_normal(len(blocks.embedding))
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
            _decoyed(block, old, [_decoy(old, letter, letter + 1 + n, n, rng, new) for n in range(count)])
            for block in blocks.blocks
        ),
    )


def _decoy(old: int, letter: int, target: int, kind: int, rng: np.random.Generator, dim: int) -> Head:
    """The first averages; the others attend by a random form of the stream."""
    query, key, value, output = (np.zeros(shape) for shape in ((dim, 2), (dim, 2), (dim, 1), (1, dim)))
    if kind:
        query[:old] = rng.standard_normal((old, 2)) * SHARP**0.5
        key[:old] = rng.standard_normal((old, 2)) * SHARP**0.5
    value[letter, 0] = output[0, target] = 1.0
    return Head(query, key, value, output)


def _decoyed(block: StandardBlock, old: int, decoys: list[Head]) -> StandardBlock:
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


def rotated(decoder: Decoder, rng: np.random.Generator) -> Decoder:
    """The same function with the stream turned by a random rotation, in float64.

    LayerNorms lose their gains to the matrices after them. The rotation leaves the vector of ones alone, so
    that it passes through what is left of them.
    """
    tensors = {name: tensor.astype(np.float64) for name, tensor in decoder.tensors.items()}
    turn = _rotation(decoder.dim, rng)
    readers = {
        f"transformer.h.{i}.{r}": f"transformer.h.{i}.{n}" for i in range(decoder.layers) for r, n in _READ
    }
    for name, norm in readers.items():
        gain = _taken(tensors, norm, decoder.normalized)
        tensors[f"{name}.weight"] = turn.T @ (gain[:, None] * tensors[f"{name}.weight"])
    gain = _taken(tensors, "transformer.ln_f", decoder.normalized)
    tensors["lm_head.weight"] = (tensors["lm_head.weight"] * gain) @ turn
    for name in ("transformer.wte.weight", "transformer.wpe.weight"):
        tensors[name] = tensors[name] @ turn
    for index in range(decoder.layers):
        for writer in ("attn.c_proj", "mlp.c_proj"):
            for part in ("weight", "bias"):
                name = f"transformer.h.{index}.{writer}.{part}"
                tensors[name] = tensors[name] @ turn
    return replace(decoder, tensors=dict(tensors))


_READ = (("attn.c_attn", "ln_1"), ("mlp.c_fc", "ln_2"))


def _taken(tensors: dict[str, Matrix], norm: str, normalized: bool) -> Matrix:
    """The gain of a LayerNorm, which has none afterwards."""
    if not normalized:
        return np.ones(tensors["transformer.wpe.weight"].shape[1])
    if tensors[f"{norm}.bias"].any():
        raise Unsupported(f"{norm} must have no shift to be folded into the matrix after it")
    gain = tensors[f"{norm}.weight"]
    tensors[f"{norm}.weight"] = np.ones_like(gain)
    return gain


def _rotation(dim: int, rng: np.random.Generator) -> Matrix:
    """Uniform among the rotations (and reflections) that leave the vector of ones alone."""
    ones = np.ones((dim, 1)) / dim**0.5
    basis = np.linalg.qr(np.concatenate([ones, rng.standard_normal((dim, dim - 1))], axis=1))[0]
    turned, triangle = np.linalg.qr(rng.standard_normal((dim - 1, dim - 1)))
    inner = np.eye(dim)
    inner[1:, 1:] = turned * np.sign(np.diag(triangle))
    turn: Matrix = basis @ inner @ basis.T
    return turn

"""The file of a Transformer's matrices, ``model.safetensors``: by name, none missing and none extra."""

from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.errors import InvalidFile
from krohn.network.program_file import from_json
from krohn.network.transformer import OUTER, Head, Layer, Mlp, Transformer

MODEL = "model.safetensors"
"""Its name in the folder of a network."""
Tensors = dict[str, npt.NDArray[Any]]


def transformer_from(tensors: Tensors, shape: object) -> Transformer:
    """The Transformer with layers ``shape = [[heads, MLP matrices], …]``; none missing, none extra."""
    sizes = _shape(shape, len(tensors))
    for name, matrix in tensors.items():
        wanted = np.int64 if name.endswith(".activation") else np.float64
        if matrix.dtype != wanted:
            raise InvalidFile(f"{name} must be {np.dtype(wanted).name}; got {matrix.dtype}")
    exactly = f"{MODEL} must hold exactly the tensors of the network"
    try:
        layers = tuple(_layer_from(tensors, index, *size) for index, size in enumerate(sizes))
        network = Transformer(layers=layers, **{name: tensors[name] for name in OUTER})
    except KeyError as error:
        raise InvalidFile(f"{exactly}: missing {error.args[0]}") from error
    unknown = sorted(tensors.keys() - network.tensors().keys())
    if unknown:
        raise InvalidFile(f"{exactly}: unknown {unknown[0]}")
    return network


def _layer_from(tensors: Tensors, index: int, heads: int, depth: int) -> Layer:
    prefix = f"layers.{index}"
    return Layer(
        heads=tuple(
            Head(*(tensors[f"{prefix}.heads.{h}.{part}"] for part in ("W_Q", "W_K", "W_V", "W_C")))
            for h in range(heads)
        ),
        mlp=Mlp(
            weights=tuple(tensors[f"{prefix}.mlp.{m}.W"] for m in range(depth)),
            biases=tuple(tensors[f"{prefix}.mlp.{m}.b"] for m in range(depth)),
            activations=tuple(tensors[f"{prefix}.mlp.{m}.activation"] for m in range(depth - 1)),
        ),
        keep_attention=tensors[f"{prefix}.keep_attention"],
        keep_mlp=tensors[f"{prefix}.keep_mlp"],
    )


def _shape(payload: object, tensors: int) -> list[tuple[int, int]]:
    """The layers; there cannot be more than tensors."""
    sizes: list[tuple[int, int]] = list(from_json(payload, tuple[tuple[int, int], ...], "shape"))
    if not all(heads >= 0 and depth >= 1 for heads, depth in sizes):
        raise InvalidFile("shape must list [heads, MLP matrices] per layer, at least 0 and 1 of them")
    if sum(4 * heads + 2 * depth for heads, depth in sizes) > tensors:
        raise InvalidFile(f"shape must describe the {tensors} tensors of {MODEL}; it describes more")
    return sizes

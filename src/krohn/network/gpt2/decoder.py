"""A standard causal decoder: its vocabulary, GPT-2's blocks and names, LayerNorm or none, and its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save

from krohn.base.files import with_sorted_metadata, write_folder
from krohn.errors import InvalidInput
from krohn.network.gpt2.vocabulary import Vocabulary

Tensor = npt.NDArray[np.floating[Any]]

LAYER_NORM_EPSILON = 1e-5


@dataclass(frozen=True, eq=False)
class Decoder:
    """Matrices under the names of ``GPT2LMHeadModel``; every exported file is made from this form.

    Attributes:
        layers: number of blocks, ``n_layer``.
        heads: attention heads.
        width: of each head; scores are divided by its square root. With LayerNorm it is ``dim / heads``.
        activation: of the MLPs, ``relu``, ``gelu`` or ``gelu_new``.
        normalized: whether there are LayerNorms; without, the tensors ``ln_…`` are missing.
        vocabulary: the tokens, and which of them are letters, states and the prompt.
        tensors: the matrices in float32; the head is not tied to the embedding.
    """

    layers: int
    heads: int
    width: int
    activation: str
    normalized: bool
    vocabulary: Vocabulary
    tensors: dict[str, Tensor]

    def __post_init__(self) -> None:
        given = {name: tensor.shape for name, tensor in self.tensors.items()}
        missing = {"transformer.wpe.weight", "transformer.h.0.mlp.c_fc.weight"} - set(given)
        expected = {} if missing else _shapes(self)
        if given != expected:
            odd = sorted(name for name in expected | given if expected.get(name) != given.get(name))
            raise InvalidInput(f"a decoder must have GPT-2's tensors; these differ: {', '.join(odd[:5])}")
        bad = [name for name, tensor in self.tensors.items() if not np.isfinite(tensor).all()]
        if bad:
            raise InvalidInput(f"every tensor must be finite in float32; these are not: {', '.join(bad[:5])}")
        if self.normalized and self.dim != self.heads * self.width:
            raise InvalidInput(f"heads must divide the width {self.dim}; got {self.heads} of {self.width}")

    @property
    def dim(self) -> int:
        """Channels of the residual stream, ``n_embd``."""
        return int(self.tensors["transformer.wpe.weight"].shape[1])

    @property
    def inner(self) -> int:
        """Hidden units of an MLP, ``n_inner``."""
        return int(self.tensors["transformer.h.0.mlp.c_fc.weight"].shape[1])

    @property
    def context(self) -> int:
        """Prompt and letters together, ``n_positions``."""
        return len(self.tensors["transformer.wpe.weight"])

    @property
    def length(self) -> int:
        """The longest word."""
        return self.context - len(self.vocabulary.prompt)

    @property
    def num_parameters(self) -> int:
        """Entries of all tensors."""
        return sum(tensor.size for tensor in self.tensors.values())

    @property
    def attending_heads(self) -> int:
        """Heads of the blocks that have any; the others only continue an MLP."""
        return self.heads * sum(self.attends(index) for index in range(self.layers))

    def attends(self, block: int) -> bool:
        """Whether the heads of a block write anything."""
        return bool(self.tensors[f"transformer.h.{block}.attn.c_proj.weight"].any())

    def sizes(self) -> dict[str, int | float]:
        """Sizes for comparison."""
        return {
            "blocks": self.layers,
            "dim": self.dim,
            "heads": self.heads,
            "inner": self.inner,
            "vocabulary": len(self.vocabulary.tokens),
            "length": self.length,
            "num_parameters": self.num_parameters,
            "max_weight": max(float(np.abs(tensor).max(initial=0.0)) for tensor in self.tensors.values()),
        }

    def token_ids(self, words: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int64]:
        """``input_ids`` [batch, prompt + length] of words [batch, length] of letters."""
        prompt = np.array(self.vocabulary.prompt, dtype=np.int64)
        letters = np.array(self.vocabulary.letters, dtype=np.int64)[words]
        return np.concatenate([np.broadcast_to(prompt, (len(words), len(prompt))), letters], axis=1)


def _shapes(model: Decoder) -> dict[str, tuple[int, ...]]:
    d, inner, tokens = model.dim, model.inner, len(model.vocabulary.tokens)
    inside = model.heads * model.width
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (tokens, d),
        "transformer.wpe.weight": (model.context, d),
        "lm_head.weight": (tokens, d),
    }
    norms = ["transformer.ln_f"]
    for index in range(model.layers):
        block = f"transformer.h.{index}"
        shapes |= {f"{block}.attn.c_attn.weight": (d, 3 * inside), f"{block}.attn.c_attn.bias": (3 * inside,)}
        shapes |= {f"{block}.attn.c_proj.weight": (inside, d), f"{block}.attn.c_proj.bias": (d,)}
        shapes |= {f"{block}.mlp.c_fc.weight": (d, inner), f"{block}.mlp.c_fc.bias": (inner,)}
        shapes |= {f"{block}.mlp.c_proj.weight": (inner, d), f"{block}.mlp.c_proj.bias": (d,)}
        norms += [f"{block}.ln_1", f"{block}.ln_2"]
    if model.normalized:
        shapes |= {f"{norm}.{part}": (d,) for norm in norms for part in ("weight", "bias")}
    return shapes


Files = dict[str, bytes]


def tensor_file(tensors: Mapping[str, npt.NDArray[np.float32]], about: Mapping[str, str]) -> bytes:
    """safetensors, with the metadata that PyTorch readers expect, and ``about``."""
    whole = {name: np.ascontiguousarray(value) for name, value in tensors.items()}
    return with_sorted_metadata(save(whole, {"format": "pt", **about}))


def write_files(directory: Path, files: Files, names: frozenset[str] = frozenset()) -> None:
    """Writes all files or none, the one that makes a reader accept them last; removes other ``names``."""
    write_folder(directory, files, key=list(files)[-1], stale=names)

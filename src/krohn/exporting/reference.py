"""The decoder's forward pass in numpy, plainly: what the files mean, whoever reads them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.exporting.decoder import LAYER_NORM_EPSILON, Decoder

Array = npt.NDArray[np.floating[Any]]

# Entries of the score matrices that are held at once.
_SCORE_ENTRIES = 1 << 24


def logits(decoder: Decoder, words: npt.NDArray[np.integer[Any]], dtype: npt.DTypeLike = np.float32) -> Array:
    """Logits of every token at every letter of words [batch, length]: [batch, length, tokens]."""
    rows = max(1, _SCORE_ENTRIES // (decoder.heads * max(1, words.shape[1]) ** 2))
    parts = [_logits(decoder, words[at : at + rows], np.dtype(dtype)) for at in range(0, len(words), rows)]
    return np.concatenate(parts)


def _logits(decoder: Decoder, words: npt.NDArray[np.integer[Any]], kind: np.dtype[Any]) -> Array:
    tensors = {name: tensor.astype(kind) for name, tensor in decoder.tensors.items()}
    ids = decoder.token_ids(words)
    x: Array = tensors["transformer.wte.weight"][ids] + tensors["transformer.wpe.weight"][: ids.shape[1]]
    for index in range(decoder.layers):
        prefix = f"transformer.h.{index}."
        block = {name.removeprefix(prefix): value for name, value in tensors.items() if prefix in name}
        if decoder.attends(index):
            x = x + _attention(decoder, block, _norm(block, "ln_1", x))
        hidden = _norm(block, "ln_2", x) @ block["mlp.c_fc.weight"] + block["mlp.c_fc.bias"]
        x = x + _activation(decoder, hidden) @ block["mlp.c_proj.weight"] + block["mlp.c_proj.bias"]
    x = _norm(tensors, "transformer.ln_f", x[:, len(decoder.vocabulary.prompt) :])
    out: Array = x @ tensors["lm_head.weight"].T
    return out


def _attention(decoder: Decoder, block: dict[str, Array], x: Array) -> Array:
    batch, length, dim = x.shape
    together = x @ block["attn.c_attn.weight"] + block["attn.c_attn.bias"]
    shape = (batch, length, 3, decoder.heads, dim // decoder.heads)
    query, key, value = np.moveaxis(together.reshape(shape), (2, 3), (0, 2))
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(np.array(shape[-1], dtype=x.dtype))
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ value
    joined = mixed.swapaxes(1, 2).reshape(batch, length, dim)
    out: Array = joined @ block["attn.c_proj.weight"] + block["attn.c_proj.bias"]
    return out


def _norm(tensors: dict[str, Array], name: str, x: Array) -> Array:
    """LayerNorm, if there is one of this name."""
    if f"{name}.weight" not in tensors:
        return x
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + x.dtype.type(LAYER_NORM_EPSILON))
    out: Array = centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
    return out


def _activation(decoder: Decoder, x: Array) -> Array:
    if decoder.activation == "relu":
        return np.maximum(x, 0)
    cubic = x + x.dtype.type(0.044715) * x * x * x
    out: Array = x.dtype.type(0.5) * x * (1 + np.tanh(x.dtype.type(np.sqrt(2 / np.pi)) * cubic))
    return out

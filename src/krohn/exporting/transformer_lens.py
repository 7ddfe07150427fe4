"""The decoder under the names of TransformerLens's native model; compiled ones need no LayerNorm there."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.files import json_bytes
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder, Files, tensor_file, tokenizer_files

LOADING = """```python
import json
import torch
from safetensors.torch import load_file
from transformer_lens.model_bridge import TransformerBridge
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{directory}")
bridge = TransformerBridge.boot_native(json.load(open("{directory}/config.json")))
bridge.load_state_dict(load_file("{directory}/model.safetensors"))  # right in {right_in}
ids = tokenizer({word}, return_tensors="pt").input_ids
with torch.no_grad():
    logits, cache = bridge.run_with_cache(ids)
print(tokenizer.convert_ids_to_tokens(logits.argmax(-1)[0, {prompt}:]))  # the state after every letter
```
"""


def transformer_lens_files(decoder: Decoder, about: Mapping[str, str]) -> Files:
    """Configuration and weights for ``TransformerBridge.boot_native``, and the tokenizer."""
    tokenizer = tokenizer_files(decoder.vocabulary, decoder.context)
    return {
        "model.safetensors": tensor_file(_native(decoder), about),
        **{name: json_bytes(payload) for name, payload in tokenizer.items()},
        "config.json": json_bytes(_config(decoder)),
    }


def _config(decoder: Decoder) -> dict[str, Any]:
    return {
        "n_layers": decoder.layers,
        "d_model": decoder.dim,
        "n_heads": decoder.heads,
        "d_head": decoder.width,
        "d_mlp": decoder.inner,
        "n_ctx": decoder.context,
        "d_vocab": len(decoder.vocabulary.tokens),
        "act_fn": decoder.activation,
        "normalization_type": "LN" if decoder.normalized else None,
        "eps": LAYER_NORM_EPSILON,
        "attention_dir": "causal",
        "init_weights": False,
        "tokenizer_prepends_bos": bool(decoder.vocabulary.prompt),
    }


def _native(decoder: Decoder) -> dict[str, npt.NDArray[np.float32]]:
    """TransformerLens stores linear maps as out × in, and queries, keys and values separately."""
    given = decoder.tensors
    native = {
        "embed.weight": given["transformer.wte.weight"],
        "pos_embed.weight": given["transformer.wpe.weight"],
        "unembed.weight": given["lm_head.weight"],
        "unembed.bias": np.zeros(len(given["lm_head.weight"]), dtype=np.float32),
    }
    norms = [("transformer.ln_f", "ln_final")]
    for index in range(decoder.layers):
        ours, theirs = f"transformer.h.{index}", f"blocks.{index}"
        norms += [(f"{ours}.ln_1", f"{theirs}.ln1"), (f"{ours}.ln_2", f"{theirs}.ln2")]
        weights = np.split(given[f"{ours}.attn.c_attn.weight"], 3, axis=1)
        biases = np.split(given[f"{ours}.attn.c_attn.bias"], 3)
        for name, weight, bias in zip("qkv", weights, biases, strict=True):
            native |= {f"{theirs}.attn.{name}.weight": weight.T, f"{theirs}.attn.{name}.bias": bias}
        for old, new in (("attn.c_proj", "attn.o"), ("mlp.c_fc", "mlp.in"), ("mlp.c_proj", "mlp.out")):
            native[f"{theirs}.{new}.weight"] = given[f"{ours}.{old}.weight"].T
            native[f"{theirs}.{new}.bias"] = given[f"{ours}.{old}.bias"]
    if decoder.normalized:
        for old, new in norms:
            native |= {f"{new}.{part}": given[f"{old}.{part}"] for part in ("weight", "bias")}
    return native

"""TransformerLens's native model, written out plainly, from the files of an export."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file


def native_transformer_lens(
    folder: Path, ids: np.ndarray, streams: dict[str, np.ndarray] | None = None
) -> np.ndarray:
    """What ``TransformerBridge.boot_native`` does with the files; ``streams`` gets the stream by hooks."""
    seen = {} if streams is None else streams
    config, t = json.loads((folder / "config.json").read_text()), load_file(folder / "model.safetensors")

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        if config["normalization_type"] is None:
            return x
        assert config["normalization_type"] == "LN"
        x = x - x.mean(-1, keepdims=True)
        return (
            x / np.sqrt((x**2).mean(-1, keepdims=True) + config["eps"]) * t[f"{name}.weight"]
            + t[f"{name}.bias"]
        )

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return x @ t[f"{name}.weight"].T + t[f"{name}.bias"]

    batch, count = ids.shape
    x = t["embed.weight"][ids] + t["pos_embed.weight"][:count]
    for block in (f"blocks.{index}" for index in range(config["n_layers"])):
        read = norm(f"{block}.ln1", x)
        shape = (batch, count, config["n_heads"], config["d_head"])
        q, k, v = (linear(f"{block}.attn.{p}", read).reshape(shape).swapaxes(1, 2) for p in "qkv")
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(config["d_head"])
        scores[..., ~np.tri(count, dtype=bool)] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(batch, count, -1)
        x = seen[f"{block}.hook_resid_mid"] = x + linear(f"{block}.attn.o", mixed)
        hidden = linear(f"{block}.mlp.in", norm(f"{block}.ln2", x))
        if config["act_fn"] == "gelu_new":
            inner = np.sqrt(2 / np.pi) * (hidden + 0.044715 * hidden**3)
            hidden = 0.5 * hidden * (1 + np.tanh(inner))
        else:
            assert config["act_fn"] == "relu"
            hidden = np.maximum(hidden, 0)
        x = seen[f"{block}.hook_resid_post"] = x + linear(f"{block}.mlp.out", hidden)
    return linear("unembed", norm("ln_final", x))

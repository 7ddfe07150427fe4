"""An independent edge-patched pass: numpy, loops over words, positions and edges."""

import numpy as np

from krohn.network.gpt2.decoder import Decoder


def naive_pass(decoder: Decoder, word: list[int], lost: set[str], other: dict[str, np.ndarray] | None):
    """What each node writes by name, and logits [letter, state]; edges in ``lost`` come from ``other``."""
    tensors = {name: value.astype(np.float64) for name, value in decoder.tensors.items()}
    ids = [*decoder.vocabulary.prompt, *(decoder.vocabulary.letters[letter] for letter in word)]
    written = {
        "input": tensors["transformer.wte.weight"][ids] + tensors["transformer.wpe.weight"][: len(ids)]
    }

    def seen(reader: str) -> np.ndarray:
        parts = [(other[w] if f"{w}->{reader}" in lost else own) for w, own in written.items()]
        return np.sum(parts, axis=0)

    def normed(name: str, x: np.ndarray) -> np.ndarray:
        if not decoder.normalized:
            return x
        centred = x - x.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / spread * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    for layer in range(decoder.layers):
        block, new = f"transformer.h.{layer}", {}
        for head in range(decoder.heads):
            parts = []
            for number, part in enumerate("qkv"):
                first = (number * decoder.heads + head) * decoder.width
                columns = slice(first, first + decoder.width)
                x = normed(f"{block}.ln_1", seen(f"a{layer}.h{head}<{part}>"))
                parts.append(
                    x @ tensors[f"{block}.attn.c_attn.weight"][:, columns]
                    + tensors[f"{block}.attn.c_attn.bias"][columns]
                )
            mixed = np.zeros_like(parts[2])
            for t in range(len(ids)):
                scores = parts[1][: t + 1] @ parts[0][t] / np.sqrt(decoder.width)
                weights = np.exp(scores - scores.max())
                mixed[t] = weights @ parts[2][: t + 1] / weights.sum()
            rows = slice(head * decoder.width, (head + 1) * decoder.width)
            new[f"a{layer}.h{head}"] = mixed @ tensors[f"{block}.attn.c_proj.weight"][rows]
        written |= new
        hidden = normed(f"{block}.ln_2", seen(f"m{layer}")) @ tensors[f"{block}.mlp.c_fc.weight"]
        hidden = np.maximum(hidden + tensors[f"{block}.mlp.c_fc.bias"], 0)
        out = hidden @ tensors[f"{block}.mlp.c_proj.weight"] + tensors[f"{block}.mlp.c_proj.bias"]
        written[f"m{layer}"] = out
    last = normed("transformer.ln_f", seen("logits"))[len(decoder.vocabulary.prompt) :]
    return written, last @ tensors["lm_head.weight"][list(decoder.vocabulary.states)].T

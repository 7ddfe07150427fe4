"""Whole networks in plain loops, from their definitions: one replicate and one word at a time."""

import math
from collections.abc import Callable

import numpy as np

Own = dict[str, np.ndarray]


def normed(x: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    centred = x - x.mean()
    return gain * centred / math.sqrt((centred**2).mean() + 1e-5) + shift


def sigma(x: np.ndarray | float) -> np.ndarray:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * np.asarray(x))))


def gelu(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in x])


def naive_stack(config: object, w: Own, word: list[int]) -> np.ndarray:
    """Logits of a stack of recurrent layers; ``config`` is that of diagonal, deltaproduct or rankone."""
    result = []
    memories: list[object] = [None] * config.layers  # type: ignore[attr-defined]
    seen: dict[tuple[int, str], list[np.ndarray]] = {}
    mix = MIXERS[config.kind]  # type: ignore[attr-defined]

    def window(layer: int, name: str, x: np.ndarray) -> np.ndarray:
        """The normed stream here and at the positions before, zeros before the word."""
        norm = f"h.{layer}.{name}.norm"
        x = normed(x, w[f"{norm}.weight"], w[f"{norm}.bias"]) if f"{norm}.weight" in w else x
        past = seen.setdefault((layer, name), [])
        past.append(x)
        back = config.conv - 1  # type: ignore[attr-defined]
        return np.concatenate([past[-1 - i] if i < len(past) else 0 * x for i in range(back + 1)])

    for letter in word:
        x = w["wte"][letter]
        for layer in range(config.layers):  # type: ignore[attr-defined]
            own = {name.removeprefix(f"h.{layer}."): value for name, value in w.items()}
            read, memories[layer] = mix(config, own, window(layer, "mix", x), memories[layer])
            x = x + read @ own["mix.out"]
            if "mlp.in" in own:
                hidden = window(layer, "mlp", x) @ own["mlp.in"] + own["mlp.in_bias"]
                bent = gelu(hidden) if config.activation == "gelu" else np.maximum(hidden, 0)  # type: ignore[attr-defined]
                x = x + bent @ own["mlp.out"]
        x = normed(x, w["norm.weight"], w["norm.bias"]) if "norm.weight" in w else x
        result.append(x @ w["head.weight"] + w["head.bias"])
    return np.array(result)


def _matrices(config: object, own: Own, x: np.ndarray, memory: object) -> tuple[np.ndarray, object]:
    heads, keys, values = config.heads, config.key_dim, config.value_dim  # type: ignore[attr-defined]
    delta = config.kind == "deltaproduct"  # type: ignore[attr-defined]
    steps = config.householders if delta else config.steps  # type: ignore[attr-defined]
    states = [np.zeros((keys, values))] * heads if memory is None else memory
    reads, after = [], []
    for head in range(heads):
        state = states[head]  # type: ignore[index]
        if delta and config.gate:  # type: ignore[attr-defined]
            state = sigma(x @ own["mix.gate.weight"][:, head] + own["mix.gate.bias"][head]) * state
        for step in range(steps):
            at = head * steps + step
            rows = slice(at * keys, (at + 1) * keys)
            key = x @ own["mix.key"][:, rows]
            if delta:
                bend = config.key_activation  # type: ignore[attr-defined]
                key = {"none": key, "silu": key * sigma(key), "relu": np.maximum(key, 0)}[bend]
            if not delta or config.key_norm == "l2":  # type: ignore[attr-defined]
                key = key / max(np.linalg.norm(key), 1e-12)
            value = x @ own["mix.value"][:, at * values : (at + 1) * values]
            if delta:
                beta = config.beta_max * sigma(x @ own["mix.beta.weight"][:, at] + own["mix.beta.bias"][at])  # type: ignore[attr-defined]
                state = state + beta * np.outer(key, value - key @ state)
            else:
                rate = sigma(x @ own["mix.rate.weight"][:, rows] + own["mix.rate.bias"][rows])
                state = state + np.outer(key, value - (config.rate_max * rate * key) @ state)  # type: ignore[attr-defined]
        reads.append((x @ own["mix.query"][:, head * keys : (head + 1) * keys]) @ state)
        after.append(state)
    return np.concatenate(reads), after


def _channels(config: object, own: Own, x: np.ndarray, memory: object) -> tuple[np.ndarray, object]:
    z, write = x @ own["mix.gate.weight"] + own["mix.gate.bias"], x @ own["mix.write"]
    kind, half = config.gate, len(z) // 2  # type: ignore[attr-defined]
    if kind == "complex":
        numbers, write = z[:half] + 1j * z[half:], write[:half] + 1j * write[half:]
        gate = numbers / np.maximum(1, np.abs(numbers))
    else:
        gate = sigma(z) if kind == "unit" else np.tanh(z)
    held = gate * (0 if memory is None else memory) + write
    return np.concatenate([held.real, held.imag]) if kind == "complex" else held, held


MIXERS: dict[str, Callable[[object, Own, np.ndarray, object], tuple[np.ndarray, object]]] = {
    "deltaproduct": _matrices,
    "rankone": _matrices,
    "diagonal": _channels,
}


def naive_gpt(config: object, w: Own, word: list[int]) -> np.ndarray:
    """Logits of the GPT with any of its positions and with recency, without dropout."""
    d, heads = config.dim, config.heads  # type: ignore[attr-defined]
    width = d // heads

    def position(t: int) -> np.ndarray:
        kind, scale = config.positions, config.position_scale  # type: ignore[attr-defined]
        if kind == "learned":
            return w["wpe"][t]
        if kind == "linear":
            return np.array([math.sqrt(d) * (t + 1) / 100] + [0.0] * (d - 1)) * scale
        angles = [t / 10000 ** (2 * (c // 2) / d) for c in range(d)]
        waves = np.array([math.cos(a) if c % 2 else math.sin(a) for c, a in enumerate(angles)])
        return waves * scale if kind != "none" else np.zeros(d)

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def gelu_new(u: float) -> float:
        return 0.5 * u * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))

    stream = [w["wte"][letter] + position(t) for t, letter in enumerate(word)]
    for layer in range(config.layers):  # type: ignore[attr-defined]
        h = f"h.{layer}."
        qkv = [linear(normed(x, w[f"{h}ln_1.weight"], w[f"{h}ln_1.bias"]), f"{h}attn.c_attn") for x in stream]
        after = []
        for t, x in enumerate(stream):
            mixed = np.zeros(d)
            for head in range(heads):
                own = slice(head * width, (head + 1) * width)
                slope = 2.0 ** (-8.0 * (head + 1) / heads) if config.recency else 0.0  # type: ignore[attr-defined]
                powers = [
                    math.exp(qkv[t][:d][own] @ qkv[i][d : 2 * d][own] / math.sqrt(width) - slope * (t - i))
                    for i in range(t + 1)
                ]
                for i, power in enumerate(powers):
                    mixed[own] += power / sum(powers) * qkv[i][2 * d :][own]
            after.append(x + linear(mixed, f"{h}attn.c_proj"))
        stream = []
        for x in after:
            hidden = linear(normed(x, w[f"{h}ln_2.weight"], w[f"{h}ln_2.bias"]), f"{h}mlp.c_fc")
            stream.append(x + linear(np.array([gelu_new(u) for u in hidden]), f"{h}mlp.c_proj"))
    ended = [normed(x, w["ln_f.weight"], w["ln_f.bias"]) for x in stream]
    return np.array([x @ w["head.weight"] + w["head.bias"] for x in ended])


def naive_looped(config: object, w: Own, word: list[int]) -> np.ndarray:
    """Logits of the looped block after the last loop, letter by letter and loop by loop."""
    dim, heads = config.dim, config.heads  # type: ignore[attr-defined]
    width = dim // heads
    stream = [w["wte"][letter] for letter in word]
    for loop in range(max(1, math.ceil(math.log2(len(word))))):
        prefix = f"h.{min(loop, config.blocks - 1)}."  # type: ignore[attr-defined]
        own = {name.removeprefix(prefix): value for name, value in w.items() if name.startswith(prefix)}
        after = []
        for t, x in enumerate(stream):
            if loop and t < 2**loop:  # it has read all letters before it
                after.append(x)
                continue
            far = stream[t - 2**loop] if t >= 2**loop else w["none"]
            seen = [
                normed(one, own["ln_1.weight"], own["ln_1.bias"]) @ own["attn.c_attn.weight"]
                for one in (x, far)
            ]
            query = seen[0][:dim] + own["attn.c_attn.bias"]
            keys_values = [one[dim:] + own["attn.slot"][place] for place, one in enumerate(seen)]
            mixed = []
            for head in range(heads):
                part = slice(head * width, (head + 1) * width)
                scores = np.array([query[part] @ kv[:dim][part] / math.sqrt(width) for kv in keys_values])
                weights = np.exp(scores - scores.max())
                weights /= weights.sum()
                mixed.append(
                    sum(share * kv[dim:][part] for share, kv in zip(weights, keys_values, strict=True))
                )
            x = x + np.concatenate(mixed) @ own["attn.c_proj.weight"] + own["attn.c_proj.bias"]
            hidden = (
                normed(x, own["ln_2.weight"], own["ln_2.bias"]) @ own["mlp.c_fc.weight"]
                + own["mlp.c_fc.bias"]
            )
            bent = 0.5 * hidden * (1 + np.tanh(math.sqrt(2 / math.pi) * (hidden + 0.044715 * hidden**3)))
            x = x + bent @ own["mlp.c_proj.weight"] + own["mlp.c_proj.bias"]
            if config.norm:  # type: ignore[attr-defined]
                x = normed(x, own["ln_3.weight"], own["ln_3.bias"])
            if config.codes:  # type: ignore[attr-defined]
                scores = w["codes"] @ x + w["codes_bias"]
                x = w["codes"][np.argmax(scores[: config.codes])]  # type: ignore[attr-defined]
            after.append(x)
        stream = after
    return np.array(
        [normed(x, w["ln_f.weight"], w["ln_f.bias"]) @ w["head.weight"] + w["head.bias"] for x in stream]
    )

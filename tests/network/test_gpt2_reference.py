"""The forward pass of a GPT-2 against a naive one, a position, a head and a unit at a time."""

from math import erf, exp, pi, sqrt, tanh

import numpy as np
import pytest

from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import Vocabulary

Row = list[float]
LAYERS, HEADS, WIDTH, INNER, CONTEXT = 2, 2, 3, 5, 6
DIM = HEADS * WIDTH
NAMES = Vocabulary(("<bos>", "<pad>", "<unk>", "a", "b", "q"), (0,), 1, 2, (3, 4), (4, 5))
WORDS = np.array([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])
ACTIVATIONS = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * (1 + erf(x / sqrt(2))) / 2,
    "gelu_new": lambda x: x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2,
}


def decoder(activation: str, *, normalized: bool) -> Decoder:
    """Random matrices; the biases and gains too, so that none can be left out."""
    rng = np.random.default_rng(3)
    shapes = {"wte": (len(NAMES.tokens), DIM), "wpe": (CONTEXT, DIM)}
    tensors = {f"transformer.{name}.weight": rng.normal(size=shape) for name, shape in shapes.items()}
    tensors["lm_head.weight"] = rng.normal(size=shapes["wte"])
    for layer in range(LAYERS):
        for part, (rows, columns) in {
            "attn.c_attn": (DIM, 3 * DIM),
            "attn.c_proj": (DIM, DIM),
            "mlp.c_fc": (DIM, INNER),
            "mlp.c_proj": (INNER, DIM),
        }.items():
            name = f"transformer.h.{layer}.{part}"
            tensors |= {
                f"{name}.weight": rng.normal(size=(rows, columns)),
                f"{name}.bias": rng.normal(size=columns),
            }
    norms = [f"transformer.h.{layer}.ln_{part}" for layer in range(LAYERS) for part in (1, 2)]
    for name in [*norms, "transformer.ln_f"] if normalized else []:
        tensors |= {f"{name}.weight": rng.normal(size=DIM), f"{name}.bias": rng.normal(size=DIM)}
    floats = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    return Decoder(LAYERS, HEADS, WIDTH, activation, normalized, NAMES, floats)


def naive(model: Decoder, word: list[int]) -> list[Row]:
    """The logits at every letter of one word."""
    tensor = {name: matrix.astype(float).tolist() for name, matrix in model.tensors.items()}

    def linear(name: str, x: Row) -> Row:
        weight, bias = tensor[f"{name}.weight"], tensor[f"{name}.bias"]
        return [bias[j] + sum(x[i] * weight[i][j] for i in range(len(x))) for j in range(len(bias))]

    def norm(name: str, x: Row) -> Row:
        if not model.normalized:
            return x
        mean = sum(x) / len(x)
        deviation = sqrt(sum((value - mean) ** 2 for value in x) / len(x) + LAYER_NORM_EPSILON)
        gain, shift = tensor[f"{name}.weight"], tensor[f"{name}.bias"]
        return [(value - mean) / deviation * g + b for value, g, b in zip(x, gain, shift, strict=True)]

    def added(x: Row, y: Row) -> Row:
        return [one + other for one, other in zip(x, y, strict=True)]

    tokens = [NAMES.prompt[0], *(NAMES.letters[letter] for letter in word)]
    token, place = tensor["transformer.wte.weight"], tensor["transformer.wpe.weight"]
    stream = [added(token[number], place[t]) for t, number in enumerate(tokens)]
    for layer in range(LAYERS):
        block = f"transformer.h.{layer}"
        parts = [linear(f"{block}.attn.c_attn", norm(f"{block}.ln_1", x)) for x in stream]
        after = []
        for t, x in enumerate(stream):
            mixed: Row = []
            for head in range(HEADS):
                starts = (head * WIDTH + part * DIM for part in range(3))
                query, key, value = ([row[start : start + WIDTH] for row in parts] for start in starts)
                scores = [sum(q * k for q, k in zip(query[t], key[i], strict=True)) for i in range(t + 1)]
                weights = [exp((score - max(scores)) / sqrt(WIDTH)) for score in scores]
                mixed += [
                    sum(w * value[i][j] for i, w in enumerate(weights)) / sum(weights) for j in range(WIDTH)
                ]
            after.append(added(x, linear(f"{block}.attn.c_proj", mixed)))
        stream = []
        for x in after:
            hidden = linear(f"{block}.mlp.c_fc", norm(f"{block}.ln_2", x))
            active = [ACTIVATIONS[model.activation](value) for value in hidden]
            stream.append(added(x, linear(f"{block}.mlp.c_proj", active)))
    last = [norm("transformer.ln_f", x) for x in stream[1:]]
    return [
        [sum(a * b for a, b in zip(x, row, strict=True)) for row in tensor["lm_head.weight"]] for x in last
    ]


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_pass_is_the_naive_one(activation: str, normalized: bool) -> None:
    model = decoder(activation, normalized=normalized)
    wanted = np.array([naive(model, word) for word in WORDS.tolist()])
    largest = np.abs(wanted).max()
    assert np.abs(logits(model, WORDS, np.float64) - wanted).max() < 1e-12 * largest
    assert np.abs(logits(model, WORDS, np.float32) - wanted).max() < 1e-4 * largest

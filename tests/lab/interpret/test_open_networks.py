"""Opened networks against their definition; resuming one position against the whole pass."""

import math

import numpy as np
import pytest
import torch

from krohn.lab.interpret.readings import Pairs
from krohn.lab.interpret.stages import Past, Stages, stages_of_decoder, stages_of_transformer
from krohn.lab.interpret.subspace import random_directions
from krohn.lab.interpret.swaps import TOGETHER, Bench
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.vocabulary import vocabulary_of
from network.naive_transformer import naive_logits, random_transformer

LENGTH = 5


def words(count: int = 12) -> np.ndarray:
    return np.random.default_rng(7).integers(3, size=(count, LENGTH))


@pytest.mark.parametrize("padding", [0, 2])
def test_a_compiled_network_is_the_one_of_the_paper(padding: int) -> None:
    network = random_transformer(1, padding=padding)
    stages = stages_of_transformer(network)
    logits = stages.logits(words()).numpy()
    naive = np.array([naive_logits(network, word) for word in words().tolist()])
    assert np.allclose(logits, naive, atol=1e-12)
    passed = stages.run(words(), attention=True)
    assert (passed.answers == naive.argmax(-1)).all()
    assert stages.length == LENGTH
    places = np.arange(padding + LENGTH)
    seen = places <= places[:, None]
    for weights in passed.attention:
        assert torch.allclose(weights.sum(-1), torch.ones((), dtype=weights.dtype))
        assert ((weights.numpy() > 0) == seen).all()


def random_decoder(seed: int, activation: str, *, normalized: bool) -> Decoder:
    rng = np.random.default_rng(seed)
    names = vocabulary_of(["a", "b", "c"], ["p", "q"], prompt=1)
    d, heads, width, inner, tokens = 6, 2, 3, 5, len(names.tokens)
    shapes: dict[str, tuple[int, ...]] = {
        "transformer.wte.weight": (tokens, d),
        "transformer.wpe.weight": (1 + LENGTH, d),
        "lm_head.weight": (tokens, d),
    }
    for block in range(2):
        prefix = f"transformer.h.{block}"
        for part, before, after in (
            ("attn.c_attn", d, 3 * heads * width),
            ("attn.c_proj", heads * width, d),
            ("mlp.c_fc", d, inner),
            ("mlp.c_proj", inner, d),
        ):
            shapes |= {f"{prefix}.{part}.weight": (before, after), f"{prefix}.{part}.bias": (after,)}
    if normalized:
        norms = ("h.0.ln_1", "h.0.ln_2", "h.1.ln_1", "h.1.ln_2", "ln_f")
        shapes |= {f"transformer.{name}.{part}": (d,) for name in norms for part in ("weight", "bias")}
    tensors = {name: (rng.normal(size=shape) / 2).astype(np.float32) for name, shape in shapes.items()}
    return Decoder(2, heads, width, activation, normalized, names, tensors)


def gpt2(decoder: Decoder, letters: list[int]) -> np.ndarray:
    """GPT-2 as its paper and code describe it, one position at a time."""
    own = {name.removeprefix("transformer."): value.astype(float) for name, value in decoder.tensors.items()}
    names = decoder.vocabulary

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        if not decoder.normalized:
            return x
        centred = x - x.mean()
        return own[f"{name}.weight"] * centred / math.sqrt((centred**2).mean() + 1e-5) + own[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ own[f"{name}.weight"] + own[f"{name}.bias"]

    def active(u: float) -> float:
        cubic = math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)
        return max(u, 0.0) if decoder.activation == "relu" else 0.5 * u * (1 + math.tanh(cubic))

    tokens = [*names.prompt, *(names.letters[letter] for letter in letters)]
    stream = [own["wte.weight"][token] + own["wpe.weight"][place] for place, token in enumerate(tokens)]
    for block in range(decoder.layers):
        prefix, inside = f"h.{block}", decoder.heads * decoder.width
        qkv = [linear(norm(x, f"{prefix}.ln_1"), f"{prefix}.attn.c_attn") for x in stream]
        after = []
        for t, x in enumerate(stream):
            mixed = np.zeros(inside)
            for head in range(decoder.heads):
                own_part = slice(head * decoder.width, (head + 1) * decoder.width)
                query = qkv[t][:inside][own_part]
                powers = [
                    math.exp(query @ qkv[i][inside : 2 * inside][own_part] / math.sqrt(decoder.width))
                    for i in range(t + 1)
                ]
                for i, power in enumerate(powers):
                    mixed[own_part] += power / sum(powers) * qkv[i][2 * inside :][own_part]
            after.append(x + linear(mixed, f"{prefix}.attn.c_proj"))
        stream = []
        for x in after:
            hidden = linear(norm(x, f"{prefix}.ln_2"), f"{prefix}.mlp.c_fc")
            stream.append(x + linear(np.array(list(map(active, hidden))), f"{prefix}.mlp.c_proj"))
    last = np.array([norm(x, "ln_f") for x in stream[len(names.prompt) :]])
    logits: np.ndarray = last @ own["lm_head.weight"][list(names.states)].T
    return logits


@pytest.mark.parametrize(("activation", "normalized"), [("relu", False), ("gelu_new", True)])
def test_a_decoder_is_gpt2(activation: str, normalized: bool) -> None:
    decoder = random_decoder(3, activation, normalized=normalized)
    logits = stages_of_decoder(decoder, torch.float64).logits(words()).numpy()
    assert np.allclose(logits, [gpt2(decoder, word) for word in words().tolist()], atol=1e-9)


def test_gradients_reach_the_matrices() -> None:
    from krohn.lab.interpret.stages import decoder_tensors, stages_of_tensors

    decoder = random_decoder(4, "gelu_new", normalized=True)
    tensors = {
        name: value.requires_grad_() for name, value in decoder_tensors(decoder, torch.float64).items()
    }
    stages_of_tensors(decoder, tensors).logits(words()).square().sum().backward()
    assert all(value.grad is not None and bool(value.grad.any()) for value in tensors.values())


@pytest.fixture(scope="module", params=[0, 2])
def bench(request: pytest.FixtureRequest) -> Bench:
    stages = stages_of_transformer(random_transformer(5, padding=request.param))
    return Bench(stages, stages.run(words()))


def answer_of_a_whole_pass(stages: Stages, layer: int, stream: torch.Tensor, place: int) -> int:
    return int(stages.logits_from(layer, stream[None])[0, place].argmax())


@pytest.mark.parametrize("ways", [1, 3])
def test_resuming_from_a_replaced_position_equals_a_whole_pass(bench: Bench, ways: int) -> None:
    stages, passed = bench.stages, bench.passed
    rng = torch.Generator().manual_seed(0)
    rows, place = torch.arange(12), torch.arange(12) % LENGTH
    at = place + len(stages.prompt)
    for layer, stream in enumerate(passed.streams):
        x = torch.randn(12, ways, stages.dim, generator=rng, dtype=torch.float64)
        answers = stages.resume(layer, x, Past.of(passed, rows, at))
        for row in range(12):
            for way in range(ways):
                changed = stream[row].clone()
                changed[at[row]] = x[row, way]
                assert answers[row, way] == answer_of_a_whole_pass(stages, layer, changed, int(place[row]))


def test_a_swap_moves_the_base_to_the_source_along_the_subspace_only(bench: Bench) -> None:
    """More pairs than run together, at mixed positions, against one changed stream at a time."""
    stages, rng, count = bench.stages, np.random.default_rng(3), TOGETHER + 12
    base = rng.integers(12, size=count)
    pairs = Pairs(base, (base + rng.integers(1, 12, size=count)) % 12, rng.integers(LENGTH, size=count))
    one, two = random_directions(6, 2, seed=1), random_directions(6, 6, seed=2)
    for layer, stream in enumerate(bench.passed.streams):
        answers = bench.swapping(pairs).answers(layer, [one, two])
        for number in range(count):
            first, second, place = (int(part[number]) for part in (pairs.base, pairs.source, pairs.at))
            at = place + len(stages.prompt)
            changed = stream[first].clone()
            for column in one.T:
                changed[at] += ((stream[second, at] - stream[first, at]) @ column) * column
            assert answers[number, 0] == answer_of_a_whole_pass(stages, layer, changed, place)
            changed[at] = stream[second, at]
            assert answers[number, 1] == answer_of_a_whole_pass(stages, layer, changed, place)

"""Initial weights of each architecture: recomputed with Python integers, deviations from a table."""

import hashlib
import math

import numpy as np
import pytest
import torch

from krohn.lab import random_streams
from krohn.lab.models.network import Network
from krohn.lab.models.parameters import Parameter, ParameterLayout
from krohn.lab.models.registry import kinds, model_config

WORD = (1 << 64) - 1
VOCABULARY, CLASSES = 5, 3


def scrambled(value: int) -> int:
    """The finaliser of SplitMix64 on Python's integers."""
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & WORD
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & WORD
    return value ^ value >> 31


def derived(key: int, counter: int) -> int:
    return scrambled((key + (counter + 1) * 0x9E3779B97F4A7C15) & WORD)


def uniform(key: int) -> float:
    """The upper 24 bits and a half, added in float32 as a 24-bit number must be."""
    return float(np.float32(scrambled(key) >> 40) + np.float32(0.5)) / (1 << 24)


def naive(parameter: Parameter, key: int) -> np.ndarray:
    """One parameter of one replicate, element after element."""
    result = np.zeros(parameter.shape)
    for place, at in enumerate(np.ndindex(parameter.shape)):
        own = derived(key, place)
        if parameter.used is not None and any(i >= end for i, end in zip(at, parameter.used, strict=True)):
            continue
        if parameter.init == "constant":
            result[at] = parameter.scale
        elif parameter.init == "uniform":
            result[at] = parameter.scale * (2 * uniform(own) - 1)
        else:
            radius = math.sqrt(-2 * math.log(uniform(own)))
            result[at] = parameter.scale * radius * math.cos(2 * math.pi * uniform(derived(own, 0)))
    return result


def test_first_weights_are_a_function_of_seed_replicate_parameter_and_place() -> None:
    layout = ParameterLayout.of(
        [
            Parameter("table", (7, 9), "normal", 0.5, used=(5, 8)),
            Parameter("gain", (3,), "constant", 1.5, used=(2,)),
            Parameter("bounded", (2, 3, 4), "uniform", 0.25),
            Parameter("again", (7, 9), "normal", 0.5, used=(5, 8)),
        ]
    )
    seed, first = 12, 40
    views = layout.views(layout.initial(random_streams.replicate_keys(seed, 3, first=first)))
    for row in range(3):
        for index, parameter in enumerate(layout.parameters):
            wanted = naive(parameter, derived(derived(seed, first + row), index))
            np.testing.assert_allclose(views[parameter.name][row].numpy(), wanted, rtol=0, atol=2e-6)
    assert not torch.equal(views["table"], views["again"])  # alike in all but their place in the layout


def network_of(kind: str, **options: object) -> Network:
    return model_config(kind, **options).build(VOCABULARY, CLASSES)


def digest(flat: torch.Tensor) -> str:
    return hashlib.sha256(flat.numpy().tobytes()).hexdigest()


@pytest.mark.parametrize("kind", kinds())
def test_a_seed_gives_the_same_bytes_and_no_two_seeds_or_replicates_do(kind: str) -> None:
    small: dict[str, object] = {"layers": 1, "dim": 8, "mlp": 8}
    if kind in ("lstm", "gru"):
        small = {"embedding": 4, "hidden": 4}
    elif kind == "looped":
        small = {"blocks": 1, "dim": 8, "mlp": 8}
    layout = network_of(kind, **small).layout
    flat = layout.initial(random_streams.replicate_keys(3, 3))
    assert digest(flat) == digest(
        network_of(kind, **small).layout.initial(random_streams.replicate_keys(3, 3))
    )
    rows = [digest(row) for row in (*flat, *layout.initial(random_streams.replicate_keys(4, 3)))]
    assert len(set(rows)) == 6
    later = layout.initial(random_streams.replicate_keys(3, 1, first=2))
    assert digest(later[0]) == rows[2]
    assert flat.dtype == torch.float32
    assert bool(flat.isfinite().all())
    for view in layout.views(flat).values():
        view.zero_()
    assert not flat.any()  # nothing lies between the parameters


WIDE: dict[str, object] = {"layers": 2, "dim": 32, "mlp": 48}
MEMORY: dict[str, object] = {**WIDE, "heads": 4, "key_dim": 8, "value_dim": 12, "conv": 2}
CELL: dict[str, object] = {"embedding": 32, "hidden": 25}
BLOCK = {"ln_1.weight": 1.0, "ln_1.bias": 0.0, "ln_2.weight": 1.0, "ln_2.bias": 0.0} | {
    f"{name}.bias": 0.0 for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
}
NORMED = {"mix.norm.weight": 1.0, "mix.norm.bias": 0.0, "mlp.norm.weight": 1.0, "mlp.norm.bias": 0.0}

# Options, then constants of the network and of each block, then deviations of the network and of each block.
Table = tuple[dict[str, object], dict[str, float], dict[str, float], dict[str, float], dict[str, float]]
BEGINNINGS: dict[str, Table] = {
    "gpt": (
        {
            **WIDE,
            "heads": 2,
            "positions": "learned",
            "context": 40,
            "embedding_std": 0.3,
            "position_scale": 0.1,
        },
        {"ln_f.weight": 1.0, "ln_f.bias": 0.0, "head.bias": 0.0},
        BLOCK,
        {"wte": 0.3, "wpe": 0.1, "head.weight": 0.02},
        {"attn.c_attn": 0.02, "attn.c_proj": 0.01, "mlp.c_fc": 0.02, "mlp.c_proj": 0.01},
    ),
    "lstm": (
        CELL,
        {"head.bias": 0.0},
        {},
        {"wte": 1.0} | dict.fromkeys(("weight_ih", "weight_hh", "bias", "head.weight"), 0.2 / math.sqrt(3)),
        {},
    ),
    "gru": (
        CELL,
        {"head.bias": 0.0},
        {},
        {"wte": 1.0}
        | dict.fromkeys(("weight_ih", "weight_hh", "bias_ih", "bias_hh", "head.weight"), 0.2 / math.sqrt(3)),
        {},
    ),
    "diagonal": (
        {**WIDE, "channels": 50, "gate": "complex"},
        {"norm.weight": 1.0, "norm.bias": 0.0, "head.bias": 0.0},
        {**NORMED, "mlp.in_bias": 0.0},
        {"wte": 1.0, "head.weight": 32**-0.5},
        {"mix.gate.weight": 32**-0.5, "mix.gate.bias": 1.5, "mix.write": 32**-0.5, "mix.out": 0.1}
        | {"mlp.in": 32**-0.5, "mlp.out": 48**-0.5},
    ),
    "deltaproduct": (
        {**MEMORY, "gate": True},
        {"norm.weight": 1.0, "norm.bias": 0.0, "head.bias": 0.0},
        {**NORMED, "mlp.in_bias": 0.0, "mix.gate.bias": 4.0, "mix.beta.bias": 0.0},
        {"wte": 1.0, "head.weight": 32**-0.5},
        dict.fromkeys(("mix.query", "mix.key", "mix.value", "mix.beta.weight", "mix.gate.weight"), 0.125)
        | {"mix.out": 48**-0.5, "mlp.in": 0.125, "mlp.out": 48**-0.5},
    ),
    "looped": (
        {"blocks": 2, "dim": 32, "heads": 2, "mlp": 48},
        {"ln_f.weight": 1.0, "ln_f.bias": 0.0, "head.bias": 0.0},
        {**BLOCK, "ln_3.weight": 1.0, "ln_3.bias": 0.0},
        {"wte": 1.0, "none": 0.3, "head.weight": (3 * 32) ** -0.5},
        {"attn.slot": 0.3, "mlp.c_proj": (3 * 48) ** -0.5}
        | dict.fromkeys(("attn.c_attn", "attn.c_proj", "mlp.c_fc"), (3 * 32) ** -0.5),
    ),
    "rankone": (
        MEMORY,
        {"norm.weight": 1.0, "norm.bias": 0.0, "head.bias": 0.0},
        {**NORMED, "mlp.in_bias": 0.0, "mix.rate.bias": 0.0},
        {"wte": 1.0, "head.weight": 32**-0.5},
        dict.fromkeys(("mix.query", "mix.key", "mix.value", "mix.rate.weight"), 0.125)
        | {"mix.out": 48**-0.5, "mlp.in": 0.125, "mlp.out": 48**-0.5},
    ),
}


def named(
    whole: dict[str, float], block: dict[str, float], like: dict[str, torch.Tensor]
) -> dict[str, float]:
    """The table with the names of both blocks written out."""
    result = dict(whole)
    for name, value in block.items():
        for layer in range(2):
            full = f"h.{layer}.{name}"
            result[full if full in like else f"{full}.weight"] = value
    return result


@pytest.mark.parametrize("kind", kinds())
def test_every_parameter_begins_with_the_mean_and_deviation_of_the_table(kind: str) -> None:
    """Four replicates together; within four standard errors, so that another fan-in or depth shows."""
    options, *parts = BEGINNINGS[kind]
    network = network_of(kind, **options)
    views = network.layout.views(network.layout.initial(random_streams.replicate_keys(6, 4)))
    constants, deviations = named(parts[0], parts[1], views), named(parts[2], parts[3], views)
    assert sorted([*constants, *deviations]) == sorted(views)
    for name, constant in constants.items():
        assert bool((views[name] == constant).all()), name
    for name, deviation in deviations.items():
        used = views[name]
        used = used[:, :VOCABULARY] if name == "wte" else used
        used = used[:, :, :CLASSES] if name == "head.weight" else used
        count = used.numel()
        assert float(used.mean()) == pytest.approx(0.0, abs=4 * deviation / math.sqrt(count)), name
        assert float(used.std()) == pytest.approx(deviation, rel=4 / math.sqrt(2 * count)), name
        rest = views[name].square().sum() - used.square().sum()
        assert float(rest) == pytest.approx(0.0, abs=1e-3 * float(used.square().sum())), name


def test_learned_positions_are_the_only_ones_with_weights() -> None:
    for positions in ("sinusoidal", "linear", "none", "shifted", "learned"):
        layout = network_of("gpt", **WIDE, heads=2, positions=positions, context=9).layout
        shapes = {one.name: one.shape for one in layout.parameters}
        assert shapes.get("wpe") == ((9, 32) if positions == "learned" else None)

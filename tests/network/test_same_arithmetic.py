"""`krohn run`, the second opinion, the search and the torch module compute alike in every float format.

The networks here are scaled so that a pass with other roundings gives other states: scores kept in half,
queries that only subnormal numbers hold, values beyond the largest number of the format.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
import torch

from every import every
from krohn.automata.zoo import zoo
from krohn.lab.bridge import states_on_device
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import apply_mlp, caster
from krohn.network.forward import run as run_in
from krohn.proving.attempts import ARITHMETICS, arithmetic
from unproved import compile

LENGTH = 7
States = npt.NDArray[np.int64]


def scaled(network: CompiledNetwork, query: float, key: float = 1.0, value: float = 1.0) -> CompiledNetwork:
    """Queries, keys and values rescaled, without compensation."""
    layers = tuple(
        replace(
            layer,
            heads=tuple(
                replace(
                    head,
                    query=head.query * query,
                    key=head.key * key,
                    value=head.value * value,
                    output=head.output / value,
                )
                for head in layer.heads
            ),
        )
        for layer in network.transformer.layers
    )
    return replace(network, transformer=replace(network.transformer, layers=layers))


NETWORKS: dict[str, Callable[[], CompiledNetwork]] = {
    "queries × 1024": lambda: scaled(compile(zoo("FlipFlop"), 16), 1024.0),
    "subnormal queries": lambda: scaled(compile(zoo("FlipFlop"), 16), 2.0**-20, 2.0**12),
    "queries below bfloat16": lambda: scaled(compile(zoo("FlipFlop"), 16), 2.0**-130, 2.0**110),
    "values that underflow": lambda: scaled(compile(zoo("FlipFlop"), 16), 1.0, 1.0, 2.0**-22),
    "values that overflow": lambda: scaled(compile(zoo("FlipFlop"), 16), 1.0, 1.0, 2.0**17),
    "prefix sums": lambda: compile(zoo("C5"), 16),
    "sine": lambda: compile(zoo("C5"), 16, method="paper", activation="sin"),
    "scan": lambda: compile(zoo("S3"), 16, method="scan"),
}


@every("dtype", list(ARITHMETICS))
@every("name", list(NETWORKS))
def test_every_way_to_run_a_network_gives_the_same_states(name: str, dtype: str) -> None:
    network = NETWORKS[name]()
    letters = min(network.automaton.num_letters, 3)
    length = LENGTH if network.automaton.num_letters <= 3 else 4
    words = np.array(list(product(range(letters), repeat=length)))
    states = network.run(words, dtype)
    assert (states == run_in(network.transformer, words, arithmetic(dtype))).all()
    assert (states == states_on_device(network, dtype, "cpu")(words)).all()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", list(ARITHMETICS))
@pytest.mark.parametrize("name", list(NETWORKS))
def test_a_gpu_gives_the_same_states(name: str, dtype: str) -> None:
    network = NETWORKS[name]()
    words = np.array(list(product(range(min(network.automaton.num_letters, 3)), repeat=LENGTH)))
    assert (network.run(words, dtype) == states_on_device(network, dtype, "cuda")(words)).all()


def in_half_throughout(network: CompiledNetwork, words: npt.NDArray[np.int64]) -> States:
    """One layer with scores and softmax in float16 too, as numpy would compute them if left alone."""
    matrices, kind = network.transformer, np.float16
    tokens = np.concatenate(
        [
            np.broadcast_to(matrices.padding, (len(words), *matrices.padding.shape)),
            matrices.embedding[words],
        ],
        axis=1,
    )
    x = (tokens + matrices.positions[: tokens.shape[1]]).astype(kind)
    (layer,) = matrices.layers
    mixed = x * layer.keep_attention.astype(kind)
    for head in layer.heads:
        scores = (x @ head.query.astype(kind)) @ (x @ head.key.astype(kind)).swapaxes(1, 2)
        scores = np.where(np.tri(x.shape[1], dtype=bool), scores, kind(-np.inf))
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = powers / powers.sum(axis=-1, keepdims=True)
        mixed = mixed + shares @ (x @ head.value.astype(kind)) @ head.output.astype(kind)
    x = mixed * layer.keep_mlp.astype(kind) + apply_mlp(layer.mlp, mixed, caster("float16"))
    out = x[:, matrices.num_padding :] @ matrices.readout + matrices.readout_bias
    result: States = out.argmax(axis=-1)
    return result


def test_scores_kept_in_half_would_be_wrong() -> None:
    """What is proved is a run with scores and softmax in float32: with both in half most words are wrong."""
    network = NETWORKS["queries × 1024"]()
    words = np.array(list(product(range(3), repeat=LENGTH)))
    expected = np.array([network.automaton.run(word) for word in words.tolist()])
    assert (network.run(words, "float16") == expected).all()
    with np.errstate(all="ignore"):
        wrong = (in_half_throughout(network, words) != expected).any(axis=1)
    assert wrong.mean() > 0.5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rounding_is_that_of_torch(dtype: str) -> None:
    """All exponents, subnormal numbers, ties, infinities and numbers that are none."""
    rng = np.random.default_rng(0)
    numbers = np.ldexp(
        rng.choice([-1, 1], 40_000) * (1 + rng.random(40_000)), rng.integers(-160, 130, 40_000)
    )
    ties = np.ldexp(1 + (2 * rng.integers(0, 2**9, 2_000) + 1) / 2**10, rng.integers(-30, 15, 2_000))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65519.0, 65520.0, 2.0**-25, 2.0**-24, 2.0**-134, 3.4e38]
    with np.errstate(over="ignore"):
        values = np.concatenate([numbers, ties, special]).astype(np.float32)
        ours = caster(dtype)(values)
    theirs = torch.from_numpy(values).to(getattr(torch, dtype)).to(torch.float32).numpy()
    assert np.array_equal(ours, theirs, equal_nan=True)
    wrapped = np.array([0xFFFFFFFF, 0x7FFFFFFF], dtype=np.uint32).view(np.float32)
    assert np.isnan(caster(dtype)(wrapped)).all()

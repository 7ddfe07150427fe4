"""The certified margin holds in torch, for other summation orders, batches and threads."""

import numpy as np
import torch

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.functions import simulate
from krohn.lab.bridge import to_torch
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled
from proving.mutants import mutants


def reordered(network: Transformer, dice: np.random.Generator) -> Transformer:
    """The same network with channels, units and inner dimensions in another order: other sums, same terms."""
    order = dice.permutation(network.dim)

    def head(item: Head) -> Head:
        inner, outer = dice.permutation(item.query.shape[1]), dice.permutation(item.value.shape[1])
        return Head(
            item.query[order][:, inner],
            item.key[order][:, inner],
            item.value[order][:, outer],
            item.output[outer][:, order],
        )

    def mlp(item: Mlp) -> Mlp:
        orders = [order, *(dice.permutation(width) for width in item.hidden_widths), order]
        weights = [w[a][:, b] for w, a, b in zip(item.weights, orders, orders[1:], strict=False)]
        biases = [bias[b] for bias, b in zip(item.biases, orders[1:], strict=True)]
        codes = [code[b] for code, b in zip(item.activations, orders[1:], strict=False)]
        return Mlp(tuple(weights), tuple(biases), tuple(codes))

    layers = tuple(
        Layer(tuple(map(head, x.heads)), mlp(x.mlp), x.keep_attention[order], x.keep_mlp[order])
        for x in network.layers
    )
    return Transformer(
        network.embedding[:, order],
        network.padding[:, order],
        network.positions[:, order],
        layers,
        network.readout[order],
        network.readout_bias,
    )


def least_margin(network: Transformer, automaton: Semiautomaton, words: np.ndarray, dtype: str) -> float:
    with torch.no_grad():
        out = to_torch(network, dtype=getattr(torch, dtype))(torch.from_numpy(words)).double().numpy()
    wanted = np.asarray(simulate(automaton, words))[..., None]
    right = np.take_along_axis(out, wanted, axis=-1)[..., 0]
    np.put_along_axis(out, wanted, -np.inf, axis=-1)
    margins = right - out.max(axis=-1)
    return float("-inf") if np.isnan(margins).any() else float(margins.min())


@every(
    ("spec", "method", "dtype"),
    [
        *[("FlipFlop", "cascade", dtype) for dtype in ("float64", "float32", "float16", "bfloat16")],
        ("Parity", "cascade", "float16"),
        ("Parity", "cascade", "float32"),
        ("abab", "cascade", "float32"),
        ("C3", "scan", "float64"),
        ("C3", "scan", "bfloat16"),
        ("Grid4", "grid", "float32"),
    ],
)
def test_torch_keeps_the_certified_margin(spec: str, method: str, dtype: str) -> None:
    network = compiled(spec, 8, method, "float64" if dtype == "float64" else "float32")
    letters, dice = network.automaton.num_letters, np.random.default_rng(len(spec))
    seen = 0
    for mutant in mutants(network, 3, seed=3):
        for length in (8,) if dtype in ("float64", "float32") else (1, 3):
            _, refusal, margin = attempt(mutant.network, mutant.automaton, length, arithmetic(dtype))
            if refusal is not None:
                break
            torch.set_num_threads(int(dice.integers(1, 3)))
            result = mutant.network if seen % 2 else reordered(mutant.network, dice)
            for size in (1, 64):
                words = dice.integers(letters, size=(size, length))
                assert least_margin(result, mutant.automaton, words, dtype) >= margin, mutant.what
            seen += 1
    torch.set_num_threads(1)
    assert seen >= 2 or dtype in ("float16", "bfloat16")

"""Every number that a network computes lies in the box that the checker claims for it, on generated networks.

A long campaign of the same test is in ``research/containment.py``.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from check.containment import violations
from check.generated import exported, generated, honest
from check.mistakes import SEEN, Mistake
from check.runs import WAYS, logged
from every import every
from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Sums
from krohn.check.ground import Real, Refused, point
from krohn.check.recurrent.cells import Cell
from krohn.lab.cards.recurrent_modules import in_training
from krohn.network.forward import logits
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from krohn.recurrent.recurrent_network import PlainSums
from krohn.recurrent.recurrent_weights import WEIGHTS

FEW = {"scan": range(0, 20, 3), "layered": range(0, 16, 3), "export": (0, 1, 4, 5, 8, 9)}
"""Even and odd numbers: they are run in other ways."""
REST = {
    kind: sorted({*range(count)} - {*FEW[kind]})
    for kind, count in (("scan", 20), ("layered", 16), ("export", 12))
}


def left(seed: int, kind: str, ways: int = 4) -> tuple[int, list[tuple[str, str, float]]]:
    """How many claims are made about the network of this number, and the tensors that leave their boxes."""
    made = generated(seed, kind)
    if made is None:
        return 0, []
    _, dtype, length, (network, automaton, witness) = made
    words = np.random.default_rng(seed).integers(len(network.embedding), size=(4, length))
    few = WAYS[:ways] if seed % 2 else WAYS[-ways:]
    return violations(network, automaton, dtype, length, witness, words, few)[1:]


@pytest.mark.parametrize("networks", [FEW, REST], ids=["few", "rest"])
@every("kind", FEW)
def test_no_tensor_of_a_generated_network_leaves_its_box(
    kind: str, networks: dict[str, Sequence[int]]
) -> None:
    claims = 0
    for seed in networks[kind]:
        made, found = left(seed, kind)
        assert not found, (seed, found)
        claims += made
    assert claims > 40, f"only {claims} claims were compared"


@pytest.mark.parametrize("mistake", SEEN)
def test_each_mistake_of_an_earlier_version_is_seen(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = SEEN[mistake]
    assert not left(seed, "scan")[1]
    mistake(monkeypatch)
    assert left(seed, "scan")[1]


# ------------------------------------------------------------------ the runs themselves


def as_transformer(network: object) -> Transformer:
    """The matrices that the checker reads, as the package runs them."""
    layers = tuple(
        Layer(
            tuple(Head(h.query, h.key, h.value, h.output) for h in layer.heads),
            Mlp(layer.weights, layer.biases, tuple(sine.astype(np.int64) for sine in layer.sine)),
            layer.keep_attention,
            layer.keep_mlp,
        )
        for layer in network.layers
    )
    outer = (network.embedding, network.padding, network.positions)
    return Transformer(*outer, layers, network.readout, network.readout_bias)


@every("dtype", FORMATS)
def test_a_logged_run_is_the_forward_pass_bit_by_bit(dtype: str) -> None:
    network, automaton, _ = honest("FlipFlop", "scan", 5, dtype)
    words = np.random.default_rng(0).integers(automaton.table.shape[1], size=(6, 5))
    run = logged(network, words, dtype, WAYS[0])["logits"][:, len(network.padding) :]
    assert np.array_equal(run, logits(as_transformer(network), words, dtype))


def test_a_logged_run_of_an_export_is_that_of_torch() -> None:
    network, _, _ = exported("C2", "auto", 4)
    words = np.random.default_rng(0).integers(len(network.embedding), size=(6, 4))
    x = torch.from_numpy(logged(network, words, "float32", WAYS[0])["read-out"])
    gain = torch.tensor(network.gain, dtype=torch.float32)
    normed = torch.nn.functional.layer_norm(x, gain.shape, gain, eps=network.epsilon)
    wanted = logged(replace(network), words, "float32", WAYS[1])["logits"]
    assert np.abs((normed @ torch.tensor(network.readout, dtype=torch.float32)).numpy() - wanted).max() < 1e-2


# ------------------------------------------------------------------ recurrent networks


def changed(cell: Cell, seed: int) -> Cell:
    """A few numbers change; keys keep their length."""
    dice = np.random.default_rng(seed)
    tensors = {name: tensor.copy() for name, tensor in cell.tensors.items()}
    for name in dice.choice([name for name in tensors if "key" not in name], size=4):
        factor, little = 1 + dice.normal() * 2.0 ** -dice.integers(2, 12), 2.0 ** -dice.integers(0, 8)
        tensors[name] = (tensors[name] * factor).astype(np.float32)
        if dice.random() < 0.5:
            tensors[name].flat[dice.integers(tensors[name].size)] += dice.normal() * little
    return type(cell).of(tensors, cell.options)


def beyond(box: Real, values: np.ndarray) -> float:
    far = np.maximum(box.lo - values, values - box.hi)
    return float(np.where(np.isnan(values), np.inf, far).max(initial=0.0))


@every("kind", WEIGHTS)
@every("dtype", ["float32", "bfloat16"])
def test_no_number_of_a_recurrent_network_leaves_its_box(kind: str, dtype: str) -> None:
    """Carried numbers and logits after each letter, in numpy and by the training architecture in torch."""
    compared = 0
    for seed in range(4):
        automaton = parse_spec(("FlipFlop", "C3")[seed % 2])
        cell = changed(WEIGHTS[kind](automaton), seed)
        word = np.random.default_rng(seed).integers(automaton.num_letters, size=8)
        network, weights = in_training(cell)
        typed = {name: weight.to(getattr(torch, dtype)) for name, weight in weights.items()}
        with torch.no_grad():
            in_torch = network.logits(typed, torch.from_numpy(word)[None, None])[0, 0].double().numpy()
        boxed, plain = Sums(FORMATS[dtype]), PlainSums(FORMATS["float32"])
        stages, runs = cell.stages(boxed), cell.stages(plain)
        carried = [point(np.zeros((1, stage.size))) for stage in stages]
        floats = [point(np.zeros((1, stage.size))) for stage in stages]
        try:
            for t, letter in enumerate(word.tolist()):
                box, value = cell.letters(boxed)[[letter]], cell.letters(plain)[[letter]]
                for number, (stage, run) in enumerate(zip(stages, runs, strict=True)):
                    carried[number], box = stage.step(box, carried[number])
                    floats[number], value = run.step(value, floats[number])
                    if dtype == "float32":
                        assert beyond(carried[number], floats[number].lo) <= 0, (seed, t, number)
                        assert beyond(box, value.lo) <= 0, (seed, t, number)
                assert beyond(box[0], in_torch[t]) <= 0, (seed, t)
                compared += 1
        except Refused:
            continue
    assert compared >= 8

"""Every number that a recurrent network computes lies in the box that the checker claims for it."""

import numpy as np
import torch

from every import every
from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Sums
from krohn.check.ground import Real, Refused, point
from krohn.check.recurrent.cells import Cell
from krohn.lab.cards.recurrent_modules import in_training
from krohn.recurrent.recurrent_network import PlainSums
from krohn.recurrent.recurrent_weights import WEIGHTS


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

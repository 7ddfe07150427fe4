"""Networks with one thing changed, and a brute-force judge that does not know about proofs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.forward import run
from krohn.network.storage import tensors_of, transformer_from
from krohn.network.transformer import Transformer

KINDS = ("sign", "perturbed", "nudged", "rows", "head", "residual", "transition")


@dataclass(frozen=True, eq=False)
class Mutant:
    """A changed network with the automaton it is held against."""

    kind: str
    what: str
    network: Transformer
    automaton: Semiautomaton


def mutants(network: Transformer, automaton: Semiautomaton, count: int, seed: int) -> Iterator[Mutant]:
    """``count`` mutants, kinds in turn."""
    dice = np.random.default_rng(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        if kind == "transition":
            yield _transition(network, automaton, dice)
        else:
            yield _changed(network, automaton, kind, dice)


def _transition(network: Transformer, automaton: Semiautomaton, dice: np.random.Generator) -> Mutant:
    table = automaton.table.copy()
    state, letter = int(dice.integers(table.shape[0])), int(dice.integers(table.shape[1]))
    table[state, letter] = (table[state, letter] + 1 + dice.integers(max(len(table) - 1, 1))) % len(table)
    return Mutant("transition", f"{state},{letter}", network, replace(automaton, table=table))


def _changed(network: Transformer, automaton: Semiautomaton, kind: str, dice: np.random.Generator) -> Mutant:
    tensors = {name: matrix.copy() for name, matrix in tensors_of(network).items()}
    names = [n for n, m in tensors.items() if m.size and not n.endswith("activation") and "keep" not in n]
    if kind == "residual":
        names = [n for n in tensors if "keep" in n]
    if kind == "head":
        names = [n for n in tensors if ".heads." in n and tensors[n].size]
    name = names[int(dice.integers(len(names)))]
    matrix = tensors[name]
    _apply(matrix, kind, dice)
    shape = [(len(layer.heads), len(layer.mlp.weights)) for layer in network.layers]
    made = transformer_from(tensors, [list(item) for item in shape], network.mask)
    return Mutant(kind, name, made, automaton)


def _apply(matrix: np.ndarray, kind: str, dice: np.random.Generator) -> None:  # type: ignore[type-arg]
    used = np.argwhere(matrix != 0)
    place = tuple(used[int(dice.integers(len(used)))]) if len(used) else (0,) * matrix.ndim
    anywhere = tuple(int(dice.integers(size)) for size in matrix.shape)
    size = 10.0 ** dice.uniform(-9, 1)
    if kind == "sign":
        matrix[place] *= -1
    elif kind == "perturbed":
        matrix[place] *= 1 + size * dice.choice([-1, 1])
    elif kind == "nudged":
        matrix[anywhere] += size * dice.choice([-1, 1])
    elif kind == "rows" and len(matrix) > 1:
        first, second = dice.choice(len(matrix), size=2, replace=False)
        matrix[[first, second]] = matrix[[second, first]]
    elif kind == "head":
        matrix[...] = 0.0
    elif kind == "residual":
        matrix[anywhere] = 1.0 - matrix[anywhere]


def is_wrong(mutant: Mutant, length: int, dtype: str, seed: int = 0) -> bool:
    """Whether some word tried is run wrong: all short ones, random and rare-letter ones of full length."""
    letters = mutant.automaton.num_letters
    short = 1
    while short < length and letters ** (short + 1) <= 700:
        short += 1
    dice = np.random.default_rng(seed)
    grid = np.indices((letters,) * short).reshape(short, -1).T
    words = [
        grid,
        dice.integers(letters, size=(24, length)),
        np.repeat(np.arange(letters)[:, None], length, 1),
    ]
    sparse = np.where(
        dice.random((8, length)) < 0.1, dice.integers(letters, size=(8, length)), dice.integers(letters)
    )
    with np.errstate(all="ignore"):
        for batch in (*words, sparse):
            right = np.array([mutant.automaton.run(word) for word in batch])
            if (run(mutant.network, batch, dtype) != right).any():
                return True
    return False

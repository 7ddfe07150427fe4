"""Mutants of networks, and a brute-force judge that is independent of proofs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import run
from krohn.network.lowering.assembly import Style, lower
from krohn.network.operations import Modulo, Table
from krohn.network.program import Program
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import Tensors, transformer_from

KINDS = ("sign", "perturbed", "nudged", "extreme", "rows", "head", "table", "residual", "transition")
WORK = 2 * 10**9
"""Multiplications that brute force may spend on one mutant: a large network is run on fewer words."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mutant:
    """A mutant with the automaton it is compared with."""

    kind: str
    what: str
    network: Transformer
    automaton: Semiautomaton


def mutants(network: CompiledNetwork, count: int, seed: int) -> Iterator[Mutant]:
    """``count`` mutants, kinds in turn."""
    dice = np.random.default_rng(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        if kind == "transition":
            yield _transition(network.transformer, network.automaton, dice)
        elif kind == "table" and network.method == "cascade" and network.program is not None:
            yield _table(network, network.program, dice)
        else:
            yield _changed(network.transformer, network.automaton, kind, dice)


def _transition(network: Transformer, automaton: Semiautomaton, dice: np.random.Generator) -> Mutant:
    table = automaton.table.copy()
    state, letter = int(dice.integers(table.shape[0])), int(dice.integers(table.shape[1]))
    table[state, letter] = (table[state, letter] + 1 + dice.integers(max(len(table) - 1, 1))) % len(table)
    return Mutant("transition", f"{state},{letter}", network, replace(automaton, table=table))


def _table(network: CompiledNetwork, program: Program, dice: np.random.Generator) -> Mutant:
    """One entry of a table of the program changed, and the weights built anew."""
    for _ in range(20):
        layers = [list(layer.maps) for layer in program.layers]
        places = [(n, m) for n, maps in enumerate(layers) for m, c in enumerate(maps) if _entries(c)]
        if not places:
            break
        layer, place = places[int(dice.integers(len(places)))]
        layers[layer][place] = _with_entry(layers[layer][place], dice)
        changed = [replace(old, maps=tuple(new)) for old, new in zip(program.layers, layers, strict=True)]
        try:
            result, _ = lower(
                replace(program, layers=tuple(changed)), network.length, Style(narrow=True, saturate=True)
            )
        except InvalidInput:
            continue  # the entry leaves its register's range
        return Mutant("table", f"layer {layer}, map {place}", result, network.automaton)
    return _changed(network.transformer, network.automaton, "table", dice)


def _entries(change: object) -> bool:
    return isinstance(change, Table) or (isinstance(change, Modulo) and change.values is not None)


def _with_entry(change: object, dice: np.random.Generator) -> Table | Modulo:
    if isinstance(change, Modulo):
        assert change.values is not None
        values = list(change.values)
        values[int(dice.integers(len(values)))] = int(dice.choice(values)) + int(dice.integers(0, 2))
        return replace(change, values=tuple(values))
    assert isinstance(change, Table)
    rows = list(change.rows)
    place = int(dice.integers(len(rows)))
    given, result = rows[place]
    other = list(result)
    column = int(dice.integers(len(other)))
    other[column] = rows[int(dice.integers(len(rows)))][1][column] + int(dice.integers(0, 2))
    rows[place] = (given, tuple(other))
    return replace(change, rows=tuple(rows))


def _changed(network: Transformer, automaton: Semiautomaton, kind: str, dice: np.random.Generator) -> Mutant:
    tensors = {name: matrix.copy() for name, matrix in network.tensors().items()}
    if kind == "head":
        what = _without_head(tensors, dice)
    else:
        what = str(dice.choice(_names(tensors, kind)))
        _apply(tensors[what], kind, dice)
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    return Mutant(kind, what, transformer_from(tensors, shape), automaton)


def _without_head(tensors: Tensors, dice: np.random.Generator) -> str:
    """A head's matrices all set to 0, or one of them."""
    heads = sorted({name.rpartition(".")[0] for name in tensors if ".heads." in name})
    if not heads:
        return "no head"
    head = str(dice.choice(heads))
    parts = [f"{head}.{part}" for part in ("W_Q", "W_K", "W_V", "W_C")]
    chosen = parts if dice.random() < 0.5 else [str(dice.choice(parts))]
    for name in chosen:
        tensors[name][...] = 0.0
    return ", ".join(chosen)


def _names(tensors: Tensors, kind: str) -> list[str]:
    if kind == "residual":
        return [name for name in tensors if "keep" in name]
    used = [n for n, m in tensors.items() if m.size and not n.endswith("activation") and "keep" not in n]
    if kind != "table":
        return used
    filled = [name for name in used if tensors[name].any()]
    return [name for name in filled if ".mlp." in name and name.endswith(".W")] or filled


def _apply(matrix: Matrix, kind: str, dice: np.random.Generator) -> None:
    used = np.argwhere(matrix != 0)
    place = tuple(used[int(dice.integers(len(used)))]) if len(used) else (0,) * matrix.ndim
    anywhere = tuple(int(dice.integers(size)) for size in matrix.shape)
    size, sign = 10.0 ** dice.uniform(-9, 1), dice.choice([-1, 1])
    if kind == "sign":
        matrix[place] *= -1
    elif kind == "perturbed":
        matrix[place] *= 1 + size * sign
    elif kind == "nudged":
        matrix[anywhere] += size * sign
    elif kind == "extreme":
        matrix[place if dice.random() < 0.5 else anywhere] = sign * 10.0 ** dice.uniform(-45, 38)
    elif kind == "rows" and len(matrix) > 1:
        first, second = dice.choice(len(matrix), size=2, replace=False)
        matrix[[first, second]] = matrix[[second, first]]
    elif kind == "table":
        matrix[place] = matrix[tuple(used[int(dice.integers(len(used)))])]
    elif kind == "residual":
        matrix[anywhere] = 1.0 - matrix[anywhere]


def is_wrong(mutant: Mutant, length: int, dtype: str, seed: int = 0) -> bool:
    """Whether some word tried is run wrong: all short ones, random and rare-letter ones of full length."""
    letters = mutant.automaton.num_letters
    most = max(12, min(4_000, WORK // (mutant.network.num_parameters * length)))
    short = 1
    while short < length and letters ** (short + 1) <= most:
        short += 1
    dice = np.random.default_rng(seed)
    words = [
        np.indices((letters,) * short).reshape(short, -1).T,
        dice.integers(letters, size=(min(24, most), length)),
        np.repeat(np.arange(letters)[:, None], length, 1),
    ]
    sparse = np.where(
        dice.random((8, length)) < 0.1, dice.integers(letters, size=(8, length)), dice.integers(letters)
    )
    with np.errstate(all="ignore"):
        for batch in (*words, sparse):
            right = np.asarray(simulate(mutant.automaton, batch))
            if (run(mutant.network, batch, dtype) != right).any():
                return True
    return False

"""Counters and the tables that read them, lowered as one: their meaning on every input, disturbed or not."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from construct.gadget_contract import compare
from every import every
from krohn.construct.lowering.assembly import lower
from krohn.network.position_maps import Clamp, Modulo, PositionMap, Table
from krohn.network.program import (
    Program,
    ProgramLayer,
    Readout,
    Register,
    Source,
    interpret_registers,
)

SUMS = range(-7, 9)
CLASSES = range(3)


def program_of(maps: tuple[PositionMap, ...], outputs: dict[str, int], sums: int = 1) -> Program:
    """One letter for each class and value of the sums; ``outputs``: registers with their largest values."""
    names = ["class", *(f"sum {number}" for number in range(sums))]
    rows = [(kind, *values) for kind in CLASSES for values in np.ndindex(*[len(SUMS)] * sums)]
    rows = [(kind, *(SUMS[value] for value in values)) for kind, *values in rows]
    registers = [Register("class", 0, 2), *(Register(name, SUMS[0], SUMS[-1]) for name in names[1:])]
    registers += [Register(name, 0, most) for name, most in outputs.items()]
    sources = tuple(
        Source(name, tuple(row[place] for row in rows), (rows[0][place],)) for place, name in enumerate(names)
    )
    readout = Readout(tuple(outputs), (tuple(0 for _ in outputs),))
    return Program(tuple(registers), sources, (ProgramLayer((), maps),), readout)


def require_meaning(program: Program, disturbance: float, hidden: int) -> None:
    """On all letters: tables are exact, residues pass a disturbance on, in that many hidden layers."""
    net, layout = lower(program, 1, saturate=True, fused=True)
    assert len(net.layers[0].mlp.hidden_widths) == hidden
    words = np.arange(len(net.embedding))[:, None]
    meaning = interpret_registers(program, words)
    rng = np.random.default_rng(0)
    for draw in range(8):
        noise = rng.choice([-1.0, 1.0], net.embedding.shape) * disturbance * (draw > 0)
        shaken = replace(net, embedding=net.embedding + noise)
        compare(shaken, layout, words, meaning, 1e-9 + 1.01 * disturbance)
        tables = {
            name: values
            for name, values in meaning.items()
            if any(isinstance(m, Table) and name in m.outputs for m in program.layers[0].maps)
        }
        compare(shaken, layout, words, tables, 1e-9)


@every("seed", range(12))
def test_a_table_of_a_class_and_a_residue(seed: int) -> None:
    rng = Random(seed)
    modulus = rng.choice([2, 3, 5])
    rows = {(kind, r): (rng.randrange(4), rng.randrange(3)) for kind in CLASSES for r in range(modulus)}
    for lost in rng.sample(sorted(rows), seed % 3):  # what cannot occur is not listed; here it is not asked
        rows[lost] = rows[0, 0]
    residue = Modulo((("sum 0", 1),), 0, modulus, "residue")
    table = Table(("class", "residue"), ("first", "second"), tuple(rows.items()))
    outputs = {"first": 3, "second": 2, "residue": modulus - 1}
    require_meaning(program_of((residue, table), outputs), 0.1, 2)


def test_a_clamped_sum_and_functions_of_functions() -> None:
    clamp = Clamp((("sum 0", 1),), 1, 0, 5, "height")
    residue = Modulo((("height", 1),), 0, 3, "step")
    rows = tuple(((kind, h), ((kind + h) % 4,)) for kind in CLASSES for h in range(6))
    table = Table(("class", "height"), ("key",), rows)
    program = program_of((clamp, residue, table), {"key": 3, "step": 2, "height": 5})
    require_meaning(program, 0.1, 2)


def test_each_class_may_see_another_combination_of_two_sums() -> None:
    """As in Q8: one class sees the first parity, one the second, one their sum."""
    parities = [Modulo(((f"sum {n}", 1),), 0, 2, f"parity {n}") for n in (0, 1)]
    seen = ((1, 0), (0, 1), (1, 1))
    rows = tuple(
        ((kind, a, b), ((seen[kind][0] * a + seen[kind][1] * b) % 2,))
        for kind in CLASSES
        for a in (0, 1)
        for b in (0, 1)
    )
    table = Table(("class", "parity 0", "parity 1"), ("step",), rows)
    program = program_of((*parities, table), {"step": 1, "parity 0": 1, "parity 1": 1}, sums=2)
    require_meaning(program, 0.1, 2)


def test_what_is_no_function_of_one_sum_is_lowered_one_by_one() -> None:
    parities = [Modulo(((f"sum {n}", 1),), 0, 2, f"parity {n}") for n in (0, 1)]
    rows = tuple(((kind, a, b), (a * b,)) for kind in CLASSES for a in (0, 1) for b in (0, 1))
    table = Table(("class", "parity 0", "parity 1"), ("both",), rows)
    program = program_of((*parities, table), {"both": 1, "parity 0": 1, "parity 1": 1}, sums=2)
    require_meaning(program, 0.1, 4)


@pytest.mark.parametrize("loose_end", [False, True])
def test_only_the_last_layer_is_loose(loose_end: bool) -> None:
    residue = Modulo((("sum 0", 1),), 0, 3, "residue")
    program = program_of((residue,), {"residue": 2})
    net, _ = lower(program, 1, saturate=True, fused=True, loose_end=loose_end)
    assert len(net.layers[0].mlp.hidden_widths) == (1 if loose_end else 2)

"""The contract of every gadget: its meaning on every input, perturbed up to its stated tolerance.

A new gadget is one more case in the lists below: a program with one operation, words that exercise it, and
the perturbation of its inputs that it must tolerate (or the factor by which it may amplify it).
"""

from dataclasses import dataclass, replace

import numpy as np

from krohn.network.forward import logits
from krohn.network.layout import Layout
from krohn.network.lowering.assembly import Style, lower, symbolic_head
from krohn.network.lowering.position_codes import PositionCodes
from krohn.network.operations import AttentionOperation, PositionMap
from krohn.network.program import (
    Places,
    Program,
    ProgramLayer,
    Readout,
    Register,
    Source,
    interpret_registers,
)
from krohn.network.transformer import Transformer

ROUNDING = 1e-10


@dataclass(frozen=True)
class MapCase:
    """A position-wise map, every value of its inputs, and how errors of the inputs come out."""

    name: str
    operation: PositionMap
    registers: tuple[Register, ...]
    rows: tuple[tuple[int, ...], ...]
    disturbance: float
    gain: float


def map_program(case: MapCase) -> Program:
    """One letter per row of inputs; the first row is also the padding."""
    inputs = list(dict.fromkeys(case.operation.reads))
    outputs = [r.name for r in case.registers if r.name not in inputs and r.kind != "circle"]
    sources = tuple(
        Source(name, tuple(row[i] for row in case.rows), (case.rows[0][i],)) for i, name in enumerate(inputs)
    )
    layer = ProgramLayer((), (case.operation,))
    return Program(case.registers, sources, (layer,), Readout(tuple(outputs), (tuple(0 for _ in outputs),)))


def check_map(case: MapCase, style: Style) -> None:
    """All rows, undisturbed and disturbed at random and at the corners."""
    program = map_program(case)
    net, layout = lower(program, 1, style)
    rng = np.random.default_rng(0)
    words = np.arange(len(case.rows))[:, None]
    meaning = interpret_registers(program, words)
    for draw in range(25):
        noise = (
            rng.uniform(-1, 1, net.embedding.shape) if draw % 2 else rng.choice([-1, 1], net.embedding.shape)
        )
        inputs = np.array([bool(channel.register) for channel in layout.moments[0]])
        shaken = net.embedding + case.disturbance * noise * inputs * (draw > 0)
        compare(replace(net, embedding=shaken), layout, words, meaning, case.gain * case.disturbance + 1e-9)


def compare(
    net: Transformer, layout: Layout, words: np.ndarray, meaning: dict[str, np.ndarray], allowed: float
) -> None:
    """Every register that is stored at the end holds its meaning, up to what is allowed."""
    seen: dict[str, np.ndarray] = {}
    logits(net, words, observe=lambda name, value: seen.update({name: value}))
    stream = seen[f"layer.{net.depth - 1}.stream"][:, net.num_padding :]
    for channel in layout.moments[-1]:
        if channel.register in meaning and not channel.part:
            held = stream[..., layout.moments[-1].index(channel)]
            wanted = meaning[channel.register][:, net.num_padding :]
            assert np.abs(held - wanted).max() <= allowed, channel.register


@dataclass(frozen=True)
class HeadCase:
    """An attention operation, the registers of each letter, and further maps they need."""

    name: str
    operation: AttentionOperation
    registers: tuple[Register, ...]
    sources: tuple[Source, ...]
    before: tuple[PositionMap, ...] = ()
    places: tuple[Places, ...] = ()


def head_program(case: HeadCase) -> Program:
    """The maps in a first layer, if any, then the operation."""
    first = (ProgramLayer((), case.before),) if case.before else ()
    targets = case.operation.targets
    readout = Readout(targets, (tuple(0 for _ in targets),))
    return Program(
        case.registers,
        case.sources,
        (*first, ProgramLayer((case.operation,), ())),
        readout,
        case.places,
    )


def check_head(case: HeadCase, words: np.ndarray, length: int) -> None:
    """Every position of every word: the head finds what its meaning says, up to its leak."""
    program = head_program(case)
    net, layout = lower(program, length)
    meaning = interpret_registers(program, words)
    stated = symbolic_head(case.operation, PositionCodes(1 + length), program).error
    assert stated < 1e-6
    compare(net, layout, words, meaning, stated + ROUNDING)

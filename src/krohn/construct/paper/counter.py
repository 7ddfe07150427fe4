"""Lemma "Simulating a modular counter": one layer, one head, three channels {value, ⊥, position}."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper.channels import lift_mlp
from krohn.construct.paper.integer_readout import integer_readout
from krohn.construct.paper.modular_mlp import modular_mlp
from krohn.construct.paper.prefix_sum import absorber, prefix_sum_head
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import Modulo, PrefixSum
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Layer, Transformer

VALUE, BOS, LOG = range(3)


def counter_layer(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Layer:
    """Prefix sum and remainder in place on the channels (value, ⊥, position)."""
    mlp = lift_mlp(modular_mlp(modulus, length, start, counting), [VALUE], [VALUE], 3)
    keep = np.array([0.0, 1.0, 1.0])
    return Layer((prefix_sum_head(3, VALUE, VALUE, BOS, LOG),), mlp, keep, keep)


def counter_automaton(modulus: int, start: int = 0) -> Semiautomaton:
    """Q = Σ = Z_n, δ(q, σ) = q + σ mod n."""
    if modulus < 1:
        raise InvalidInput(f"the modulus must be at least 1; got {modulus}")
    values = np.arange(modulus)
    table = (values[:, None] + values[None, :]) % modulus
    return Semiautomaton(table=table.astype(np.int32), start=start, name=f"C{modulus}")


def build_counter(modulus: int, length: int, start: int = 0, counting: str = "relu") -> CompiledNetwork:
    """The network of the lemma for the mod-``modulus`` counter."""
    automaton = counter_automaton(modulus, start)
    embedding, padding = np.zeros((modulus, 3)), np.zeros((1, 3))
    embedding[:, VALUE] = np.arange(modulus)
    padding[0, BOS] = 1.0
    positions = np.zeros((1 + length, 3))
    positions[:, LOG] = absorber(1 + length, length)
    readout, bias = integer_readout(3, {VALUE: np.arange(modulus)}, modulus)
    layer = counter_layer(modulus, length, start, counting)
    network = Transformer(embedding, padding, positions, (layer,), readout, bias)
    return CompiledNetwork(network, automaton, "paper", _program(modulus, start), _layout(length))


def _program(modulus: int, start: int) -> Program | None:
    if modulus < 2:
        return None
    registers = (
        Register("letter", 0, modulus - 1),
        Register("sum", 0, modulus - 1, "wide"),
        Register("state", 0, modulus - 1),
    )
    layer = ProgramLayer(
        (PrefixSum(("letter",), ("sum",)),), (Modulo((("sum", 1),), start, modulus, "state"),)
    )
    readout = Readout(("state",), tuple((q,) for q in range(modulus)))
    return Program(registers, (Source("letter", tuple(range(modulus)), (0,)),), (layer,), readout)


def _layout(length: int) -> Layout:
    fixed = (Channel(position="bos"), Channel(position="log"))
    values = (Channel("letter"), Channel("sum", scale=1.0 / (2.0 * length)), Channel("state"))
    moments = tuple((value, *fixed) for value in values)
    return Layout(moments, ((HeadMeaning("prefix sum of letters", (0,)),),))

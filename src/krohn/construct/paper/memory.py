"""Lemma "Simulating a memory semiautomaton": the latest write, by one head on four channels.

The head scores position j by c·(j/T − 2·1[no-op]): the printed matrices, not the printed text, which has −1
and lets a no-op at j = T tie with the first position (erratum 13). Position 0 is an explicit write of q₀:
the printed trick of giving no-ops the value q₀ breaks as soon as anything else is copied along (erratum
29).
"""

import math

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper.channels import basis, lift_mlp
from krohn.construct.paper.integer_readout import integer_readout
from krohn.construct.paper.interpolation_1d import interpolate_1d
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import LatestWrite
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Head, Layer, Transformer

VALUE, IDLE, RECENCY, ONE = range(4)


def memory_score(states: int, length: int, sharp: bool = False) -> float:
    """c: T·log(16·|Q|·T) as printed; T·log(1 + 8·|Q|) is enough, for errors fall geometrically with age."""
    return length * math.log(1.0 + 8.0 * states if sharp else 16.0 * states * length)


def memory_head(dim: int, idle: int, recency: int, one: int, score: float, copies: dict[int, int]) -> Head:
    """The head that copies ``copies`` (from → to) from the latest position whose idle flag is 0."""
    query, key = np.zeros((dim, 2)), np.zeros((dim, 2))
    query[one] = [-2.0, 1.0]
    key[idle, 0] = key[recency, 1] = score
    return Head(query, key, basis(dim, list(copies)), basis(dim, list(copies.values())).T)


def memory_layer(states: int, length: int, sharp: bool = False) -> Layer:
    """Look up and round, on the channels (value, idle flag, position, one)."""
    head = memory_head(4, IDLE, RECENCY, ONE, memory_score(states, length, sharp), {VALUE: VALUE})
    mlp = lift_mlp(interpolate_1d(list(range(states)), list(range(states)), 1.0), [VALUE], [VALUE], 4)
    keep = np.array([0.0, 1.0, 1.0, 1.0])
    return Layer((head,), mlp, keep, keep)


def memory_automaton(states: int, start: int = 0) -> Semiautomaton:
    """Letters 0 … |Q|−1 write, letter |Q| does nothing."""
    if states < 1:
        raise InvalidInput(f"a memory must have at least one state; got {states}")
    letters = [[q] * states for q in range(states)]
    return Semiautomaton.from_letters([*letters, list(range(states))], start=start, name=f"Memory{states}")


def build_memory(states: int, length: int, start: int = 0, sharp: bool = False) -> CompiledNetwork:
    """The network of the lemma for a memory of ``states`` values."""
    if length < 1:
        raise InvalidInput(f"the length must be at least 1; got {length}")
    automaton = memory_automaton(states, start)
    embedding, padding = np.zeros((states + 1, 4)), np.zeros((1, 4))
    embedding[:states, VALUE] = np.arange(states)
    embedding[states, [VALUE, IDLE]] = [start, 1.0]
    padding[0, VALUE] = start
    positions = np.zeros((1 + length, 4))
    positions[:, RECENCY] = np.arange(1 + length) / length
    positions[:, ONE] = 1.0
    readout, bias = integer_readout(4, {VALUE: np.arange(states)}, states)
    layer = memory_layer(states, length, sharp)
    network = Transformer(embedding, padding, positions, (layer,), readout, bias)
    return CompiledNetwork(network, automaton, "paper", _program(states, start), _layout())


def _program(states: int, start: int) -> Program:
    registers = (Register("write", 0, states - 1), Register("flag", 0, 1), Register("state", 0, states - 1))
    values = Source("write", (*range(states), start), (start,))
    flags = Source("flag", (*([1] * states), 0), (1,))
    layer = ProgramLayer((LatestWrite("flag", ("write",), ("state",)),), ())
    return Program(
        registers, (values, flags), (layer,), Readout(("state",), tuple((q,) for q in range(states)))
    )


def _layout() -> Layout:
    fixed = (Channel(), Channel(position="recency"), Channel(position="one"))
    # Between attention and MLP the value is off by up to |Q|·2T·e^(−c/T); the MLP rounds it.
    moments = tuple((channel, *fixed) for channel in (Channel("write"), Channel(), Channel("state")))
    return Layout(moments, ((HeadMeaning("most recent write", (0,)),),))

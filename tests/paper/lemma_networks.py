"""Networks of single lemmas, from the layers that Theorem 2 is made of: a counter, a memory."""

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.operations import LatestWrite, Modulo, PrefixSum
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import Layer, Transformer
from krohn.paper.blocks import integer_readout, lift_mlp
from krohn.paper.counter import BOS, LOG, VALUE, absorber, counter_layer
from krohn.paper.interpolation import interpolate_1d
from krohn.paper.memory import memory_head, memory_score

IDLE, RECENCY, ONE = 1, 2, 3  # of a memory, beside VALUE


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
    return CompiledNetwork(
        network, automaton, "paper", _counter_program(modulus, start), _counter_layout(length)
    )


def _counter_program(modulus: int, start: int) -> Program | None:
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


def _counter_layout(length: int) -> Layout:
    fixed = (Channel(position="bos"), Channel(position="log"))
    values = (Channel("letter"), Channel("sum", scale=1.0 / (2.0 * length)), Channel("state"))
    moments = tuple((value, *fixed) for value in values)
    return Layout(moments, ((HeadMeaning("prefix sum of letters", (0,)),),))


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
    return CompiledNetwork(network, automaton, "paper", _memory_program(states, start), _memory_layout())


def _memory_program(states: int, start: int) -> Program:
    registers = (Register("write", 0, states - 1), Register("flag", 0, 1), Register("state", 0, states - 1))
    values = Source("write", (*range(states), start), (start,))
    flags = Source("flag", (*([1] * states), 0), (1,))
    layer = ProgramLayer((LatestWrite("flag", ("write",), ("state",)),), ())
    return Program(
        registers, (values, flags), (layer,), Readout(("state",), tuple((q,) for q in range(states)))
    )


def _memory_layout() -> Layout:
    fixed = (Channel(), Channel(position="recency"), Channel(position="one"))
    # Between attention and MLP the value is off by up to |Q|·2T·e^(−c/T); the MLP rounds it.
    moments = tuple((channel, *fixed) for channel in (Channel("write"), Channel(), Channel("state")))
    return Layout(moments, ((HeadMeaning("most recent write", (0,)),),))

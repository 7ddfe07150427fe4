"""The two lemmas that everything else is made of: a modular counter and a memory, one layer each."""

import math
from typing import Literal, get_args

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.paper.attention_lemmas import absorber, prefix_sum_head
from krohn.construct.paper.blocks import basis, integer_readout, lift_mlp
from krohn.construct.paper.interpolation import interpolate_1d
from krohn.errors import InvalidInput
from krohn.network.attention_operations import LatestWrite, PrefixSum
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.position_maps import Modulo
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source
from krohn.network.transformer import SIN, Head, Layer, Mlp, Transformer

# The MLP of Lemma "modular counter": from the scaled prefix sum s = j/2T to (j + q₀) mod n.
#
# Erratum 12: the printed map is T·s mod n; the head computes (1/2T)·Σ σ, so it must be 2T·s, and q₀ must be
# added.
#
# ``relu``   Lemma 1D as printed: 4((n−1)T + 1) units.
# ``steps``  y − n·#{k : y ≥ kn}: one step per multiple of n, ⌊((n−1)T + q₀)/n⌋ + 1 units twice, then
#            n − 1 units twice to round. Steps saturate: they are exactly 0 or 1 in every float format.
# ``sin``    periodic activations: a function on Z_n is a sum of ⌊n/2⌋ sines (its Fourier series), so the
#            width does not depend on T; a last layer rounds (Lemma 1D on n values).


Counting = Literal["relu", "steps", "sin"]
COUNTINGS: tuple[str, ...] = get_args(Counting)


def modular_mlp(modulus: int, length: int, start: int = 0, counting: str = "relu") -> Mlp:
    """j/2T ↦ (j + start) mod modulus for 0 ≤ j ≤ (modulus − 1)·T, inputs within 1/8T."""
    if modulus < 1 or length < 1:
        raise InvalidInput(f"modulus and length must be at least 1; got {modulus} and {length}")
    if counting == "relu":
        sums = np.arange((modulus - 1) * length + 1)
        gap = 1.0 / (2.0 * length)
        return interpolate_1d((sums * gap).tolist(), (sums + start) % modulus, gap)
    if counting == "steps":
        return _steps(modulus, length, start)
    if counting == "sin":
        return _sines(modulus, length, start)
    raise InvalidInput(f"counting must be one of {', '.join(COUNTINGS)}; got {counting!r}")


def _steps(modulus: int, length: int, start: int) -> Mlp:
    """With y = 2T·s + q₀: r = y − n·#{k : y ≥ kn}, then #{k < n : r ≥ k}, which rounds; y is one unit.

    A step is (1 − (1 − 2(y − k + ¾))_+)_+. As a difference of two ReLU it would subtract large numbers, which
    short formats round; here nothing large is left after the second ReLU.
    """
    count = ((modulus - 1) * length + start) // modulus
    edges = modulus * np.arange(1, count + 1, dtype=np.float64)
    slopes = np.concatenate([np.full(count, -4.0 * length), [2.0 * length]])
    bias = np.concatenate([2.0 * (edges - start) - 0.5, [float(start)]])
    wraps = np.diag(np.concatenate([-np.ones(count), [1.0]]))
    residue = np.concatenate([np.full(count, -float(modulus)), [1.0]])
    values = np.arange(1, modulus, dtype=np.float64)
    rounds = residue[:, None] @ np.full((1, modulus - 1), -2.0)
    weights = (slopes[None, :], wraps, rounds, -np.eye(modulus - 1), np.ones((modulus - 1, 1)))
    ones = np.concatenate([np.ones(count), [0.0]])
    return Mlp(weights, (bias, ones, 2.0 * values - 0.5, np.ones(modulus - 1), np.zeros(1)))


def _sines(modulus: int, length: int, start: int) -> Mlp:
    """Fourier series of the table, then Lemma 1D to round it."""
    spectrum = np.fft.rfft((np.arange(modulus) + start) % modulus) / modulus
    waves = np.arange(1, modulus // 2 + 1)
    # Both signs of a frequency fold into one real wave, but the Nyquist wave of an even modulus stands alone.
    amplitude = np.where(2 * waves == modulus, 1.0, 2.0) * np.abs(spectrum[1:])
    phase = np.angle(spectrum[1:]) + math.pi / 2.0
    frequency = 2.0 * math.pi * waves * 2.0 * length / modulus
    rounding = interpolate_1d(list(range(modulus)), list(range(modulus)))
    second = amplitude[:, None] @ rounding.weights[0]
    bias = rounding.biases[0] + float(spectrum[0].real) * rounding.weights[0][0]
    codes = (np.full(len(waves), SIN), np.zeros(len(bias), dtype=np.int64))
    return Mlp((frequency[None, :], second, rounding.weights[1]), (phase, bias, np.zeros(1)), codes)


# Lemma "Simulating a modular counter": one layer, one head, three channels {value, ⊥, position}.


VALUE, BOS, LOG = 0, 1, 2


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


# Lemma "Simulating a memory semiautomaton": the latest write, by one head on four channels.
#
# The head scores position j by c·(j/T − 2·1[no-op]): the printed matrices, not the printed text, which has −1
# and lets a no-op at j = T tie with the first position (erratum 13). Position 0 is an explicit write of q₀:
# the printed trick of giving no-ops the value q₀ breaks as soon as anything else is copied along (erratum
# 29).


IDLE, RECENCY, ONE = 1, 2, 3  # beside VALUE


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

"""Networks built to deceive: right on paper, certified by an earlier version, wrong when run.

Each has its control, the same idea with harmless sizes, which is certified. They are used
in tests only.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import run as run_in
from krohn.network.transformer import Head, Layer, Matrix, Mlp, Transformer
from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled

LAST_LETTER = Semiautomaton.from_letters([(0, 0), (1, 1)])
Construction = tuple[Transformer, Semiautomaton, int]


def certified(construction: Construction, dtype: str) -> bool:
    network, automaton, length = construction
    record, failure, margin = attempt(network, automaton, length, arithmetic(dtype))
    assert (failure is None) == (record.witness is not None) == (margin > 0)
    return failure is None


def runs_right(construction: Construction, dtype: str) -> bool:
    network, automaton, length = construction
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(60, length))
    words[0], words[1] = 0, automaton.num_letters - 1
    with np.errstate(all="ignore"):
        got = run_in(network, words, arithmetic(dtype))
    return bool((got == np.asarray(simulate(automaton, words))).all())


def of(network: CompiledNetwork) -> Construction:
    return network.transformer, network.automaton, network.length


# ------------------------------------------------------------------ 1: an idle channel that overflows late


def with_idle_channel(network: Transformer, token: float, late: float, first: int) -> Transformer:
    """One more channel, kept by every block and read by nothing: a token's number, and later a position's."""

    def wider(matrix: Matrix, column: float = 0.0) -> Matrix:
        return np.concatenate([matrix, np.full((len(matrix), 1), column)], axis=1)

    def taller(matrix: Matrix) -> Matrix:
        return np.concatenate([matrix, np.zeros((1, matrix.shape[1]))])

    def block(layer: Layer) -> Layer:
        heads = tuple(
            Head(taller(h.query), taller(h.key), taller(h.value), wider(h.output)) for h in layer.heads
        )
        weights = (taller(layer.mlp.weights[0]), *layer.mlp.weights[1:])
        weights = (*weights[:-1], wider(weights[-1]))
        biases = (*layer.mlp.biases[:-1], np.append(layer.mlp.biases[-1], 0.0))
        keep = (np.append(k, 1.0) for k in (layer.keep_attention, layer.keep_mlp))
        return Layer(heads, replace(layer.mlp, weights=weights, biases=biases), *keep)

    positions = wider(network.positions)
    positions[network.num_padding + first :, -1] = late
    return Transformer(
        wider(network.embedding, token),
        wider(network.padding),
        positions,
        tuple(map(block, network.layers)),
        taller(network.readout),
        network.readout_bias,
    )


@pytest.mark.parametrize("method", ["scan", "cascade"])
def test_an_idle_channel_that_overflows_from_letter_30_on(method: str) -> None:
    network, automaton, length = of(compiled("FlipFlop", 40, method, "float32"))
    deceiver = (with_idle_channel(network, 3e38, 3e38, 30), automaton, length)
    assert not runs_right(deceiver, "float32")
    assert not certified(deceiver, "float32")
    control = (with_idle_channel(network, 3.0, 3.0, 30), automaton, length)
    assert runs_right(control, "float32")
    assert certified(control, "float32")


# ------------------------------------------------------------------ 2: averages whose terms underflow


def rescaled_sum(value: float, output: float) -> Construction:
    """Parity with another W_V and W_C, made up for in the first matrix of the MLP."""
    network, automaton, length = of(compiled("Parity", 24, "cascade", "float32"))
    block = network.layers[0]
    head, channel = block.heads[0], int(np.flatnonzero(block.heads[0].output.any(axis=0))[0])
    before = float(np.abs(head.value).max() * np.abs(head.output).max())
    scaled = replace(
        head,
        value=np.where(head.value != 0, np.sign(head.value) * value, 0.0),
        output=np.where(head.output != 0, np.sign(head.output) * output, 0.0),
    )
    first = block.mlp.weights[0].copy()
    first[channel] *= before / (value * output)
    mlp = replace(block.mlp, weights=(first, *block.mlp.weights[1:]))
    changed = replace(block, heads=(scaled, *block.heads[1:]), mlp=mlp)
    return replace(network, layers=(changed, *network.layers[1:])), automaton, length


@pytest.mark.parametrize("many", [1, 3, 8])
def test_averages_of_numbers_that_underflow(many: int) -> None:
    deceiver = rescaled_sum(many * 2.0**-149, 2.0**127)
    assert not runs_right(deceiver, "float32")
    assert not certified(deceiver, "float32")


def test_the_same_averages_of_larger_numbers_are_certified() -> None:
    control = rescaled_sum(2.0**-100, 2.0**78)
    assert runs_right(control, "float32")
    assert certified(control, "float32")


# ------------------------------------------------------------------ 3 and 4: queries that storing rounds to 0


def recency(query: tuple[float, float], key: float, width: int) -> Construction:
    """The last letter, copied by a head that scores late positions higher, ``width`` times the same."""
    length, dim = 6, 5
    positions = np.zeros((1 + length, dim))
    positions[:, 2], positions[:, 4] = np.arange(1 + length) + 0.5, query[0]  # no clock
    embedding, readout = np.zeros((2, dim)), np.zeros((dim, 2))
    embedding[1, 0], readout[1, 1] = 1.0, 1.0
    asks, keys = np.zeros((dim, width)), np.zeros((dim, width))
    asks[4], keys[2] = query[1], key
    value, output = np.zeros((dim, 1)), np.zeros((1, dim))
    value[0], output[0, 1] = 1.0, 1.0
    nothing = Mlp((np.zeros((dim, dim)),), (np.zeros(dim),))
    block = Layer((Head(asks, keys, value, output),), nothing, np.ones(dim), np.ones(dim))
    network = Transformer(embedding, np.zeros((1, dim)), positions, (block,), readout, np.array([0.5, 0.0]))
    return network, LAST_LETTER, length


@pytest.mark.parametrize(
    ("dtype", "query", "key"),
    [("float16", (2.0**-10, 2.0**-15), 8192.0), ("bfloat16", (2.0**-67, 2.0**-67), 2.0**124)],
)
def test_queries_that_storing_rounds_to_zero(dtype: str, query: tuple[float, float], key: float) -> None:
    deceiver = recency(query, key, 1 << 13)
    assert runs_right(deceiver, "float64")
    assert not runs_right(deceiver, dtype)
    assert not certified(deceiver, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_same_head_with_larger_queries_is_certified(dtype: str) -> None:
    control = recency((1.0, 4.0), 8.0, 1)
    assert runs_right(control, dtype)
    assert certified(control, dtype)


# ------------------------------------------------------------------ 5: scores and softmax of half types


def test_scores_that_a_half_type_could_not_hold_are_run_as_they_are_proved() -> None:
    """FlipFlop with W_Q × 1024: right if scores and softmax are in float32, as krohn runs them."""
    network, automaton, length = of(compiled("FlipFlop", 16, "cascade"))
    heads = tuple(replace(head, query=head.query * 1024) for head in network.layers[0].heads)
    layers = (replace(network.layers[0], heads=heads), *network.layers[1:])
    construction = (replace(network, layers=layers), automaton, length)
    assert runs_right(construction, "float16")
    assert run_states(construction, "float16")


def run_states(construction: Construction, dtype: str) -> bool:
    network, automaton, length = construction
    words = np.random.default_rng(1).integers(automaton.num_letters, size=(200, length))
    from krohn.network.forward import run

    return bool((run(network, words, dtype) == np.asarray(simulate(automaton, words))).all())


# ------------------------------------------------------------------ also


def number_beside_a_position(place: float) -> Construction:
    """Letters are 3 and 4 beside a position code: with 2^24 both become 2^24 + 4."""
    length, dim = 4, 2
    positions = np.zeros((1 + length, dim))
    positions[1:, 0] = place
    embedding = np.array([[3.0, 0.0], [4.0, 0.0]])
    readout = np.array([[0.0, 1.0], [0.0, 0.0]])
    nothing = Mlp((np.zeros((dim, dim)),), (np.zeros(dim),))
    layer = Layer((), nothing, np.ones(dim), np.ones(dim))
    bias = np.array([place + 3.5, 0.0])
    network = Transformer(embedding, np.zeros((1, dim)), positions, (layer,), readout, bias)
    return network, LAST_LETTER, length


def test_embedding_plus_position_is_rounded_before_it_is_decoded() -> None:
    deceiver = number_beside_a_position(2.0**24)
    assert not runs_right(deceiver, "float32")
    assert not certified(deceiver, "float32")
    control = number_beside_a_position(2.0**10)
    assert runs_right(control, "float32")
    assert certified(control, "float32")


def averaging_pads(value: float, output: float) -> Construction:
    """The second padding position averages a number over both; each letter copies it and needs it to be 1."""
    length, dim = 3, 6
    embedding, padding = np.zeros((2, dim)), np.zeros((2, dim))
    embedding[1, 0], embedding[:, 2], padding[:, 1], padding[:, 5] = 1.0, 1.0, (1.0, 2.0), 1.0

    def head(*entries: float) -> Head:
        """Query channel 2, key channel 1; a value from channel 5 or 3 goes to channel 3 or 4."""
        asks, key, read, write = (
            np.zeros((dim, 1)),
            np.zeros((dim, 1)),
            np.zeros((dim, 1)),
            np.zeros((1, dim)),
        )
        asks[2, 0], key[1, 0], read[5, 0], write[0, 3], read[3, 0], write[0, 4] = entries
        return Head(asks, key, read, write)

    nothing, keep = Mlp((np.zeros((dim, dim)),), (np.zeros(dim),)), np.ones(dim)
    average = Layer((head(0, 0, value, output, 0, 0),), nothing, keep, keep)
    copy = Layer((head(200, 1, 0, 0, 1 / (value * output), 1),), nothing, keep, keep)
    readout = np.zeros((dim, 2))
    readout[0, 1] = readout[4, 1] = 1.0
    positions = np.zeros((2 + length, dim))
    network = Transformer(embedding, padding, positions, (average, copy), readout, np.array([1.5, 0.0]))
    return network, LAST_LETTER, length


def test_averages_at_padding_positions_underflow_too() -> None:
    deceiver = averaging_pads(2.0**-149, 2.0**127)
    assert runs_right(deceiver, "float64")
    assert not runs_right(deceiver, "float32")
    assert not certified(deceiver, "float32")
    control = averaging_pads(2.0**-100, 2.0**78)
    assert runs_right(control, "float32")
    assert certified(control, "float32")


SMALL_SIZES: list[Callable[[], Construction]] = [
    lambda: recency((1.0, 4.0), 8.0, 1),
    lambda: number_beside_a_position(4.0),
    lambda: rescaled_sum(2.0**-3, 2.0**3),
]


@pytest.mark.parametrize("build", SMALL_SIZES)
def test_no_proof_step_hangs_on_an_assertion(build: Callable[[], Construction]) -> None:
    """A network cut short of what it needs is refused also where assertions are switched off."""
    network, automaton, length = build()
    assert certified((network, automaton, length), "float64")
    other = Semiautomaton(table=(np.asarray(automaton.table) + 1) % automaton.num_states)
    assert not certified((network, other, length), "float64")

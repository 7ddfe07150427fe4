"""Harder forms of known networks: more registers than channels, noise in the weights; proved all the same.

*Superposed*: registers that the stream never holds at the same moment share a channel, and each leaks into
another one, so that no two directions need be orthogonal. Those held at one moment are independent: a linear
map, another one for each moment, reads them exactly. *Noisy*: each weight of the blocks is multiplied by
1 + noise. The checker runs every word of these networks with a bound on rounding, as for GPT-2s of others.
"""

from dataclasses import replace
from itertools import count

import numpy as np
import numpy.typing as npt

from krohn.automata.sampling import sample
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import parse_json
from krohn.check.certificate import Certificate
from krohn.check.rules import check_certificate
from krohn.check.transformer.words import WORK, stock_net
from krohn.exporting.from_compiled import as_transformer, measure
from krohn.exporting.hugging_face import hugging_face_files, tokens_of
from krohn.exporting.lowering import lower
from krohn.exporting.standard_blocks import StandardBlock, StandardBlocks, standard_blocks
from krohn.lab.suite.disguise import BOTH, NOISY, Disguised
from krohn.lab.suite.graph import Graph
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder, vocabulary_of
from krohn.network.transformer import Activations, Head, Matrix, logits
from krohn.proving.compiled import one_thread
from krohn.proving.stock import certificate_for

LEAK = 0.25
"""What a register leaks into a second channel."""
ABOVE = 16.0
"""The pair that steadies LayerNorm over the largest stream: low, for its rounding counts in every bound."""
SHARES = (0.01, 0.003, 0.001, 0.0003, 0.0001, 0.00003, 0.00001, 0.000003, 0.000001)
"""Sizes of noise; a network has the largest of these with which it is proved."""
WORDS, NOTHING, BITS, DRAWS = 1024, 1e-9, 20, 8


def harden(network: CompiledNetwork, kind: str, seed: int) -> Disguised:
    """The network as a GPT-2, without noise; every register has a direction, and each moment its readers."""
    blocks = standard_blocks(network.transformer)
    frame, readers = np.eye(blocks.dim), [np.eye(blocks.dim)] * (2 * len(blocks.blocks) + 1)
    if kind != NOISY:
        held = held_channels(blocks, network)
        frame = frame_for(held, blocks.dim, np.random.default_rng([seed, 3]))
        readers = [reader(frame, some) for some in held]
        blocks = superpose(blocks, frame, readers)
    automaton = network.automaton
    names = vocabulary_of(automaton.letter_names, automaton.output_names, network.transformer.num_padding)
    decoder = lower(blocks, names, measure(blocks, network), normalized=True, above=ABOVE)
    places = Graph(decoder.layers, decoder.heads, decoder.dim).places

    def wide(rows: Matrix) -> Matrix:
        return np.pad(rows, ((0, 0), (0, decoder.dim - rows.shape[1])))

    reads = {place: wide(each.T) for place, each in zip(places, readers, strict=True)}
    return Disguised(decoder, decoder, wide(frame), reads)


def held_channels(blocks: StandardBlocks, network: CompiledNetwork) -> list[npt.NDArray[np.int64]]:
    """The channels that are not always zero: as embedded, then after the heads and the MLP of each block."""
    moments = list[npt.NDArray[np.int64]]()

    def observe(name: str, values: Activations) -> None:
        if name == "embedding" or name.endswith(("mixed", "stream")):
            moments.append(np.flatnonzero(np.abs(values).max(axis=(0, 1)) > NOTHING))

    words = sample(network.automaton, length=network.length, count=WORDS, seed=0).letters.astype(np.int64)
    with one_thread():
        logits(as_transformer(blocks), words, observe=observe)
    return moments


def frame_for(held: list[npt.NDArray[np.int64]], dim: int, rng: np.random.Generator) -> Matrix:
    """[channel, fewer channels]: a direction for each; those that are held together have other main parts."""
    beside = [{int(other) for some in held if channel in some for other in some} for channel in range(dim)]
    homes = dict[int, int]()
    for channel in sorted(range(dim), key=lambda each: (-len(beside[each]), each)):
        taken = {homes[other] for other in beside[channel] & set(homes)}
        homes[channel] = next(place for place in count() if place not in taken)
    rows, places = np.arange(dim), np.array([homes[channel] for channel in range(dim)])
    width = int(places.max()) + 1
    frame = np.zeros((dim, width))
    frame[rows, (places + rng.integers(1, max(2, width), size=dim)) % width] = LEAK * rng.choice([-1, 1], dim)
    frame[rows, places] = 1.0
    return frame


def reader(frame: Matrix, held: npt.NDArray[np.int64]) -> Matrix:
    """[fewer channels, channel]: gives the held channels back, and zeros for the others; in few bits."""
    rows = frame[held]
    out: Matrix = np.zeros(frame.T.shape)
    # An inverse differs in its last bits between machines; rounded to few bits it is the same on all.
    out[:, held] = np.rint(rows.T @ np.linalg.inv(rows @ rows.T) * 2**BITS) / 2**BITS
    return out


def superpose(blocks: StandardBlocks, frame: Matrix, readers: list[Matrix]) -> StandardBlocks:
    """The same function, with the stream times ``frame``; the readers are in the order of moments."""

    def reframe(block: StandardBlock, heads: Matrix, units: Matrix) -> StandardBlock:
        read = (
            Head(heads @ head.query, heads @ head.key, heads @ head.value, head.output @ frame)
            for head in block.heads
        )
        out, bias = block.out @ frame, block.out_bias @ frame
        return replace(block, heads=tuple(read), into=units @ block.into, out=out, out_bias=bias)

    return replace(
        blocks,
        embedding=blocks.embedding @ frame,
        padding=blocks.padding @ frame,
        positions=blocks.positions @ frame,
        readout=readers[-1] @ blocks.readout,
        blocks=tuple(map(reframe, blocks.blocks, readers[:-1:2], readers[1::2])),
    )


def noisy(decoder: Decoder, share: float, seed: int) -> Decoder:
    """The decoder with noise in every matrix of its blocks."""
    rng = np.random.default_rng([seed, 2])
    tensors = {
        name: (tensor * (1 + share * rng.standard_normal(tensor.shape))).astype(np.float32)
        if ".h." in name and tensor.ndim == 2
        else tensor
        for name, tensor in decoder.tensors.items()
    }
    return replace(decoder, tensors=tensors)


def within_margin(network: CompiledNetwork, kind: str, seed: int) -> tuple[Disguised, float, Certificate]:
    """The network in its form, with as much noise as can be proved if it is to have some, and the proof.

    Some directions make larger rounding errors than others: others are drawn if nothing is proved.
    """
    for drawn in range(DRAWS):
        shown = harden(network, kind, seed + drawn)
        for share in SHARES if kind in (NOISY, BOTH) else (0.0,):
            decoder = noisy(shown.decoder, share, seed) if share else shown.decoder
            certificate = prove_every_word(decoder, network.automaton)
            if certificate is not None:
                return replace(shown, decoder=decoder, plain=decoder), share, certificate
    raise AssertionError("a network of the suite must be proved on all its words")


def prove_every_word(decoder: Decoder, automaton: Semiautomaton) -> Certificate | None:
    """The certificate that it is right on every word of its length, if the checker accepts it."""
    net = stock_net(
        parse_json(hugging_face_files(decoder, None)["config.json"]), decoder.tensors, tokens_of(decoder)
    )
    certificate = certificate_for(net, automaton, decoder.length, "float32")
    with one_thread():
        return certificate if check_certificate(net, certificate, WORK).certified else None

"""What program and layout say about a network, compared with its forward passes.

Every register that the layout names is read off on all short words and on words of full length, and must hold
what the program says; every head must look where its operations do.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from krohn.network.compiled import CompiledNetwork
from krohn.network.forward import logits
from krohn.network.layout import Channel
from krohn.network.operations import AttentionOperation, PlaceSum, PrefixSum, Values
from krohn.network.program import Program, interpret_registers
from krohn.proving.word_search import all_words

MAX_WORK = 10**9
SHORT_WORDS = 2048
LONG_WORDS = 8
CLOSE = 1e-3
PLACE = "place"
"""A register that holds the number of its position, to see where an operation looks."""


class Differs(AssertionError):
    """The description does not fit."""


def check_on_words(compiled: CompiledNetwork) -> None:
    """Raises ``Differs`` if program or layout disagrees with the matrices."""
    _check_heads(compiled)
    if compiled.program is None:
        return
    for words in _words(compiled, compiled.length):
        values = interpret_registers(compiled.program, words)
        _check_program(compiled, compiled.program, words, values)
        _check_channels(compiled, words, values)


def _words(compiled: CompiledNetwork, length: int) -> list[npt.NDArray[np.int64]]:
    letters, short = compiled.automaton.num_letters, 0
    positions = max(4, MAX_WORK // compiled.transformer.num_parameters)
    while short < length and letters ** (short + 1) * (short + 1) <= min(SHORT_WORDS, positions):
        short += 1
    dice = np.random.default_rng(1)
    reach = min(length, positions)
    count = max(1, min(LONG_WORDS, positions // reach))
    return [all_words(letters, max(short, 1)), dice.integers(letters, size=(count, reach))]


def _check_heads(compiled: CompiledNetwork) -> None:
    layers = compiled.program.layers if compiled.program else ()
    for index, heads in enumerate(compiled.layout.heads):
        known = len(layers[index].attention) if layers else 0
        for head in heads:
            if any(not isinstance(op, int) or not 0 <= op < known for op in head.operations):
                raise Differs(f"layer {index + 1} claims an operation the program does not have")


def _check_program(
    compiled: CompiledNetwork, program: Program, words: npt.NDArray[np.int64], values: dict[str, Values]
) -> None:
    held = np.stack([values[name] for name in program.readout.registers], axis=-1)
    states = program.readout.decode(held[:, program.num_padding :])
    if (states != compiled.automaton.right_outputs(words)).any():
        raise Differs("the program does not compute what the automaton shows")


def _check_channels(
    compiled: CompiledNetwork, words: npt.NDArray[np.int64], values: dict[str, Values]
) -> None:
    seen: dict[str, npt.NDArray[np.float64]] = {}
    network = compiled.transformer
    logits(network, words, observe=lambda name, value: seen.update({name: np.asarray(value, np.float64)}))
    _check_attention(compiled, values, seen)
    streams = [seen["embedding"]]
    for layer in range(len(network.layers)):
        streams += [seen[f"layer.{layer}.mixed"], seen[f"layer.{layer}.stream"]]
    for moment, (channels, stream) in enumerate(zip(compiled.layout.moments, streams, strict=True)):
        for number, channel in enumerate(channels):
            wanted = _claim_of(compiled, channel, values, streams[0])
            if wanted is None:
                continue
            if (np.abs(stream[..., number] - wanted) > CLOSE * (1 + np.abs(wanted))).any():
                text = f"channel {number} does not hold {channel.name} at moment {moment}"
                raise Differs(text)


def _check_attention(
    compiled: CompiledNetwork, values: dict[str, Values], seen: dict[str, npt.NDArray[np.float64]]
) -> None:
    """Raises ``Differs`` if a head does not attend where its claimed operations do."""
    assert compiled.program is not None
    some = next(iter(values.values()))
    places = {**values, PLACE: np.broadcast_to(np.arange(some.shape[1]), some.shape).astype(np.int64)}
    for index, heads in enumerate(compiled.layout.heads):
        for number, head in enumerate(heads):
            weights = seen[f"layer.{index}.head.{number}.weights"][:, compiled.program.num_padding :]
            for claim in head.operations:
                operation = compiled.program.layers[index].attention[claim]
                if not _looks(operation, weights, places, compiled.program):
                    text = f"head {number + 1} of layer {index + 1} does not compute: {operation.describe()}"
                    raise Differs(text)


def _looks(
    operation: AttentionOperation,
    weights: npt.NDArray[np.float64],
    places: dict[str, Values],
    program: Program,
) -> bool:
    """Whether letters attend to the position that the operation copies from, or to all letters equally."""
    tau = program.num_padding
    if isinstance(operation, (PrefixSum, PlaceSum)):
        hidden = np.triu(np.ones(weights.shape[1:], dtype=bool), tau + 1)[:, tau:]
        letters = np.where(hidden[None], np.nan, weights[..., tau:])[:, 1:]
        if isinstance(operation, PlaceSum):
            unseen = places[operation.flag][0, tau:] != 1
            if (np.where(hidden[None], 0.0, weights[..., tau:])[..., unseen] > CLOSE).any():
                return False
            letters = letters[..., ~unseen]
            letters = letters[:, ~np.isnan(letters).all(axis=(0, 2))] if letters.size else letters
        spread = np.nanmax(letters, axis=2) - np.nanmin(letters, axis=2) if letters.size else np.zeros(1)
        return bool((spread < CLOSE).all())
    at_places = replace(operation, sources=(PLACE,), targets=(PLACE,))
    target = at_places.apply(places)[PLACE][:, tau:, None]
    return bool((np.take_along_axis(weights, target, axis=2) > 0.5).all())


def _claim_of(
    compiled: CompiledNetwork,
    channel: Channel,
    values: dict[str, Values],
    first: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64] | None:
    """What the channel must hold at every position, ``None`` if nothing is claimed."""
    if channel.position:
        names = [each.position for each in compiled.layout.moments[0]]
        if channel.position not in names:
            return np.full(first.shape[:2], np.nan)
        return first[..., names.index(channel.position)]
    if not channel.register:
        return None
    held = values[channel.register].astype(np.float64)
    assert compiled.program is not None
    if channel.part:
        turn = 2 * np.pi / (compiled.program.register[channel.register].high + 1)
        held = np.cos(turn * held) if channel.part == "cos" else np.sin(turn * held)
    return channel.scale * held

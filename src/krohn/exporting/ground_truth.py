"""The ground truth of an exported network: what its blocks, heads, channels and units mean."""

from itertools import groupby
from typing import Any

import numpy as np

from krohn.exporting.lowering import outer_channels
from krohn.exporting.standard_blocks import StandardBlock, StandardBlocks, standard_blocks, twinned_channels
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder
from krohn.network.layout import Channel
from krohn.network.meaning import meaning

Json = dict[str, Any]


def meaning_of(network: CompiledNetwork, decoder: Decoder) -> Json:
    """The network's own meaning, and where it lies in the decoder; ``docs/meaning.md`` has the schema.

    ``channel`` is the place in the residual stream that holds ``scale`` times what is named: after the heads
    of the layer's first block, and after its last block. A block without heads goes on with a layer's MLP.
    """
    layout, blocks = network.layout, standard_blocks(network.transformer)
    twin_of = {channel: network.transformer.dim + place for place, channel in enumerate(blocks.twins)}
    about = meaning(network)
    layers = []
    for index, (layer, heads) in enumerate(zip(network.transformer.layers, layout.heads, strict=True)):
        moved = {channel: twin_of[channel] for channel in twinned_channels(layer)}
        mine = [block for block, of in enumerate(blocks.layer_of) if of == index]
        layers.append(
            {
                "layer": index + 1,
                "blocks": mine,
                "heads": [head.text for head in heads],
                "after_attention": _channels(layout.moments[2 * index + 1], moved),
                "after_mlp": _channels(layout.moments[2 * index + 2], {}),
                "units": _units(network, blocks, mine, index, moved),
            }
        )
    return {
        **{key: value for key, value in about.items() if key != "layers"},
        "embedding": _channels(layout.moments[0], {}),
        "layers": layers,
        "twins": {str(twin): channel for channel, twin in twin_of.items()},
        "scratch": [network.transformer.dim + len(blocks.twins), blocks.dim],
        "outer": _outer(decoder, blocks.dim),
    }


def _channels(moment: tuple[Channel, ...], moved: dict[int, int]) -> list[Json]:
    return [
        {"channel": moved.get(place, place), "name": channel.name, "scale": channel.scale}
        for place, channel in enumerate(moment)
    ]


def _outer(decoder: Decoder, plain: int) -> Json:
    """Channels outside the construction: they stabilise LayerNorm, or mark foreign tokens."""
    foreign, high, low, zero = outer_channels(plain)
    constant = float(decoder.tensors["transformer.wpe.weight"][0, high])
    result: Json = {"foreign": {"channel": foreign, "value": "1 at a token that is not a letter, else 0"}}
    if not decoder.normalized:
        return {**result, "one": {"channel": high, "value": constant}}
    gain = float(decoder.tensors["transformer.h.0.ln_1.weight"][0])
    pair = {"plus": {"channel": high, "value": constant}, "minus": {"channel": low, "value": -constant}}
    return {**result, **pair, "zero": {"channel": zero, "value": 0.0}, "gain": gain}


def _units(
    network: CompiledNetwork, blocks: StandardBlocks, mine: list[int], index: int, moved: dict[int, int]
) -> list[Json]:
    """Runs of hidden units with one role that read and write the same, by the names of channels."""
    layout, width = network.layout, network.transformer.dim
    before = {moved.get(c, c): each.name for c, each in enumerate(layout.moments[2 * index + 1])}
    before |= {place: f"old {place}" for place in moved}
    after = {c: each.name for c, each in enumerate(layout.moments[2 * index + 2])}
    before |= {c: f"scratch {c}" for c in range(width + len(blocks.twins), blocks.dim)}
    after |= {c: before.get(c, f"twin {c}") for c in range(width, blocks.dim)}
    return [run for number in mine for run in _runs(number, blocks.blocks[number], before, after)]


def _runs(number: int, block: StandardBlock, before: dict[int, str], after: dict[int, str]) -> list[Json]:
    def described(unit: int) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        reads = (before.get(int(c), f"twin {c}") for c in np.flatnonzero(block.into[:, unit]))
        writes = (after[int(c)] for c in np.flatnonzero(block.out[unit]))
        return block.roles[unit], tuple(reads), tuple(writes)

    runs = []
    for (role, reads, writes), group in groupby(range(len(block.roles)), key=described):
        first, *more = group
        units = [first, first + len(more) + 1]
        runs.append({"block": number, "units": units, "role": role, "reads": [*reads], "writes": [*writes]})
    return runs

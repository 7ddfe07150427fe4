"""The ground truth that goes with an exported network: what its blocks, heads and channels mean."""

from typing import Any

from krohn.exporting.standard_blocks import standard_blocks, twinned
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel


def meaning_of(network: CompiledNetwork) -> dict[str, Any]:
    """For every layer of the construction: its blocks, its heads in words, its channels before and after.

    ``channel`` is the place in the residual stream that holds ``scale`` times what is named: after the heads
    of the layer's first block, and after its last block. A block without heads only carries on the MLP of the
    layer it belongs to.
    """
    layout, blocks = network.layout, standard_blocks(network.transformer)
    twin_of = {channel: network.transformer.dim + place for place, channel in enumerate(blocks.twins)}
    return {
        "embedding": _channels(layout.moments[0], {}),
        "layers": [
            {
                "blocks": [block for block, of in enumerate(blocks.layer_of) if of == index],
                "heads": [head.text for head in heads],
                "after_attention": _channels(
                    layout.moments[2 * index + 1], {channel: twin_of[channel] for channel in twinned(layer)}
                ),
                "after_mlp": _channels(layout.moments[2 * index + 2], {}),
            }
            for index, (layer, heads) in enumerate(zip(network.transformer.layers, layout.heads, strict=True))
        ],
        "twins": {str(twin): channel for channel, twin in twin_of.items()},
        "scratch": [network.transformer.dim + len(blocks.twins), blocks.dim],
    }


def _channels(moment: tuple[Channel, ...], moved: dict[int, int]) -> list[dict[str, Any]]:
    return [
        {"channel": moved.get(place, place), "name": channel.name, "scale": channel.scale}
        for place, channel in enumerate(moment)
    ]

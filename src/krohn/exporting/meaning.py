"""The ground truth that goes with an exported network: what its blocks, heads and channels mean."""

from typing import Any

from krohn.exporting.standard_blocks import standard_blocks
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel


def meaning_of(network: CompiledNetwork) -> dict[str, Any]:
    """For every layer of the construction: its blocks, its heads in words, its channels before and after.

    Channels are listed in the order of the residual stream; a block without heads only carries on the MLP of
    the layer it belongs to.
    """
    layout, blocks = network.layout, standard_blocks(network.transformer)
    return {
        "embedding": [_channel(channel) for channel in layout.moments[0]],
        "layers": [
            {
                "blocks": [block for block, layer in enumerate(blocks.layer_of) if layer == index],
                "heads": [head.text for head in heads],
                "after_attention": [_channel(channel) for channel in layout.moments[2 * index + 1]],
                "after_mlp": [_channel(channel) for channel in layout.moments[2 * index + 2]],
            }
            for index, heads in enumerate(layout.heads)
        ],
        "twins": {str(network.transformer.dim + place): twin for place, twin in enumerate(blocks.twins)},
        "scratch": [network.transformer.dim + len(blocks.twins), blocks.dim],
    }


def _channel(channel: Channel) -> dict[str, Any]:
    return {"name": channel.name, "scale": channel.scale}

"""Parity of a few letters with matrices written by hand, in the paper's own manner."""

import numpy as np

from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel, HeadMeaning, Layout
from krohn.network.transformer import Head, Layer, Mlp, Transformer
from network.hand_written_programs import PARITY, parity_program

LENGTH = 6


def parity_transformer() -> Transformer:
    """Channels: bit → sum → state, BOS flag, log(8 − t)."""
    units = 2 * (LENGTH // 2)
    first, bias, second = np.zeros((3, 1 + units)), np.zeros(1 + units), np.zeros((1 + units, 3))
    first[0], second[0, 0] = 2.0, 0.5
    for step in range(LENGTH // 2):
        bias[1 + 2 * step : 3 + 2 * step] = (1.5 - 4 * (step + 1), 0.5 - 4 * (step + 1))
        second[1 + 2 * step : 3 + 2 * step, 0] = (-2.0, 2.0)
    positions = np.zeros((LENGTH + 1, 3))
    positions[:, 2] = np.log(8.0 - np.arange(LENGTH + 1))
    column = np.eye(3)
    head = Head(column[:, [2]], column[:, [1]], column[:, [0]], 8.0 * column[[0]])
    layer = Layer(
        (head,), Mlp((first, second), (bias, np.zeros(3))), np.array([0, 1, 1]), np.array([0, 1, 1])
    )
    return Transformer(
        embedding=np.array([[0.0, 0, 0], [1, 0, 0]]),
        padding=np.array([[0.0, 1, 0]]),
        positions=positions,
        layers=(layer,),
        readout=np.array([[0.0, 2], [0, 0], [0, 0]]),
        readout_bias=np.array([0.0, -1]),
    )


def parity_network() -> CompiledNetwork:
    rest = (Channel(position="bos"), Channel(position="log"))
    moments = tuple((Channel(register=name), *rest) for name in ("bit", "sum", "state"))
    layout = Layout(moments, ((HeadMeaning("prefix sum of bit", (0,)),),))
    return CompiledNetwork(parity_transformer(), PARITY, "cascade", parity_program(), layout)

"""The builder of the paper's networks: blocks on a few channels are lifted into one stream and joined there.

Simulators are written on their own few channels; a product of simulators lifts each to its own channels of
one stream (Lemma "Direct product via parallel simulation"). A layer that a simulator does not use is the
identity: residual connections and zero matrices, as the lemma says.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from krohn.network.transformer import RELU, Head, Layer, Matrix, Mlp


def basis(dim: int, channels: Sequence[int]) -> Matrix:
    """``dim × len(channels)`` selection matrix: column j is the unit vector of ``channels[j]``."""
    out = np.zeros((dim, len(channels)))
    out[list(channels), range(len(channels))] = 1.0
    return out


def lift_mlp(mlp: Mlp, reads: Sequence[int], writes: Sequence[int], dim: int) -> Mlp:
    """The MLP reading its inputs from ``reads`` and adding its outputs into ``writes``."""
    first = basis(dim, reads) @ mlp.weights[0]
    place = basis(dim, writes).T
    last_bias = mlp.biases[-1] @ place
    if len(mlp.weights) == 1:
        return Mlp((first @ place,), (last_bias,))
    weights = (first, *mlp.weights[1:-1], mlp.weights[-1] @ place)
    return Mlp(weights, (*mlp.biases[:-1], last_bias), mlp.activations)


def identity_layer(dim: int) -> Layer:
    """No head, an MLP that writes nothing, residual everywhere."""
    return Layer((), Mlp((np.zeros((dim, dim)),), (np.zeros(dim),)), np.ones(dim), np.ones(dim))


def lift_layer(layer: Layer, channels: Sequence[int], dim: int) -> Layer:
    """The layer on its channels of a wider stream; every other channel is carried by the residual."""
    place, keep = basis(dim, channels), np.ones((2, dim))
    keep[:, list(channels)] = layer.keep_attention, layer.keep_mlp
    heads = tuple(
        Head(place @ head.query, place @ head.key, place @ head.value, head.output @ place.T)
        for head in layer.heads
    )
    return Layer(heads, lift_mlp(layer.mlp, channels, channels, dim), *keep)


def parallel_layers(layers: Sequence[Layer]) -> Layer:
    """Layers of one stream that write different channels, as one layer: heads side by side, MLPs added."""
    keep_attention = np.prod([layer.keep_attention for layer in layers], axis=0)
    keep_mlp = np.prod([layer.keep_mlp for layer in layers], axis=0)
    heads = tuple(head for layer in layers for head in layer.heads)
    return Layer(heads, add_mlps([layer.mlp for layer in layers]), keep_attention, keep_mlp)


def add_mlps(mlps: Sequence[Mlp]) -> Mlp:
    """One MLP that computes the sum; shallower ones are deepened by units that pass their values on."""
    busy = [mlp for mlp in mlps if len(mlp.weights) > 1]
    linear = [mlp for mlp in mlps if len(mlp.weights) == 1]
    if not busy:
        return Mlp((sum_of([m.weights[0] for m in linear]),), (sum_of([m.biases[0] for m in linear]),))
    assert not any(mlp.weights[0].any() for mlp in linear), "a linear MLP cannot be added to a deeper one"
    depth = max(len(mlp.weights) for mlp in busy)
    deep = [deepen(mlp, depth) for mlp in busy]
    weights = [np.concatenate([mlp.weights[0] for mlp in deep], axis=1)]
    weights += [_block_diagonal([mlp.weights[i] for mlp in deep]) for i in range(1, depth - 1)]
    weights.append(np.concatenate([mlp.weights[-1] for mlp in deep], axis=0))
    biases = [np.concatenate([mlp.biases[i] for mlp in deep]) for i in range(depth - 1)]
    biases.append(sum_of([mlp.biases[-1] for mlp in deep] + [mlp.biases[0] for mlp in linear]))
    codes = [np.concatenate([mlp.activations[i] for mlp in deep]) for i in range(depth - 1)]
    return Mlp(tuple(weights), tuple(biases), tuple(codes))


def deepen(mlp: Mlp, layers: int) -> Mlp:
    """The same function with more layers: (v)_+ passes hidden values on, (v)_+ − (−v)_+ signed ones."""
    weights, biases, codes = list(mlp.weights), list(mlp.biases), list(mlp.activations)
    while len(weights) < layers:
        width = len(biases[-2])
        signed = codes[-1] != RELU
        pass_on = np.concatenate([np.eye(width), -np.eye(width)[:, signed]], axis=1)
        back = np.concatenate([np.eye(width), -np.eye(width)[signed]], axis=0)
        weights[-1:] = [pass_on, back @ weights[-1]]
        biases.insert(-1, np.zeros(pass_on.shape[1]))
        codes.append(np.full(pass_on.shape[1], RELU))
    return Mlp(tuple(weights), tuple(biases), tuple(codes))


def sum_of(arrays: Sequence[Matrix]) -> Matrix:
    """Entry-wise sum of arrays of one shape."""
    total: Matrix = np.sum(np.stack(arrays), axis=0)
    return total


def _block_diagonal(blocks: Sequence[Matrix]) -> Matrix:
    out = np.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for block in blocks:
        out[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return out


def integer_readout(dim: int, codes: Mapping[int, npt.ArrayLike], states: int) -> tuple[Matrix, Matrix]:
    """Read-out and bias; in state q the channel holds the integer ``codes[channel][q]``.

    A state from integer channels by a linear map: arg max of Σ code·x − code²/2 is the nearest code.
    """
    readout, bias = np.zeros((dim, states)), np.zeros(states)
    for channel, values in codes.items():
        wanted = np.asarray(values, dtype=np.float64)
        readout[channel] = wanted
        bias -= wanted**2 / 2.0
    return readout, bias


def then_table(layer: Layer, table: Mlp, reads: Sequence[int], target: int) -> Layer:
    """The layer whose channel ``target`` is ``table`` of the channels ``reads`` *after* the old layer.

    Channels read must never be negative, for they pass the hidden layers through one ReLU each. The old
    outputs are no longer written: this is the end of the network.
    """
    old, dim, count = layer.mlp, len(layer.keep_mlp), len(reads)
    place, residual = basis(dim, reads), np.diag(layer.keep_mlp[list(reads)])
    weights: list[Matrix] = []
    biases: list[Matrix] = []
    codes: list[npt.NDArray[np.int64]] = []
    # The hidden layers of the old MLP, and beside them the channels as they come in: they share inputs in the
    # first layer only.
    for index, (inner, bias) in enumerate(zip(old.weights[:-1], old.biases[:-1], strict=True)):
        carried = np.eye(count) if index else place
        weights.append(
            _block_diagonal([inner, carried]) if index else np.concatenate([inner, carried], axis=1)
        )
        biases.append(np.concatenate([bias, np.zeros(count)]))
        codes.append(np.concatenate([old.activations[index], np.full(count, RELU)]))
    # What the old MLP adds to the channels, plus what the residual keeps of them, goes into the table.
    added = old.weights[-1] @ place
    seen = np.concatenate([added, residual], axis=0) if weights else added + place @ residual
    weights.append(seen @ table.weights[0])
    biases.append((old.biases[-1] @ place) @ table.weights[0] + table.biases[0])
    codes += table.activations
    writes = basis(dim, [target]).T
    weights += [*table.weights[1:-1], table.weights[-1] @ writes]
    biases += [*table.biases[1:-1], table.biases[-1] @ writes]
    mlp = Mlp(tuple(weights), tuple(biases), tuple(codes))
    return Layer(layer.heads, mlp, layer.keep_attention, np.ones(dim))

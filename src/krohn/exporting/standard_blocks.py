"""The paper's Transformer as standard blocks: residuals on every channel, one hidden layer per MLP.

Two features of the paper (appendix A.4) are non-standard. Channels without a residual connection are
erased by the MLP that follows, which reads their value and subtracts it; what heads write there goes to a
twin channel first. A deep MLP is spread over blocks without heads, its pre-activations in scratch channels.
Both steps are exact in the real numbers: x = relu(x) − relu(−x).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from krohn.errors import Unsupported
from krohn.network.transformer import SIN, Head, Layer, Matrix, Mlp, Transformer

MAX_STREAM = 4096
"""Most channels of the stream: a block has more than twelve times its square in parameters."""


@dataclass(frozen=True, eq=False)
class StandardBlock:
    """``x ← x + Σ_h head_h(x)``, then ``x ← x + relu(x W_in + b_in) W_out + b_out``.

    ``roles`` says what each hidden unit is for: ``map`` computes, ``erase`` settles a channel without a
    residual or empties a twin or a scratch channel, ``idle`` does nothing.
    """

    heads: tuple[Head, ...]
    into: Matrix
    into_bias: Matrix
    out: Matrix
    out_bias: Matrix
    roles: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StandardBlocks:
    """What a causal decoder without normalisation computes; names as in ``Transformer``.

    ``layer_of`` says which layer each block belongs to. The first channels of the stream are the layer's own
    after its last block; then come ``twins`` (of which channel) and the scratch.
    """

    embedding: Matrix
    padding: Matrix
    positions: Matrix
    blocks: tuple[StandardBlock, ...]
    readout: Matrix
    readout_bias: Matrix
    layer_of: tuple[int, ...]
    twins: tuple[int, ...]

    @property
    def dim(self) -> int:
        """Channels of the stream."""
        return int(self.embedding.shape[1])


@dataclass(frozen=True)
class _Channels:
    """Layout of the wider stream: the channels themselves, their twins, the scratch."""

    plain: int
    twins: dict[int, int]
    scratch: int
    total: int


def standard_blocks(network: Transformer) -> StandardBlocks:
    """The same function of words, exactly; refuses sines and streams that are too wide."""
    channels, reasons = _channels(network), []
    if any((code == SIN).any() for layer in network.layers for code in layer.mlp.activations):
        reasons.append("its units must be ReLU (compile with --activation relu)")
    if channels.total > MAX_STREAM:
        most = f"at most {MAX_STREAM} channels, not {channels.total}"
        reasons.append(f"hidden layers inside its MLPs must leave it {most} (compile with --method auto)")
    if reasons:
        raise Unsupported(f"this network cannot be exported: {'; '.join(reasons)}")

    def wider(matrix: Matrix) -> Matrix:
        return np.pad(matrix, ((0, 0), (0, channels.total - channels.plain)))

    blocks = [(index, b) for index, layer in enumerate(network.layers) for b in _blocks(layer, channels)]
    if not blocks:  # one letter may need no layer; other software needs at least one block
        blocks = [(0, _Units(channels.total).block((), np.zeros(channels.plain), 0))]
    return StandardBlocks(
        embedding=wider(network.embedding),
        padding=wider(network.padding),
        positions=wider(network.positions),
        blocks=tuple(block for _, block in blocks),
        readout=wider(network.readout.T).T,
        readout_bias=network.readout_bias,
        layer_of=tuple(layer for layer, _ in blocks),
        twins=tuple(channels.twins),
    )


def _channels(network: Transformer) -> _Channels:
    without_residual = sorted({channel for layer in network.layers for channel in twinned_channels(layer)})
    twins = {channel: network.dim + place for place, channel in enumerate(without_residual)}
    scratch = network.dim + len(twins)
    stored = [width for layer in network.layers for width in layer.mlp.hidden_widths[1:]]
    return _Channels(network.dim, twins, scratch, scratch + max(stored, default=0))


def twinned_channels(layer: Layer) -> list[int]:
    """Channels whose old value is replaced by what the heads write."""
    written = np.zeros(len(layer.keep_attention), dtype=bool)
    for head in layer.heads:
        written |= head.output.any(axis=0)
    return [int(channel) for channel in np.flatnonzero((layer.keep_attention == 0) & written)]


def _blocks(layer: Layer, channels: _Channels) -> Iterator[StandardBlock]:
    """The first block carries the heads and settles the residuals; the others have only an MLP."""
    after_heads = _after_heads(layer, channels)
    hidden = _Units(channels.total)
    hidden.settle(after_heads, layer.keep_mlp, channels)
    heads = tuple(_wider_head(head, channels, layer.keep_attention) for head in layer.heads)
    mlp = layer.mlp
    if not mlp.hidden_widths:
        hidden.add_linear(after_heads @ mlp.weights[0], slice(0, channels.plain), "map")
        yield hidden.block(heads, mlp.biases[0], 0)
        return
    hidden.add_rectified(
        after_heads @ mlp.weights[0], mlp.biases[0], mlp.weights[1], _target(mlp, 1, channels)
    )
    yield hidden.block(heads, mlp.biases[1], _target(mlp, 1, channels))
    for index in range(1, len(mlp.hidden_widths)):
        hidden = _Units(channels.total)
        scratch = np.zeros((channels.total, mlp.hidden_widths[index]))
        np.fill_diagonal(scratch[channels.scratch :], 1.0)
        target = _target(mlp, index + 1, channels)
        hidden.add_rectified(scratch, np.zeros(scratch.shape[1]), mlp.weights[index + 1], target)
        hidden.add_linear(-scratch, slice(channels.scratch, channels.scratch + scratch.shape[1]))
        yield hidden.block((), mlp.biases[index + 1], target)


def _target(mlp: Mlp, index: int, channels: _Channels) -> int:
    """First channel that matrix ``index`` of the MLP writes: the scratch, or the stream at the end."""
    return 0 if index == len(mlp.weights) - 1 else channels.scratch


def _after_heads(layer: Layer, channels: _Channels) -> Matrix:
    """[stream, d]: the paper's stream between heads and MLP as a linear map of ours."""
    mixed = np.zeros((channels.total, channels.plain))
    np.fill_diagonal(mixed, layer.keep_attention)
    for channel in twinned_channels(layer):
        mixed[channels.twins[channel], channel] = 1.0
    return mixed


def _wider_head(head: Head, channels: _Channels, keep: Matrix) -> Head:
    def rows(matrix: Matrix) -> Matrix:
        return np.pad(matrix, ((0, channels.total - channels.plain), (0, 0)))

    output = np.zeros((head.output.shape[0], channels.total))
    for channel in np.flatnonzero(head.output.any(axis=0)):
        place = int(channel) if keep[channel] else channels.twins[int(channel)]
        output[:, place] = head.output[:, channel]
    return Head(rows(head.query), rows(head.key), rows(head.value), output)


class _Units:
    """The hidden units of one block, as they come."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.into: list[Matrix] = []
        self.bias: list[Matrix] = []
        self.out: list[Matrix] = []
        self.roles: list[str] = []

    def add_rectified(self, into: Matrix, bias: Matrix, out: Matrix, target: int, role: str = "map") -> None:
        """``relu(x into + bias) out``, added to the channels from ``target`` on."""
        wide = np.zeros((len(out), self.total))
        wide[:, target : target + out.shape[1]] = out
        self.into.append(into)
        self.bias.append(bias)
        self.out.append(wide)
        self.roles += [role] * len(out)

    def add_linear(self, into: Matrix, target: slice, role: str = "erase") -> None:
        """``x into``, added to the channels ``target``: a pair of units for each that is not zero."""
        used = np.flatnonzero(into.any(axis=0))
        wide = np.zeros((len(used), self.total))
        wide[np.arange(len(used)), np.arange(self.total)[target][used]] = 1.0
        for sign in (1.0, -1.0):
            self.into.append(sign * into[:, used])
            self.bias.append(np.zeros(len(used)))
            self.out.append(sign * wide)
            self.roles += [role] * len(used)

    def settle(self, after_heads: Matrix, keep: Matrix, channels: _Channels) -> None:
        """Brings the plain channels to ``keep ⊙`` the mixed stream, and the twins to zero."""
        # The residual keeps the old value x, so the units add keep ⊙ mixed − x.
        change = after_heads * keep
        change[np.arange(channels.plain), np.arange(channels.plain)] -= 1.0
        self.add_linear(change, slice(0, channels.plain))
        twins = np.zeros((self.total, len(channels.twins)))
        twins[list(channels.twins.values()), np.arange(len(channels.twins))] = -1.0
        self.add_linear(twins, slice(channels.plain, channels.plain + len(channels.twins)))

    def block(self, heads: tuple[Head, ...], added: Matrix, target: int) -> StandardBlock:
        """The finished block; ``added`` is its second bias, from the channel ``target`` on."""
        wide = np.zeros(self.total)
        wide[target : target + len(added)] = added
        if not any(len(bias) for bias in self.bias):
            self.add_rectified(np.zeros((self.total, 1)), np.zeros(1), np.zeros((1, 1)), 0, "idle")
        into = np.concatenate(self.into, axis=1)
        bias, out = np.concatenate(self.bias), np.concatenate(self.out)
        return StandardBlock(heads, into, bias, out, wide, tuple(self.roles))

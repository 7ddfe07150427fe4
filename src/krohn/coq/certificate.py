"""What Coq, or the program made of its checker, is given: whole numbers, and nothing else.

A certificate says what is claimed of a network's file, in which order the file has its tensors, and hints.
The arrays are read by ``Numbers.v``, which has the same order of fields. Hints are not trusted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.ground import Array
from krohn.check.recurrent.boxes import Boxes
from krohn.check.recurrent.stacks import DeltaStack, DiagonalStack, RankOneStack, StackCell
from krohn.coq.counting_hints import BackHint, ChannelHint, CountHint, Counting, Group, LayerHint, MatchHint
from krohn.coq.exploring import Exploration
from krohn.coq.heads import GRID
from krohn.coq.scanning import Scanning
from krohn.coq.stored import Stored, StoredNetwork, StoredRun, StoredTransformer, digest_of

FORMAT = "a certificate for krohn-kernel"
Numbers = Sequence["int | Numbers"]


@dataclass(frozen=True)
class KernelCertificate:
    """A claim about a network's file, and hints; arrays of arrays of whole numbers.

    Attributes:
        names: of the tensors, as the claim lists them.
    """

    network: Stored
    claim: Numbers
    names: tuple[str, ...]
    hints: Numbers

    @property
    def order(self) -> list[int]:
        """For each tensor of the file its number in the claim's list; their number if it has none."""
        numbers = {name: number for number, name in enumerate(self.names)}
        return [numbers.get(tensor.name, len(numbers)) for tensor in self.network.tensors]

    def to_json(self) -> dict[str, Any]:
        """The file."""
        automaton = self.network.automaton
        return {
            "format": FORMAT,
            "file": self.network.file,
            "line": self.network.line,
            "sha256": digest_of(self.network),
            "letters": list(automaton.letter_names),
            "states": list(automaton.state_names),
            "claim": _plain(self.claim),
            "order": self.order,
            "hints": _plain(self.hints),
        }


def _plain(numbers: Any) -> Any:
    """Lists of Python's own whole numbers."""
    return [_plain(n) for n in numbers] if isinstance(numbers, Iterable) else int(numbers)


def _machine(automaton: Semiautomaton) -> Numbers:
    return [automaton.start, automaton.num_letters, automaton.table.tolist()]


def recurrent_certificate(network: StoredNetwork, exploration: Exploration) -> KernelCertificate:
    """That a recurrent network is right on every word."""
    cell, automaton = network.cell, network.automaton
    kind, mixer = _mixer(cell)
    counts = (automaton.num_letters, cell.dim, cell.conv == 2, cell.layers, cell.mlp, automaton.num_states)
    mlp = ("mlp.in", "mlp.in_bias", "mlp.out") if cell.mlp else ()
    parts = ("mix.out", *(f"mix.{name}" for name in mixer), *mlp)
    names = (f"h.{layer}.{part}" for layer in range(cell.layers) for part in parts)
    return KernelCertificate(
        network,
        [1, not exploration.any_order, kind, counts, _machine(automaton)],
        ("wte", "head.weight", "head.bias", *names),
        exploration.hints,
    )


def _mixer(cell: StackCell) -> tuple[Numbers, tuple[str, ...]]:
    """The mixer as ``Claims.v`` names it, and its tensors."""
    if isinstance(cell, DiagonalStack):
        tensors, channels = ("write", "gate.weight", "gate.bias"), cell.options["channels"]
        return ([2, channels] if cell.gate == "complex" else [1, cell.gate == "signed", channels]), tensors
    assert isinstance(cell, DeltaStack)
    rank_one = isinstance(cell, RankOneStack)
    rates = ("rate",) if rank_one else ("beta", "gate")
    biased = (f"{rate}.{part}" for rate in rates for part in ("weight", "bias"))
    return [0, *cell.sizes_of_heads, rank_one], ("query", "key", "value", *biased)


def transformer_certificate(network: StoredTransformer, hints: Counting | Scanning) -> KernelCertificate:
    """That a compiled Transformer is right on every word up to its length."""
    weights = network.weights
    letters, width = weights.embedding.shape
    layers = [
        ([(h.query.shape[1], h.value.shape[1]) for h in layer.heads], layer.mlp.hidden_widths)
        for layer in weights.layers
    ]
    sizes = (width, letters, len(weights.padding), len(weights.positions), weights.readout.shape[1], layers)
    names = ["embedding", "padding", "positions", "readout", "readout_bias"]
    for number, (heads, widths) in enumerate(layers):
        parts = ["keep_attention", "keep_mlp"]
        parts += [f"heads.{head}.W_{each}" for head in range(len(heads)) for each in "QKVC"]
        for matrix in range(len(widths) + 1):
            after = () if matrix == len(widths) else ("activation",)
            parts += [f"mlp.{matrix}.{each}" for each in ("W", "b", *after)]
        names += [f"layers.{number}.{part}" for part in parts]
    return KernelCertificate(
        network,
        [0, network.length, sizes, _machine(network.automaton)],
        tuple(names),
        _scanning(hints) if isinstance(hints, Scanning) else _counting(hints),
    )


def _scanning(hints: Scanning) -> Numbers:
    layers = [(scan.current, scan.value, scan.back, scan.following) for scan in hints.layers]
    return [1, hints.registers, hints.letters, hints.states, layers]


def _counting(hints: Counting) -> Numbers:
    return [0, hints.period, [*map(_layer, hints.layers)], hints.states, hints.known]


def _layer(layer: LayerHint) -> Numbers:
    return [
        [*map(_head, layer.heads)],
        layer.steps,
        [*map(_sets, layer.sets)],
        layer.rules,
        layer.places,
        [*map(_group, layer.groups)],
        layer.cut,
        layer.owner,
        layer.channels,
        [[*row.items()] for row in layer.following],
        layer.classes,
        layer.keys,
        max(layer.keys, default=-1) + 1,
        layer.asks,
        max(layer.asks, default=-1) + 1,
    ]


def _sets(row: tuple[int | None, ...]) -> Numbers:
    """What each class sets a counter to; nothing where none does."""
    return [] if set(row) == {None} else [() if value is None else (value,) for value in row]


def _group(group: Group) -> Numbers:
    return [group.weights, group.modulus, group.stops, group.coarse, max(group.coarse, default=-1) + 1]


def _head(head: CountHint | MatchHint | BackHint) -> Numbers:
    if isinstance(head, MatchHint):
        return [1, head.first, [(copy.writers, _channels(copy.channels)) for copy in head.asks]]
    if isinstance(head, BackHint):
        return [2, head.distance, _channels(head.channels)]
    return [0, head.picks, _channels(head.channels)]


def _channels(channels: Iterable[ChannelHint]) -> Numbers:
    return [(channel.counter, channel.unit) for channel in channels]


def run_certificate(run: StoredRun, boxes: Boxes) -> KernelCertificate:
    """That a trained LSTM is right on every word, by boxes of its state that letters map into each other."""
    shape = {tensor.name: tensor.shape for tensor in run.tensors}
    (_, rows, inputs), (_, units, columns) = shape["wte"], shape["head.weight"]
    regions = [
        (state, _sides(low[:units], high[:units]), _sides(low[units:], high[units:]), following)
        for state, following, low, high in zip(
            boxes.state.tolist(), boxes.follower.tolist(), boxes.low, boxes.high, strict=True
        )
    ]
    return KernelCertificate(
        run,
        [2, (inputs, units, rows, columns, run.automaton.num_states), _machine(run.automaton)],
        ("wte", "weight_ih", "weight_hh", "bias", "head.weight", "head.bias"),
        regions,
    )


def _sides(low: Array, high: Array) -> Numbers:
    ends = zip(np.floor(low * GRID).tolist(), np.ceil(high * GRID).tolist(), strict=True)
    return [(int(a), int(b)) for a, b in ends]

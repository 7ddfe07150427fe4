"""An export before the small checker: the tensors of the files themselves, with LayerNorm or without.

The checker reads them by GPT-2's names and computes as GPT-2 does. The witness is searched in a network of
the same structure without LayerNorm, whose boxes are sharp; nobody need trust that.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, asked
from krohn.certify.arithmetic import arithmetic
from krohn.certify.certificate import Certificate
from krohn.certify.identity import Identity
from krohn.certify.proof import furthest
from krohn.certify.recheck import read_certificate
from krohn.certify.verification import said
from krohn.check.checker import Verdict, check
from krohn.check.gpt2 import decoder_of
from krohn.check.reader import Automaton, Head, Network
from krohn.check.real import Array
from krohn.errors import KrohnError
from krohn.exporting.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.exporting.reading import read_export
from krohn.network.compiled import CompiledNetwork

DTYPE = "float32"
SHORTER = (2, 4, 8)
"""Where the whole length is not proved, these parts of it are tried."""
NEAR = 1e-3
"""A factor of LayerNorm that is so close to a power of two is meant to be one."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A certificate, perhaps for shorter words only; and why the whole length is not proved."""

    certificate: Certificate | None
    reason: str

    @property
    def certified(self) -> bool:
        """Whether the export is right on every word, in float32."""
        return self.certificate is not None and not self.reason

    @property
    def largest(self) -> int:
        """The longest words about which something is proved."""
        return 0 if self.certificate is None else self.certificate.length


def prove(decoder: Decoder, network: CompiledNetwork) -> Proof:
    """Asks the checker about all words; where it refuses, about shorter ones."""
    if decoder.activation != "relu":
        return Proof(None, "units must be ReLU")
    try:
        checked = checkable_decoder(decoder)
    except KrohnError as error:
        return Proof(None, str(error))
    whole, reason = _attempt(checked, decoder, network.automaton, decoder.length)
    lengths = [decoder.length // part for part in SHORTER] if whole is None else []
    for length in filter(None, lengths):
        shorter, _ = _attempt(checked, decoder, network.automaton, length)
        if shorter is not None:
            return Proof(shorter, reason)
    return Proof(whole, reason)


def recheck(directory: str | Path) -> Verdict:
    """The small checker alone, on the files of an export as GPT-2 and the witness in its certificate."""
    found, certificate = read_export(Path(directory)), read_certificate(Path(directory) / "certificate.json")
    table = token_table(found.decoder, asked(found.automaton, found.target))
    network, witness = checkable_decoder(found.decoder), certificate.get("witness")
    return check(network, table, certificate["dtype"], certificate["length"], witness)


def checkable_decoder(decoder: Decoder) -> Network:
    """The decoder as the checker reads it: every tensor, and nothing else."""
    names, epsilon = decoder.vocabulary, LAYER_NORM_EPSILON if decoder.normalized else None
    return decoder_of(decoder.tensors, decoder.heads, names.prompt, names.letters, epsilon)


def _attempt(
    checked: Network, decoder: Decoder, automaton: Semiautomaton, length: int
) -> tuple[Certificate | None, str]:
    table, searched = token_table(decoder, automaton), without_norms(checked)
    record, failure, margin = furthest(checked, table, length, arithmetic(DTYPE), searched)
    if failure is not None:
        return None, said(failure, decoder.layers)
    certificate = Certificate(
        certified=True,
        length=length,
        dtype=DTYPE,
        margin=margin,
        checks=tuple(record.checks),
        counterexample=None,
        largest=length,
        reason="",
        second_opinion=None,
        network=decoder_hash(decoder),
        depth=decoder.layers,
        identity=Identity(automaton),
        proof=record.proof,
        witness=record.witness,
    )
    return certificate, ""


def decoder_hash(decoder: Decoder) -> str:
    """SHA-256 of names, shapes and bytes of all tensors."""
    state = hashlib.sha256(f"{decoder.heads} heads".encode())
    for name, tensor in sorted(decoder.tensors.items()):
        state.update(f"{name} {tensor.dtype} {tensor.shape}".encode())
        state.update(np.ascontiguousarray(tensor).tobytes())
    return state.hexdigest()


def without_norms(network: Network) -> Network:
    """The same structure for the search: LayerNorm is the factor that it nearly is, queries hold the root.

    A channel that is always 0 takes the mean away; without LayerNorm nothing need read it.
    """
    layers, outer = [], (network.embedding, network.padding, network.positions)
    live = np.any([matrix.any(axis=0) for matrix in outer], axis=0)
    for layer in network.layers:
        writers = (*(head.output for head in layer.heads), layer.weights[1], layer.biases[1][None])
        live |= np.any([matrix.any(axis=0) for matrix in writers], axis=0)
    for layer in network.layers:
        gains = layer.gain_attention, layer.gain_mlp
        heads, units = ((_factors(network, gain) * live)[:, None] for gain in gains)
        read = tuple(
            Head(heads * head.query / network.root, heads * head.key, heads * head.value, head.output)
            for head in layer.heads
        )
        weights = (units * layer.weights[0], *layer.weights[1:])
        layers.append(replace(layer, heads=read, weights=weights, gain_attention=None, gain_mlp=None))
    readout = _factors(network, network.gain)[:, None] * network.readout
    return replace(network, layers=tuple(layers), readout=readout, gain=None, root=1.0)


def _factors(network: Network, gain: Array | None) -> Array:
    """What LayerNorm multiplies each channel by at the first letter; a power of two where it is near one."""
    if gain is None:
        return np.ones(network.embedding.shape[1])
    first = network.embedding[0] + network.positions[len(network.padding)]
    factors = gain / np.sqrt(first.var() + network.epsilon)
    power = np.copysign(2.0 ** np.rint(np.log2(np.where(gain == 0, 1.0, np.abs(factors)))), factors)
    out: Array = np.where((gain != 0) & (np.abs(factors - power) < NEAR * np.abs(power)), power, factors)
    return out


def token_table(decoder: Decoder, automaton: Semiautomaton) -> Automaton:
    """What states show is a token. Every other token is shown by a state that no word reaches: all count."""
    names, own = decoder.vocabulary, automaton.num_states
    others = own + np.arange(len(names.tokens))
    table = np.concatenate([automaton.table, np.repeat(others[:, None], automaton.num_letters, axis=1)])
    shows = np.array(names.states)[list(automaton.outputs)]
    return Automaton(table.astype(np.int64), automaton.start, np.concatenate([shows, others - own]))

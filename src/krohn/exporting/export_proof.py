"""Proof of an export by the small checker: the tensors of the files themselves, with LayerNorm or without.

The checker reads them by GPT-2's names and computes as GPT-2 does. The witness is searched in a network of
the same structure without LayerNorm, whose boxes are tight; the search is not trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.certificate import Check
from krohn.certify.proof import checkable_table, furthest
from krohn.certify.verification import RULE_SET, refutation_text
from krohn.check.claim import Certificate, Claim
from krohn.check.gpt2 import decoder_of, export_net, token_automaton
from krohn.check.net import MODEL, Net
from krohn.check.reader import Automaton, Head, Network
from krohn.check.real import Array
from krohn.check.rules import RULES
from krohn.errors import KrohnError
from krohn.exporting.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.compiled import CompiledNetwork
from krohn.strict_json import parse_json

DTYPE = "float32"
SHORTER = (2, 4, 8)
"""Fallback if the full length is not proved: the length divided by these."""
NEAR = 1e-3
"""A factor of LayerNorm this close to a power of two, relatively, is rounded to it."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A witness for words up to ``largest``, perhaps not all; and why the full length is not proved."""

    witness: Any
    largest: int
    margin: float
    reason: str
    checks: tuple[Check, ...] = ()

    @property
    def certified(self) -> bool:
        """Whether the export is right on every word, in float32."""
        return self.largest > 0 and not self.reason


def unproved(reason: str) -> Proof:
    """No witness, and why."""
    return Proof(None, 0, 0.0, reason)


def prove(decoder: Decoder, network: CompiledNetwork) -> Proof:
    """Tries to prove all words; fallback: shorter ones."""
    if decoder.activation != "relu":
        return unproved("units must be ReLU")
    try:
        checked = checkable_decoder(decoder)
    except KrohnError as error:
        return unproved(str(error))
    whole = _attempt(checked, decoder, network.automaton, decoder.length)
    lengths = [] if whole.certified else [decoder.length // part for part in SHORTER]
    for length in filter(None, lengths):
        shorter = _attempt(checked, decoder, network.automaton, length)
        if shorter.certified:
            return replace(shorter, reason=whole.reason)
    return whole


def net_of(files: Mapping[str, bytes], tokens: Mapping[str, Any], automaton: Semiautomaton) -> Net:
    """The network in the files of an export, as the checker reads them from a folder."""
    tensors, config = load_tensors(files[MODEL]), parse_json(files["config.json"])
    return export_net(config, tokens, automaton_payload(automaton), automaton.target, tensors)


def claim_about(net: Net, automaton: Semiautomaton, length: int, dtype: str = DTYPE) -> Claim:
    """That the export is right on all words up to a length."""
    table, names = checkable_table(automaton), (automaton.letter_names, automaton.state_names)
    claim = Claim(net.kind, net.digest, net.configuration, *names, table, automaton.target, length, dtype)
    return replace(claim, assumptions=RULES[RULE_SET].assumptions(net, claim))


def certificate_of(net: Net, automaton: Semiautomaton, proof: Proof) -> Certificate:
    """The witness with the claim that it proves."""
    claim = claim_about(net, automaton, proof.largest)
    return Certificate(claim, RULE_SET, RULES[RULE_SET].version, proof.witness)


def checkable_decoder(decoder: Decoder) -> Network:
    """The decoder as the checker reads it: every tensor, and nothing else."""
    names, epsilon = decoder.vocabulary, LAYER_NORM_EPSILON if decoder.normalized else None
    return decoder_of(decoder.tensors, decoder.heads, names.prompt, names.letters, epsilon)


def _attempt(checked: Network, decoder: Decoder, automaton: Semiautomaton, length: int) -> Proof:
    table, searched = token_table(decoder, automaton), without_norms(checked)
    record, failure, margin = furthest(checked, table, length, DTYPE, searched)
    if failure is not None:
        return unproved(refutation_text(failure, decoder.layers))
    return Proof(record.witness, length, margin, "", tuple(record.checks))


def without_norms(network: Network) -> Network:
    """The same structure for the search: LayerNorm becomes a constant factor, queries absorb the root.

    A channel that is always 0 cancels the mean; without LayerNorm nothing needs to read it.
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
    """LayerNorm's factor on each channel at the first letter; rounded to a power of two if close to one."""
    if gain is None:
        return np.ones(network.embedding.shape[1])
    first = network.embedding[0] + network.positions[len(network.padding)]
    factors = gain / np.sqrt(first.var() + network.epsilon)
    power = np.copysign(2.0 ** np.rint(np.log2(np.where(gain == 0, 1.0, np.abs(factors)))), factors)
    out: Array = np.where((gain != 0) & (np.abs(factors - power) < NEAR * np.abs(power)), power, factors)
    return out


def token_table(decoder: Decoder, automaton: Semiautomaton) -> Automaton:
    """The automaton with tokens as its outputs."""
    names = decoder.vocabulary
    return token_automaton(checkable_table(automaton), names.states, len(names.tokens))

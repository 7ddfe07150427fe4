"""Verification of an export: proved from the tensors of its files, and run on all short and some long words.

That of a trained network is proved word by word, as one that somebody else saved.
The checker reads them by GPT-2's names and computes as GPT-2 does. The witness is searched in a network of
the same structure without LayerNorm, whose boxes are tight; the search is not trusted.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import parse_json
from krohn.check.certificate import Certificate, read_certificate
from krohn.check.files.folders import MODEL, Net
from krohn.check.files.reader import Automaton, Head, Network
from krohn.check.ground import Array, Verdict
from krohn.check.rules import HALF, WIDE_ONLY, check_certificate, loaded_in, read_net, transformer_of
from krohn.check.transformer.gpt2 import SIZES, decoder_of, export_net, token_automaton
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder
from krohn.network.gpt2.reading import automaton_of_export, decoder_of_net, facts_of_export
from krohn.network.gpt2.reference import states_of
from krohn.proving.attempts import Goal, furthest
from krohn.proving.claims import Check, Question, certificate_about, claim_about
from krohn.proving.compiled import RULE_SET
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.identity import Identity, identify
from krohn.proving.outcome import Verification, mismatched
from krohn.proving.proof_record import refutation_text
from krohn.proving.stock import verify_words
from krohn.proving.witness.search import checkable_table
from krohn.proving.word_search import candidates, first_wrong, longest_of, run_every_word

DTYPE = "float32"
SHORTER = (2, 4, 8)
"""Fallback if the full length is not proved: the length divided by these."""
NEAR = 1e-3
"""A factor of LayerNorm this close to a power of two, relatively, is rounded to it."""


def unproved(reason: str) -> Verdict:
    """No witness, and why."""
    return Verdict(False, 0.0, reason)


def prove(decoder: Decoder, network: CompiledNetwork) -> Verdict:
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
            return replace(shorter, certified=False, reason=whole.reason)
    return whole


def net_of(files: Mapping[str, bytes], tokens: Mapping[str, Any], automaton: Semiautomaton) -> Net:
    """The network in the files of an export, as the checker reads them from a folder."""
    tensors, config = load_tensors(files[MODEL]), parse_json(files["config.json"])
    return export_net(config, tokens, automaton_payload(automaton), automaton.target, tensors)


def certificate_of(net: Net, automaton: Semiautomaton, proof: Verdict) -> Certificate:
    """The witness with the claim that it proves."""
    claim = claim_about(net, automaton, proof.largest, DTYPE, RULE_SET)
    return certificate_about(claim, RULE_SET, proof.witness)


def checkable_decoder(decoder: Decoder) -> Network:
    """The decoder as the checker reads it: every tensor, and nothing else."""
    names, epsilon = decoder.vocabulary, LAYER_NORM_EPSILON if decoder.normalized else None
    return decoder_of(decoder.tensors, decoder.heads, names.prompt, names.letters, epsilon)


def _attempt(checked: Network, decoder: Decoder, automaton: Semiautomaton, length: int) -> Verdict:
    table, searched = token_table(decoder, automaton), without_norms(checked)
    record, failure, margin = furthest(Goal(checked, searched, table, length, DTYPE))
    if failure is not None:
        return unproved(refutation_text(failure, decoder.layers))
    return Verdict(True, margin, "", witness=record.witness, largest=length)


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


CERTIFICATE = "certificate.json"
POSITIONS = "transformer.wpe.weight"
SHORT_WORDS, LONG_WORDS = 2_000, 16


def named_automaton(folder: Path) -> Semiautomaton:
    """The automaton that the files of an export name, with its target."""
    return automaton_of_export(folder, facts_of_export(folder))


def verify_export(folder: Path, question: Question) -> Verification:
    """Proves the export again from its files, by default in the float type that its readers load; tries the
    stored witness first.
    """
    net, named = read_net(folder), named_automaton(folder)
    identity = identify(named, question.automaton, renamed=question.renamed)
    automaton = named if identity.mismatch else identity.automaton
    positions = net.tensors.get(POSITIONS)
    if positions is None or positions.ndim != 2:
        raise InvalidFile(f"{folder} must have the tensor {POSITIONS}, with 2 axes; it has not")
    longest = len(positions) - len(net.configuration["tokens"]["prompt"])
    wanted = longest if question.length is None else question.length
    if not 1 <= wanted <= longest:
        raise InvalidInput(f"the length must lie in 1..{longest}, as built; got {wanted}")
    claim = claim_about(net, automaton, wanted, question.dtype or loaded_in(net) or DTYPE, RULE_SET)
    if identity.mismatch:
        return mismatched(claim, identity, _depth(net), {})
    if net.configuration.get("activation_function", "relu") != "relu":  # a trained network
        return verify_words(net, identity, question)
    certificate = certificate_about(claim, RULE_SET, _kept(folder))
    verdict = check_certificate(net, certificate)
    if verdict.certified:
        return _outcome(net, certificate, identity, "", margin=verdict.margin)
    return _search(net, certificate, identity)


def _search(net: Net, certificate: Certificate, identity: Identity) -> Verification:
    claim = certificate.claim
    try:
        network, table = transformer_of(net, claim.automaton)
    except KrohnError as error:
        return _outcome(net, certificate, identity, str(error))
    if claim.dtype in HALF:
        return _outcome(net, certificate, identity, WIDE_ONLY)
    goal = Goal(network, without_norms(network), table, claim.up_to or 1, claim.dtype)
    record, failure, _ = furthest(goal)
    if failure is not None:
        return _outcome(
            net, certificate, identity, refutation_text(failure, len(network.layers)), failure.word
        )
    result = replace(certificate, witness=record.witness)
    verdict = check_certificate(net, result)
    return _outcome(net, result, identity, verdict.reason, margin=verdict.margin, checks=tuple(record.checks))


def _kept(folder: Path) -> object:
    """The witness that was written with the export; it is not trusted."""
    try:
        return read_certificate(folder / CERTIFICATE).witness
    except KrohnError:
        return None


def _outcome(
    net: Net,
    certificate: Certificate,
    identity: Identity,
    reason: str,
    word: tuple[int, ...] | None = None,
    *,
    margin: float = 0.0,
    checks: tuple[Check, ...] = (),
) -> Verification:
    """The verdict, with tests on words; one that is wrong in the claim's float type refutes any proof."""
    claim = certificate.claim
    opinion, result = _run(net, identity.automaton, claim.up_to or 1, word)
    if opinion is not None and opinion.dtype != claim.dtype:
        result = None
    if result is not None and not reason:
        reason = "exhaustive run: a word is run wrong"
    return Verification(
        certified=not reason,
        claim=claim,
        margin=0.0 if reason else margin,
        checks=checks,
        counterexample=result,
        largest=0 if reason else claim.up_to or 0,
        reason=reason,
        second_opinion=opinion,
        depth=_depth(net),
        identity=identity,
        certificate=None if reason else certificate,
    )


def _depth(net: Net) -> int:
    layers = net.configuration[SIZES[0]]
    return layers if type(layers) is int else 0


def _run(
    net: Net, automaton: Semiautomaton, length: int, word: tuple[int, ...] | None
) -> tuple[SecondOpinion | None, Counterexample | None]:
    """Runs all short words, long ones of many kinds, and the one at which the proof failed, in float32."""
    try:
        states = states_of(decoder_of_net(net))
    except KrohnError:
        return None, None  # not GPT-2's arithmetic: cannot be run here
    letters = automaton.num_letters
    opinion, first = run_every_word(states, automaton, longest_of(letters, SHORT_WORDS, length))
    longer = (words[:LONG_WORDS] for words in candidates(letters, length, word))
    result = first or next(
        (one for words in longer if (one := first_wrong(states, automaton, words)[0])), None
    )
    return opinion, result

"""Verification of an export folder: proved from its files, and run on all short words and some long ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton, asked
from krohn.certify.certificate import Check, Counterexample, SecondOpinion, Verification
from krohn.certify.identity import Identity, identify
from krohn.certify.proof import furthest
from krohn.certify.search import all_words, candidates, first_wrong
from krohn.certify.verification import RULE_SET, refutation_text
from krohn.check.claim import Certificate, read_certificate
from krohn.check.folder import read_net
from krohn.check.gpt2 import GPT2, LENS, SIZES
from krohn.check.net import Net
from krohn.check.rules import RULES, check_certificate, transformer_of
from krohn.errors import InvalidInput, KrohnError
from krohn.exporting.export_proof import DTYPE, claim_about, without_norms
from krohn.exporting.reading import decoder_of_net
from krohn.exporting.reference import logits
from krohn.exporting.token_words import automaton_of_export, facts_of_export

CERTIFICATE = "certificate.json"
POSITIONS = {GPT2: "transformer.wpe.weight", LENS: "pos_embed.weight"}
SHORT_WORDS, LONG_WORDS = 2_000, 16


def named_automaton(folder: Path) -> Semiautomaton:
    """The automaton that the files of an export name, with its target."""
    facts = facts_of_export(folder)
    return asked(automaton_of_export(folder, facts), facts["target"])


def verify_export(
    folder: Path,
    dtype: str | None = None,
    length: int | None = None,
    meant: Semiautomaton | None = None,
    *,
    renamed: bool = False,
) -> Verification:
    """Proves the export again from its files; tries the stored witness first."""
    net, named = read_net(folder), named_automaton(folder)
    identity = identify(named, meant, renamed=renamed)
    automaton = named if identity.mismatch else identity.automaton
    longest = len(net.tensors[POSITIONS[net.kind]]) - len(net.configuration["tokens"]["prompt"])
    wanted = longest if length is None else length
    if not 1 <= wanted <= longest:
        raise InvalidInput(f"the length must lie in 1..{longest}, as built; got {wanted}")
    claim = claim_about(net, automaton, wanted, dtype or DTYPE)
    certificate = Certificate(claim, RULE_SET, RULES[RULE_SET].version, _kept(folder))
    if identity.mismatch:
        return _outcome(net, certificate, identity, f"identity: {identity.mismatch}")
    verdict = check_certificate(net, certificate)
    if verdict.certified:
        return _outcome(net, certificate, identity, "", margin=verdict.margin)
    return _searched(net, certificate, identity)


def _searched(net: Net, certificate: Certificate, identity: Identity) -> Verification:
    claim = certificate.claim
    try:
        network, table = transformer_of(net, claim.automaton)
    except KrohnError as error:
        return _outcome(net, certificate, identity, str(error))
    record, failure, _ = furthest(network, table, claim.up_to or 1, claim.dtype, without_norms(network))
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
    """The verdict, with tests on words; a wrong word refutes any proof."""
    claim, opinion, result = certificate.claim, None, None
    if not identity.mismatch:
        opinion, result = _run(net, identity.automaton, claim.up_to or 1, word)
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
        depth=int(net.configuration[SIZES[net.kind][0]]),
        identity=identity,
        certificate=None if reason else certificate,
    )


def _run(
    net: Net, automaton: Semiautomaton, length: int, word: tuple[int, ...] | None
) -> tuple[SecondOpinion | None, Counterexample | None]:
    """Runs all short words, long ones of many kinds, and the one at which the proof failed, in float32."""
    try:
        decoder = decoder_of_net(net)
    except KrohnError:
        return None, None  # not GPT-2's arithmetic: cannot be run here

    def states(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        shown = logits(decoder, words).argmax(axis=-1)
        outputs = np.full(len(decoder.vocabulary.tokens), -1)
        outputs[list(decoder.vocabulary.states)] = np.arange(len(decoder.vocabulary.states))
        result: npt.NDArray[np.int64] = outputs[shown]
        return result

    letters, short = automaton.num_letters, 1
    while letters > 1 and short < length and letters ** (short + 1) <= SHORT_WORDS:
        short += 1
    first, wrong = first_wrong(states, automaton, all_words(letters, short))
    longer = (words[:LONG_WORDS] for words in candidates(letters, length, word))
    result = first or next(
        (one for words in longer if (one := first_wrong(states, automaton, words)[0])), None
    )
    return SecondOpinion(short, letters**short, wrong), result

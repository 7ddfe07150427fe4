"""Verification of networks that were not compiled: a GPT-2 as ``transformers`` has it, or any callable.

A GPT-2 is proved on all words up to a length that can be enumerated, each by its forward pass with a bound on
rounding beside it. A callable is only run: nothing can be proved of it.
"""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import CALLABLE
from krohn.base.threads import one_thread
from krohn.check.certificate import Certificate
from krohn.check.files.folders import MODEL, Net, short
from krohn.check.files.reader import Network
from krohn.check.ground import Verdict
from krohn.check.rules import RUN_AGAIN, check_certificate, loaded_in
from krohn.check.transformer.words import checked_tokens, costs, stock_network
from krohn.errors import InvalidInput, KrohnError, LimitExceeded
from krohn.network.gpt2.reference import BATCH, outputs_of, run_in_batches, states_of
from krohn.network.gpt2.stock import decoder_of_stock, stock_of, tokens_for, with_outputs
from krohn.proving.by_position import measure
from krohn.proving.claims import Question, certificate_about, claim_about
from krohn.proving.evidence import Counterexample, SecondOpinion
from krohn.proving.identity import Identity
from krohn.proving.outcome import Verification
from krohn.proving.witness.search import checkable_table
from krohn.proving.word_search import MAX_WORDS, Runner, longest_of, run_every_word

RULE_SET = "words"
EFFORT = 50
"""How much longer than a recheck the first proof may take: about ten minutes of two cores."""
LONGEST = 12
"""Letters of the words that a callable is run on, unless it reads fewer."""
BEYOND = 4
"""Accuracy by position is measured on words so many times as long as those that can be proved."""
MAX_BYTES = 600_000_000
"""Bytes of the weights that are read to be proved: GPT-2's smallest has 548 million."""
NOTHING_PROVED = "a callable can be run, not proved: save the network with transformers, if it is a GPT-2"


def enumerable(network: Network, longest: int, work: float) -> int:
    """The largest length whose words can all be proved with this much work, at least 1."""
    spent, words = 0.0, 1.0
    for length, more in enumerate(costs(network, longest)):
        spent, words = spent + more, words * len(network.embedding)
        if length and (spent > work or words > MAX_WORDS):
            return length
    return longest


def verify_stock(network: Any, question: Question) -> Verification:
    """Proves a GPT-2 that krohn did not write, a folder or a module."""
    automaton = require_automaton(question.automaton, question.tokens)
    if isinstance(network, str | Path) and (size := os.stat(Path(network) / MODEL).st_size) > MAX_BYTES:
        raise LimitExceeded(
            f"a GPT-2 of at most {MAX_BYTES:,} bytes is proved; {short(network)} has {size:,}: "
            "take a smaller one"
        )
    return verify_words(
        stock_of(network, automaton, question.tokens), Identity(automaton, by_user=True), question
    )


def verify_words(net: Net, identity: Identity, question: Question, own: Runner | None = None) -> Verification:
    """Proves a GPT-2 word by word, as far as was asked or as effort allows.

    ``own`` runs the object that was given, where it is one; otherwise numpy runs its weights.
    """
    automaton, length, decoder = identity.automaton, question.length, stock_network(net)
    longest = len(decoder.positions) - len(decoder.padding)
    if longest < 1 or (length is not None and not 1 <= length <= longest):
        raise InvalidInput(f"the length must lie in 1..{longest}, as the positions say; got {length}")
    effort = EFFORT * question.effort
    wanted = length or enumerable(decoder, longest, RUN_AGAIN * effort / 10)
    try:
        run = own or states_of(decoder_of_stock(net))
    except KrohnError:
        run = None
    curve = None if run is None else measure(run, automaton, min(longest, BEYOND * wanted))
    certificate = certificate_for(net, automaton, wanted, question.dtype or loaded_in(net) or "float32")
    opinion, wrong = run_words(run, automaton, wanted)
    if opinion is not None and opinion.dtype != certificate.claim.dtype:
        wrong = None
    with one_thread():
        verdict = Verdict(False, 0.0, "a word is run wrong")
        if wrong is None:
            verdict = check_certificate(net, certificate, effort)
        reason = verdict.reason
        largest = wanted if verdict.certified else 0
        shorter = wanted - 1 if wrong is None else len(wrong.word) - 1
        while reason and shorter and not largest:
            again = certificate_for(net, automaton, shorter, certificate.claim.dtype)
            if check_certificate(net, again, effort).certified:
                largest = shorter
            shorter -= 1
    return Verification(
        certified=not reason,
        claim=certificate.claim,
        margin=0.0 if reason else verdict.margin,
        counterexample=wrong,
        largest=largest,
        reason=reason,
        second_opinion=opinion,
        depth=len(decoder.layers),
        identity=identity,
        certificate=None if reason else certificate,
        more={} if curve is None else {"by_position": curve.to_json()},
    )


def certificate_for(net: Net, automaton: Semiautomaton, length: int, dtype: str) -> Certificate:
    """That the network is right on all words up to a length; running them is the proof: no witness."""
    return certificate_about(claim_about(net, automaton, length, dtype, RULE_SET), RULE_SET, None)


def run_words(
    run: Runner | None, automaton: Semiautomaton, length: int
) -> tuple[SecondOpinion | None, Counterexample | None]:
    """All words of the largest length up to ``length`` with at most a million words."""
    if run is None:
        return None, None
    short = longest_of(automaton.num_letters, MAX_WORDS, length)
    limit = "" if short == length else f"more than {MAX_WORDS:,} words"
    return run_every_word(run, automaton, short, limit=limit)


def verify_callable(network: Callable[..., Any], question: Question) -> Verification:
    """Runs a callable from tokens [batch, time] to logits [batch, time, tokens] on all short words."""
    automaton = require_automaton(question.automaton, question.tokens)
    most = getattr(network, "max_length", LONGEST)  # as a compiled network has it as a module
    most = min(most, LONGEST) if isinstance(most, int) and most > 0 else LONGEST
    wanted = question.length or longest_of(automaton.num_letters, BATCH, most)
    marks = tokens_for(automaton, question.tokens)
    # How many tokens it knows is not said before it has run.
    checked_tokens(Net(CALLABLE, {"tokens": marks, "vocab_size": 2**31}, {}), checkable_table(automaton))
    opinion, wrong = run_words(runner_of(network, marks), automaton, wanted)
    net = Net(CALLABLE, {"tokens": marks}, {})
    claim = replace(claim_about(net, automaton, wanted, "float32", None), network="")
    reason = NOTHING_PROVED if wrong is None else "a word is run wrong"
    identity = Identity(automaton, by_user=True)
    return Verification(False, claim, identity, reason, counterexample=wrong, second_opinion=opinion)


def runner_of(network: Callable[..., Any], tokens: dict[str, list[int]]) -> Runner:
    """A callable as a function from words to states; arrays or tensors, or an object with ``logits``."""
    letters = np.array(tokens["letters"], dtype=np.int64)

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        prompt = np.broadcast_to(
            np.array(tokens["prompt"], dtype=np.int64), (len(words), len(tokens["prompt"]))
        )
        given = np.concatenate([prompt, letters[words]], axis=1)
        answer = np.asarray(_call(network, given))
        if answer.ndim != 3 or answer.shape[:2] != given.shape or answer.shape[2] <= max(tokens["states"]):
            raise InvalidInput(
                f"logits must be [batch, time, tokens] for tokens [batch, time]; got {answer.shape}"
            )
        return outputs_of(answer[:, len(tokens["prompt"]) :], tokens["states"])

    return run_in_batches(run)


def _call(network: Callable[..., Any], tokens: npt.NDArray[np.int64]) -> Any:
    """The answer as an array: tensors are given to modules of torch, arrays to all others."""
    if hasattr(network, "state_dict"):
        torch = sys.modules["torch"]  # loaded, since there is a module
        with torch.no_grad():
            answer = network(torch.from_numpy(tokens))
    else:
        answer = network(tokens)
    answer = getattr(answer, "logits", answer)
    return answer.detach().cpu().float().numpy() if hasattr(answer, "detach") else answer


def require_automaton(meant: Semiautomaton | None, tokens: Any = None) -> Semiautomaton:
    """The automaton, which no file of such a network names, with what the tokens say that it outputs."""
    if meant is None:
        raise InvalidInput(
            "a network that krohn did not write needs the automaton it should compute: --automaton SPEC"
        )
    return with_outputs(meant, tokens)


def is_gpt2(network: Any) -> bool:
    """Whether it is a module of the GPT-2 family."""
    return getattr(getattr(network, "config", None), "model_type", None) == "gpt2" and hasattr(
        network, "state_dict"
    )

"""A GPT-2 in memory: by the rules for GPT-2 where its graph is that of the library, else as any module."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.claim import GRAPH, Claim
from krohn.check.files.folders import Net
from krohn.check.graph.graph import graph_net, written
from krohn.errors import KrohnError
from krohn.lab.provable.modules import Answers, graphs_for, in_type, verify_module
from krohn.lab.provable.modules import net_to_check as of_graph
from krohn.lab.provable.tracing import Refused
from krohn.network.gpt2.reference import run_in_batches
from krohn.network.gpt2.stock import stock_of, tokens_for
from krohn.proving.claims import Question
from krohn.proving.identity import Identity
from krohn.proving.outcome import Verification
from krohn.proving.stock import require_automaton, verify_words


def library_module(module: Any) -> Any:
    """What ``transformers`` makes of its configuration and weights, and nothing else."""
    from transformers import AutoModelForCausalLM  # type: ignore[attr-defined, unused-ignore]

    made = AutoModelForCausalLM.from_config(copy.deepcopy(module.config))
    made.load_state_dict(module.state_dict())
    return made.float().eval()


def same_graph(module: Any, lengths: list[int], marks: dict[str, Any]) -> bool:
    """Whether the module runs what the library's does, with the same constants, on words of these lengths."""
    alphabet = sorted({*marks["prompt"], *marks["letters"]})
    try:
        plain = library_module(module)
        library = graph_net(*written(graphs_for(plain, lengths, alphabet)), None)
    except (KrohnError, RuntimeError, ValueError):
        return False
    own = graph_net(*written(graphs_for(module, lengths, alphabet)), None)  # a refusal is the answer
    return own.digest == library.digest


def net_to_check(given: Any, claim: Claim, by_configuration: Callable[[], Net]) -> Net:
    """The module as a claim has it: a graph, or the weights of a GPT-2 if that is the graph that runs."""
    if claim.kind == GRAPH:
        return of_graph(given, claim)
    net = by_configuration()
    marks = net.configuration["tokens"]
    first = len(marks["prompt"]) + 1
    if not same_graph(in_type(given, claim.dtype), [*range(first, first + (claim.up_to or 1))], marks):
        raise Refused(
            "the module runs another graph than its configuration says; the certificate is about that"
        )
    return net


def verify_gpt2(given: Any, question: Question) -> Verification:
    """Proves a module of the GPT-2 family: what it runs, not what its configuration says."""
    automaton = require_automaton(question.automaton, question.tokens)
    module = in_type(given, question.dtype)
    marks = tokens_for(automaton, question.tokens)
    first = len(marks["prompt"]) + 1
    if question.input is not None or not same_graph(module, [first, first + 1], marks):
        return verify_module(module, question)
    net = stock_of(module, automaton, question.tokens)
    states = {token: number for number, token in enumerate(marks["states"])}
    letters = np.array(marks["letters"], dtype=np.int64)
    answers = Answers(module)

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        prompt = np.broadcast_to(np.array(marks["prompt"], dtype=np.int64), (len(words), first - 1))
        got = answers(np.concatenate([prompt, letters[words]], axis=1))[:, first - 1 :]
        return np.array([[states.get(token, -1) for token in row] for row in got.tolist()], dtype=np.int64)

    asked = replace(question, dtype=question.dtype or "float32")
    verdict = verify_words(net, Identity(automaton, by_user=True), asked, run_in_batches(run))
    longest = verdict.claim.up_to or 1
    if verdict.certified and not same_graph(module, [*range(first, first + longest)], marks):
        return verify_module(module, question)
    return verdict

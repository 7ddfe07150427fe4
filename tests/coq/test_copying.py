"""Certificates of Transformers with a head that copies: nothing that lacks a hypothesis is accepted."""

from dataclasses import replace
from pathlib import Path

from tests.coq.stored_transformers import answers_of, bits, changed, is_right_in_torch, stored

import krohn
from krohn.coq.counters import counting
from krohn.coq.counting_hints import CountHint, Counting, MatchHint
from krohn.coq.heads import NoCounters
from krohn.coq.stored import StoredTransformer

HEAD = "layers.0.heads.0."
LENGTH = 6


def spoiled(network: StoredTransformer) -> dict[str, StoredTransformer]:
    """Networks without one hypothesis each."""
    return {
        "scores that rise far enough": changed(network, HEAD + "W_K", 3, bits(0.01)),
        "scores that rise": changed(network, HEAD + "W_K", 3, bits(-48.0)),
        "a low score where nothing is written": changed(network, "embedding", 0, bits(1.25)),
        "padding that writes": changed(network, "padding", 0, bits(0.0)),
        "queries that know no letter": changed(network, HEAD + "W_Q", 0, bits(48.0)),
        "scores that do not overflow": changed(network, HEAD + "W_K", 0, bits(1e30)),
        "values that are marks": changed(network, "embedding", 2 * 4 + 1, bits(0.5)),
        "small values where nothing is written": changed(network, "embedding", 1, bits(1e6)),
        "what a mark does": changed(network, HEAD + "W_C", 0, bits(0.4)),
        "an MLP that adds nothing": changed(network, "layers.0.mlp.0.b", 0, bits(0.75)),
    }


WRONG = {
    "scores that rise far enough",
    "scores that rise",
    "a low score where nothing is written",
    "scores that do not overflow",
    "values that are marks",
    "what a mark does",
    "an MLP that adds nothing",
}
"""Of these networks torch gives wrong states; the others are right, and this proof does not show it."""


def wrong_hints(good: Counting) -> dict[str, Counting]:
    """Hints with one mistake each."""
    (layer,) = good.layers
    (head,) = layer.heads
    assert isinstance(head, MatchHint)
    (copy,) = head.asks
    (channel,) = copy.channels
    (memory,) = layer.groups

    def other(**changes: object) -> Counting:
        return replace(good, layers=(replace(layer, **changes),))  # type: ignore[arg-type]

    def head_of(**changes: object) -> Counting:
        return other(heads=(MatchHint((replace(copy, **changes),)),))  # type: ignore[arg-type]

    return {
        "all that write": head_of(writers=(False, False)),
        "only those that write": head_of(writers=(True, True)),
        "the unit of a mark": head_of(channels=(replace(channel, unit=2 * channel.unit),)),
        "the marks": other(sets=((None, 1, 0),)),
        "no mark where nothing is written": other(sets=((0, 0, 1),)),
        "no steps": other(steps=((1, 0, 0),)),
        "that the head copies": other(heads=(CountHint((True,), copy.channels),)),
        "what the memory holds": other(groups=(replace(memory, modulus=1),)),
        "which memory is read": other(groups=(replace(memory, weights=(0,)),)),
        "counters of a group that are set together": other(
            steps=(*layer.steps, (0, 0, 0)),
            sets=(*layer.sets, (None, None, None)),
            groups=(replace(memory, weights=(1, 1)),),
        ),
        "marks from 0 on where a count stops": other(
            heads=(MatchHint((replace(copy, channels=(replace(channel, unit=-channel.unit),)),)),),
            sets=((None, 0, -1),),
            groups=(replace(memory, stops=True),),
        ),
        "the state of a class": replace(good, states=good.states[::-1]),
        "all that words reach": replace(good, known=good.known[:1]),
    }


def test_without_one_hypothesis_no_copy_is_accepted(program: Path, tmp_path: Path) -> None:
    network = stored(tmp_path, "FlipFlop", LENGTH)
    good = counting(network.weights, network.automaton)
    networks = spoiled(network)
    cases = {"nothing": (network, good)} | {name: (other, good) for name, other in networks.items()}
    cases |= {name: (network, hints) for name, hints in wrong_hints(good).items()}
    answers = dict(zip(cases, answers_of(cases.values()), strict=True))
    assert answers == {name: name == "nothing" for name in cases}
    assert is_right_in_torch(network)
    assert {name for name, other in networks.items() if not is_right_in_torch(other)} == WRONG


def test_hints_of_their_own_do_not_save_spoiled_networks(program: Path, tmp_path: Path) -> None:
    """A network that is wrong in torch is not accepted with hints read off itself either."""
    networks, cases, refused = spoiled(stored(tmp_path, "FlipFlop", LENGTH)), {}, set()
    for name in sorted(WRONG):
        try:
            cases[name] = networks[name], counting(networks[name].weights, networks[name].automaton)
        except NoCounters:
            refused.add(name)
    assert refused | set(cases) == WRONG
    assert not any(answers_of(cases.values()))


def test_a_memory_of_several_values(coq: Path) -> None:
    verdict = krohn.verify(krohn.compile("Memory3", length=100, dtype="float32"), kernel=True)
    assert verdict.certified, verdict.reason
    assert verdict.length == 100

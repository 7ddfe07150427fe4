"""Theorem 3 as printed: its heads return positions, so it is run on all short words and not proved."""

from dataclasses import replace

import pytest

import krohn
from check.changes import CHANGES, changed
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Head, Mlp, Transformer
from krohn.paper.theorem3 import build_grid
from krohn.proving.attempts import attempt
from proving.mutants import Mutant, is_wrong

PRINTED = ["log_depth", "max_pool", "constant_depth", "count"]


@pytest.mark.parametrize("variant", PRINTED)
def test_a_printed_variant_is_proved_word_by_word_and_only_run_where_words_are_many(variant: str) -> None:
    short = krohn.verify(build_grid(krohn.zoo("Grid4"), 4, variant), second_opinion=False)
    assert short.certified
    assert short.certificate is not None
    assert short.certificate.claim.up_to == 4
    report = krohn.verify(build_grid(krohn.zoo("Grid4"), 12, variant), largest=False)
    assert not report.certified
    assert "run, not proved" in report.reason
    assert report.counterexample is None
    assert report.certificate is None
    assert report.second_opinion is not None
    assert report.second_opinion.wrong == 0


def test_the_default_variant_is_proved() -> None:
    network = krohn.compile(krohn.zoo("Grid4"), 16, method="grid")
    assert krohn.verify(network, second_opinion=False).certified


def with_last_layer(network: CompiledNetwork, **changes: object) -> Transformer:
    first, last = network.transformer.layers
    return replace(network.transformer, layers=(first, replace(last, **changes)))  # type: ignore[arg-type]


def broken(network: CompiledNetwork) -> dict[str, Transformer]:
    last = network.transformer.layers[1]
    heads, mlp = last.heads, last.mlp
    silent = Head(heads[0].query, heads[0].key, 0 * heads[0].value, heads[0].output)
    oldest = Head(heads[1].query * [[-1.0, 1.0, 1.0]], heads[1].key, heads[1].value, heads[1].output)
    weak = Head(heads[0].query / 40, heads[0].key / 40, heads[0].value, heads[0].output)
    bias = tuple(b + (2.0 if n == 0 else 0.0) for n, b in enumerate(mlp.biases))
    return {
        "swapped heads": with_last_layer(network, heads=(heads[-1], *heads[1:-1], heads[0])),
        "twice the same head": with_last_layer(
            network, heads=(Head(heads[1].query, heads[1].key, heads[0].value, heads[0].output), *heads[1:])
        ),
        "no value": with_last_layer(network, heads=(silent, *heads[1:])),
        "the oldest visit": with_last_layer(network, heads=(heads[0], oldest, *heads[2:])),
        "weak scores": with_last_layer(network, heads=(weak, *heads[1:])),
        "thresholds": with_last_layer(network, mlp=Mlp(mlp.weights, bias)),
    }


@pytest.mark.parametrize(
    "name",
    ["swapped heads", "twice the same head", "no value", "the oldest visit", "weak scores", "thresholds"],
)
def test_a_wrong_one_is_refused_with_a_word_where_there_is_one(name: str) -> None:
    network = build_grid(krohn.zoo("Grid4"), 6, "count")
    result = broken(network)[name]
    wrong = is_wrong(Mutant(name, "", result, network.automaton), 6, "float64")
    report = krohn.verify(replace(network, transformer=result, program=None), largest=False)
    assert report.certified == (name == "swapped heads"), "heads may be added in any order"
    assert (report.counterexample is not None) == wrong
    if name in ("twice the same head", "no value", "thresholds"):
        assert wrong


def test_another_automaton_is_refused_with_a_word() -> None:
    network = build_grid(krohn.zoo("Grid4"), 6, "count")
    table = network.automaton.table.copy()
    table[3, 0], other = 1, network.automaton
    changed = krohn.Semiautomaton(table=table, start=other.start)
    certificate = krohn.verify(replace(network, automaton=changed))
    assert not certificate.certified
    assert certificate.counterexample is not None
    word = certificate.counterexample.word
    assert changed.run(word)[-1] != other.run(word)[-1]


def test_an_exception_in_the_proof_is_a_refusal() -> None:
    """Regression: a mutant with misfit rows raised an IndexError."""
    network = krohn.compile(krohn.zoo("FlipFlop"), 8, method="grid")
    seed = (0, 16, list(CHANGES).index("padding changed"), 1)
    mutant, automaton = changed(network.transformer, network.automaton, 8, "float32", "padding changed", seed)
    assert attempt(mutant, automaton, 8, "float32")[1] is not None

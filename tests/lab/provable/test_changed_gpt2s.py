"""Of many ways to change a GPT-2 in memory, none is certified and wrong: torch runs all words."""

import copy
import warnings
from itertools import product

import pytest
import torch
from transformers import GPT2LMHeadModel

import krohn
from lab.provable.changed_gpt2s import CHANGES
from proving.stock_networks import trained_sum

WORDS = torch.tensor(list(product(range(2), repeat=3)))
RIGHT = WORDS.cumsum(1) % 2
BY_GRAPH = ("hook on a LayerNorm", "activation ReLU", "a little eps", "parametrized head")
"""Changes that leave this network right: then it is what runs that is proved."""
FEW = ("hook on an MLP", "training", "subclass", "not causal", "calls counted", "bfloat16", *BY_GRAPH)


@pytest.fixture(scope="module")
def network() -> GPT2LMHeadModel:
    return trained_sum(2, 3, 400)


def wrong(network: GPT2LMHeadModel) -> int:
    with torch.no_grad():
        runs = [network(WORDS).logits.argmax(-1) for _ in range(2)]
    return sum(int((run != RIGHT).any(1).sum()) for run in runs)


def decided(network: GPT2LMHeadModel, name: str) -> krohn.Verification | None:
    """The verdict on the changed network, if it is not refused; certified only if it is right."""
    changed = copy.deepcopy(network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CHANGES[name](changed)
        try:
            verdict = krohn.verify(changed, automaton="C2", length=3)
        except krohn.KrohnError:
            return None
        assert not (verdict.certified and wrong(changed)), name
    return verdict


def test_the_network_itself_is_proved_and_run(network: GPT2LMHeadModel) -> None:
    verdict = krohn.verify(network, automaton="C2", length=3)
    assert verdict.certified
    assert verdict.claim.kind == "stock"
    assert verdict.second_opinion is not None
    assert verdict.second_opinion.wrong == 0


@pytest.mark.parametrize("name", FEW)
def test_a_change_is_seen(network: GPT2LMHeadModel, name: str) -> None:
    verdict = decided(network, name)
    assert (verdict is not None and verdict.certified) == (name in BY_GRAPH)
    assert verdict is None or verdict.claim.kind == "graph"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CHANGES if name not in FEW])
def test_no_change_is_certified_and_wrong(network: GPT2LMHeadModel, name: str) -> None:
    decided(network, name)


def test_a_certificate_is_about_what_runs(network: GPT2LMHeadModel) -> None:
    proof = krohn.verify(network, automaton="C2", length=2).certificate
    assert krohn.verify(network, automaton="C2", length=2, certificate=proof).certified
    changed = copy.deepcopy(network)
    CHANGES["hook on the head"](changed)
    with pytest.raises(krohn.KrohnError, match="another graph"):
        krohn.verify(changed, automaton="C2", length=2, certificate=proof)
    changed = copy.deepcopy(network)
    CHANGES["activation ReLU"](changed)
    own = krohn.verify(changed, automaton="C2", length=2)
    assert own.claim.kind == "graph"
    assert krohn.verify(changed, automaton="C2", length=2, certificate=own.certificate).certified
    assert not krohn.verify(network, automaton="C2", length=2, certificate=own.certificate).certified

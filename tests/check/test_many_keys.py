"""Leads over many positions, found without all pairs of them, are those of all pairs."""

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.products import products
from krohn.check.ground import Real, Work
from krohn.check.transformer import head_rules, many_keys
from krohn.check.transformer.checker import check
from krohn.check.transformer.many_keys import RUN, best_rivals
from krohn.network.compiled import CompiledNetwork
from krohn.proving.witness.machines import scans
from krohn.proving.witness.plain import witness_json
from krohn.proving.witness.search import checkable


def looking(count: int, pads: int) -> Any:
    """What the search for rivals reads of a head."""
    return SimpleNamespace(last=pads + np.arange(count), setting=SimpleNamespace(budget=Work(1e12)))


@pytest.mark.parametrize("seed", range(8))
def test_the_best_rival_is_that_of_all_pairs(seed: int) -> None:
    dice = np.random.default_rng(seed)
    count, pads, groups, width = int(dice.integers(1, 6 * RUN)), 1 + seed % 3, 1 + seed % 2, 3
    turns = np.cumsum(dice.normal(size=(pads + count, width)) * (0.02, 0.3, 3.0)[seed % 3], axis=0)
    k = np.stack([turns + 0.01 * dice.normal(size=turns.shape) for _ in range(groups)])
    q = turns[pads:] + dice.normal(size=(count, width)) * 0.1
    places = np.array([dice.integers(pads + t + 1) for t in range(count)])
    found = best_rivals(looking(count, pads), q, k, places)
    for t in range(count):
        others = [i for i in range(pads + t + 1) if i != places[t]]
        assert found[t] == pytest.approx((k[:, others] @ q[t]).max(initial=-np.inf))


@pytest.mark.parametrize("dtype", FORMATS)
def test_scores_are_within_the_slack_of_products(dtype: str) -> None:
    fmt, dice = FORMATS[dtype], np.random.default_rng(1)
    for root, radius in itertools.product((1.0, np.sqrt(3.0)), (0.0, 1e-3)):
        q, k = dice.normal(size=(40, 3)), dice.normal(size=(70, 3))
        boxes = [Real(side - radius, side + radius) for side in (q, k)]
        left, right, slack = products(fmt, *boxes, root)
        scores = fmt.scores(*boxes, root)
        apart = scores.hi - left @ right.T, left @ right.T - scores.lo
        # The same number for all keys does not matter.
        assert ((apart[0].max(axis=1) + apart[1].max(axis=1)) <= 2 * slack).all()
        assert (slack < 3e-12 + 100 * (fmt.inner.unit + radius)).all()


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of 64 letters count as long."""
    monkeypatch.setattr(head_rules, "MANY", 60)


def margin(network: CompiledNetwork, witness: Any) -> float | None:
    own, table = checkable(network.transformer, network.automaton)
    verdict = check(own, table, "float32", network.length, witness)
    return verdict.margin if verdict.certified else None


def scan(spec: str) -> tuple[CompiledNetwork, Any]:
    network = krohn.compile(spec, 64, unproved=True)
    return network, witness_json(next(iter(scans(checkable(network.transformer, network.automaton)[0]))))


@pytest.mark.parametrize("spec", ["S5", "A5"])
def test_a_scan_has_the_margin_that_all_pairs_give(
    spec: str, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, witness = scan(spec)
    leads: list[float] = []
    through = many_keys.lead_over_many

    def noted(*given: Any) -> Any:
        lead = through(*given)
        leads.append(lead[0])
        return lead

    monkeypatch.setattr(many_keys, "lead_over_many", noted)
    fast = margin(network, witness)
    assert len(leads) >= 6
    monkeypatch.setattr(head_rules, "MANY", 1 << 20)
    assert fast == pytest.approx(margin(network, witness), rel=1e-6)
    assert min(leads) > 10


@pytest.mark.parametrize("at", [1, 17, 40, 63])
def test_one_key_that_is_another_is_refused(at: int, few: None) -> None:
    """Within a run one position has the code of its neighbour: both lead alike."""
    network, witness = scan("S5")
    codes = network.transformer.positions.copy()
    codes[at] = codes[at + 1]
    broken = replace(network, transformer=replace(network.transformer, positions=codes))
    assert margin(network, witness) is not None
    assert margin(broken, witness) is None

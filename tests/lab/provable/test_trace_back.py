"""A rare mistake is found from the class that stays open, and what stays open is said."""

import numpy as np
import torch

import krohn
from krohn.proving.inputs import at_the_end, letters_on, neighbours, paths_of, read_edges, sampled_paths
from lab.provable.own_cases import SEEN, case_of, one_by_one
from lab.provable.own_modules import Seen

LENGTH = 30
LAST = {"reads": [[place] for place in range(LENGTH)], "answers": "last"}


def test_a_mistake_on_29_of_a_billion_words_is_found_and_is_one() -> None:
    """With a threshold between 1/30 and e^0.1/(29 + e^0.1): wrong on one letter b that is not the last."""
    module = Seen(threshold=0.034)
    verdict = krohn.verify(module, automaton=SEEN, tokens=LAST)
    assert not verdict.certified
    assert verdict.counterexample is not None
    word = verdict.counterexample.word
    assert sum(word) == 1
    assert word[-1] == 0
    assert int(module(torch.tensor([word]))[0, -1].argmax()) == verdict.counterexample.got == 0
    assert verdict.counterexample.expected == 1
    assert krohn.verify(Seen(threshold=0.033), automaton=SEEN, tokens=LAST).certified


def test_what_stays_open_is_said() -> None:
    """One letter b of thirty is an average of 1/30, and the threshold less than its rounding below."""
    verdict = krohn.verify(Seen(threshold=(1 - 1e-6) / LENGTH), automaton=SEEN, tokens=LAST)
    assert not verdict.certified
    assert verdict.counterexample is None
    assert "the hardest: letter 30 is a, token 0 at position 29, where token 1 leads by -" in verdict.reason
    assert verdict.to_json()["covered"] == 0.75
    assert verdict.to_json()["open"] == 1


def test_paths_by_brute_force() -> None:
    case = case_of(5)
    dice = np.random.default_rng(0)
    words, _ = one_by_one(case)
    weight = dice.normal(size=(7, case.length, 2))
    edges = np.ones((7, len(case.columns[2].before)), dtype=bool)
    found = at_the_end(case, weight, 2, edges, -1, np.zeros(7, dtype=np.int64))
    got, _ = read_edges(case, found)
    sums = weight[:, np.arange(case.length)[None], words].sum(axis=2)
    assert np.allclose(
        weight[np.arange(7)[:, None], np.arange(case.length)[None], got].sum(axis=1), sums.max(axis=1)
    )
    paths = sampled_paths(case, 50, dice)
    assert np.array_equal(paths_of(case, letters_on(case, paths)), paths)
    near, _ = read_edges(case, neighbours(case, letters_on(case, paths[:1])[0]))
    own, _ = read_edges(case, paths[:1])
    assert len(near) == case.length
    assert ((near != own).sum(axis=1) == 1).all()

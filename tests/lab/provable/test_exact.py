"""Exact counts are those of plain passes over all words, one by one."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from krohn.functions import simulate
from krohn.lab.provable.exact import count, longest, words_of_training
from krohn.lab.training.trained_network import read_run
from krohn.proving import word_search

KINDS = ["gpt", "bos", "scratchpad", "lstm", "feasible", "observing"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [7, 1 << 10])
def test_the_count_is_that_of_plain_passes(
    kind: str, block: int, runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_search, "WORDS_AT_ONCE", block)
    trained, length = read_run(runs[kind]), 5
    automaton = trained.automaton
    words = np.array(list(product(range(automaton.num_letters), repeat=length)))
    may = words_of_training(trained)
    assert (may is not None) == (kind == "feasible")
    for allowed in (None, may):
        states = np.asarray(simulate(automaton, words))
        before = np.concatenate([np.full((len(words), 1), automaton.start), states[:, :-1]], 1)
        mask = np.ones(len(words), bool) if allowed is None else allowed[before, words].all(1)
        shown = np.array(automaton.observe)[states] if kind == "observing" else states
        mistakes = (trained.forward(words) != shown)[mask]
        counts = count(trained, automaton, length, allowed)
        assert (counts.words, counts.wrong) == (mask.sum(), mistakes.any(1).sum())
        assert counts.wrong > 0  # these networks are hardly trained: the test must see errors
        first = min(
            (int(row.argmax()), tuple(word))
            for row, word in zip(mistakes, words[mask].tolist(), strict=True)
            if row.any()
        )
        assert counts.shortest is not None
        assert counts.shortest.word == first[1][: first[0] + 1]


def test_more_effort_reaches_longer_words_and_never_more_than_asked(runs: dict[str, Path]) -> None:
    trained = read_run(runs["gpt"])
    reached = [longest(trained, 100, effort) for effort in (1e-9, 0.01, 1.0, 100.0)]
    assert reached[0] == 1
    assert reached == sorted(set(reached))
    assert longest(trained, 3, 1e9) == 3

"""Looking for a word that a network gets wrong: patterns, random words, then a descent along margins."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import right_outputs
from krohn.certify.arithmetic import Arithmetic
from krohn.certify.certificate import Counterexample
from krohn.network.forward import logits
from krohn.network.transformer import Transformer

Words = npt.NDArray[np.int64]
Runner = Callable[[Words], npt.NDArray[np.int64]]

MAX_WORDS = 10**6
BATCH_WORK = 1 << 26
POPULATION, ROUNDS = 48, 60
SEARCH_WORK, DESCENT_WORK = 2 * 10**10, 2 * 10**9
"""Multiplications that the search over patterns, and then that by margins, may cost."""


def runner(network: Transformer, arith: Arithmetic) -> Runner:
    """The network as a function from words to states, a batch at a time."""
    work = max(1, network.num_parameters) * (network.num_padding + 1)

    def run(words: Words) -> npt.NDArray[np.int64]:
        rows = max(1, BATCH_WORK // (work * max(1, words.shape[1])))
        parts = [run_in(network, words[at : at + rows], arith) for at in range(0, len(words), rows)]
        return np.concatenate(parts) if parts else np.zeros_like(words)

    return run


def first_wrong(run: Runner, automaton: Semiautomaton, words: Words) -> tuple[Counterexample | None, int]:
    """The word whose error comes earliest, cut after it, and the number of words with an error."""
    if not words.size:
        return None, 0
    got, wanted = run(words), right_outputs(automaton, words)
    wrong = got != wanted
    rows = np.flatnonzero(wrong.any(axis=1))
    if not len(rows):
        return None, 0
    ends = wrong[rows].argmax(axis=1)
    row, end = int(rows[ends.argmin()]), int(ends.min())
    word = tuple(int(letter) for letter in words[row, : end + 1])
    return Counterexample(word, int(wanted[row, end]), int(got[row, end])), len(rows)


def all_words(letters: int, length: int) -> Words:
    """``[letters^length, length]`` in lexicographic order."""
    number, worth = np.arange(letters**length)[:, None], [letters**place for place in range(length)][::-1]
    return number // np.array(worth, dtype=np.int64) % letters


def search(
    network: Transformer,
    automaton: Semiautomaton,
    arith: Arithmetic,
    length: int,
    hint: tuple[int, ...] | None,
) -> Counterexample | None:
    """Tries the hint and its continuations, patterns, random words, then words whose margins shrink."""
    run = runner(network, arith)
    left = SEARCH_WORK // (max(1, network.num_parameters) * (network.num_padding + length))
    for batch in candidates(automaton.num_letters, length, hint):
        words = batch[: max(left, 0)]
        left -= len(words)
        found, _ = first_wrong(run, automaton, words)
        if found is not None:
            return found
    return descend(network, automaton, arith, length)


def candidates(letters: int, length: int, hint: tuple[int, ...] | None = None) -> Iterator[Words]:
    """Words that networks tend to get wrong: patterns, random words, rare letters, long runs."""
    dice = np.random.default_rng(0)
    if hint:
        yield np.array([hint[:length]], dtype=np.int64)
        continued = dice.integers(letters, size=(16, length))
        continued[:, : len(hint)] = hint[:length]
        yield continued
    yield dice.integers(letters, size=(16, length))
    yield from (part for part in np.array_split(_patterns(letters, length), 4) if len(part))
    for _ in range(4):
        yield dice.integers(letters, size=(64, length))
    # Rare letters: one letter almost everywhere.
    for letter in range(min(letters, 8)):
        words = np.full((16, length), letter)
        rare = dice.random(words.shape) < 3.0 / max(length, 1)
        yield np.where(rare, dice.integers(letters, size=words.shape), words)
    # Few letters: long runs, every word its own pair of letters.
    pairs = dice.integers(letters, size=(64, 2))
    runs = np.cumsum(dice.random((64, length)) < 4.0 / max(length, 4), axis=1) % 2
    yield np.take_along_axis(pairs, runs, axis=1)


def descend(
    network: Transformer, automaton: Semiautomaton, arith: Arithmetic, length: int
) -> Counterexample | None:
    """Changes words at random and keeps what brings the right logit closer to the others."""
    dice, letters = np.random.default_rng(1), automaton.num_letters
    words = dice.integers(letters, size=(POPULATION, length))
    best, found = _closeness(network, automaton, arith, words)
    cost = max(1, network.num_parameters) * POPULATION * (network.num_padding + length)
    for _ in range(min(ROUNDS, DESCENT_WORK // cost)):
        if found is not None:
            return found
        fresh = _varied(words, letters, dice)
        close, found = _closeness(network, automaton, arith, fresh)
        words = np.where((close <= best)[:, None], fresh, words)
        best = np.minimum(best, close)
    return found


def _closeness(
    network: Transformer, automaton: Semiautomaton, arith: Arithmetic, words: Words
) -> tuple[npt.NDArray[np.float64], Counterexample | None]:
    """The least margin of every word, and a counterexample if one of them is run wrong."""
    out = logits_in(network, words, arith).astype(np.float64)
    wanted, got = right_outputs(automaton, words)[..., None], out.argmax(axis=-1)
    right = np.take_along_axis(out, wanted, axis=-1)[..., 0]
    np.put_along_axis(out, wanted, -np.inf, axis=-1)
    with np.errstate(invalid="ignore"):
        margins: npt.NDArray[np.float64] = (right - out.max(axis=-1)).min(axis=1)
    found, _ = first_wrong(lambda _: got, automaton, words)
    return margins, found


def _varied(words: Words, letters: int, dice: np.random.Generator) -> Words:
    """One run of each word overwritten: by a single letter, or by random ones."""
    count, length = words.shape
    start = dice.integers(length, size=(count, 1))
    size = np.minimum(dice.geometric(0.3, size=(count, 1)), length)
    place = np.arange(length)
    inside = (place >= start) & (place < start + size)
    same = np.broadcast_to(dice.integers(letters, size=(count, 1)), words.shape)
    other = np.where(dice.random((count, 1)) < 0.5, same, dice.integers(letters, size=words.shape))
    return np.where(inside, other, words)


def _patterns(letters: int, length: int) -> Words:
    """Constant words, two alternating letters, one letter inside another's run, halves."""
    made = [np.full(length, letter) for letter in range(letters)]
    few = range(min(letters, 12))
    for first in few:
        for second in few:
            if first != second:
                two = np.array([first, second])
                made.append(two[np.arange(length) % 2])
                made.append(two[(np.arange(length) >= length // 2).astype(np.int64)])
                for place in {0, length // 3, length - 2} & set(range(length)):
                    word = np.full(length, first)
                    word[place] = second
                    made.append(word)
    return np.array(made, dtype=np.int64).reshape(len(made), length)


def run_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[np.int64]:
    """The states the network outputs for words ``[batch, length]`` in this arithmetic."""
    states: npt.NDArray[np.int64] = logits_in(network, words, arith).argmax(axis=-1)
    return states


def logits_in(network: Transformer, words: npt.NDArray[Any], arith: Arithmetic) -> npt.NDArray[Any]:
    """The read-out ``[batch, length, states]`` in this arithmetic."""
    return logits(network, words, arith.name)

"""Looking for a word that a network gets wrong: all short words, then long ones of many patterns."""

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.simulation import simulate
from krohn.certify.arithmetic import Arithmetic
from krohn.certify.certificate import Counterexample, SecondOpinion
from krohn.certify.running import run_in
from krohn.network.transformer import Transformer

Words = npt.NDArray[np.int64]
Runner = Callable[[Words], npt.NDArray[np.int64]]

MAX_WORDS = 10**6
MAX_WORK = 4 * 10**8
"""Multiplications that the exhaustive run may cost: a second or two."""
BATCH_WORK = 1 << 26


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
    got, wanted = run(words), np.asarray(simulate(automaton, words))
    wrong = got != wanted
    rows = np.flatnonzero(wrong.any(axis=1))
    if not len(rows):
        return None, 0
    ends = wrong[rows].argmax(axis=1)
    row, end = int(rows[ends.argmin()]), int(ends.min())
    word = tuple(int(letter) for letter in words[row, : end + 1])
    return Counterexample(word, int(wanted[row, end]), int(got[row, end])), len(rows)


def exhaustive(
    network: Transformer, automaton: Semiautomaton, arith: Arithmetic, length: int
) -> tuple[SecondOpinion, Counterexample | None]:
    """All words of the largest length that fits; they contain all shorter ones as beginnings."""
    letters, longest = automaton.num_letters, 0
    while longest < length:
        count = letters ** (longest + 1)
        if count > MAX_WORDS or count * (longest + 1) * network.num_parameters > MAX_WORK:
            break
        longest += 1
        if letters == 1 and longest >= length:
            break
    words = all_words(letters, longest)
    found, wrong = first_wrong(runner(network, arith), automaton, words)
    return SecondOpinion(longest, len(words), wrong), found


def all_words(letters: int, length: int) -> Words:
    """``[letters^length, length]`` in lexicographic order."""
    grid = np.indices((letters,) * length).reshape(length, -1).T if length else np.zeros((1, 0))
    return np.ascontiguousarray(grid, dtype=np.int64)


def search(
    network: Transformer,
    automaton: Semiautomaton,
    arith: Arithmetic,
    length: int,
    hint: tuple[int, ...] | None,
) -> Counterexample | None:
    """Tries the hint, then patterns, then random words of full length."""
    run = runner(network, arith)
    for words in _candidates(automaton.num_letters, length, hint):
        found, _ = first_wrong(run, automaton, words)
        if found is not None:
            return found
    return None


def _candidates(letters: int, length: int, hint: tuple[int, ...] | None) -> Iterator[Words]:
    if hint:
        yield np.array([hint[:length]], dtype=np.int64)
    yield from (part for part in np.array_split(_patterns(letters, length), 4) if len(part))
    dice = np.random.default_rng(0)
    for _ in range(4):
        yield dice.integers(letters, size=(32, length))
    # Rare letters: one letter almost everywhere.
    for letter in range(min(letters, 8)):
        words = np.full((8, length), letter)
        rare = dice.random(words.shape) < 3.0 / max(length, 1)
        yield np.where(rare, dice.integers(letters, size=words.shape), words)


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

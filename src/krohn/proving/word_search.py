"""Words that a network gets wrong, found by running it, independently of the proof.

The search tries patterns and random words. The second opinion runs every word up to a length.
"""

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import FLOATS
from krohn.network.forward import run as run_network
from krohn.network.transformer import Transformer
from krohn.proving.evidence import Counterexample, SecondOpinion

Words = npt.NDArray[np.int64]
Runner = Callable[[Words], npt.NDArray[np.int64]]

MAX_WORDS = 10**6
BATCH_WORK = 1 << 26
SEARCH_WORK = 2 * 10**10
"""Budget of the search, in multiplications.

After a refusal a wrong word is a help, not the answer: the search takes some five seconds at most.
"""
GROUPS = 8
"""Of words that are too long for all candidates, each kind gets this part of the budget."""


def runner(network: Transformer, dtype: str) -> Runner:
    """The network as a function from words to states, a batch at a time."""
    work = max(1, network.num_parameters) * (network.num_padding + 1)

    def run(words: Words) -> npt.NDArray[np.int64]:
        rows = max(1, BATCH_WORK // (work * max(1, words.shape[1])))
        parts = [run_network(network, words[at : at + rows], dtype) for at in range(0, len(words), rows)]
        return np.concatenate(parts) if parts else np.zeros_like(words)

    return run


def first_wrong(run: Runner, automaton: Semiautomaton, words: Words) -> tuple[Counterexample | None, int]:
    """The word whose error comes earliest, cut after it, and the number of words with an error."""
    if not words.size:
        return None, 0
    got, wanted = run(words), automaton.right_outputs(words)
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
    return _number(np.arange(letters**length), letters, length)


def in_blocks(letters: int, length: int) -> Iterator[Words]:
    """All words in lexicographic order, ``WORDS_AT_ONCE`` at a time: they need not fit into memory."""
    count = letters**length
    for begin in range(0, count, WORDS_AT_ONCE):
        yield _number(np.arange(begin, min(begin + WORDS_AT_ONCE, count)), letters, length)


def _number(numbers: npt.NDArray[np.int64], letters: int, length: int) -> Words:
    place_values = np.array([letters**place for place in range(length)][::-1], dtype=np.int64)
    return numbers[:, None] // place_values % letters


def search(
    network: Transformer,
    automaton: Semiautomaton,
    dtype: str,
    length: int,
    hint: tuple[int, ...] | None,
) -> Counterexample | None:
    """Tries the hint and its continuations, patterns and random words.

    Words are shorter than asked for if few of that length would use up the budget.
    """
    run, letters = runner(network, dtype), automaton.num_letters
    # Shorter words of every kind are worth more than a few long ones of one kind.
    while length > 1 and GROUPS * _work_of_word(network, length) > SEARCH_WORK:
        length //= 2
    left = int(SEARCH_WORK // _work_of_word(network, length))
    for words in candidates(letters, length, hint, max(1, left // GROUPS)):
        result, _ = first_wrong(run, automaton, words)
        left -= len(words)
        if result is not None or left <= 0:
            return result
    return None


def _work_of_word(network: Transformer, length: int) -> float:
    """The cost of running one word, in multiplications of a large matrix product."""
    places, heads = network.num_padding + length, sum(len(layer.heads) for layer in network.layers)
    return float(places * (max(1, network.num_parameters) + PER_SCORE * heads * places))


def candidates(
    letters: int, length: int, hint: tuple[int, ...] | None = None, most: int = 64
) -> Iterator[Words]:
    """Words that networks tend to get wrong: patterns, random words, rare letters, long runs.

    ``most``: of each kind; patterns count as four kinds.
    """
    dice = np.random.default_rng(0)
    if hint:
        yield np.array([hint[:length]], dtype=np.int64)
        continued = dice.integers(letters, size=(min(most, 16), length))
        continued[:, : len(hint)] = hint[:length]
        yield continued
    yield dice.integers(letters, size=(min(most, 16), length))
    patterns = _patterns(letters, length)
    every = list(patterns if most >= 64 else islice(patterns, 4 * most))
    yield from (part for part in np.array_split(np.array(every, dtype=np.int64), 4) if len(part))
    for _ in range(4 if most >= 64 else 1):
        yield dice.integers(letters, size=(min(most, 64), length))
    # Rare letters: one letter almost everywhere.
    for letter in range(min(letters, 8 if most >= 16 else 1)):
        words = np.full((min(most, 16), length), letter)
        rare = dice.random(words.shape) < 3.0 / max(length, 1)
        yield np.where(rare, dice.integers(letters, size=words.shape), words)
    # Few letters: long runs, every word its own pair of letters.
    pairs = dice.integers(letters, size=(min(most, 64), 2))
    runs = np.cumsum(dice.random((len(pairs), length)) < 4.0 / max(length, 4), axis=1) % 2
    yield np.take_along_axis(pairs, runs, axis=1)


def _patterns(letters: int, length: int) -> Iterator[Words]:
    """Constant words, two alternating letters, one letter inside another's run, halves."""
    yield from (np.full(length, letter) for letter in range(letters))
    few = range(min(letters, 12))
    for first, second in ((first, second) for first in few for second in few if first != second):
        two = np.array([first, second])
        yield two[np.arange(length) % 2]
        yield two[(np.arange(length) >= length // 2).astype(np.int64)]
        for place in {0, length // 3, length - 2} & set(range(length)):
            word = np.full(length, first)
            word[place] = second
            yield word


MAX_WORK = 5 * 10**10
"""Budget of the run, in multiplications: one to six seconds."""
PER_SCORE = 250
"""Cost of scoring one position, in multiplications of a large matrix product: small ones are slow."""
PER_UNIT, PER_MATRIX = 40, 400
PER_DOUBLE, PER_HALF = 2, 8
"""Cost of float64 and of half types relative to float32; rounding to half types is done in software."""


WORDS_AT_ONCE = 1 << 14


def exhaustive(
    network: Transformer, automaton: Semiautomaton, dtype: str, length: int, max_work: float = MAX_WORK
) -> tuple[SecondOpinion, Counterexample | None]:
    """Runs all words of the largest length that fits the budget; shorter words are their prefixes."""
    letters = automaton.num_letters
    longest, why = _longest(network, letters, dtype, length, max_work)
    if longest == 0:
        return SecondOpinion(0, 0, 0, dtype, why), None
    return run_every_word(runner(network, dtype), automaton, longest, dtype, why)


def run_every_word(
    run: Runner, automaton: Semiautomaton, length: int, dtype: str = "float32", limit: str = ""
) -> tuple[SecondOpinion, Counterexample | None]:
    """Runs all words of a length, and with them their prefixes; the earliest error of all."""
    wrong, errors = 0, []
    with np.errstate(all="ignore"):
        for words in in_blocks(automaton.num_letters, length):
            error, bad = first_wrong(run, automaton, words)
            wrong += bad
            errors += [] if error is None else [error]
    first = min(errors, key=lambda error: (len(error.word), error.word), default=None)
    return SecondOpinion(length, automaton.num_letters**length, wrong, dtype, limit), first


def longest_of(letters: int, most: int, length: int) -> int:
    """The largest length, up to the given one, with at most ``most`` words; at least 1."""
    length = min(length, most.bit_length()) if letters > 1 else length
    return max(n for n in range(1, length + 1) if n == 1 or letters**n <= most)


def _longest(network: Transformer, letters: int, dtype: str, length: int, max_work: float) -> tuple[int, str]:
    """The largest length to run, and why not a larger one (empty if it is the full length)."""
    for longest in range(1, length + 1):
        if letters**longest > MAX_WORDS:
            return longest - 1, f"there are more than {MAX_WORDS:,} words of length {longest}"
        if work_of(network, letters, longest, dtype) > max_work:
            size = sum(matrix.size for _, matrix in network.named_parameters())
            return longest - 1, f"longer words would take too long with {size:,} weights"
    return length, ""


def work_of(network: Transformer, letters: int, length: int, dtype: str) -> float:
    """The cost of all words of a length, in multiplications."""
    weights = sum(matrix.size for _, matrix in network.named_parameters()) + network.readout.size
    heads = sum(len(layer.heads) for layer in network.layers)
    matrices = sum(len(layer.mlp.weights) for layer in network.layers)
    units = sum(sum(layer.mlp.hidden_widths) for layer in network.layers)
    each = weights + PER_SCORE * heads * (network.num_padding + length)
    each += PER_UNIT * units + PER_MATRIX * (matrices + 1)
    factor = PER_HALF if FLOATS[dtype].half else PER_DOUBLE if dtype == "float64" else 1
    return float(letters**length * (network.num_padding + length) * each * factor)

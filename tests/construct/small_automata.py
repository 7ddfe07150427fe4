"""Random automata, and the comparison that every compiled network must pass."""

import random
from collections.abc import Sequence
from itertools import product

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.features.feature import Feature
from krohn.functions import simulate
from krohn.network.compiled import CompiledNetwork
from krohn.network.operations import Row
from krohn.network.program import Meaning, interpret

SHORT_WORDS = 300


def random_automaton(seed: int) -> Semiautomaton:
    """3 to 8 states, 2 or 3 letters; arbitrary maps, or permutations and maps that lose a state or two."""
    rng = random.Random(seed)
    states, letters = rng.randint(3, 8), rng.randint(2, 3)
    table = [_letter(states, rng, near=seed % 2 == 1) for _ in range(letters)]
    return Semiautomaton.from_letters(table, start=rng.randrange(states), name=f"random{seed}")


def _letter(states: int, rng: random.Random, near: bool) -> list[int]:
    if not near:
        return [rng.randrange(states) for _ in range(states)]
    image = rng.sample(range(states), states)
    for _ in range(rng.choice([0, 0, 1, 2])):
        image[rng.randrange(states)] = rng.choice(image)
    return image


def hard_words(automaton: Semiautomaton, length: int, count: int, seed: int = 0) -> np.ndarray:
    """Random words, all short words with random continuations, and words of one letter."""
    rng = np.random.default_rng(seed)
    letters = automaton.num_letters
    words = rng.integers(0, letters, (count, length))
    reach = 0
    while letters ** (reach + 1) <= SHORT_WORDS and reach < length:
        reach += 1
    starts = np.array(list(product(range(letters), repeat=reach)), dtype=np.int64).reshape(-1, reach)
    ends = rng.integers(0, letters, (len(starts), min(3, length - reach)))
    short = np.concatenate([starts, ends], axis=1)
    padded = np.pad(short, ((0, 0), (0, length - short.shape[1])), mode="edge") if short.size else words[:0]
    same = np.repeat(np.arange(letters)[:, None], length, axis=1)
    return np.concatenate([words, padded[:: max(1, len(padded) // count)], same])


def assert_simulates(network: CompiledNetwork, count: int = 12) -> None:
    """All short words in float64; long words in float64 and float32; and the program itself."""
    automaton, length = network.automaton, network.length
    words = hard_words(automaton, length, count)
    expected = simulate(automaton, words)
    if network.program is not None:
        assert (interpret(network.program, words) == expected).all(), "the program is wrong"
    for kind in (np.float64, np.float32):
        assert (network.run(words, kind) == expected).all(), f"{automaton.name}: wrong in {kind.__name__}"
    reach = min(length, int(np.log(SHORT_WORDS) / np.log(max(2, automaton.num_letters))))
    every = np.array(list(product(range(automaton.num_letters), repeat=reach)), dtype=np.int64)
    assert (network.run(every) == simulate(automaton, every)).all(), f"{automaton.name}: wrong on short words"


def shown_after(feature: Feature, symbols: Sequence[int]) -> Row:
    """What a feature shows after a word."""
    value = feature.start
    for place, symbol in enumerate(symbols, 1):
        value = feature.step(value, symbol, place)
    return feature.show(value)


def called(text: str) -> Meaning:
    """The meaning of a register of which only the name is known."""
    return Meaning("named", text=text)


def letters(*names: str) -> Meaning:
    """A set of letters."""
    return Meaning("letters", letters=names)

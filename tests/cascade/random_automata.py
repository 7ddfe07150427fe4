"""Seeded automata for the tests of the cascade, and the small examples of the literature."""

import json
import random
from pathlib import Path

from krohn.automata.semiautomaton import Semiautomaton
from krohn.cascade.holonomy import Cascade

GOLDEN = json.loads((Path(__file__).parent / "sgpdec_golden.json").read_text())["cases"]


def golden(name: str) -> Semiautomaton:
    return Semiautomaton.from_letters(GOLDEN[name]["generators"], name=name)


def random_automaton(seed: int, *, smallest: int = 3, largest: int = 10) -> Semiautomaton:
    """Uniform maps, permutations and near-permutations mixed; the start state is random too."""
    rng = random.Random(seed)
    size = rng.randint(smallest, largest)
    letters = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.5:
            letters.append([rng.randrange(size) for _ in range(size)])
            continue
        letter = rng.sample(range(size), size)
        if kind < 0.8:
            letter[rng.randrange(size)] = rng.randrange(size)
        letters.append(letter)
    return Semiautomaton.from_letters(letters, start=rng.randrange(size))


def cerny(size: int) -> Semiautomaton:
    """A cycle and one merge: the family of sets is every non-empty set."""
    cycle = [(state + 1) % size for state in range(size)]
    merge = [1, *range(1, size)]
    return Semiautomaton.from_letters([cycle, merge], name=f"Cerny{size}")


def states_along(cascade: Cascade, word: list[int], start: int | None = None) -> list[int]:
    """The states after each letter of a word, read off the coordinates."""
    coordinates, states = cascade.coordinates(cascade.automaton.first(start)), []
    for letter in word:
        coordinates = cascade.step(coordinates, letter)
        states.append(cascade.state(coordinates))
    return states

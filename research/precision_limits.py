"""The longest words that each construction gets right in float32 and float16, measured, not proved.

Limit first: float32 tells 2^24 integers apart and float16 2^11, so a prefix sum of T letters of C_n cannot be
exact beyond (n−1)·T = 2^24 or 2^11. Entry: the last T of the grid before the first wrong state on hard
words; ">" means no failure up to the cap. numpy accumulates in the same type, so float16 is harsher than on
a GPU.

Run: python research/precision_limits.py [--cap 1024]
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.network.compiled import CompiledNetwork
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper
from krohn.paper.theorem3 import build_grid

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from paper.lemma_networks import build_counter, build_memory

LENGTHS = (4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 2048, 4096)
Build = Callable[[int], CompiledNetwork]


def cases() -> dict[str, Build]:
    result: dict[str, Build] = {}
    for name in ("C2", "S4"):
        result[f"Theorem 1, {name}"] = lambda t, n=name: build_scan(parse_spec(n), t)
    for modulus in (2, 6, 24):
        for counting in ("relu", "steps", "sin"):
            result[f"counter mod {modulus}, {counting}"] = lambda t, m=modulus, c=counting: build_counter(
                m, t, 1, c
            )
    for sharp in (False, True):
        result[f"memory 24, {'sharp' if sharp else 'printed'} score"] = lambda t, s=sharp: build_memory(
            24, t, 1, s
        )
    for name in ("S4", "T3", "Dyck4,2"):
        for activation in ("relu", "sin"):
            result[f"Theorem 2, {name}, {activation}"] = lambda t, n=name, a=activation: build_paper(
                parse_spec(n), t, a
            )
    for name in ("Grid4", "Grid9"):
        for variant, activation in (
            *(("count", "relu"), ("count", "clamped"), ("count", "sin")),
            *(("mod", "relu"), ("mod", "sin"), ("mod_sum", "sin")),
        ):
            label = f"Theorem 3, {name}, {variant}, {activation}"
            result[label] = lambda t, n=name, v=variant, a=activation: build_grid(parse_spec(n), t, v, a)
    return result


def hard_words(automaton: Semiautomaton, length: int) -> np.ndarray:
    """Random words, constant words (largest sums), and words of long runs."""
    rng = np.random.default_rng(0)
    letters = automaton.num_letters
    runs = np.repeat(rng.integers(0, letters, (1, length)), 7, axis=1)[:, :length]
    constant = np.stack([np.full(length, letters - 1), np.zeros(length, dtype=np.int64)])
    return np.concatenate([rng.integers(0, letters, (2, length)), constant, runs])


def largest(build: Build, dtype: str, cap: int) -> str:
    last = "none"
    for length in (t for t in LENGTHS if t <= cap):
        net = build(length)
        words = hard_words(net.automaton, length)
        with np.errstate(all="ignore"):
            states = net.run(words, dtype)
        if (states != np.array([net.automaton.run(word) for word in words])).any():
            return last
        last = str(length)
    return f"> {last}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cap", type=int, default=1024)
    options = parser.parse_args()
    print("| construction | float32 | float16 |\n| --- | --- | --- |")
    for name, build in cases().items():
        result = [largest(build, dtype, options.cap) for dtype in ("float32", "float16")]
        print(f"| {name} | {result[0]} | {result[1]} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

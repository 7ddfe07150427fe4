"""A campaign of the containment test: each tensor of generated networks against the box claimed for it.

``python research/containment.py [--kinds scan,layered,export] [--first N] [--networks N] [--words N]`` prints
each tensor that leaves its box with the number of the network, which ``tests/check/generated.py`` makes
again, and in the end how many networks, claims and runs were compared. Exit status 1 if any left its box.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from check.containment import violations
from check.generated import generated
from check.runs import WAYS


def campaign(kind: str, first: int, networks: int, words: int) -> bool:
    """Whether every tensor of these networks stays in its box, in all ways to run them."""
    counts: Counter[str] = Counter()
    for seed in range(first, first + networks):
        made = generated(seed, kind)
        if made is None:
            continue
        done, dtype, length, (network, automaton, witness) = made
        read = np.random.default_rng(seed).integers(len(network.embedding), size=(words, length))
        with np.errstate(all="ignore"):
            verdict, claims, found = violations(network, automaton, dtype, length, witness, read, WAYS)
        counts["networks"] += 1
        counts["claims"] += claims
        counts["certified" if verdict.certified else "refused"] += 1
        counts["left"] += bool(found)
        if found:
            print(f"{kind} {seed}: {done}: {found[0]}", flush=True)
    print(f"{kind}: {dict(counts)}, {words} words in {len(WAYS)} ways each", flush=True)
    return not counts["left"]


def main() -> int:
    """Runs the campaign."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kinds", default="scan,layered,export")
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--words", type=int, default=8)
    given = parser.parse_args()
    kept = [campaign(kind, given.first, given.networks, given.words) for kind in given.kinds.split(",")]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())

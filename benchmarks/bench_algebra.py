"""Sizes of transition semigroups against GAP's Semigroups.

    python benchmarks/bench_algebra.py [--large]

GAP's times are those stored with the golden values (another run, the machine named there); ours are measured
now, processor time, best of several. The work that cannot be avoided is stated first: one product for each
R-class and letter.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path

from krohn.algebra.transition_semigroup import TransitionSemigroup

GOLDEN = Path(__file__).parents[1] / "tests" / "algebra" / "golden.json"
GAP = "GAP Semigroups Size"
Letters = tuple[tuple[int, ...], ...]


def best_ms(work: Callable[[], object], seconds: float = 0.15) -> float:
    """Least processor time of one call, in milliseconds, over at least three calls."""
    best, spent, calls = math.inf, 0.0, 0
    while calls < 3 or spent < seconds:
        start = time.process_time()
        work()
        taken = time.process_time() - start
        best, spent, calls = min(best, taken), spent + taken, calls + 1
        if taken > 5:
            break
    return best * 1e3


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def random_automaton(states: int, seed: int) -> Letters:
    """The random cases of the golden file: two letters from Python's random module."""
    rng = random.Random(1000 * states + seed)
    return tuple(tuple(rng.randrange(states) for _ in range(states)) for _ in range(2))


def sizes(cases: dict[str, Letters], gap: dict[str, float]) -> None:
    print(f"{'size of':12} {'elements':>12} {'products':>9} {'ours ms':>9} {'GAP ms':>9} {'ratio':>6}")
    ratios = []
    for name, letters in cases.items():
        ours = best_ms(lambda letters=letters: TransitionSemigroup(letters).size)
        semigroup = TransitionSemigroup(letters)
        products = sum(semigroup.r_classes.component_counts.values()) * len(letters)
        ratios.append(ours / gap[name])
        print(
            f"{name:12} {semigroup.size:12} {products:9} {ours:9.2f} {gap[name]:9.2f} {ratios[-1]:6.2f}",
            flush=True,
        )
    print(f"geometric mean of ratios {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--large", action="store_true", help="add the random automaton of 60,865,913 elements"
    )
    options = parser.parse_args()
    golden = json.loads(GOLDEN.read_text())
    print(golden["source"], "\n")
    cases = {name: tuple(map(tuple, case["generators"])) for name, case in golden["cases"].items()}
    gap = {name: case["ms"][GAP] for name, case in golden["cases"].items()}
    sizes(cases, gap)
    if options.large:
        sizes({"rand12_s2": random_automaton(12, 2)}, {"rand12_s2": 73_165.0})


if __name__ == "__main__":
    main()

"""Algebra against its peers: sizes of transition semigroups (GAP) and listings (libsemigroups).

    python benchmarks/bench_algebra.py [--large]

GAP's times are those stored with the golden values (another run, the machine named there); ours and
libsemigroups' are measured now, processor time, best of several, in one run. The work that cannot be
avoided is stated first: a size needs one product for each R-class and letter, a listing two table entries
for each element and letter. In a listing both sides compute the same: elements, least words, right and left
Cayley graphs, first each in its own form (arrays here, C++ objects there), then handed over to Python, where
every entry is compared.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Callable
from pathlib import Path

from krohn.algebra.transition_semigroup import TransitionSemigroup, list_elements

GOLDEN = Path(__file__).parents[1] / "tests" / "algebra" / "golden.json"
LISTED = 1_000_000  # size of the largest semigroup to list
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


def full_monoid(degree: int) -> Letters:
    rest = tuple(range(2, degree))
    return ((*range(1, degree), 0), (1, 0, *rest), (0, 0, *rest))


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
        products = semigroup.r_classes.count * len(letters)
        ratios.append(ours / gap[name])
        print(
            f"{name:12} {semigroup.size:12} {products:9} {ours:9.2f} {gap[name]:9.2f} {ratios[-1]:6.2f}",
            flush=True,
        )
    print(f"geometric mean of ratios {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}\n")


def cheapest_products(letters: Letters) -> float:
    """Milliseconds for the right products of all elements in a bare loop: multiply, enter into a dictionary.

    No numbering, no words, no graphs: a lower bound for any listing element by element.
    """
    rows = [bytes(row) for row in list_elements(letters).rows.tolist()]
    tables = [bytes(letter) + bytes(256 - len(letter)) for letter in letters]

    def loop() -> None:
        enter = {}.setdefault
        for row in rows:
            for table in tables:
                enter(row.translate(table), 0)

    return best_ms(loop)


def listings(cases: dict[str, Letters]) -> None:
    """Elements, least words and both Cayley graphs, on both sides.

    libsemigroups has built a hash table of elements by then; ours is built on the first use of ``index``.
    """
    import libsemigroups_pybind11 as peer

    guard = peer.ReportGuard(False)
    floors = []
    print(f"{'listing of':12} {'elements':>12} {'entries':>9} {'ours ms':>9} {'libsg ms':>9} {'ratio':>6}")
    ratios: dict[int, list[float]] = {}
    for name, letters in cases.items():

        def theirs(letters: Letters = letters) -> int:
            semigroup = peer.FroidurePin([peer.Transf(list(letter)) for letter in letters])
            semigroup.run()
            return int(semigroup.size())

        ours = best_ms(lambda letters=letters: list_elements(letters))
        other = best_ms(theirs)
        size = len(list_elements(letters))
        assert size == theirs()
        ratios.setdefault(len(str(size)), []).append(ours / other)
        if 10 <= size < 1000:
            floors.append(cheapest_products(letters) / other)
        entries = 2 * size * len(letters)
        print(f"{name:12} {size:12} {entries:9} {ours:9.3f} {other:9.3f} {ours / other:6.2f}", flush=True)
    for digits, group in sorted(ratios.items()):
        mean, worst = geometric_mean(group), max(group)
        print(f"{len(group):3} with under {10**digits:9,} elements: mean {mean:.2f}, worst {worst:.2f}")
    print(f"geometric mean of ratios {geometric_mean([r for group in ratios.values() for r in group]):.2f}")
    print(
        f"multiplying and entering into a dictionary alone, in a bare loop, over libsemigroups' whole time, "
        f"10 to 999 elements: mean {geometric_mean(floors):.2f}, from {min(floors):.2f} to {max(floors):.2f}"
    )
    del guard


def listings_in_python(cases: dict[str, Letters]) -> None:
    """The same listings handed over to Python: elements, words and both graphs, compared one by one.

    The peer's way is the fastest that was found: its elements stay objects of its own (as lists of images
    they take six times as long), edges are asked one by one (quicker than its iterator of targets).
    """
    import libsemigroups_pybind11 as peer

    def ours(letters: Letters) -> tuple[list[list[int]], ...]:
        result = list_elements(letters)
        return result.rows.tolist(), result.words(), result.right.tolist(), result.left.tolist()

    def theirs(letters: Letters) -> tuple[object, ...]:
        semigroup = peer.FroidurePin([peer.Transf(list(letter)) for letter in letters])
        semigroup.run()
        numbers, names = range(semigroup.size()), range(len(letters))
        edges = (semigroup.right_cayley_graph().target, semigroup.left_cayley_graph().target)
        graphs = ([[target(number, name) for name in names] for number in numbers] for target in edges)
        # The elements are views into the semigroup's memory, so it is returned as well.
        return semigroup, list(semigroup), list(peer.froidure_pin.normal_forms(semigroup)), *graphs

    guard = peer.ReportGuard(False)
    print(f"\n{'in Python':12} {'elements':>12} {'ours ms':>9} {'libsg ms':>9} {'ratio':>6}")
    ratios = []
    for name, letters in cases.items():
        rows, words, *graphs = ours(letters)
        semigroup, others, other_words, *other_graphs = theirs(letters)
        assert rows == [list(element.images()) for element in others]
        assert list(map(list, words)) == other_words
        assert graphs == other_graphs
        del others, semigroup
        times = (
            best_ms(lambda letters=letters: ours(letters)),
            best_ms(lambda letters=letters: theirs(letters)),
        )
        ratios.append(times[0] / times[1])
        print(f"{name:12} {len(rows):12} {times[0]:9.3f} {times[1]:9.3f} {ratios[-1]:6.2f}", flush=True)
    print(f"geometric mean of ratios {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}")
    del guard


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
    listed = {name: cases[name] for name, case in golden["cases"].items() if case["size"] <= LISTED}
    listings(listed | {"T6": full_monoid(6)})
    listings_in_python(listed | {"T6": full_monoid(6)})


if __name__ == "__main__":
    main()

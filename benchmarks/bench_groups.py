"""Composition factors of permutation groups against GAP, which must be installed (used only here).

    python benchmarks/bench_groups.py [--every 2]

Cases: primitive groups of degree 5 to 24, every second one, by GAP's library. GAP computes a composition
series of a fresh group from the same generators; both times are the least of several, in milliseconds,
without start-up. Limit: within 2 times GAP's time in the geometric mean. Factor orders are compared as well.
"""

import argparse
import json
import math
import subprocess
import sys
import time

from krohn.algebra.composition import composition_factors
from krohn.algebra.permgroup import PermutationGroup

SCRIPT = """
LoadPackage("primgrp");; SizeScreen([4096, 24]);;
least := function(gens) local best, k, start, group, series;
  best := 10^18;
  for k in [1..7] do
    group := Group(gens); start := NanosecondsSinceEpoch(); series := CompositionSeries(group);
    best := Minimum(best, NanosecondsSinceEpoch() - start);
  od;
  return [best, List([1..Length(series)-1], i -> Size(series[i])/Size(series[i+1]))];
end;;
listed := list -> Concatenation("[", JoinStringsWithSeparator(List(list, String), ","), "]");;
count := 0;;
for degree in [5..24] do for number in [1..NrPrimitiveGroups(degree)] do
  count := count + 1;
  if count mod EVERY = 0 then
    gens := GeneratorsOfGroup(PrimitiveGroup(degree, number));
    found := least(gens);
    Print("[", degree, ",", number, ",", listed(List(gens, g -> listed(ListPerm(g, degree)))), ",",
      found[1], ",", listed(found[2]), "]\\n");
  fi;
od; od;
QUIT;
"""


def gap_cases(every: int) -> list[tuple[str, int, list[list[int]], float, list[int]]]:
    """Name, degree, generators from 0, GAP's milliseconds, orders of the factors from the top."""
    script = SCRIPT.replace("EVERY", str(every))
    done = subprocess.run(["gap", "-q", "-A"], input=script, capture_output=True, text=True, check=True)
    lines = done.stdout.replace("\\\n", "").splitlines()
    cases = []
    for line in lines:
        if line.startswith("["):
            degree, number, generators, spent, factors = json.loads(line)
            images = [[point - 1 for point in generator] for generator in generators]
            cases.append((f"{degree}.{number}", degree, images, spent / 1e6, factors))
    return cases


def best_ms(generators: list[list[int]], degree: int) -> tuple[float, tuple[str, ...]]:
    """Least processor time of seven runs, each from the generators."""
    best = math.inf
    for _ in range(7):
        group = PermutationGroup(generators, degree)
        start = time.process_time()
        factors = composition_factors(group)
        best = min(best, time.process_time() - start)
    return best * 1e3, factors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=2, help="take every n-th group of the library")
    options = parser.parse_args()
    ratios, wrong = [], 0
    print(f"{'group':8} {'ours ms':>9} {'GAP ms':>9} {'ratio':>7}  factors")
    for name, degree, generators, theirs, orders in gap_cases(options.every):
        ours, factors = best_ms(generators, degree)
        cyclic = sorted(int(factor[1:]) for factor in factors if factor[0] == "C")
        wrong += cyclic != sorted(order for order in orders if len(bin(order)) < 64 and _is_prime(order))
        wrong += len(factors) != len(orders)
        ratios.append(ours / theirs)
        print(f"{name:8} {ours:9.2f} {theirs:9.2f} {ratios[-1]:7.2f}  {' '.join(factors)}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} groups: geometric mean {mean:.2f}, worst {max(ratios):.2f}, wrong {wrong}")
    return int(wrong > 0)


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


if __name__ == "__main__":
    sys.exit(main())

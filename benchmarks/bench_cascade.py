"""Skeletons and cascades against SgpDec: python benchmarks/bench_cascade.py [--quick]

The limit: a skeleton needs one image per (set, letter), that is one table look-up per block of states,
and the cascade's check one step per (set, set, letter) that some pair of chains passes. Times are
best-of-several in one process, start-up excluded, as the golden ones are.

SgpDec's times come from tests/cascade/sgpdec_golden.json; where `gap` is on PATH they are measured live.
The two columns of ours: "skeleton" is sets, classes, tiles, depths and group orders; "cascade" is
the dependency functions and the proof of the covering, on top of the skeleton (SgpDec proves nothing).

Whether SgpDec's golden cascade times hold its skeleton again is not recorded: it is an attribute that GAP
keeps, but the cascade's time exceeds the skeleton's in every case, by little in the smallest. So three means
are printed: our cascade against theirs as if theirs came on top of a skeleton; our skeleton, groups and
cascade together against their cascade alone (the strictest); and all of ours against the sum of theirs.
"""

import argparse
import json
import math
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import Cascade
from krohn.cascade.skeleton import Skeleton, skeleton

GOLDEN = Path(__file__).parents[1] / "tests" / "cascade" / "sgpdec_golden.json"

GAP_SCRIPT = """
LoadPackage("sgpdec");;
s := Semigroup({generators});;
t := NanosecondsSinceEpoch();; sk := Skeleton(s);; DepthOfSkeleton(sk);;
Print("skeleton ", Float((NanosecondsSinceEpoch() - t) / 1000000), "\\n");;
t := NanosecondsSinceEpoch();; HolonomyCascadeSemigroup(s);;
Print("cascade ", Float((NanosecondsSinceEpoch() - t) / 1000000), "\\n");;
QUIT;
"""


def best(action: Callable[[], object], seconds: float) -> float:
    """Least time of one call in milliseconds, repeating for about the given time."""
    fastest, stop = math.inf, time.perf_counter() + seconds
    while True:
        begin = time.perf_counter()
        action()
        end = time.perf_counter()
        fastest = min(fastest, end - begin)
        if end > stop:
            return 1000 * fastest


def skeleton_with_groups(automaton: Semiautomaton) -> Skeleton:
    frame = skeleton(automaton, max_sets=10**6)
    for part in frame.classes:
        assert part.group.order
    return frame


def live_gap(generators: list[list[int]]) -> dict[str, float]:
    """SgpDec's times on this machine, if GAP is here."""
    if shutil.which("gap") is None:
        return {}
    lists = ", ".join(f"Transformation({[image + 1 for image in letter]})" for letter in generators)
    done = subprocess.run(
        ["gap", "-q"], input=GAP_SCRIPT.format(generators=lists), capture_output=True, text=True, timeout=300
    )
    pairs = [line.split() for line in done.stdout.splitlines()]
    return {
        pair[0]: float(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in {"skeleton", "cascade"}
    }


def ratio(peer: object, ours: float) -> float | None:
    return peer / ours if isinstance(peer, (int, float)) else None


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def shown(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def compare(seconds: float) -> None:
    cases = json.loads(GOLDEN.read_text())["cases"]
    header = f"{'case':12}{'sets':>6}{'levels':>7}{'skeleton':>10}{'SgpDec':>11}{'ratio':>8}"
    print(header + f"{'pairs':>7}{'cascade':>9}{'SgpDec':>11}{'ratio':>9}")
    skeletons: list[float] = []
    cascades: list[float] = []
    strict: list[float] = []
    whole: list[float] = []
    for name, case in cases.items():
        automaton = Semiautomaton.from_letters(case["generators"])
        frame = skeleton_with_groups(automaton)
        assert frame.num_levels == case["levels"]
        first = best(lambda automaton=automaton: skeleton_with_groups(automaton), seconds)
        second = best(lambda frame=frame: Cascade(frame), seconds)
        live = live_gap(case["generators"])
        peers = (
            live.get("skeleton", case["ms"]["SgpDec skeleton+groups"]),
            live.get("cascade", case["ms"]["SgpDec cascade"]),
        )
        ratios = (ratio(peers[0], first), ratio(peers[1], second))
        if isinstance(peers[1], (int, float)):
            strict.append(peers[1] / (first + second))
            whole.append((peers[0] + peers[1]) / (first + second))
        skeletons += [] if ratios[0] is None else [ratios[0]]
        cascades += [] if ratios[1] is None else [ratios[1]]
        pairs = Cascade(frame).covering.num_pairs
        cells = [f"{name:12}{frame.num_sets:6}{frame.num_levels:7}{first:10.3f}{shown(peers[0]):>11}"]
        cells.append(f"{ratios[0]:8.1f}{pairs:7}{second:9.3f}{shown(peers[1]):>11}")
        cells.append(f"{ratios[1]:9.1f}" if ratios[1] is not None else f"{'-':>9}")
        print("".join(cells))
    print(f"\ngeometric mean, skeleton with groups: {geometric_mean(skeletons):.1f}x")
    print(f"geometric mean, cascade with proof:   {geometric_mean(cascades):.1f}x")
    print(
        f"  charged with our skeleton and groups: {geometric_mean(strict):.1f}x of their cascade alone, ",
        end="",
    )
    print(f"{geometric_mean(whole):.1f}x of their skeleton and cascade together")
    print(f"least ratio: skeleton {min(skeletons):.1f}x, cascade {min(cascades):.1f}x")


def scale() -> None:
    size = 16
    cerny = Semiautomaton.from_letters([[*range(1, size), 0], [1, *range(1, size)]], name=f"Cerny{size}")
    print("\nscale, one run each, seconds")
    for automaton in (parse_spec("Grid64"), parse_spec("Dyck6,2"), cerny):
        begin = time.perf_counter()
        frame = skeleton_with_groups(automaton)
        middle = time.perf_counter()
        cascade = Cascade(frame)
        end = time.perf_counter()
        print(
            f"{automaton.name:10} sets {frame.num_sets:6} levels {frame.num_levels:3} pairs "
            f"{cascade.covering.num_pairs:7} skeleton {middle - begin:.3f} cascade {end - middle:.3f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    compare(0.02 if parser.parse_args().quick else 0.2)
    scale()

"""Building Theorem 1 with the printed gadget and with ours: bytes, seconds, error tolerance.

Limit first: any gadget must tell |Q| values apart on |Q| channels and pick among |Q| others, so its first
matrix has at least |Q|·2|Q| useful entries; dense float64 storage of d × width is the yardstick. The
printed gadget adds a second matrix of 4|Q|²·|Q|² entries. Each row is measured in a fresh process.

Run: python benchmarks/bench_scan_gadgets.py [--length 128] [--cap-gigabytes 4]
"""

import argparse
import json
import subprocess
import sys

from krohn.paper.composition import composition_width

CASES = (("S4", 24), ("A5", 60), ("S5", 120))
GADGETS = ("plateau", "hat", "direct")
MEASURE = """
import json, resource, sys, time
from krohn.automata.zoo import parse_spec
from krohn.paper.theorem1 import build_scan
automaton = parse_spec(sys.argv[1])
before = time.perf_counter()
net = build_scan(automaton, int(sys.argv[3]), sys.argv[2])
seconds = time.perf_counter() - before
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
mlp = net.transformer.layers[0].mlp
print(json.dumps({"seconds": seconds, "peak": peak, "entries": sum(w.size for w in mlp.weights)}))
"""


def matrix_bytes(states: int, gadget: str) -> int:
    """Bytes of one MLP in float64."""
    width, dim = composition_width(states, gadget), 2 * states + 2
    if gadget == "direct":
        return 8 * 2 * dim * width
    return 8 * (dim * width + width * states**2 + states**2 * dim)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--cap-gigabytes", type=float, default=4.0, help="gadgets beyond this are not built")
    options = parser.parse_args()
    numbers = ("width", "one MLP, GB", "seconds", "peak GB", "vs direct")
    header = "".join(name.rjust(size) for name, size in zip(numbers, (8, 13, 9, 9, 11), strict=True))
    print(f"{'automaton':10}{'gadget':10}{header}")
    for name, states in CASES:
        base = matrix_bytes(states, "direct")
        for gadget in GADGETS:
            size = matrix_bytes(states, gadget)
            row = f"{name:10}{gadget:10}{composition_width(states, gadget):8d}{size / 1e9:13.3f}"
            # A matrix is copied once while it is frozen, so twice its size must fit.
            if 2.5 * size > options.cap_gigabytes * 1e9:
                print(f"{row}{'—':>9}{'> cap':>9}{size / base:11.1f}")
                continue
            command = [sys.executable, "-c", MEASURE, name, gadget, str(options.length)]
            report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"{row}{report['seconds']:9.2f}{report['peak'] / 1e9:9.2f}{size / base:11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

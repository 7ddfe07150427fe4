"""What networks without positions and without a token for the beginning cannot pass, per letter.

Run: python benchmarks/ceilings.py [--length 40] [SPEC …]
"""

import argparse

from krohn.automata.spec import parse_spec
from krohn.experiments.settings import TASKS
from krohn.tasks.ceiling import position_free_ceiling


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specs", nargs="*", default=TASKS)
    parser.add_argument("--length", type=int, default=40)
    options = parser.parse_args()
    print(f"| automaton | ceiling per letter at T = {options.length} |\n| --- | --- |")
    for spec in options.specs:
        print(f"| {spec} | {100 * float(position_free_ceiling(parse_spec(spec), options.length)):.2f}% |")


if __name__ == "__main__":
    main()

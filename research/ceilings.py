"""Upper bounds on the per-letter accuracy of networks without positions and without a BOS token.

On the words a, aa, aaa, … every token is the same, so every average over a prefix is the same too, layer
after layer: such a network gives one answer to all of them, at best the most frequent of the right ones.

Run: python research/ceilings.py [--length 40] [SPEC …]
"""

import argparse
from collections import Counter
from fractions import Fraction

from krohn.automata.distributions import feasible_letters, parse_distribution
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import Unsupported
from krohn.lab.experiments.settings import TASKS


def position_free_ceiling(automaton: Semiautomaton, length: int, distribution: str = "auto") -> Fraction:
    """The largest expected share of right letters on words of ``length``, whatever the weights."""
    form = parse_distribution(distribution, automaton)
    if form.name not in ("uniform", "feasible"):
        raise Unsupported(f"the distribution must be uniform or feasible; got {form.name}")
    allowed = feasible_letters(automaton) | (form.name == "uniform")
    lost = Fraction(0)
    for letter in range(automaton.num_letters):
        chance, state, answers = Fraction(1), automaton.start, Counter[int]()
        for _ in range(length):
            if not allowed[state, letter]:
                break
            chance /= int(allowed[state].sum())
            state = int(automaton.table[state, letter])
            answers[state] += chance  # type: ignore[assignment]
        lost += sum(answers.values(), Fraction(0)) - max(answers.values(), default=Fraction(0))
    return 1 - lost / length


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

"""Mutants of proved recurrent networks: how many are still proved, and whether any of those is wrong.

    python benchmarks/trained_mutants.py results/networks/grid4-lstm-proved [COUNT]

A mutant has one weight moved by up to some hundreds, or negated. It counts as proved if the kept boxes or a
new search prove it, and as wrong if it fails on random words or on words that repeat and alternate.
"""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from krohn.automata.simulation import simulate
from krohn.evaluate.trained_states import TrainedStates, trained_states
from krohn.trained.box_certificate import NAME, load_certificate
from krohn.trained.box_check import check
from krohn.trained.box_search import contexts, search
from krohn.trained.proving import cell_of, claim_of, tensors_of
from krohn.trained.sampled import habitual, uniform

SCALES = (0.1, 1.0, 10.0, 100.0)


def main() -> None:
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    trained, boxes = trained_states(folder), load_certificate(folder / NAME).boxes
    claim = claim_of(trained, trained.automaton, "all")
    found = contexts(claim)
    assert found is not None
    words = np.concatenate([uniform(trained.automaton, 100)[:256], habitual(trained.automaton, 100)])
    wanted, rng = np.asarray(simulate(trained.automaton, words)), np.random.default_rng(0)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        tensors = {name: value.copy() for name, value in tensors_of(trained).items()}
        name = sorted(tensors)[int(rng.integers(len(tensors)))]
        place = tuple(rng.integers(0, size) for size in tensors[name].shape)
        old = tensors[name][place]
        tensors[name][place] = (
            -old if number % 5 == 4 else old + np.float32(rng.normal(0, SCALES[number % 4]))
        )
        weights = {part: torch.tensor(value)[None] for part, value in tensors.items()}
        mutant = TrainedStates(trained.network, weights, trained.task, 0)
        cell = cell_of(mutant)
        proved = check(cell, boxes, claim.table, claim.start, claim.allowed).proved
        proved = proved or search(cell, claim, found, rounds=100)[1].proved
        right = bool((mutant.forward(words) == wanted).all())
        outcomes[f"{'proved' if proved else 'refused'}, {'right' if right else 'wrong'}"] += 1
    for outcome, number in sorted(outcomes.items()):
        print(f"{outcome}: {number}")
    if outcomes["proved, wrong"]:
        raise SystemExit("a mutant was proved and is wrong: the checker is unsound")


if __name__ == "__main__":
    main()

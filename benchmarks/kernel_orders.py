"""Checks whether torch sums from left to right on this machine's CPU and GPU, bit for bit.

Run: python benchmarks/kernel_orders.py
Coq proves networks that round for that order alone. A line compares all logits along one random word.
"""

import numpy as np
import torch

from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import LEFT, Sums
from krohn.check.ground import point
from krohn.lab.cards.recurrent_modules import in_training
from krohn.recurrent.recurrent_weights import WEIGHTS

NAMES = ("C3", "C6", "D6", "A4", "S3", "T3", "S4")
LETTERS = 200


def main() -> None:
    """One line for each network and device."""
    torch.backends.cuda.matmul.allow_tf32 = False
    places = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    for name in NAMES:
        automaton = parse_spec(name)
        cell = WEIGHTS["diagonal"](automaton)
        word = np.random.default_rng(0).integers(automaton.num_letters, size=LETTERS)
        sums = Sums(FORMATS["float32"], LEFT)
        letters, stages, rows = cell.letters(sums), cell.stages(sums), []
        carried = [point(np.zeros((1, stage.size))) for stage in stages]
        for letter in word:
            handed = letters[[letter]]
            for number, stage in enumerate(stages):
                carried[number], handed = stage.step(handed, carried[number])
            rows.append(handed.lo[0])
        wanted = np.array(rows)
        network, weights = in_training(cell)
        for place in places:
            there = {key: weight.to(place) for key, weight in weights.items()}
            with torch.no_grad():
                outputs = (
                    network.logits(there, torch.from_numpy(word)[None, None].to(place))[0, 0].cpu().numpy()
                )
            same, gap = int((outputs == wanted).all(axis=1).sum()), float(np.abs(outputs - wanted).max())
            print(f"{name}, {place}: {same} of {LETTERS} letters have the same logits, largest gap {gap:.1e}")


if __name__ == "__main__":
    main()

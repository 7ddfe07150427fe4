"""Milliseconds of a step of many automata in one graph, and of one alone: ``krohn.train_many`` on a GPU.

Run: python benchmarks/bench_many.py [--networks 1,315,630] [--optimizer muon]
"""

import argparse
import json
import time

import torch

import krohn
from krohn.lab.experiments.atlas_runs import Cell
from krohn.lab.training.device import choose_device
from krohn.lab.training.many_runs import plan_of
from krohn.lab.training.run import Run

NAMES = (
    *(
        "C2",
        "C12",
        "S4:adjacent",
        "D24",
        "Grid4",
        "Grid16",
        "FlipFlop",
        "Memory8",
        "Dyck3,2",
        "abab",
        "Q8",
        "A4",
    ),
)
STEPS = 128


def step_ms(count: int, optimizer: str) -> float:
    """Of a network of the atlas for each of ``count`` automata."""
    automata = tuple(krohn.parse_spec(NAMES[index % len(NAMES)]) for index in range(count))
    config = plan_of([(one, 0) for one in automata], 1, Cell(optimizer=optimizer).settings())
    run = Run(config, automata, choose_device("cuda"), None)
    stepper, cuts = run.stepper(), torch.ones(count, dtype=torch.float64)
    stepper.run(0, 64, cuts, average=False)
    torch.cuda.synchronize()
    began = time.perf_counter()
    stepper.run(64, STEPS, cuts, average=False)
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / STEPS * 1e3


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", default="1,315,630")
    parser.add_argument("--optimizer", default="muon")
    options = parser.parse_args()
    for number in map(int, options.networks.split(",")):
        ms = step_ms(number, options.optimizer)
        row = {"networks": number, "ms": round(ms, 2), "us_each": round(1e3 * ms / number, 1)}
        print(json.dumps(row), flush=True)

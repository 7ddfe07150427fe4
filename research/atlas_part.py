"""Cells of the atlas for a random part of its list: other lengths, replicates, depths, optimisers.

Run: python research/atlas_part.py ROWS.jsonl --also MLREGTEST --cells "length=64" "replicate=1"

The part begins with the tenth that AdamW trained, a random one, and goes on in one random order, so that a
larger part contains a smaller one. A cell is what differs from four layers, 32 letters, sinusoidal positions,
Muon. Rows go to the end of ROWS, and from there to results/atlas/atlas.jsonl; what ROWS has is not trained.
"""

import argparse
import time
from dataclasses import fields
from pathlib import Path

import numpy as np

from krohn.lab.experiments.atlas import entries_of
from krohn.lab.experiments.atlas_list import SEED, Entry
from krohn.lab.experiments.atlas_runs import Cell, read_rows, run_cells
from krohn.lab.experiments.names import Scale

PUBLISHED = Path(__file__).parents[1] / "results" / "atlas" / "atlas.jsonl"


def part(entries: list[Entry], first: int, count: int) -> list[Entry]:
    """The automata from ``first`` on: the published tenth, then the others in random order."""
    by_name = {one.name: one for one in entries}
    tenth = [row["automaton"] for row in read_rows(PUBLISHED) if row["optimizer"] == "adamw"]
    order = np.random.default_rng(SEED).permutation(len(entries)).tolist()
    names = dict.fromkeys([*tenth, *(entries[place].name for place in order)])
    return [by_name[name] for name in names if name in by_name][first : first + count]


def cell(text: str) -> Cell:
    """For example ``length=64,positions=none``."""
    kinds = {field.name: type(field.default) for field in fields(Cell)}
    given = dict(piece.split("=") for piece in text.split(","))
    return Cell(**{name: kinds[name](value) for name, value in given.items()})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", type=Path)
    parser.add_argument("--also", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--automata", type=int, default=338)
    parser.add_argument("--cells", nargs="+", type=cell, required=True)
    parser.add_argument("--seconds", type=float, default=570.0)
    parser.add_argument("--device")
    given = parser.parse_args()
    deadline = time.time() + given.seconds
    entries = part(entries_of(Scale.SMALL, given.also), given.first, given.automata)
    for one in given.cells:
        print(one, flush=True)
        run_cells(
            entries,
            [one],
            given.rows,
            device=given.device,
            deadline=deadline,
            say=lambda line: print(line, flush=True),
        )


if __name__ == "__main__":
    main()

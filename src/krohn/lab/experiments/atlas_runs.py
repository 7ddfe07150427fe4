"""The networks of the atlas: which cells there are, and the rows of those that are not done yet.

A row is one network: the automaton and its kind, the cell, and what it learned. Rows are appended stack by
stack, each stack a random part of the list, so that a queue that is cut leaves a table of all kinds.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.lab.experiments.atlas_list import SEED, Entry
from krohn.lab.training.many_runs import LEARNED, train_many

TOGETHER = 640
RECIPE: dict[str, Any] = {
    "dim": 128,
    "heads": 4,
    "mlp": 256,
    "embedding_std": 0.3,
    "bos": True,
    "batch": 32,
    "steps": 2000,
    "warmup": 200,
    "schedule": "cosine",
    "betas": (0.95, 0.98),
    "eval_every": 100,
    "eval_sequences": 128,
    "stop_at": 0.999,
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One way to train every automaton."""

    positions: str = "sinusoidal"
    length: int = 32
    layers: int = 4
    replicate: int = 0
    optimizer: str = "muon"
    distribution: str = "uniform"

    def settings(self) -> dict[str, Any]:
        """The run's settings by name."""
        varied = {name: value for name, value in asdict(self).items() if name != "replicate"}
        return RECIPE | varied | {"lr": 2e-3 if self.optimizer == "muon" else 3e-3}


MAIN = (Cell(positions="sinusoidal"), Cell(positions="none"))


def run_cells(
    entries: Sequence[Entry],
    cells: Sequence[Cell],
    rows: Path,
    *,
    device: str | None = None,
    together: int = TOGETHER,
    deadline: float | None = None,
    changes: dict[str, Any] | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> None:
    """Trains what ``rows`` does not have yet, stack by stack, every cell of a stack before the next one."""
    order = np.random.default_rng(SEED).permutation(len(entries)).tolist()
    stacks = [
        [entries[place] for place in order[first : first + together]]
        for first in range(0, len(order), together)
    ]
    done = {_key(row) for row in read_rows(rows)}
    for number, stack in enumerate(stacks):
        for cell in cells:
            if deadline is not None and time.time() >= deadline:
                return
            missing = [one for one in stack if (one.name, *asdict(cell).values()) not in done]
            if missing:
                began = time.time()
                learned = _run(missing, cell, number, rows, device, deadline, changes or {})
                seconds = time.time() - began
                say(f"stack {number + 1} of {len(stacks)}, {cell.positions}: {learned}, {seconds:.0f} s")


def _run(
    stack: Sequence[Entry],
    cell: Cell,
    number: int,
    rows: Path,
    device: str | None,
    deadline: float | None,
    changes: dict[str, Any],
) -> str:
    result = train_many(
        [one.automaton for one in stack],
        together=len(stack),
        seed=SEED + 1000 * cell.replicate + number,
        device=device,
        deadline=deadline,
        **cell.settings() | changes,
    )
    with rows.open("a") as file:
        for one, row in zip(stack, result.rows, strict=False):
            line = {"automaton": one.name, **_varied(cell)}
            line |= {name: row[name] for name in ("accuracy", "word_accuracy", "words_read", "longer")}
            file.write(json.dumps(line, allow_nan=False) + "\n")
    return f"{result.learned} of {len(result.rows)} learned"


def _varied(cell: Cell) -> dict[str, Any]:
    """What differs from the usual cell."""
    usual = asdict(Cell())
    return {name: value for name, value in asdict(cell).items() if value != usual[name]}


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file with all settings of their cells, and whether 99% was reached; none without it."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [{**asdict(Cell()), **json.loads(line)} for line in lines]
    return [row | {"learned": row["accuracy"] >= LEARNED} for row in rows]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["automaton"], *(row[name] for name in asdict(Cell())))

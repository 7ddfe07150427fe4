"""When replicates of the depth map by Muon take off, and which of them pass: a table of results/findings.md.

A replicate takes off at the first evaluation with 70% of the validation letters right. It passes with 99% of
the test letters. `python tools/published_tables.py` writes the table.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from two_optimisers import published, rate

from krohn.lab.experiments.recipes.depth import MUON
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.summary import SOLVED
from krohn.lab.interpret.findings import wilson

GROUPS = ("D6", "D8", "Q8", "A4", "S4", "A5", "S5")
LAYERS = (6, 8)
TAKEN_OFF = 0.7
EARLY = 5000


@dataclass(frozen=True)
class Replicate:
    """The step of its take-off (None: never), whether it passes, and its learning rate."""

    step: int | None
    passes: bool
    rate: float

    @property
    def is_early(self) -> bool:
        return self.step is not None and self.step <= EARLY


def replicate(record: Record) -> Replicate:
    curve = record.metrics["curve"]
    steps = (step for step, share in zip(curve["step"], curve["accuracy"], strict=True) if share >= TAKEN_OFF)
    return Replicate(next((int(step) for step in steps), None), record.accuracy >= SOLVED, rate(record))


def share(replicates: Iterable[Replicate]) -> str:
    """For example ``3 of 6 (19–81%)``: those that pass, with Wilson's 95% interval."""
    passes = [one.passes for one in replicates]
    low, high = wilson(sum(passes), len(passes))
    return f"{sum(passes)} of {len(passes)} ({100 * low:.0f}–{100 * high:.0f}%)"


def row(task: str, depth: int, replicates: Sequence[Replicate]) -> str:
    known = sorted(one.step for one in replicates if one.step is not None)
    steps = ["", "", "", ""]
    if known:
        steps = [*(f"{step:,.0f}" for step in (known[0], median(known), known[-1]))]
        steps.append(f"{known[-1] / known[0]:.1f}")
    early = str(sum(one.is_early for one in replicates))
    cells = [task, str(depth), f"{len(known)} of {len(replicates)}", *steps, early, share(replicates)]
    return f"| {' | '.join(cells)} |"


def summary(replicates: Sequence[Replicate]) -> str:
    early = [one for one in replicates if one.is_early]
    late = [one for one in replicates if not one.is_early]
    slow, fast = (limit({one.rate for one in replicates}) for limit in (min, max))
    return (
        f"Of all {len(replicates)} replicates, {share(early)} of those that take off within {EARLY:,} steps "
        f"pass, and {share(late)} of the others. By learning rate: "
        f"{share(one for one in replicates if one.rate == slow)} pass with {slow:g}, "
        f"{share(one for one in replicates if one.rate == fast)} with {fast:g}."
    )


def table() -> str:
    cells = {
        (cell.label["task"], cell.label["depth"]): [replicate(record) for record in cell.records]
        for cell in published()
        if cell.label.get("sheet") == MUON
    }
    chosen = {
        (task, depth): cells[task, depth] for depth in LAYERS for task in GROUPS if (task, depth) in cells
    }
    header = (
        f"| task | layers | take off | first step | median | last | last / first | within {EARLY:,} | pass |"
    )
    lines = [header, "| --- " * 9 + "|", *(row(*place, result) for place, result in chosen.items())]
    return "\n".join([*lines, "", summary([one for result in chosen.values() for one in result])])


if __name__ == "__main__":
    print(table())

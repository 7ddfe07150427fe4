"""Muon beside AdamW on the cells of the depth map that both recipes ran: the tables of results/findings.md.

Replicates of equal index read the same words in both recipes: a word depends only on the seed, the replicate
and the step. AdamW's recipe drops replicates from step 4,000 on, so that step is the last with all pairs;
differences there are of validation accuracy. The words that a replicate takes to 99% are those until its
validation curve first reaches it. `python tools/published_tables.py` writes the tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean, median, stdev

from krohn.lab.experiments.experiment import ResultCell, cells_of
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.depth import DEPTHS, MUON, SWAPPED, WHOLE
from krohn.lab.experiments.recipes.taught import words_to_pass
from krohn.lab.experiments.record import Record
from krohn.lab.experiments.settings import TASKS
from krohn.lab.experiments.store import Store

ROOT = Path(__file__).parents[1]
COMMON_STEP = 4000
# Student's t at 97.5%, by the number of pairs.
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262, 11: 2.228}
T_95 |= {12: 2.201, 13: 2.179, 14: 2.160, 15: 2.145, 16: 2.131, 17: 2.120, 18: 2.110, 19: 2.101}


@dataclass(frozen=True)
class Way:
    """One recipe on one cell: replicates' accuracy at the common step, and words to 99% (None: never)."""

    at_common: tuple[float, ...]
    words: tuple[int | None, ...]


def accuracy_at(record: Record, step: int) -> float:
    """Validation accuracy at the step; its last one for a replicate that had finished before."""
    curve = record.metrics["curve"]
    known = [share for place, share in zip(curve["step"], curve["accuracy"], strict=True) if place <= step]
    return float(known[-1])


def way(cell: ResultCell, most: int | None = None) -> Way:
    """The cell's replicates, or the first ``most`` of them."""
    records = sorted(cell.records, key=lambda record: record.replicate)[:most]
    return Way(
        at_common=tuple(accuracy_at(record, COMMON_STEP) for record in records),
        words=tuple(words_to_pass(record) for record in records),
    )


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Mean, and half the width of its 95% interval by Student's t."""
    half = T_95[len(differences)] * stdev(differences) / math.sqrt(len(differences))
    return fmean(differences), half


@cache
def published() -> tuple[ResultCell, ...]:
    """All cells of the depth map."""
    with Store(ROOT / "results" / "depth-small.jsonl", writable=False) as store:
        return tuple(cells_of(store, "depth", Scale.SMALL))


def both() -> dict[tuple[str, int], tuple[Way, Way]]:
    """Muon and AdamW on whole words, by task and depth; of six replicates three where the other has three."""
    cells = {(cell.label["task"], cell.label["depth"], cell.label.get("sheet")): cell for cell in published()}
    result = {}
    for task, depth in product(TASKS, DEPTHS[Scale.SMALL]):
        pair = [cells.get((task, depth, sheet)) for sheet in (MUON, WHOLE)]
        if pair[0] and pair[1]:
            most = min(len(pair[0].records), len(pair[1].records))
            result[task, depth] = way(pair[0], most), way(pair[1], most)
    return result


def reached(one: Way) -> str:
    """For example ``4 of 6, from 640,000, median 768,000``: the median only where most reach 99%."""
    known = sorted(words for words in one.words if words is not None)
    text = f"{len(known)} of {len(one.words)}"
    if not known:
        return text
    text += f", from {known[0]:,}"
    most = 2 * len(known) > len(one.words)
    ranked = sorted(math.inf if words is None else float(words) for words in one.words)
    return text + (f", median {median(ranked):,.0f}" if most else "")


def where_both_pass(pairs: dict[tuple[str, int], tuple[Way, Way]]) -> str:
    """Ratio of words, AdamW to Muon, until a first replicate passes, at the least depth where both pass.

    AdamW's recipe drops most replicates, so medians over replicates cannot be compared.
    """
    ratios: dict[str, float] = {}
    for (task, _), (muon, adamw) in sorted(pairs.items(), key=lambda pair: pair[0][1]):
        first = [min((n for n in one.words if n is not None), default=None) for one in (muon, adamw)]
        if first[0] is not None and first[1] is not None:
            ratios.setdefault(task, first[1] / first[0])
    if len(ratios) < min(T_95):
        return ""
    mean, half = interval([math.log(ratio) for ratio in ratios.values()])
    low, high = math.exp(mean - half), math.exp(mean + half)
    return (
        f"Both recipes pass for {len(ratios)} of the {len(TASKS)} tasks at one depth or more. At the least "
        f"such depth the first replicate by AdamW that passes has read {math.exp(mean):.1f} times as "
        f"many words as the first by Muon (geometric mean over these tasks; 95% interval {low:.1f} "
        f"to {high:.1f}; smallest {min(ratios.values()):.1f}, largest {max(ratios.values()):.1f})."
    )


def table() -> str:
    header = ["task", "layers", "Muon after 4,000 steps", "AdamW after 4,000 steps", "difference, points"]
    header += ["pairs for Muon", "Muon: words to 99%", "AdamW: words to 99%"]
    lines = [header, ["---"] * len(header)]
    pairs = both()
    for (task, depth), (muon, adamw) in pairs.items():
        gains = [100 * (a - b) for a, b in zip(muon.at_common, adamw.at_common, strict=True)]
        mean, half = interval(gains)
        shares = [f"{100 * fmean(one.at_common):.1f}%" for one in (muon, adamw)]
        lines.append(
            [
                task,
                str(depth),
                *shares,
                f"{mean:+.1f} ± {half:.1f}".replace("-", "−"),
                f"{sum(gain > 0 for gain in gains)} of {len(gains)}",
                reached(muon),
                reached(adamw),
            ]
        )
    rows = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"{rows}\n\n{where_both_pass(pairs)}".rstrip()


def swapped() -> str:
    """Muon's recipe with Muon and with AdamW: the test accuracies of replicates, in pairs of equal rates.

    The replicates of a pair differ in the optimiser alone. The others with AdamW have smaller rates.
    """
    cells = {(cell.label["task"], cell.label["depth"], cell.label.get("sheet")): cell for cell in published()}
    header = ["task", "layers", "learning rate", "Muon", "AdamW", "difference, points"]
    header += ["AdamW at other rates", "AdamW by its own recipe, best"]
    lines = [header, ["---"] * len(header)]
    for (task, depth, sheet), cell in cells.items():
        if sheet != SWAPPED:
            continue
        equal, others = by_rate(cells[task, depth, MUON], cell)
        rest = ", ".join(f"{percent(record)} at {rate(record):g}" for record in others)
        own = max(cells[task, depth, WHOLE].records, key=lambda record: record.metrics["accuracy"])
        for place, (one, other) in enumerate(equal):
            gain = f"{100 * (one.accuracy - other.accuracy):+.1f}".replace("-", "−")
            line = [task, str(depth), f"{rate(one):g}", percent(one), percent(other), gain]
            lines.append([*line, *([rest, percent(own)] if place == 0 else ["", ""])])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def by_rate(muon: ResultCell, adamw: ResultCell) -> tuple[list[tuple[Record, Record]], list[Record]]:
    """The pairs of replicates of one index that have the same rate, and AdamW's other replicates."""
    partners = {record.replicate: record for record in muon.records}
    equal, others = [], []
    for record in sorted(adamw.records, key=lambda record: record.replicate):
        partner = partners[record.replicate]
        if rate(partner) == rate(record):
            equal.append((partner, record))
        else:
            others.append(record)
    return equal, others


def rate(record: Record) -> float:
    rates = record.config["optimizer"]["lr"]
    return float(rates[record.replicate % len(rates)])


def percent(record: Record) -> str:
    return f"{100 * record.accuracy:.1f}%"


if __name__ == "__main__":
    print(table())

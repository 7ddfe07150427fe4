"""The table of our DeltaProduct's speed against flash-linear-attention's, from results/cards/speed.jsonl.

Run: python benchmarks/bench_fla.py --head 64 --letters 524288 --no-loop --out results/cards/speed.jsonl
        --lengths 128 256 512 1024 2048 4096   (on a GPU; once more with --kernel fla)
     python tools/speed_table.py

The second command puts the table into results/layer-speed.md. Of measurements of the same thing the last one
counts.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "cards" / "speed.jsonl", ROOT / "results" / "layer-speed.md"
BEGIN, END = "<!-- speed -->\n", "<!-- end -->"
OURS, THEIRS = "ours", "flash-linear-attention"


class Size(NamedTuple):
    """The key of a measurement: recurrence or layer, our kernel, and the size."""

    what: str
    kernel: str
    length: int
    steps: int
    rows: int


def measurements(path: Path = RESULTS) -> dict[Size, dict[str, Any]]:
    """All lines of the file, by size."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {Size(*(line[field] for field in Size._fields)): line for line in lines}


def table(known: dict[Size, dict[str, Any]]) -> str:
    """A row for each thing timed, a group of columns for each number of steps."""
    timed = {size: line["milliseconds"] for size, line in known.items()}
    steps = sorted({size.steps for size in timed})
    heads = [
        f"{n} {'step' if n == 1 else 'steps'}: {part}" for n in steps for part in ("ours", "theirs", "ratio")
    ]
    rows = [["", "T", "memories", *heads], ["---"] * (3 + len(heads))]
    places = sorted({size._replace(steps=0) for size in timed}, key=_order)
    for place in places:
        cells = [cell for n in steps for cell in _cells(timed.get(place._replace(steps=n)))]
        rows.append([_name(place), f"{place.length:,}", f"{place.rows:,}", *cells])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _order(size: Size) -> tuple[Any, ...]:
    return size.what == "layer", size.kernel == "fla", size.length, size.rows


def _name(size: Size) -> str:
    return size.what if size.kernel == "own" else f"{size.what}, ours by their kernel"


def _cells(taken: dict[str, float] | None) -> list[str]:
    if taken is None or OURS not in taken or THEIRS not in taken:
        return ["–"] * 3
    return [f"{taken[OURS]:.1f} ms", f"{taken[THEIRS]:.1f} ms", f"{taken[THEIRS] / taken[OURS]:.2f}"]


def page_with(text: str, inserted: str) -> str:
    """The page with the table between its marks replaced."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    assert end, f"{PAGE.name} must hold {BEGIN.strip()} and {END}"
    return before + begin + inserted + end + after


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), table(measurements())), encoding="utf-8")

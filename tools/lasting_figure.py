"""Letters right by length, of networks that were trained on 64 letters: results/lasting-length.svg.

Run: python tools/lasting_figure.py

Means over replicates of results/lasting/table.jsonl; a length that was not tried has no point.
The line of codes is drawn where results/lasting has a run that the checker proved for words of every length.
"""

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from krohn.lab.figures.charts import Line, Panel, line_chart
from krohn.lab.figures.style import save

RESULTS = Path(__file__).parents[1] / "results"
TASKS = ("D6", "S5")
NAMES = {
    "looped": "looped block",
    "lstm": "LSTM",
    "gru": "GRU",
    "deltaproduct": "DeltaProduct",
    "gpt": "GPT, 6 layers",
}
PROVED = "looped block with codes, proved"


def shares() -> dict[tuple[str, str], dict[int, list[float]]]:
    """By task and kind of network: for each length the share of letters right, of each replicate."""
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in map(json.loads, (RESULTS / "lasting" / "table.jsonl").read_text().splitlines()):
        if row["run"] in TASKS and row["label"] in ("", "beside") and "test" in row:
            for length, (letters, *_) in row["test"].items():
                found[row["run"], row["kind"]][int(length)].append(letters)
    return found


def panel(task: str, found: dict[tuple[str, str], dict[int, list[float]]]) -> Panel:
    lines = [
        Line(name=name, x=sorted(own), y=[fmean(own[length]) for length in sorted(own)])
        for kind, name in NAMES.items()
        if (own := found.get((task, kind)))
    ]
    lengths = sorted({length for (one, _), own in found.items() if one == task for length in own})
    if (RESULTS / "lasting" / task.lower() / "certificate.json").exists():
        lines.append(Line(name=PROVED, x=lengths, y=[1.0] * len(lengths)))
    return Panel(
        title=task,
        x_axis="letters",
        y_axis="share of letters right",
        lines=lines,
        log_x=True,
        guides=[(64, "trained")],
    )


def main() -> None:
    found = shares()
    note = "means of the replicates that were tried at a length; all read as many words of 64 letters"
    save(line_chart([panel(task, found) for task in TASKS], note=note), RESULTS / "lasting-length")


if __name__ == "__main__":
    main()

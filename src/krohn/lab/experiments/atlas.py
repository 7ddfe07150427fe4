"""``krohn reproduce atlas``: missing networks, the verdicts, the table that krohn ships, the figure."""

import csv
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from krohn.base.files import path_of, write_text
from krohn.base.notebook import frame, table
from krohn.construct.learnability import LARGE, POSITIONS, class_of, flat
from krohn.errors import InvalidInput, counted
from krohn.lab.experiments.atlas_cells import cell_verdicts
from krohn.lab.experiments.atlas_list import Entry, generated, of_folder
from krohn.lab.experiments.atlas_predictors import predictors
from krohn.lab.experiments.atlas_runs import MAIN, Cell, read_rows, run_cells
from krohn.lab.experiments.atlas_verdicts import Prediction, Share, Table, learned, small, verdicts
from krohn.lab.experiments.names import Scale, parse_scale
from krohn.lab.figures.style import PALETTE, Figure, house_style, save

ROWS, AUTOMATA = "atlas.jsonl", "atlas-automata.jsonl"
TITLE = "The atlas of learnability"
SMOKE: dict[str, Any] = {
    "dim": 16, "heads": 2, "mlp": 16, "batch": 4, "steps": 20, "warmup": 5,
    "eval_every": 10, "eval_sequences": 16,
}  # fmt: skip
SMOKE_AUTOMATA = 8
UNDECIDED = "undecided"
Row = dict[str, Any]


@dataclass(frozen=True)
class AtlasResult:
    """What `krohn reproduce atlas` shows.

    Attributes:
        scale: smoke, small or paper.
        rows: a row for each network that is done, with the class and predictors of its automaton.
        missing: networks of the scale that are not done.
        verdicts: on the predictions, at the scales that have all kinds of automata.
        figures: the files drawn.
    """

    scale: str
    rows: list[Row]
    missing: int
    verdicts: list[Prediction]
    figures: list[Path] = field(default_factory=list)

    failures = ()

    def __repr__(self) -> str:
        return f"<AtlasResult: {counted(len(self.rows), 'network')}, {self.missing} missing>"

    def remarks(self) -> list[str]:
        """How many networks are done."""
        return [f"{len(self.rows):,} networks done, {self.missing:,} missing"]

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "experiment": "atlas",
            "scale": self.scale,
            "done": len(self.rows),
            "missing": self.missing,
            "table": self.rows,
            "verdicts": [one.to_json() for one in self.verdicts],
            "figures": [str(path) for path in self.figures],
        }

    def text(self) -> str:
        """A line for each kind of automata and cell, then the verdicts."""
        lines = [TITLE, "", _summary(self.rows)]
        if self.verdicts:
            header = ("", "verdict", "question", "measured")
            cells = [
                (one.number, one.to_json()["verdict"], one.question, one.measured) for one in self.verdicts
            ]
            lines += ["", table(header, cells)]
        return "\n".join([*lines, *(f"figure: {path}" for path in self.figures)])

    def markdown(self) -> str:
        """The verdicts as a table for a page."""
        lines = ["| # | question | expected | verdict | measured |", "| --- | --- | --- | --- | --- |"]
        for one in self.verdicts:
            known = one.to_json()
            cells = [known[name] for name in ("number", "question", "expected", "verdict", "measured")]
            lines.append("| " + " | ".join(map(str, cells)) + " |")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """One row for each network, with all predictors of its automaton: columns that can be fitted."""
        return frame([flat(row) for row in self.rows])


def _summary(rows: Sequence[Row]) -> str:
    header = ("kind", "positions", "layers", "optimizer", "learned", "of")
    cells: dict[tuple[Any, ...], list[bool]] = {}
    for row in rows:
        key = (row["kind"], row["positions"], row["layers"], row["optimizer"])
        cells.setdefault(key, []).append(row["learned"])
    return table(header, [(*key, sum(hits), len(hits)) for key, hits in sorted(cells.items())])


def cells_of(scale: Scale) -> tuple[Cell, ...]:
    """The cells of a scale; those of ``paper`` are of every automaton."""
    if scale is not Scale.PAPER:
        return MAIN
    more = (Cell(layers=2), Cell(length=64), Cell(replicate=1), Cell(distribution="feasible"))
    return (*MAIN, *more, Cell(positions="none", length=64), Cell(optimizer="adamw"))


def reproduce_atlas(
    scale_name: str,
    folder: Path,
    *,
    also: Path | None = None,
    run: bool = True,
    device: str | None = None,
    time_limit: float | None = None,
    figures: Path | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> AtlasResult:
    """Trains what the folder's ``atlas.jsonl`` lacks, unless told not to; then the table and the verdicts."""
    scale = parse_scale(scale_name)
    rows_file, automata_file = folder / ROWS, folder / AUTOMATA
    cells, changes = cells_of(scale), {}
    if scale is Scale.SMOKE:
        cells, changes = (Cell(length=8, layers=1),), SMOKE
    missing = 0
    if run:
        folder.mkdir(parents=True, exist_ok=True)
        entries = entries_of(scale, also)
        _predict(entries, automata_file, say)
        deadline = None if time_limit is None else time.time() + time_limit
        run_cells(entries, cells, rows_file, device=device, deadline=deadline, changes=changes, say=say)
        missing = max(0, len(entries) * len(cells) - len(read_rows(rows_file)))
    rows, automata = read_rows(rows_file), read_automata(automata_file)
    if not rows:
        raise InvalidInput(f"{rows_file} must hold rows; there are none: run krohn reproduce atlas first")
    judged = scale is not Scale.SMOKE
    drawn = []
    if figures is not None and judged:
        drawn = save(draw(Table(rows, automata)), figures / "atlas")
    known = {one["automaton"]: {**one, "class": class_name(one)} for one in automata}
    return AtlasResult(
        scale_name, [known[row["automaton"]] | row for row in rows], missing,
        [*verdicts(rows, automata), *cell_verdicts(rows, automata)] if judged else [], drawn,
    )  # fmt: skip


def entries_of(scale: Scale, also: Path | None) -> list[Entry]:
    """The automata of a scale, and those of a folder that are not among them."""
    entries = generated()
    if scale is Scale.SMOKE:
        return entries[:SMOKE_AUTOMATA]
    if also is not None:
        first: dict[Any, Entry] = {}
        for one in (*entries, *of_folder(path_of(also))):
            first.setdefault(one.table, one)
        entries = list(first.values())
    return entries


def _predict(entries: Sequence[Entry], file: Path, say: Callable[[str], object]) -> None:
    """Adds the predictors of automata that the file does not have."""
    done = {one["automaton"] for one in read_automata(file)}
    missing = [one for one in entries if one.name not in done]
    if missing:
        say(f"predictors of {counted(len(missing), 'automaton', 'automata')}")
    with file.open("a") as stream:
        for one in missing:
            line = {"automaton": one.name, "kind": one.kind, **predictors(one.automaton)}
            stream.write(json.dumps(line, allow_nan=False) + "\n")


def read_automata(file: Path) -> list[Row]:
    """The automata of a file with their predictors; none without a file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def class_name(one: Row) -> str:
    """The class of an automaton from its predictors."""
    if one["aperiodic"] is None:
        return UNDECIDED
    return class_of(
        aperiodic=one["aperiodic"],
        one_way=one["one_way"],
        large=one["semigroup"] is None or one["semigroup"] >= LARGE,
        length_decides=one["length_decides"],
        abelian=one["derived"] <= 1,
        g0_abelian=one["g0_derived"] == 1,
        solvable=one["derived"] < 99,
    )


def small_table(rows: Sequence[Row], automata: Sequence[Row]) -> str:
    """The table that krohn ships, as CSV: an automaton in each line, with both kinds of positions."""
    cells = {(row["automaton"], row["positions"]): row for row in Table(rows, automata).rows}
    stream = io.StringIO()
    measured = [
        f"{positions} {name}" for positions in POSITIONS for name in ("accuracy", "words", "64", "128")
    ]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["automaton", "kind", "class", "states", "letters", "semigroup", "sensitivity", *measured]
    )
    for one in automata:
        line = [one["automaton"], one["kind"], class_name(one)]
        line += [one[name] for name in ("states", "letters", "semigroup", "sensitivity")]
        if all((one["automaton"], positions) in cells for positions in POSITIONS):
            for positions in POSITIONS:
                row = cells[one["automaton"], positions]
                line += [f"{row['accuracy']:.4f}", row["words_read"]]
                line += [f"{row['longer'][letters]:.4f}" for letters in ("64", "128")]
            writer.writerow(line)
    return stream.getvalue()


def write_small_table(folder: Path, file: Path) -> None:
    """Makes the table that krohn ships from a folder of results."""
    write_text(file, small_table(read_rows(folder / ROWS), read_automata(folder / AUTOMATA)))


BARS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("no groups (aperiodic), semigroup under 3,000",
     lambda row: row["aperiodic"] is True and small(row)),
    ("no groups, semigroup of 3,000 or more",
     lambda row: row["aperiodic"] is True and not small(row)),
    ("groups count the length alone", lambda row: row["aperiodic"] is False and row["length_decides"]),
    ("group, abelian", lambda row: row["kind"] == "groups" and row["derived"] == 1),
    ("group not abelian, but G₀ abelian",
     lambda row: row["kind"] == "groups" and row["derived"] > 1 and row["g0_derived"] == 1),
    ("group, G₀ not abelian",
     lambda row: row["kind"] == "groups" and row["g0_derived"] > 1),
)  # fmt: skip
"""What the figure shows."""


def bars(t: Table) -> list[tuple[str, Share]]:
    """The share that was learned with sinusoidal positions, for each bar of the figure."""
    return [(name, learned(t.of("sinusoidal", test))) for name, test in BARS]


def draw(t: Table) -> Figure:
    """Six bars: what the algebra says beforehand, and what was learned."""
    shown = list(reversed(bars(t)))
    with house_style():
        figure = Figure(figsize=(7.2, 2.6), layout="constrained")
        axes = figure.subplots()
        for place, (_, share) in enumerate(shown):
            low, high = share.interval
            axes.barh(place, share.value, color=PALETTE[0], height=0.62)
            axes.plot([low, high], [place, place], color="black", linewidth=1)
            axes.text(high + 0.02, place, f"{share.hits:,} of {share.of:,}", va="center")
        axes.set_yticks(range(len(shown)), [name for name, _ in shown])
        axes.set_xlim(0, 1.25)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
        axes.set_xlabel("learned: 99% of the letters, 4 layers, 64,000 words of 32 letters")
    return figure

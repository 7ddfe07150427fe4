"""One experiment end to end: sweep, store, table, figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from krohn.base.notebook import frame
from krohn.errors import counted
from krohn.lab.experiments.all_experiments import experiment as find
from krohn.lab.experiments.experiment import Cell, Row, cells_of
from krohn.lab.experiments.names import Scale, parse_scale
from krohn.lab.experiments.settings import DEPARTURES
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.sweep import SweepOptions, SweepReport, is_done, is_untested, sweep
from krohn.lab.figures.style import save

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What `krohn reproduce` shows.

    Attributes:
        experiment, title, claim: what it is and what the paper found.
        caption, departures: scale, replicates and sequences of what follows; what differs from the paper.
        report: how many runs there are and how many are done.
        table: the rows.
        figures: the files drawn, SVG and PNG.
    """

    experiment: str
    title: str
    claim: str
    caption: str
    departures: str
    report: SweepReport
    table: list[Row]
    figures: list[Path] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Reproduction of {self.experiment}: {counted(len(self.table), 'row')}, {self.caption}>"

    def to_frame(self) -> "DataFrame":
        """The table, one row for each cell of the experiment."""
        return frame(self.table)


def reproduce(
    name: str,
    scale_name: str,
    store: Store,
    *,
    figures: Path | None,
    options: SweepOptions | None = None,
    say: Callable[[str], None] = lambda line: None,
    must_draw: bool = True,
) -> Reproduction:
    """Runs what is missing (nothing without ``options``), then makes table and figures from the store.

    Without a folder for figures none are drawn. Without ``must_draw`` an unwritable folder is reported to
    ``say``, and only the table is made.
    """
    chosen_one, scale = find(name), parse_scale(scale_name)
    planned = chosen_one.plan(scale)
    if options is None:
        done = sum(is_done(store, run) for run in planned)
        begun = sum(bool(store.of_run(run.config.run_id)) for run in planned)
        untested = sum(is_untested(store, run) for run in planned)
        report = SweepReport(len(planned), done, begun - done, untested=untested)
    else:
        report = sweep(chosen_one, scale, store, options, say=say)
    cells = cells_of(store, name, scale, planned)
    caption = caption_of(cells, scale)
    drawn: list[Path] = []
    try:
        for stem, figure in sorted(chosen_one.draw(cells, caption).items() if cells and figures else ()):
            drawn += save(figure, Path(figures or "") / f"{stem}-{scale}")
    except OSError as error:
        if must_draw:
            raise
        say(f"no figures: {error}")
    return Reproduction(
        experiment=name,
        title=chosen_one.title,
        claim=chosen_one.claim,
        caption=caption,
        departures="; ".join(filter(None, [DEPARTURES[scale], chosen_one.departures.get(scale, "")])),
        report=report,
        table=chosen_one.table(cells),
        figures=drawn,
    )


def caption_of(cells: Sequence[Cell], scale: Scale) -> str:
    """Actual scale, replicates and sequences."""
    if not cells:
        return f"scale {scale}: no runs yet"
    replicates = sorted({len(cell.records) for cell in cells})
    seen = [max(record.sequences for record in cell.records) for cell in cells]
    lengths = sorted({int(cell.records[0].config["task"]["length"]) for cell in cells})
    return (
        f"scale {scale}, {_range(replicates)} replicates, {_range([min(seen), max(seen)])} sequences each, "
        f"T = {', '.join(map(str, lengths))}"
    )


def _range(values: Sequence[int]) -> str:
    low, high = f"{min(values):,}", f"{max(values):,}"
    return low if low == high else f"{low}–{high}"

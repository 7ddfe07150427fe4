"""One experiment end to end: sweep, store, table, figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krohn.base.notebook import frame, table
from krohn.errors import counted
from krohn.lab.experiments.all_experiments import experiment as find
from krohn.lab.experiments.experiment import Row, Selection, cells_of
from krohn.lab.experiments.names import parse_scale
from krohn.lab.experiments.record import conflict_lines
from krohn.lab.experiments.result_table import markdown, shown
from krohn.lab.experiments.settings import DEPARTURES
from krohn.lab.experiments.store import Store
from krohn.lab.experiments.stored_runs import committed_figures, committed_results
from krohn.lab.experiments.summary import caption_of
from krohn.lab.experiments.sweep import SweepOptions, SweepReport, count_runs, sweep
from krohn.lab.figures.style import save

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What `krohn reproduce` shows.

    Attributes:
        experiment, scale, title, claim: what it is and what the paper found.
        caption, departures: scale, replicates and sequences of what follows; what differs from the paper.
        report: how many runs there are and how many are done.
        table: the rows.
        figures: the files drawn, SVG and PNG.
    """

    experiment: str
    scale: str
    title: str
    claim: str
    caption: str
    departures: str
    report: SweepReport
    table: list[Row]
    figures: list[Path] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Reproduction of {self.experiment}: {counted(len(self.table), 'row')}, {self.caption}>"

    @property
    def failures(self) -> list[str]:
        """The errors of runs that failed."""
        return self.report.errors

    def remarks(self) -> list[str]:
        """How many runs are done, which failed, and results that disagree."""
        report = self.report
        lines = [f"{report.done} of {report.runs} runs done, {report.partial} begun"]
        lines += [f"run failed: {error}" for error in report.errors]
        return lines + conflict_lines(report.conflicts)

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        pictures = [str(path) for path in self.figures]
        return {
            "experiment": self.experiment,
            "scale": self.scale,
            "runs": self.report.runs,
            "done": self.report.done,
            "partial": self.report.partial,
            "errors": self.report.errors,
            "caption": self.caption,
            "claim": self.claim,
            "departures": self.departures,
            "table": self.table,
            "figure": next((path for path in pictures if path.endswith(".svg")), None),
            "figures": pictures,
        }

    def text(self) -> str:
        """Title and claim, the table, the figures."""
        lines = [f"{self.title} ({self.caption})", f"the paper: {self.claim}"]
        lines += [f"departures: {self.departures}", ""]
        if self.table:
            header, cells, remarks = shown(self.table, bold=False)
            lines += [table(header, cells), *remarks]
        lines += [f"figure: {path}" for path in self.figures]
        return "\n".join(lines)

    def markdown(self) -> str:
        """The table alone, for a README."""
        return markdown(self.table, self.caption)

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
    say: Say = lambda line: None,
    must_draw: bool = True,
) -> Reproduction:
    """Runs what is missing (nothing without ``options``), then makes table and figures from the store.

    Without a folder for figures none are drawn. Without ``must_draw`` an unwritable folder is reported to
    ``say``, and only the table is made.
    """
    chosen_one, scale = find(name), parse_scale(scale_name)
    planned = chosen_one.plan(scale)
    if options is None:
        report = SweepReport(*count_runs(store, planned))
    else:
        report = sweep(chosen_one, scale, store, options, say=say)
    cells = cells_of(store, name, scale, planned)
    drawn: list[Path] = []
    try:
        for stem, figure in sorted(chosen_one.draw(cells, scale).items() if cells and figures else ()):
            drawn += save(figure, Path(figures or "") / f"{stem}-{scale}")
    except OSError as error:
        if must_draw:
            raise
        say(f"no figures: {error}")
    return Reproduction(
        experiment=name,
        scale=scale_name,
        title=chosen_one.title,
        claim=chosen_one.claim,
        caption=caption_of(cells, scale),
        departures="; ".join(filter(None, [DEPARTURES[scale], chosen_one.departures.get(scale, "")])),
        report=report,
        table=chosen_one.table(cells),
        figures=drawn,
    )


def show_committed(name: str, scale: str, missing: Path, figures: Path | None, say: Say) -> Reproduction:
    """The committed results, unchanged; figures are redrawn only on request."""
    file = committed_results(name, scale, missing)
    say(f"from {file}; {missing} does not exist")
    with Store(file, writable=False) as store:
        result = reproduce(name, scale, store, figures=figures)
    return result if figures is not None else replace(result, figures=committed_figures(file, name, scale))


def selection(
    name: str, scale: str, only: str | Sequence[str], where: str | Sequence[str], sequences: int | None
) -> Selection:
    """The runs to do: tasks in ``only``, and settings such as ``depth=4,8``; refused if there are none."""
    planned = find(name).plan(parse_scale(scale))
    chosen = {"task": only if isinstance(only, str) else ",".join(only)} if only else {}
    for text in [where] if isinstance(where, str) else where:
        part, _, values = (piece.strip() for piece in text.partition("="))
        chosen[part] = f"{chosen[part]},{values}" if part in chosen else values
    named = {
        part: split_names(values, {str(run.label.get(part)) for run in planned})
        for part, values in chosen.items()
    }
    result = Selection(where=named, sequences=sequences)
    result.of(planned)
    return result


def split_names(text: str, known: set[str]) -> tuple[str, ...]:
    """Names separated by commas, where a known name such as Dyck4,2 may itself have one."""
    result: list[str] = []
    pieces = [piece.strip() for piece in text.split(",")]
    while pieces:
        # The longest run of pieces that is a known name; a lone piece is taken as it stands.
        size = next((n for n in range(len(pieces), 0, -1) if _join(pieces[:n], known)), 1)
        result.append(_join(pieces[:size], known) or pieces[0])
        pieces = pieces[size:]
    return tuple(result)


def _join(pieces: list[str], known: set[str]) -> str:
    """The known name that the pieces spell, with or without a space after the comma; empty if none."""
    return next((name for comma in (",", ", ") if (name := comma.join(pieces)) in known), "")

"""``krohn.results``: what a store holds, and its text form; results committed in a checkout are one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from krohn.base.notebook import Rows, table
from krohn.errors import InvalidFile, InvalidInput, UnknownName, counted
from krohn.lab.experiments.record import Conflict, Member, conflict_lines
from krohn.lab.experiments.store import Store, export_text

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame

FOLDERS = (Path("results"), Path(__file__).parents[4] / "results")
"""Where a checkout keeps them: below the current folder, or beside the sources that run."""


def committed_results(name: str, scale: str, missing: Path) -> Path:
    """The file of an experiment's results; if there is none, the error says what to do."""
    wanted = f"{name}-{scale}.jsonl"
    for folder in FOLDERS:
        if (folder / wanted).is_file():
            return folder / wanted
    scales = ("small", "paper")
    there = [other for other in scales for folder in FOLDERS if (folder / f"{name}-{other}.jsonl").is_file()]
    do = f"add --scale {there[0]}, which this checkout holds" if there else "name a store: --store FOLDER"
    raise InvalidFile(
        f"there must be results to show; there is no store {missing} and "
        f"no results/{wanted} of the repository: run krohn reproduce {name} --scale {scale}, or {do}"
    )


def committed_figures(file: Path, name: str, scale: str) -> list[Path]:
    """The figures beside the results."""
    return sorted(path for path in file.parent.glob(f"{name}*-{scale}.*g") if path.suffix in (".svg", ".png"))


STORE = Path("runs/results")


@dataclass(frozen=True)
class StoredRun:
    """One run whole: its configuration, where and by which code it ran, and its replicates."""

    run: str
    config: dict[str, Any]
    environment: dict[str, Any]
    code: str
    replicates: Rows[dict[str, Any]]

    def __repr__(self) -> str:
        return f"<StoredRun {self.run}: {counted(len(self.replicates), 'replicate')}>"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "replicates": self.replicates.rows()}

    def text(self) -> str:
        """Configuration, environment, and a row for each replicate."""
        payload = self.to_json()
        lines = [f"run {payload['run']}"]
        for name in ("config", "environment"):
            lines.append(name)
            lines += [f"  {key}: {value}" for key, value in payload[name].items()]
        rows = [
            [
                row["replicate"],
                row["status"],
                f"{row['sequences']:,}",
                f"{100 * row['metrics']['accuracy']:.2f}%",
                f"{100 * row['metrics']['test']['accuracy']:.2f}%",
                row["finished"],
            ]
            for row in payload["replicates"]
        ]
        header = ["replicate", "status", "sequences", "held-out accuracy", "test accuracy", "finished"]
        return "\n".join([*lines, table(header, rows)])

    def to_frame(self) -> "DataFrame":
        """One row for each replicate, with a column for each of its numbers."""
        flat = ({**row, **row["metrics"]} for row in self.replicates)
        return Rows({key: row[key] for key in row if key != "metrics"} for row in flat).to_frame()


class StoredRuns(Rows[dict[str, Any]]):
    """The runs of a store, how many ``records`` it has, and those that disagree."""

    records: int = 0
    conflicts: Sequence[Conflict] = ()

    def remarks(self) -> list[str]:
        """A line for each run whose results disagree."""
        return conflict_lines(self.conflicts)

    def text(self) -> str:
        """A row for each run."""
        header = ["experiment", "scale", "run", "cell", "done", "max accuracy"]
        return table(header, [_cells(row) for row in self])


@final
class Results:
    """What ``krohn results`` does: ``list``, ``show`` and ``export``."""

    def list(self, store: str | Path = STORE) -> StoredRuns:
        """The runs of every experiment, one row each."""
        with Store(Path(store), writable=False) as opened:
            rows = StoredRuns(_run_row(opened, member) for member in opened.members())
            rows.records, rows.conflicts = len(opened.records()), opened.conflicts
            return rows

    def show(self, run: str, store: str | Path = STORE) -> StoredRun:
        """One run whole; ``run`` may be the start of its id."""
        with Store(Path(store), writable=False) as opened:
            known = sorted({record.run_id for record in opened.records()})
            matches = [name for name in known if name.startswith(run)]
            if len(matches) != 1:
                listed = ", ".join(matches or known[:8]) or "none"
                raise UnknownName(f"a run must be named by the start of one id; got {run!r}; known: {listed}")
            records = opened.of_run(matches[0])
        first = records[0]
        kept = ("replicate", "status", "sequences", "started", "finished")
        rows = [
            {**{name: getattr(record, name) for name in kept}, "metrics": dict(record.metrics)}
            for record in records
        ]
        return StoredRun(first.run_id, dict(first.config), dict(first.environment), first.code, Rows(rows))

    def export(
        self,
        out: str | Path,
        store: str | Path = STORE,
        *,
        experiment: str | None = None,
        scale: str | None = None,
    ) -> int:
        """Writes results as text that can be committed, and returns how many records it holds."""
        from krohn.lab.experiments.all_experiments import experiment as find
        from krohn.lab.experiments.names import parse_scale

        if experiment is not None:
            find(experiment)
        if scale is not None:
            parse_scale(scale)
        text, source = Path(out), Path(store)
        if source.resolve() in (text.resolve(), text.resolve().parent):
            raise InvalidInput("--out must not be a file of the store: choose another folder")
        with Store(source, writable=False) as opened:
            return export_text(opened, text, experiment=experiment, scale=scale)


def _run_row(store: Store, member: Member) -> dict[str, Any]:
    records = store.of_run(member.run_id)
    return {
        "experiment": member.experiment,
        "scale": member.scale,
        "run": member.run_id,
        "label": dict(member.label),
        "replicates": len(records),
        "done": sum(record.status != "partial" for record in records),
        "max_accuracy": max((record.accuracy for record in records), default=None),
    }


def _cells(row: dict[str, Any]) -> list[object]:
    best = "" if row["max_accuracy"] is None else f"{100 * row['max_accuracy']:.2f}%"
    done, cell = f"{row['done']}/{row['replicates']}", ", ".join(map(str, row["label"].values()))
    return [row["experiment"], row["scale"], row["run"], cell, done, best]


results = Results()

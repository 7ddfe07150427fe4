"""The results committed as text in a checkout, shown without importing them into a store first."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from krohn.errors import InvalidFile
from krohn.experiments.store import Store
from krohn.experiments.text_form import import_text

FOLDERS = (Path("results"), Path(__file__).parents[3] / "results")
"""Where a checkout keeps them: below the current folder, or beside the sources that run."""


def committed_results(name: str, scale: str, missing: Path) -> Path:
    """The file of an experiment's results; if there is none, the error says what to do."""
    wanted = f"{name}-{scale}.jsonl"
    for folder in FOLDERS:
        if (folder / wanted).is_file():
            return folder / wanted
    scales = ("small", "paper")
    there = [other for other in scales for folder in FOLDERS if (folder / f"{name}-{other}.jsonl").is_file()]
    do = f"add --scale {there[0]}, which this checkout holds" if there else "krohn results import FILE"
    raise InvalidFile(
        f"there must be results to show; there is no store {missing} and no results/{wanted}: "
        f"run krohn reproduce {name} --scale {scale}, or {do}"
    )


def committed_figures(file: Path, name: str, scale: str) -> list[Path]:
    """The figures beside the results."""
    return sorted(path for path in file.parent.glob(f"{name}*-{scale}.*g") if path.suffix in (".svg", ".png"))


@contextmanager
def store_of(file: Path) -> Iterator[Store]:
    """A temporary store of the results in a file."""
    with (
        tempfile.TemporaryDirectory(prefix="krohn-results-") as folder,
        Store(Path(folder) / "results.sqlite") as store,
    ):
        import_text(store, file)
        yield store

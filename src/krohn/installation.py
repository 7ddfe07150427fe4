"""Installed packages, the platform, and how to install missing extras."""

import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krohn import __version__
from krohn.base.extras import installed_version, requirements, to_install
from krohn.base.notebook import Rows, table

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame

PURPOSES = {
    "": "krohn itself",
    "train": "krohn train, understand, extract, card, reproduce, export of a training run, networks on a GPU",
    "parquet": "krohn sample --out words.parquet",
    "pandas": "results as DataFrames: krohn.atlas(2, 2).to_frame()",
    "hf": "krohn export --to onnx; loading exports in transformers (writing them needs neither)",
    "lens": "networks opened in TransformerLens, as notebooks/ground_truth.ipynb does",
    "cluster": "krohn reproduce --engine ray",
}


@dataclass(frozen=True)
class Installation:
    """What ``krohn doctor`` reports.

    Attributes:
        krohn, python, system, accelerator: versions, and the GPU as training sees it.
        parts: krohn itself and each extra: ``extra``, ``for``, ``installed``, ``missing``, ``get``. None
            where krohn runs from its sources and is not installed.
    """

    krohn: str
    python: str
    system: str
    accelerator: str
    parts: Rows[dict[str, Any]]

    def __repr__(self) -> str:
        lacking = [part["extra"] or "krohn" for part in self.parts if part["missing"]]
        state = f"missing in {', '.join(lacking)}" if lacking else "nothing is missing"
        return f"<Installation: krohn {self.krohn}, Python {self.python}, {state}>"

    @property
    def complete(self) -> bool:
        """Whether all required packages are installed."""
        return not any(part["missing"] for part in self.parts if not part["extra"])

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**vars(self), "parts": self.parts.rows()}

    def text(self) -> str:
        """Versions, the parts and what they lack, the packages."""
        payload = self.to_json()
        head = "\n".join(
            f"{name:12} {payload[name]}" for name in ("krohn", "python", "system", "accelerator")
        )
        rows = [
            (
                f"[{part['extra']}]" if part["extra"] else "krohn",
                part["for"],
                f"missing {', '.join(part['missing'])}: {part['get']}" if part["missing"] else "complete",
            )
            for part in payload["parts"]
        ]
        packages = {name: result for part in payload["parts"] for name, result in part["installed"].items()}
        tables = [
            table(("part", "what for", "state"), rows),
            table(("package", "version"), list(packages.items())),
        ]
        return "\n\n".join([head, *tables]) if rows else head

    def to_frame(self) -> "DataFrame":
        """One row for each part."""
        return self.parts.to_frame()


def doctor() -> Installation:
    """Versions, the accelerator, and every optional part with how to install it."""
    wanted = requirements()
    parts = [_part(extra, wanted.get(extra, [])) for extra in PURPOSES if extra in wanted]
    return Installation(
        __version__, platform.python_version(), platform.platform(), _accelerator(), Rows(parts)
    )


def _part(extra: str, packages: list[str]) -> dict[str, Any]:
    found = {re.split(r"[^A-Za-z0-9_.-]", line)[0]: installed_version(line) for line in packages}
    missing = [name for name, number in found.items() if number is None]
    return {
        "extra": extra,
        "for": PURPOSES[extra],
        "installed": {name: number for name, number in found.items() if number is not None},
        "missing": missing,
        "get": to_install(extra) if missing else "",
    }


def _accelerator() -> str:
    """The GPU as training sees it; lazy import: torch takes seconds, and may be missing."""
    if installed_version("torch") is None:
        return "none: torch is missing"
    from krohn.lab.training.device import accelerator

    return accelerator()

"""A network in another format: its files, and what ``krohn export`` says about it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.base.notebook import table
from krohn.exporting.card import CHECKED
from krohn.network.gpt2.decoder import Decoder, Files
from krohn.network.gpt2.reference import SAFETY

SHOWN_LETTERS = 24
"""Letters shown of a word with a wrong answer; the findings have all of it."""


@dataclass(frozen=True, eq=False)
class Exported:
    """Files by name in one format, their decoder, and the results of comparing it with its origin.

    ``unchecked`` is whether a network that fails the test of rounding is written all the same.
    """

    to: str
    files: Files
    decoder: Decoder
    findings: dict[str, Any]
    unchecked: bool = False

    def __repr__(self) -> str:
        blocks = f"{self.decoder.layers} blocks of width {self.decoder.dim}"
        return f"<Exported: {', '.join(self.files)}; {blocks}>"

    @property
    def refusal(self) -> str | None:
        """Why the files should not be written, if some answer is wrong: the rule and the answer."""
        result, failed = self.findings.get("counterexample"), self.findings.get("failed")
        if result is None or (self.unchecked and failed == "rounding"):
            return None
        letters = list(result["letters"])
        if len(letters) > SHOWN_LETTERS:
            half = SHOWN_LETTERS // 2
            letters[half:-half] = [f"… ({len(letters):,} letters) …"]
        rule = "an export must be right on every word tried"
        if failed == "rounding":
            rule += f" with {SAFETY:g} times the rounding of float32, as other readers sum in other orders"
        elif failed != "float32":
            rule += f" in {failed}"
        return f"{rule}; after {' '.join(letters)} it says {result['got']}, not {result['expected']}"

    def to_json(self, out: Path) -> dict[str, Any]:
        """One JSON object; ``out`` is where it is written if it is not refused."""
        written = self.refusal is None
        return {
            "format": self.to,
            "directory": str(out),
            "written": written,
            "files": list(self.files) if written else [],
            **self.decoder.sizes(),
            **self.findings,
        }

    def text(self) -> str:
        """Its sizes, and what README.md says was checked, or why it is not written."""
        shown = {name: f"{value:,.0f}" for name, value in self.decoder.sizes().items()}
        sizes = table(list(shown), [list(shown.values())])
        if self.refusal is not None:
            hint = (
                "if krohn verify certifies the network: compile it with --dtype float64 or for shorter words"
            )
            return f"{sizes}\n\nnot written; {self.refusal}\n{hint}"
        page = self.files["README.md"].decode()
        checked = page.partition(CHECKED)[2].partition("\n## ")[0].strip()
        return f"{sizes}\n\n{checked}"

"""A network in other formats: its files, and what ``krohn export`` says about them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.base.notebook import table
from krohn.exporting.model_card import CHECKED
from krohn.network.gpt2.decoder import Decoder, Files
from krohn.network.gpt2.reference import SAFETY

SHOWN_LETTERS = 24
"""Letters shown of a word with a wrong answer; the findings have all of it."""


@dataclass(frozen=True, eq=False)
class Exported:
    """Files by name in one format, their decoder, and the results of comparing it with its origin.

    ``out`` is the folder for them; ``unchecked``: a network that fails the test of rounding is written, too.
    """

    to: str
    files: Files
    decoder: Decoder
    findings: dict[str, Any]
    out: Path = Path()
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


class Exports(list[Exported]):
    """A network in one or several formats; if one is refused, none is written."""

    @property
    def written(self) -> bool:
        """Whether no format is refused."""
        return all(one.refusal is None for one in self)

    def to_json(self) -> dict[str, Any]:
        """One JSON object; of several formats a list below ``exports``."""
        written = self.written
        payloads: list[dict[str, Any]] = [
            {
                "format": one.to,
                "directory": str(one.out),
                "written": written,
                "files": list(one.files) if written else [],
                **one.decoder.sizes(),
                **one.findings,
            }
            for one in self
        ]
        return payloads[0] if len(payloads) == 1 else {"written": written, "exports": payloads}

    def text(self) -> str:
        """What is said of each."""
        return "\n\n".join(one.text() if len(self) == 1 else f"{one.to}\n{one.text()}" for one in self)

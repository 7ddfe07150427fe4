"""A network in another format: its files, and what ``krohn export`` says about it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.base.notebook import table
from krohn.exporting.card import outcome
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
        """Sizes, tests and proof."""
        sizes, result = self.decoder.sizes(), self.findings
        shown = {name: f"{value:,.0f}" for name, value in sizes.items()}
        lines = [table(list(shown), [list(shown.values())]), ""]
        if "compared" in result:
            compared = result["compared"]
            lines.append(
                f"replicate {result['replicate']}; logits differ by at most {compared['difference']:.1g} "
                f"(largest {compared['largest']:.3g}) on {compared['words']} held-out words"
            )
            return "\n".join(lines)
        checked, rounding = result["checked"], result["rounding"]
        lines.append(f"{checked['words']:,} words run in float32: {outcome(checked)}")
        if rounding is not None:
            amount = f"{rounding['factor']:g} times its rounding"
            lines.append(f"{rounding['words']:,} words at {amount}: {outcome(rounding)}")
            lines += [_types(result["types"]), _proof(result["certificate"])]
        if self.refusal is not None:
            lines.append(f"not written; {self.refusal}")
            lines.append(
                "if krohn verify certifies the network: compile it with --dtype float64 or for shorter words"
            )
        elif result["counterexample"] is not None:
            lines.append("written although it fails the test with more rounding; README.md says so")
        return "\n".join(lines)


def _proof(proof: dict[str, Any]) -> str:
    if proof["certified"]:
        subject = "its numbers are proved" if proof["covers"] == "numbers" else "proved"
        lead = f"the right state leads by {proof['margin']} or more"
        return f"{subject} in {proof['dtype']}: on every word up to its length {lead}"
    some = f" beyond {proof['largest']} letters" if proof.get("largest") else ""
    return f"tested, not proved{some}: {proof['reason']}"


def _types(types: dict[str, dict[str, int]]) -> str:
    right = [name for name, seen in types.items() if not seen["wrong"]]
    wrong = [name for name, seen in types.items() if seen["wrong"]]
    return f"right in {', '.join(right)}" + (f"; wrong in {', '.join(wrong)}" if wrong else "")

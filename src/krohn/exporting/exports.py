"""Writing a network in several formats, and what ``krohn export`` says about it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krohn.base.notebook import table
from krohn.exporting.card import outcome
from krohn.exporting.driver import Exported, check_target, prepare, refusal, write
from krohn.network.compiled import CompiledNetwork


@dataclass(frozen=True)
class Exports:
    """A network in one or several formats, and the folders they were written to; none if one failed.

    Attributes:
        exported: by format.
        folders: by format.
        unchecked: whether a network that fails the test of rounding is written all the same.
    """

    exported: dict[str, Exported]
    folders: dict[str, Path]
    unchecked: bool

    @property
    def written(self) -> bool:
        """Whether no format is refused."""
        return all(refusal(each, unchecked=self.unchecked) is None for each in self.exported.values())

    @property
    def notes(self) -> list[str]:
        """A line on the files of each format."""
        if not self.written:
            return []
        return [
            f"written: {', '.join(str(self.folders[to] / name) for name in each.files)}"
            for to, each in self.exported.items()
        ]

    def to_json(self) -> dict[str, Any]:
        """One JSON object; of several formats a list below ``exports``."""
        payloads = [
            {
                "format": to,
                "directory": str(self.folders[to]),
                "written": self.written,
                "files": list(each.files) if self.written else [],
                **each.decoder.sizes(),
                **each.findings,
            }
            for to, each in self.exported.items()
        ]
        return payloads[0] if len(payloads) == 1 else {"written": self.written, "exports": payloads}

    def text(self) -> str:
        """Sizes, tests and proof of each format."""
        texts = {to: _export_text(each, self.unchecked) for to, each in self.exported.items()}
        alone = len(texts) == 1
        return "\n".join(text if alone else f"{to}\n{text}\n" for to, text in texts.items())


def export_all(
    network: CompiledNetwork | str | Path,
    formats: Sequence[str],
    out: Path,
    *,
    unchecked: bool = False,
    proof: bool = True,
    announce: Callable[[str], object] = str,
    **options: Any,
) -> Exports:
    """Writes a network to ``out``, or to a folder in it for each of several formats; all of them or none."""
    folders = {to: out if len(formats) == 1 else out / to for to in formats}
    for folder in folders.values():
        check_target(folder)  # fail early
    exports = Exports(
        prepare(network, formats, proof=proof, announce=announce, **options), folders, unchecked
    )
    if exports.written:
        for to, each in exports.exported.items():
            write(each, folders[to])
    return exports


def _export_text(exported: Exported, unchecked: bool) -> str:
    sizes, result = exported.decoder.sizes(), exported.findings
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
        lines.append(
            f"{rounding['words']:,} words at {rounding['factor']:g} times its rounding: {outcome(rounding)}"
        )
        lines += [_types(result["types"]), _proof(result["certificate"])]
    reason = refusal(exported, unchecked=unchecked)
    if reason is not None:
        lines.append(f"not written; {reason}")
        lines.append(
            "if krohn verify certifies the network: compile it with --dtype float64 or for shorter words"
        )
    elif refusal(exported) is not None:
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

"""What ``krohn verify`` says about a trained run: what was tried, never that it is certified."""

from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.examination import Examination, examine
from krohn.certify.identity import identify
from krohn.errors import InvalidInput

SAMPLES = 2000


def examined(
    directory: Path, length: int | None, meant: Semiautomaton | None = None, *, renamed: bool = False
) -> tuple[dict[str, Any], str]:
    """The examination of the run's best replicate, as JSON and as text."""
    from krohn.evaluate.trained_states import trained_states

    trained = trained_states(directory)
    identity = identify(trained.automaton, meant, renamed=renamed)
    if identity.mismatch:
        raise InvalidInput(f"the run must be one of the automaton you mean; {identity.mismatch}")
    report = examine(trained.forward, identity.automaton, length or trained.length, samples=SAMPLES)
    found = report.counterexample
    payload = {
        "certified": False,
        "examined": True,
        "replicate": trained.replicate,
        "length": report.length,
        "exhaustive": {
            "length": report.exhaustive,
            "words": trained.automaton.num_letters**report.exhaustive,
            "wrong": report.exhaustive_wrong,
        },
        "sample": {
            "words": report.words,
            "right": report.right,
            "low": report.low,
            "high": report.high,
            "confidence": report.confidence,
        },
        "counterexample": None if found is None else found.to_json(trained.automaton),
    }
    return payload, _text(report, payload)


def _text(report: Examination, payload: dict[str, Any]) -> str:
    ran, found = payload["exhaustive"], payload["counterexample"]
    lines = [
        f"examined, not certified: a trained network (replicate {payload['replicate']})",
        f"all {ran['words']:,} words of length {ran['length']}: {ran['wrong']:,} with an error",
        f"{report.words:,} random words of length {report.length}: {report.right:,} right at every position; "
        f"{100 * report.confidence:g} % confidence that the share of such words is between "
        f"{report.low:.4f} and {report.high:.4f}",
    ]
    if found is None:
        lines.append("no counterexample found")
    else:
        shown = " ".join(found["letters"])
        lines.append(f"counterexample: {shown} → {found['got']}, must be {found['expected']}")
    return "\n".join(lines)

"""What ``krohn verify`` says about a trained run: what was run, and what is proved."""

from pathlib import Path
from typing import Any

from krohn.automata.semiautomaton import Semiautomaton
from krohn.certify.identity import identify
from krohn.errors import InvalidInput


def trained_verdict(
    directory: Path,
    length: int | None,
    meant: Semiautomaton | None = None,
    *,
    renamed: bool = False,
    effort: float = 1.0,
    device: str = "cpu",
) -> tuple[dict[str, Any], str]:
    """The verdict on the run's best replicate, as JSON and as text."""
    if length is not None and length < 1:
        raise InvalidInput(f"--length must be at least 1; got {length}")
    from krohn.evaluate.trained_states import trained_states
    from krohn.trained.examined import examine_run

    trained = trained_states(directory, device)
    identity = identify(trained.automaton, meant, renamed=renamed)
    if identity.mismatch:
        raise InvalidInput(f"the run must be one of the automaton you mean; {identity.mismatch}")
    report = examine_run(trained, identity.automaton, length, effort)
    found = report.counterexample
    payload = {
        "certified": False,
        "examined": True,
        "replicate": trained.replicate,
        "length": report.sample.length,
        **report.to_json(),
        "counterexample": None if found is None else found.to_json(trained.automaton),
    }
    return payload, _text(payload)


def _text(payload: dict[str, Any]) -> str:
    lines = [f"examined, not certified: a trained network (replicate {payload['replicate']})"]
    lines.append(_all_words(payload["exact"], "words"))
    if payload["exact_in_training"] is not None:
        lines.append(_all_words(payload["exact_in_training"], "words that training draws"))
    for name, kind in (("sample", "random words"), ("habits", "words that repeat and alternate")):
        lines.append(_sampled(payload[name], kind))
    found = payload["counterexample"]
    if found is None:
        lines.append("no counterexample found")
    else:
        shown = " ".join(found["letters"])
        lines.append(f"counterexample: {shown} → {found['got']}, must be {found['expected']}")
    return "\n".join(lines)


def _all_words(ran: dict[str, Any], which: str) -> str:
    return (
        f"all {ran['words']:,} {which} of length {ran['length']}: {ran['wrong']:,} with an error, "
        f"{100 * ran['right_share']:.6g} % right ({ran['words_per_second']:,.0f} words/s)"
    )


def _sampled(ran: dict[str, Any], kind: str) -> str:
    return (
        f"{ran['words']:,} {kind} of length {ran['length']}: {ran['right']:,} right at every position; "
        f"{100 * ran['confidence']:g} % confidence that the share of such words is between "
        f"{ran['low']:.4f} and {ran['high']:.4f}"
    )

"""The text of ``krohn verify`` for a trained run: what is proved, and what was run."""

from typing import Any


def trained_text(payload: dict[str, Any], name: str) -> str:
    """What is proved, and what was run."""
    lines = [proof_text(proof, name) for proof in payload["proofs"]]
    if payload["every_length_in_training"]:
        lines.append(f"assumed: {', '.join(payload['claim']['assumptions'])}")
    if not payload["every_length_in_training"]:
        lines.append(f"examined, not certified: a trained network (replicate {payload['replicate']})")
    lines.append(_all_words(payload["exact"], "words"))
    if payload["exact_in_training"] is not None:
        lines.append(_all_words(payload["exact_in_training"], "words that training draws"))
    for name, kind in (("sample", "random words"), ("habits", "words that repeat and alternate")):
        lines.append(_sampled(payload[name], kind))
    if payload["counterexample"] is None:
        lines.append("no counterexample found")
    return "\n".join(lines)


def proof_text(proof: dict[str, Any], name: str) -> str:
    """What was proved, or why not, in words."""
    which = "words of every length" + ("" if proof["words"] == "all" else ", of those that training draws")
    if proof["proved"]:
        return (
            f"certified: {name}, {which}, float32, any order of adding\n"
            f"{proof['boxes']} boxes closed under {proof['steps']} steps; "
            f"logit margin {proof['margin']:.4g}, widest side {proof['widest']:.3g}"
        )
    return f"not proved for {which}: {proof['failure']}"


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

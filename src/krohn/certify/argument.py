"""A certificate as a readable argument, lemma by lemma."""

from krohn.certify.certificate import Check, Verification, place
from krohn.certify.identity import described

LEMMAS = {
    "prefix sum": "Lemma (modular counter). Equal weights on all letters add up what they bring.",
    "residue": "Lemma (modular counter). What is read off a prefix sum repeats, or ends on either side.",
    "memory": "Lemma (memory). The latest position of the best kind gets all the weight but a leak.",
    "memory leak": "Lemma (softmax approximates hard max). The leak is the sum of e^(−gap).",
    "look-back": "Lemma (circle codes). The score depends on positions only; one distance wins.",
    "MLP": "Lemma (interpolation). Evaluated on every reachable input; inside the error box it is affine.",
    "composition": "Lemma (function composition). Separable in arguments, hence right for all maps.",
    "visits": "Theorem 3. Heads find the last visit of the nearest place; the MLP tells orders of visits.",
    "intervals": "Theorem 1. Induction over intervals of letters.",
    "decode": "Decoding. The right logit is the largest, whatever the errors are.",
    "simulation": "Simulation. The machine read off the weights runs in step with the automaton.",
    "range": "Range. No overflow.",
    "program": "Program. The registers and operations krohn.json describes, as a finite machine.",
    "hints": "Description. What krohn.json says fits the weights.",
}


def explain(certificate: Verification) -> str:
    """Several lines per layer: the lemma used, the bound, what it must stay below."""
    lines = [_claim(certificate), ""]
    layer: int | None = None
    for check in certificate.checks:
        if check.layer != layer:
            layer = check.layer
            lines.append(_heading(layer, certificate))
        lines += _step(check)
    lines += ["", *_second_opinion(certificate), _conclusion(certificate)]
    return "\n".join(lines)


def _claim(certificate: Verification) -> str:
    return (
        f"Claim. In {certificate.dtype}, for every word of length ≤ {certificate.length}, the network "
        f"{certificate.network[:12]} outputs at every position the state of "
        f"{certificate.automaton.name or 'the automaton'}: {described(certificate.automaton)}."
    )


def _heading(layer: int, certificate: Verification) -> str:
    where = place(layer, certificate.depth)
    return where[0].upper() + where[1:]


def _step(check: Check) -> list[str]:
    lemma = LEMMAS.get(check.name, check.name)
    mark = "✓" if check.passed else "✗"
    first = f"  {mark} {lemma}"
    second = f"      {check.text}"
    if check.bound:
        second += f"; {check.bound:.3g} < {check.limit:.3g}" if check.passed else ""
    return [first, second]


def _second_opinion(certificate: Verification) -> list[str]:
    opinion = certificate.second_opinion
    if opinion is None or not opinion.length:
        return []
    limit = f" ({opinion.limit})" if opinion.limit else ""
    return [
        f"Independently of this argument all {opinion.words:,} words of length {opinion.length} and their "
        f"beginnings were run: {opinion.wrong:,} wrong{limit}.",
        "",
    ]


def _conclusion(certificate: Verification) -> str:
    if certificate.certified:
        tight = certificate.tightest
        where = f"; tightest: {tight.name} in {place(tight.layer, certificate.depth)}" if tight else ""
        return f"Hence certified, with logit margin {certificate.margin:.3g}{where}. ∎"
    tail = f" Counterexample: {certificate.counterexample.word}." if certificate.counterexample else ""
    return f"Not certified: {certificate.reason}.{tail}"

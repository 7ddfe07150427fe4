"""A network as the files of a format: decoded, tested on words, proved, with a page about it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import json_bytes
from krohn.base.portable import at_least
from krohn.check.ground import Verdict
from krohn.exporting.exported import Exported
from krohn.exporting.formats import export_format
from krohn.exporting.from_compiled import (
    Checked,
    check,
    check_rounding,
    check_types,
    decoder_of_compiled,
)
from krohn.exporting.ground_truth import meaning_of
from krohn.exporting.model_card import READ, ModelCard
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import Decoder, Files
from krohn.network.gpt2.reference import SAFETY
from krohn.proving.export import DTYPE, certificate_of, net_of, prove, unproved

NOISE = 2.0**-7
"""A generous bound on the lead of logits that another order of summation may cost in float32."""


def export_compiled(
    network: CompiledNetwork,
    formats: Sequence[str],
    dtype: str = "float32",
    *,
    proof: bool = True,
    announce: Callable[[str], object] = str,
) -> list[Exported]:
    """The network as files; a ``counterexample`` among the findings means that they should not be written.

    Formats without LayerNorm hold the same decoder, which is tested and proved once.
    """
    norms = {to: export_format(to).needs_layer_norm for to in formats}
    decoders = {
        norm: decoder_of_compiled(network, normalized=norm, dtype=dtype) for norm in {*norms.values()}
    }
    if proof:
        slow = "running words, then proving the files for every word: seconds to minutes"
        announce(f"{slow}; --no-proof skips it")
    known: dict[bool, tuple[Decoder, ModelCard, Files, Verdict | None]] = {}
    for norm, decoder in decoders.items():
        card, result = _examine(decoder, network, dtype, proof)
        known[norm] = decoder, card, {"meaning.json": json_bytes(meaning_of(network, decoder))}, result
    return [_export(to, *known[norm]) for to, norm in norms.items()]


def export_decoder(decoder: Decoder, network: CompiledNetwork, *, proof: bool) -> Exported:
    """Another decoder of a compiled network as a stock GPT-2, tested like the default one."""
    card, result = _examine(decoder, network, "float32", proof)
    return _export("hf", decoder, card, {}, result)


def _examine(
    decoder: Decoder, network: CompiledNetwork, dtype: str, proving: bool
) -> tuple[ModelCard, Verdict | None]:
    """Results of testing a decoder of a compiled network, and of proving it."""
    findings, proof = _findings(decoder, network, dtype), None
    if findings["rounding"] is not None:
        proof = prove(decoder, network) if proving else unproved("no proof was asked for")
        about = {"certified": proof.certified, "dtype": DTYPE, "margin": at_least(proof.margin, 4)}
        findings["certificate"] = {**about, "reason": proof.reason[:300], "largest": proof.largest}
    origin = {"method": network.method}
    title = f"A Transformer built to simulate {_name_of(network.automaton)} (method {network.method})"
    return ModelCard(title, network.automaton, origin, findings), proof


def _findings(decoder: Decoder, network: CompiledNetwork, dtype: str) -> dict[str, Any]:
    """All tests on words before a compiled network is written."""
    checked = check(decoder, network)
    if checked.counterexample is not None:
        wrong = asdict(checked.counterexample)
        return {"checked": _counts(checked), "rounding": None, "failed": "float32", "counterexample": wrong}
    rounded, types = check_rounding(decoder, network), check_types(decoder, network)
    failures = {"rounding": rounded.counterexample}
    if dtype in types:
        failures = {dtype: types[dtype].counterexample, **failures}
    failed = next((name for name, result in failures.items() if result is not None), None)
    result = None if failed is None else failures[failed]
    loaded = {"float32": checked, **types}.items()
    return {
        "dtype": dtype,
        "checked": _counts(checked),
        "rounding": {"factor": SAFETY, **_counts(rounded)},
        "types": {name: {"words": seen.words, "wrong": seen.wrong} for name, seen in loaded},
        "failed": failed,
        "counterexample": None if result is None else asdict(result),
    }


def _counts(checked: Checked) -> dict[str, Any]:
    lead = at_least(checked.least_lead, 2, NOISE)
    return {"words": checked.words, "wrong": checked.wrong, "least_lead": lead}


def export_run(
    directory: Path, to: str, *, replicate: int | None = None, length: int | None = None
) -> Exported:
    """One replicate of a training run as files."""
    from krohn.lab.training.run_decoder import decoder_of_run

    trained = decoder_of_run(directory, replicate=replicate, length=length)
    findings = {
        "replicate": trained.replicate,
        "compared": {"words": trained.words, "difference": trained.difference, "largest": trained.scale},
    }
    title = f"A Transformer trained on {_name_of(trained.automaton)} (replicate {trained.replicate})"
    card = ModelCard(title, trained.automaton, {"replicate": str(trained.replicate)}, findings)
    return _export(to, trained.decoder, card, {})


def _name_of(automaton: Semiautomaton) -> str:
    return automaton.name or "an automaton of its own"


def _export(
    to: str, decoder: Decoder, card: ModelCard, more: Files, proof: Verdict | None = None
) -> Exported:
    """The files of one format, with the automaton in krohn's own format and the metadata."""
    chosen = export_format(to)
    findings = dict(card.findings)
    if "certificate" in findings:  # not read by the checker: there the proof is about the weights
        covers = "files" if to in READ else "numbers"
        findings["certificate"] = {**findings["certificate"], "covers": covers}
        card = replace(card, findings=findings)
    if findings.get("rounding", ...) is None:  # wrong in float32: nothing will be written
        return Exported(to, {}, decoder, findings)
    payload, own = card.payload(decoder, to), chosen.files(decoder, card.about(to))
    if proof is not None and proof.largest and "config.json" in own:  # an ONNX graph has no certificate
        certificate = certificate_of(net_of(own, payload["tokens"], card.automaton), card.automaton, proof)
        more = {**more, "certificate.json": f"{json.dumps(certificate.to_json())}\n".encode()}
    files = {
        "automaton.json": json_bytes(automaton_payload(card.automaton)),
        "export.json": json_bytes(payload),
        "README.md": card.page(decoder, chosen.library, chosen.loading).encode(),
        **more,
        **own,
    }
    return Exported(to, files, decoder, findings)

"""Exporting: a compiled network or a trained run, in one or more standard formats."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import COMPILED, EXPORT, TRAINED, Folder, json_bytes, path_of, read_json, require, short
from krohn.base.plugins import Plugins, instance_of
from krohn.base.portable import at_least
from krohn.base.typed import plainly
from krohn.check.ground import Verdict
from krohn.errors import InvalidInput, UnknownName, Unsupported
from krohn.exporting import hugging_face, onnx_graph
from krohn.exporting.exported import Exported, Exports
from krohn.exporting.from_compiled import (
    HALF_TYPES,
    Checked,
    check,
    check_rounding,
    check_types,
    decoder_of_compiled,
)
from krohn.exporting.ground_truth import meaning_of
from krohn.exporting.model_card import READ, ModelCard
from krohn.network.compiled import CompiledNetwork, load
from krohn.network.gpt2.decoder import Decoder, Files, write_files
from krohn.network.gpt2.reference import SAFETY
from krohn.proving.export import DTYPE, certificate_of, net_of, prove, unproved

NOISE = 2.0**-7
"""A generous bound on the lead of logits that another order of summation may cost in float32."""
COMMON = frozenset({"automaton.json", "export.json", "README.md", "meaning.json", "certificate.json"})
OF_FORMAT = {
    "hf": frozenset(
        {
            "model.safetensors",
            "config.json",
            "generation_config.json",
            "tokenizer.json",
            "tokenizer_config.json",
        }
    ),
    "onnx": frozenset({"names.json", "model.onnx"}),
}
NAMES = COMMON.union(*OF_FORMAT.values())
"""Every file that an export may write."""


@dataclass(frozen=True)
class ExportFormat:
    """One format.

    Attributes:
        needs_layer_norm: whether its readers expect LayerNorm.
        files: writes it, from the decoder and its metadata.
        library: the library that reads it.
        loading: the lines of Python that load it; ``{directory}`` is the folder.
    """

    needs_layer_norm: bool
    files: Callable[[Decoder, Mapping[str, str]], Files]
    library: str
    loading: str


FORMATS = {
    "hf": ExportFormat(True, hugging_face.hugging_face_files, "transformers", hugging_face.LOADING),
    "onnx": ExportFormat(False, onnx_graph.onnx_files, "onnx", onnx_graph.LOADING),
}
ALL_FORMATS: Plugins[ExportFormat] = Plugins(
    "krohn.exports", "an export format", lambda: FORMATS, instance_of(ExportFormat, "an export format")
)
"""krohn's own formats and those of other packages."""


def export_format(name: str) -> ExportFormat:
    """The format of that name."""
    known = ALL_FORMATS.get(name)
    if known is None:
        one = f"a format must be one of {', '.join(ALL_FORMATS.names())}; got {name!r:.60}"
        raise UnknownName(f"{one} (TransformerLens opens the folder of hf)")
    return known


@plainly
def export(
    network: CompiledNetwork | str | Path,
    to: str | Sequence[str],
    out: str | Path,
    *,
    replicate: int | None = None,
    length: int | None = None,
    dtype: str = "float32",
    unchecked: bool = False,
    proof: bool = True,
) -> Exported | Exports:
    """Writes a network, or that of a directory, to ``out``: ``krohn.export(net, "hf", DIR)``.

    ``to`` is ``hf`` or ``onnx``; several, as a list or with commas, get a folder each in ``out``, and the
    answer is a list. ``dtype`` is the type it will be loaded in.

    ``replicate`` and ``length`` are for training runs. With ``unchecked`` it is written even if it fails the
    rounding test, and says so; a network that is wrong in float32 is never written. Without ``proof`` it is
    tested, not proved: a proof for all words takes from a second to minutes.
    """
    named = to.split(",") if isinstance(to, str) else to if isinstance(to, Sequence) else [to]
    formats = tuple(dict.fromkeys(named))
    if not formats:
        raise InvalidInput(f"an export needs a format: {', '.join(ALL_FORMATS.names())}")
    exports = attempt(
        network,
        formats,
        path_of(out),
        replicate=replicate,
        length=length,
        dtype=dtype,
        unchecked=unchecked,
        proof=proof,
    )
    for exported in exports:
        if exported.refusal is not None:
            raise Unsupported(f"{exported.refusal}: compile with dtype float64 or for shorter words")
    return exports if len(formats) > 1 else exports[0]


def attempt(
    network: CompiledNetwork | str | Path,
    formats: Sequence[str],
    out: Path,
    *,
    replicate: int | None = None,
    length: int | None = None,
    dtype: str = "float32",
    unchecked: bool = False,
    proof: bool = True,
    announce: Callable[[str], object] = str,
) -> Exports:
    """As ``export``, to a folder in ``out`` for each of several formats; if one is refused, none is written.

    ``announce`` is called with a description of the slow steps, once all input is validated.
    """
    folders = {to: out if len(formats) == 1 else out / to for to in formats}
    for to, folder in folders.items():
        export_format(to)
        check_target(folder)  # fail early
    if dtype not in ("float32", *HALF_TYPES):
        raise UnknownName(
            f"the type of an export must be one of float32, {', '.join(HALF_TYPES)}; got {dtype!r:.40}"
        )
    if "onnx" in formats:
        onnx_graph.require_onnx()  # fail early
    if (
        not isinstance(network, CompiledNetwork)
        and require(network, "export needs", COMPILED, TRAINED) == TRAINED
    ):
        if dtype != "float32":
            raise Unsupported("a trained network is exported in float32, the type it was compared in")
        exported = [export_run(Path(network), to, replicate=replicate, length=length) for to in formats]
    elif replicate is not None or length is not None:
        raise InvalidInput("replicate and length are for training runs; this is a compiled network")
    else:
        compiled = network if isinstance(network, CompiledNetwork) else load(network)
        exported = export_compiled(compiled, formats, dtype, proof=proof, announce=announce)
    exports = Exports(replace(one, out=folders[one.to], unchecked=unchecked) for one in exported)
    if exports.written:
        for one in exports:
            write(one, one.out)
    return exports


def write(exported: Exported, out: Path) -> None:
    """Writes the files; removes those of an earlier export that are not among them."""
    check_target(out, exported.files)
    write_files(out, exported.files, _earlier(out, exported.files))


def check_target(out: Path, names: Iterable[str] = ()) -> None:
    """Refuses a directory where something other than an export would be overwritten."""
    folder = Folder(out)
    folder.check_target(EXPORT, NAMES.union(names))
    if folder.kind != EXPORT:
        return
    foreign = sorted(name for name in set(names) - _earlier(out, names) if (out / name).exists())
    if foreign:
        raise InvalidInput(f"the export in {short(out)} has no {foreign[0]}, but there is one: move it away")


def _earlier(out: Path, names: Iterable[str]) -> frozenset[str]:
    """The files of the export in a directory, by its format; for that of another package, those now written.

    None if it holds no export.
    """
    if Folder(out).kind != EXPORT:
        return frozenset()
    form = read_json(out / "export.json").get("format")
    return COMMON | OF_FORMAT.get(form, NAMES.union(names))


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
    decoder: Decoder, network: CompiledNetwork, dtype: str, asked: bool
) -> tuple[ModelCard, Verdict | None]:
    """Results of testing a decoder of a compiled network, and of proving it."""
    findings, proof = _findings(decoder, network, dtype), None
    if findings["rounding"] is not None:
        proof = prove(decoder, network) if asked else unproved("no proof was asked for")
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

"""Exporting: a compiled network or a trained run, in one of the formats of other people."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from krohn.automata.files import automaton_payload
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, UnknownName, Unsupported
from krohn.exporting import hugging_face, onnx_graph, transformer_lens
from krohn.exporting.compiled import Checked, check, check_rounding, decoder_of_compiled
from krohn.exporting.decoder import Decoder
from krohn.exporting.files import Files, text_file, write_files
from krohn.exporting.meaning import meaning_of
from krohn.exporting.rounding import SAFETY
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import is_run, load

NAMES = frozenset({"automaton.json", "README.md", "meaning.json", "model.safetensors", "config.json"})
NAMES |= {"tokenizer.json", "tokenizer_config.json", "names.json", "model.onnx"}
"""Every file that an export may write."""

SHOWN_LETTERS = 24
"""Of a word that comes out wrong; the findings have all of it."""


@dataclass(frozen=True)
class Format:
    """One format: whether it must have LayerNorm, what writes it, and how its files are loaded."""

    needs_layer_norm: bool
    files: Callable[[Decoder], Files]
    loading: str


FORMATS = {
    "hf": Format(True, hugging_face.hugging_face_files, hugging_face.LOADING),
    "transformer-lens": Format(False, transformer_lens.transformer_lens_files, transformer_lens.LOADING),
    "onnx": Format(False, onnx_graph.onnx_files, onnx_graph.LOADING),
}


@dataclass(frozen=True, eq=False)
class Exported:
    """Files by name, the decoder they hold, and what was found on comparing it with its origin."""

    files: Files
    decoder: Decoder
    findings: dict[str, Any]


def export(
    network: CompiledNetwork | str | Path,
    out: str | Path,
    *,
    to: str = "hf",
    replicate: int | None = None,
    length: int | None = None,
) -> Exported:
    """Writes a network, or that of a directory, to ``out``; the last two arguments are for training runs."""
    check_target(Path(out))  # before the work
    exported = prepare(network, to, replicate=replicate, length=length)
    reason = refusal(exported)
    if reason is not None:
        raise Unsupported(f"{reason}: compile with dtype float64 or for shorter words")
    write(exported, Path(out))
    return exported


def refusal(exported: Exported) -> str | None:
    """Why the files should not be written, if a word showed that: which must be right, and what was said."""
    found = exported.findings.get("counterexample")
    if found is None:
        return None
    letters = list(found["letters"])
    if len(letters) > SHOWN_LETTERS:
        half = SHOWN_LETTERS // 2
        letters[half:-half] = [f"… ({len(letters):,} letters) …"]
    rule = "an export must be right on every word tried"
    if exported.findings["rounding"] is not None:
        rule += f" with {SAFETY:g} times the rounding of float32, as other readers sum in other orders"
    return f"{rule}; after {' '.join(letters)} it says {found['got']}, not {found['expected']}"


def prepare(
    network: CompiledNetwork | str | Path, to: str, *, replicate: int | None = None, length: int | None = None
) -> Exported:
    """The files of a network, or of that in a directory; nothing is written."""
    if not isinstance(network, CompiledNetwork) and is_run(Path(network)):
        return export_run(Path(network), to, replicate=replicate, length=length)
    if replicate is not None or length is not None:
        raise InvalidInput("replicate and length are for training runs; this is a compiled network")
    return export_compiled(network if isinstance(network, CompiledNetwork) else load(network), to)


def write(exported: Exported, out: Path) -> None:
    """Writes the files; those of an earlier export that are not among them go."""
    check_target(out)
    write_files(out, exported.files, NAMES)


def check_target(out: Path) -> None:
    """Refuses a directory where something that is no export would be overwritten."""
    if out.exists() and not out.is_dir():
        raise InvalidInput(f"an export needs a directory; {out} is a file: choose another name")
    own = [
        name for name in ("krohn.json", "state.safetensors", "weights.safetensors") if (out / name).exists()
    ]
    if own:
        raise InvalidInput(
            f"{out} must not hold a network of krohn's own; it has {own[0]}: choose another directory"
        )
    foreign = sorted(name for name in NAMES if (out / name).exists())
    if foreign and not _is_export(out):
        raise InvalidInput(
            f"{out} must hold no files but those of an export; it has another {foreign[0]}: "
            "choose another directory"
        )


def _is_export(out: Path) -> bool:
    """Every export has the automaton, which is written first."""
    try:
        payload = json.loads((out / "automaton.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(payload, dict) and "krohn" in payload


def export_compiled(network: CompiledNetwork, to: str) -> Exported:
    """The network as files; ``counterexample`` among the findings says that they should not be written."""
    chosen = _format(to)
    decoder = decoder_of_compiled(network, normalized=chosen.needs_layer_norm)
    checked = check(decoder, network)
    rounded = check_rounding(decoder, network) if checked.counterexample is None else None
    found = checked.counterexample if rounded is None else rounded.counterexample
    findings = {
        "checked": _counts(checked),
        "rounding": None if rounded is None else {"factor": SAFETY, **_counts(rounded)},
        "counterexample": None if found is None else asdict(found),
    }
    title = f"A Transformer built to simulate {_called(network.automaton)} (method {network.method})"
    files = {
        **_companions(network.automaton, decoder, title, chosen),
        "meaning.json": text_file(meaning_of(network)),
    }
    return Exported({**files, **chosen.files(decoder)}, decoder, findings)


def _counts(checked: Checked) -> dict[str, Any]:
    return {"words": checked.words, "wrong": checked.wrong, "least_lead": checked.least_lead}


def export_run(
    directory: Path, to: str, *, replicate: int | None = None, length: int | None = None
) -> Exported:
    """One replicate of a training run as files."""
    from krohn.exporting.trained import decoder_of_run

    chosen = _format(to)
    trained = decoder_of_run(directory, replicate=replicate, length=length)
    findings = {
        "replicate": trained.replicate,
        "compared": {"words": trained.words, "difference": trained.difference, "largest": trained.scale},
    }
    title = f"A Transformer trained on {_called(trained.automaton)} (replicate {trained.replicate})"
    files = _companions(trained.automaton, trained.decoder, title, chosen)
    return Exported({**files, **chosen.files(trained.decoder)}, trained.decoder, findings)


def _format(to: str) -> Format:
    if to not in FORMATS:
        raise UnknownName(f"a format must be one of {', '.join(FORMATS)}; got {to!r}")
    return FORMATS[to]


def _called(automaton: Semiautomaton) -> str:
    return automaton.name or "an automaton of its own"


def _companions(automaton: Semiautomaton, decoder: Decoder, title: str, chosen: Format) -> Files:
    """The automaton in krohn's own format, and a page that says what this is and how to load it."""
    word = " ".join(automaton.letter_names[letter % automaton.num_letters] for letter in (0, 1, 0, 1))
    quoted = json.dumps(word, ensure_ascii=False)  # a string of Python too, whatever the names are
    loading = chosen.loading.format(directory=".", word=quoted, prompt=len(decoder.vocabulary.prompt))
    page = (
        f"# {title}\n\n"
        f"{decoder.layers} blocks, width {decoder.dim}, words of at most {decoder.length} letters. It reads "
        f"letters and outputs the state after each; `automaton.json` is the automaton.\n\n{loading}"
    )
    return {"automaton.json": text_file(automaton_payload(automaton)), "README.md": page.encode()}

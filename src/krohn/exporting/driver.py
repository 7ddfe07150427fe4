"""Exporting: a compiled network or a trained run, in one or more standard formats."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from krohn.base.files import EXPORT, Folder, path_of, read_json, short
from krohn.base.typed import plainly
from krohn.errors import InvalidInput, UnknownName, Unsupported
from krohn.exporting import onnx_graph
from krohn.exporting.exported import Exported, Exports
from krohn.exporting.formats import ALL_FORMATS, COMMON, NAMES, OF_FORMAT, export_format
from krohn.exporting.from_compiled import (
    HALF_TYPES,
)
from krohn.network.compiled import CompiledNetwork
from krohn.network.gpt2.decoder import write_files
from krohn.proving.kinds import ExportQuestion, kind_for


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
    question = ExportQuestion(dtype, replicate, length, proof, announce)
    exported = kind_for(network, "export needs", "export").export(network, formats, question)
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

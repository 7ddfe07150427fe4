"""The formats of ``krohn export``: who reads each, how it is written and loaded, and its files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from krohn.base.plugins import Plugins, instance_of
from krohn.errors import UnknownName
from krohn.exporting import hugging_face, onnx_graph
from krohn.network.gpt2.decoder import Decoder, Files

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

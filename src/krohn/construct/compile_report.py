"""What ``krohn compile`` says about a network: sizes beside the paper's, what is proved, what layers do."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

from krohn.base.notebook import table
from krohn.base.portable import FLOATS
from krohn.construct.depth_bounds import DepthBounds, bound_depth
from krohn.depth.layer_size import LayerSize
from krohn.errors import counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.plain_words import head_words
from krohn.paper.best import PaperSize, paper_best

WIDTH = 90
"""Longest description of a layer's heads; ``--json`` gives them whole."""

DIGITS = re.compile(r"\d+")
SIZES = {
    "depth": "layers, as the theorems count",
    "blocks": "blocks of GPT-2",
    "dim": "width",
    "heads": "heads",
    "head_dim": "width of a head",
    "mlp_width": "widest hidden layer",
    "mlp_depth": "most hidden layers of an MLP",
    "max_weight": "largest weight",
    "num_parameters": "parameters",
}
"""What sizes are called in print; ``--json`` has the short names."""


@dataclass(frozen=True)
class CompileReport:
    """A compiled network beside the paper's best and the bounds on depth, in the format asked for.

    ``exported``: blocks, width and parameters as stock GPT-2; ``None`` if it cannot be exported.
    """

    network: CompiledNetwork
    dtype: str | None = None
    exported: Mapping[str, int] | None = None

    @cached_property
    def paper(self) -> PaperSize:
        """The sizes of the paper's best network for these words."""
        return paper_best(self.network.automaton, self.network.length)

    @cached_property
    def depth(self) -> DepthBounds:
        """Bounds on the least depth, for layers of this size in the format they are built for.

        The depth of a scan or of a wide layer is no upper bound for longer words. The default format is
        float64, as in krohn verify. A network without heads has no head width: then layers have the default
        size.
        """
        network = self.network
        shape, bits = network.transformer, FLOATS[self.dtype or "float64"].bits
        size = LayerSize(shape.heads, shape.head_dim, bits) if shape.heads else LayerSize(bits=bits)
        lasting = None if network.method in ("scan", "wide") else shape.depth
        return bound_depth(
            network.automaton, lasting, size, observed=network.automaton.target == "observation"
        )

    @property
    def notes(self) -> Iterator[str]:
        """A line on the networks that the checker did not accept, and where a search was cut short."""
        if self.network.passed_over:
            first, *more = (text.partition(": ") for text in self.network.passed_over)
            others = f" (and {len(more)} more)" if more else ""
            yield f"passed over: {first[0]}{others}; --json lists the reasons"
        yield from self.network.notes

    def to_json(self, out: Path | None = None) -> dict[str, Any]:
        """One JSON object; ``out`` is where the network was written."""
        network, paper = self.network, self.paper
        return {
            "automaton": network.automaton.name,
            "method": network.method,
            "length": network.length,
            **network.sizes(),
            "exported": None if self.exported is None else dict(self.exported),
            "proved": network.proved,
            "paper": asdict(paper),
            "bound": {key: value for key, value in asdict(paper).items() if key != "source"},
            "theorem": paper.source,
            "layers": head_words(network),
            "given_up": list(network.notes),
            "passed_over": list(network.passed_over),
            "out": None if out is None else str(out),
            "depth_bounds": self.depth.to_json(network.automaton.letter_names, network.length),
        }

    def text(self) -> str:
        """Sizes, what is proved, depth, and a line for each layer."""
        network, paper = self.network, self.paper
        name = network.automaton.name or "the automaton"
        letters = counted(network.length, "letter")
        title = f"{name}, words up to {letters}: method {network.method}"
        theirs = asdict(paper)
        stock = self.exported or {}
        rows = [
            (SIZES[key], *(number_text(value) for value in (own, stock.get(key, ""), theirs.get(key, ""))))
            for key, own in network.sizes().items()
        ]
        sizes = table(("", "built", "exported as GPT-2", f"the paper's best ({paper.source})"), rows)
        layers: list[tuple[object, str, str]] = []
        count = 0
        for heads, block in zip(head_words(network), network.transformer.layers, strict=True):
            begins = bool(heads) or count == 0  # else the block goes on with the MLP of the one before
            count += begins
            widths = " → ".join(map(str, block.mlp.hidden_widths)) or "linear"
            layers.append((count if begins else "", _per_head(heads), widths))
        lines = f"{_proof(network)}\n{_depth(network, self.depth)}"
        return "\n\n".join([title, sizes, lines, table(("layer", "heads", "MLP"), layers)])


def _depth(network: CompiledNetwork, depth: DepthBounds) -> str:
    """The line on depth: optimal only where the lower bound holds for words of this length."""
    layers = network.transformer.depth
    built = counted(layers, "layer")
    beyond = f"for words of more than {counted(depth.lower_beyond, 'letter')}"
    scope = ", with layers of this size (depth_bounds in --json)" if depth.lower > 1 else ""
    least = f"; at least {depth.lower} {beyond}{scope}" if depth.lower else ""
    if layers == 0:
        words = "of every length" if depth.upper == 0 else f"of {counted(network.length, 'letter')}"
        return f"depth: no layer; in words {words} position and last letter decide{least}"
    if network.method == "scan":
        others = "krohn analyze says if a constant number is known"
        return f"depth: {built} for this length; a scan takes ⌈log₂ T⌉ for T letters ({others}){least}"
    if network.method == "wide":
        return f"depth: {built} for this length, with a head for every distance{least}"
    if depth.optimal and network.length > depth.lower_beyond:
        return f"depth: {built}, optimal with constant heads and head dimension (MLPs may grow){least}"
    return f"depth: {built}, by a plan that takes as many for every length{least}"


def _proof(network: CompiledNetwork) -> str:
    """The line on what the checker said."""
    words = f"every word of up to {counted(network.length, 'letter')}"
    if network.proved:
        return f"proved: right on {words} in {network.proved}"
    state = "not proved right" if network.passed_over else "not shown to the checker"
    return f"proved: no, it is {state}; krohn verify says more"


def _per_head(layer: list[str]) -> str:
    """All heads of a layer on one line; heads that differ only in numbers are merged, with the range."""
    runs = groupby(layer, key=lambda text: DIGITS.sub("#", text))
    return shorten("; ".join(merge_texts(list(texts)) for _, texts in runs) or "none")


def merge_texts(texts: list[str]) -> str:
    """Merges texts that differ only in their numbers: their count, and first…last where numbers differ."""
    if len(texts) == 1:
        return texts[0]
    numbers = iter(zip(*(DIGITS.findall(text) for text in (texts[0], texts[-1])), strict=True))

    def merged(_: re.Match[str]) -> str:
        first, last = next(numbers)
        return first if first == last else f"{first}…{last}"

    return f"{len(texts)} × {DIGITS.sub(merged, texts[0])}"


def shorten(text: str) -> str:
    """At most a line."""
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def number_text(value: object) -> str:
    """A number with separators between thousands, a float with four digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) and value < 1e15 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else str(value)[:24]

"""``krohn compile``: an automaton as a Transformer with explicit weights."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.folder import COMPILED, RECURRENT, Folder
from krohn.base.nearest_float import FLOATS
from krohn.cli.output import emit, json_option, note, table
from krohn.cli.search_options import EFFORT, TIME_LIMIT, choice, limit, max_sets
from krohn.compilation import compile
from krohn.construct.depth_bounds import DepthBounds, bounded
from krohn.construct.request import DEFAULT_MAX_ROWS, DEFAULT_MAX_SETS
from krohn.depth.layer_size import LayerSize
from krohn.errors import counted
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import MEANING, MODEL, save
from krohn.network.transformer import HeadMeaning, Layer
from krohn.paper.best import PaperSize, paper_best
from krohn.recurrent import recurrent_network
from krohn.recurrent.recurrent_weights import WEIGHTS

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


@click.command()
@click.argument("spec")
@click.option(
    "--length", "-T", type=click.IntRange(min=1), help="Letters of the longest word; for Transformers only."
)
@click.option(
    "--architecture",
    type=click.Choice(["transformer", "deltaproduct", "deltanet", "diagonal", "rankone", "lstm", "gru"]),
    default="transformer",
    show_default=True,
    help="Recurrent ones read words of every length; deltanet is deltaproduct with one step for each letter.",
)
@choice("method", "How to build it; auto: the best of scan, cascade and features.", default="auto")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory to write; a network in it is replaced, other files stay.",
)
@choice(
    "mask", "Whether a head sees its own position (causal) or only earlier ones (strict).", default="causal"
)
@choice("activation", "Activation of the counters.", default="relu")
@choice(
    "objective",
    "What to keep small, among the networks that are proved: layers, then blocks of GPT-2, then parameters; "
    "or blocks at any depth, or parameters, or width.",
    default="depth",
)
@click.option(
    "--unproved", is_flag=True, help="Take a network without a proof: quicker, and perhaps not right."
)
@choice(
    "target",
    "What the network outputs: the state, or what the automaton shows, such as whether a regex matches.",
    default="state",
)
@choice("dtype", "Float format to be proved in.  [default: float32, else float64]")
@choice("gadget", "For method scan: how maps are composed.  [default: direct]")
@choice(
    "positions", "For methods scan and paper: how positions are encoded.  [default: circle, if not too fine]"
)
@choice("variant", "For method grid: heads and last MLP.  [default: mod]")
@EFFORT
@TIME_LIMIT
@max_sets(DEFAULT_MAX_SETS)
@limit("max-rows", DEFAULT_MAX_ROWS, "Give up beyond this many rows of a table.")
@json_option
def command(
    spec: str, length: int | None, architecture: str, out: Path | None, as_json: bool, **options: Any
) -> None:
    """Build the weights, prove them, print their sizes beside the paper's, and write them to --out.

    Of the networks that the checker accepts in float32 it takes the one of least depth, then of the fewest
    blocks of GPT-2 (attention and an MLP of one hidden layer), then of the fewest parameters; if it accepts
    none, the same in float64.

    \b
    Example:  krohn compile S4 --length 128 --out nets/s4
              krohn compile Grid9 --length 100 --method grid --out nets/grid9
              krohn compile S5 --architecture deltaproduct --out nets/s5
    """
    automaton = parse_spec(spec)
    if architecture != "transformer":
        _refuse_options()
        compile_recurrent(automaton, architecture, out, as_json=as_json)
        return
    if length is None:
        raise click.UsageError("a Transformer is built for words up to a length; choose it with --length")
    if out is not None:
        Folder(out).check_target(COMPILED, (MODEL, MEANING))  # fail early
    network = compile(automaton, length, **options)
    if out is not None:
        save(network, out)
        note(f"written: {out / 'model.safetensors'}, {out / 'krohn.json'}")
    for text in (*_passed_over(network), *network.notes):
        note(text)
    paper = paper_best(network.automaton, network.length)
    depth = _bounds(network, options["dtype"], observed=options["target"] == "observation")
    known = depth.to_json(network.automaton.letter_names, network.length)
    payload = {**_payload(network, paper, out), "depth_bounds": known}
    emit(payload, as_json=as_json, text=lambda: _text(network, paper, depth))


def _bounds(network: CompiledNetwork, dtype: str | None, *, observed: bool) -> DepthBounds:
    """Bounds on the least depth, for layers of this size in the format they are built for.

    The depth of a scan or of a wide layer is no upper bound for longer words. The default format is float64,
    as in krohn verify. A network without heads has no head width: then layers have the default size.
    """
    shape, bits = network.transformer, FLOATS[dtype or "float64"].bits
    size = LayerSize(shape.heads, shape.head_dim, bits) if shape.heads else LayerSize(bits=bits)
    lasting = None if network.method in ("scan", "wide") else shape.depth
    return bounded(network.automaton, lasting, size, observed=observed)


def _depth(network: CompiledNetwork, depth: DepthBounds) -> str:
    """The line on depth: optimal only where the lower bound holds for words of this length."""
    layers = network.transformer.depth
    built = counted(layers, "layer")
    least = f"; at least {depth.lower} {depth.range}" if depth.lower else ""
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


def _refuse_options() -> None:
    """Refuses Transformer options for a recurrent network, by name, instead of ignoring them."""
    context = click.get_current_context()
    kept = ("spec", "architecture", "out", "as_json")
    given = [
        name
        for name in context.params
        if name not in kept and context.get_parameter_source(name) == ParameterSource.COMMANDLINE
    ]
    if given:
        option = f"--{given[0].replace('_', '-')}"
        raise click.UsageError(
            f"{option} is for Transformers; a recurrent network reads words of every length"
        )


def _payload(network: CompiledNetwork, paper: PaperSize, out: Path | None) -> dict[str, Any]:
    return {
        "automaton": network.automaton.name,
        "method": network.method,
        "length": network.length,
        "mask": network.mask,
        **network.sizes(),
        "proved": network.proved,
        "bound": {key: value for key, value in asdict(paper).items() if key != "source"},
        "theorem": paper.source,
        "layers": [[head.text for head in layer] for layer in network.layout.heads],
        "given_up": list(network.notes),
        "passed_over": list(network.passed_over),
        "out": None if out is None else str(out),
    }


def _text(network: CompiledNetwork, paper: PaperSize, depth: DepthBounds) -> str:
    name = network.automaton.name or "the automaton"
    letters = counted(network.length, "letter")
    title = f"{name}, words up to {letters}: method {network.method}, mask {network.mask}"
    theirs = asdict(paper)
    rows = [
        (SIZES[key], number_text(value), number_text(theirs.get(key, "")))
        for key, value in network.sizes().items()
    ]
    sizes = table(("", "built", f"the paper's best ({paper.source})"), rows)
    layers = [
        (number or "", _per_head(heads), " → ".join(map(str, block.mlp.hidden_widths)) or "linear")
        for number, heads, block in _numbered(network)
    ]
    lines = f"{_proof(network)}\n{_depth(network, depth)}"
    return "\n\n".join([title, sizes, lines, table(("layer", "heads", "MLP"), layers)])


def _passed_over(network: CompiledNetwork) -> Iterator[str]:
    """One line on the networks that the checker did not accept."""
    if network.passed_over:
        first, *more = (text.partition(": ") for text in network.passed_over)
        others = f" (and {len(more)} more)" if more else ""
        yield f"passed over: {first[0]}{others}; --json lists the reasons"


def _proof(network: CompiledNetwork) -> str:
    """The line on what the checker said."""
    words = f"every word of up to {counted(network.length, 'letter')}"
    if network.proved:
        return f"proved: right on {words} in {network.proved}"
    asked = "not proved right" if network.passed_over else "not shown to the checker"
    return f"proved: no, it is {asked}; krohn verify says more"


def _numbered(network: CompiledNetwork) -> Iterator[tuple[int, tuple[HeadMeaning, ...], Layer]]:
    """Layers as the theorems count them; a block that goes on with the MLP of the one before has number 0."""
    count = 0
    for heads, block in zip(network.layout.heads, network.transformer.layers, strict=True):
        begins = bool(heads) or count == 0
        count += begins
        yield count if begins else 0, heads, block


def _per_head(layer: tuple[HeadMeaning, ...]) -> str:
    """All heads of a layer on one line; heads that differ only in numbers are merged, with the range."""
    runs = groupby((head.text for head in layer), key=lambda text: DIGITS.sub("#", text))
    return shortened("; ".join(merged_texts(list(texts)) for _, texts in runs) or "none")


def merged_texts(texts: list[str]) -> str:
    """Merges texts that differ only in their numbers: their count, and first…last where numbers differ."""
    if len(texts) == 1:
        return texts[0]
    numbers = iter(zip(*(DIGITS.findall(text) for text in (texts[0], texts[-1])), strict=True))

    def merged(_: re.Match[str]) -> str:
        first, last = next(numbers)
        return first if first == last else f"{first}…{last}"

    return f"{len(texts)} × {DIGITS.sub(merged, texts[0])}"


def shortened(text: str) -> str:
    """At most a line."""
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def number_text(value: object) -> str:
    """A number with separators between thousands, a float with four digits."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value == int(value) and value < 1e15 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and abs(value) < 10**15 else str(value)[:24]


def compile_recurrent(
    automaton: Semiautomaton, architecture: str, out: Path | None, *, as_json: bool
) -> None:
    """Builds the weights, proves them, prints sizes and writes them."""
    if out is not None:
        Folder(out).check_target(RECURRENT, (MODEL, recurrent_network.MEANING))
    network = recurrent_network.RecurrentNetwork(WEIGHTS[architecture](automaton), automaton)
    if out is not None:
        recurrent_network.save(network, out)
        note(f"written: {out / 'model.safetensors'}, {out / 'recurrent.json'}")
    payload = {
        "automaton": automaton.name,
        "architecture": architecture,
        "layers": getattr(network.cell, "layers", 1),
        "steps": getattr(network.cell, "steps", 1),
        "size": network.cell.size,
        "num_parameters": network.cell.num_parameters,
        "out": None if out is None else str(out),
    }
    emit(payload, as_json=as_json, text=lambda: _recurrent_text(payload))


def _recurrent_text(payload: dict[str, Any]) -> str:
    name = payload["automaton"] or "the automaton"
    return (
        f"{name}: layers of {payload['architecture']}: {payload['layers']}, "
        f"steps per letter: {payload['steps']}, numbers of state: {payload['size']}, "
        f"parameters: {payload['num_parameters']:,}\n"
        "it reads words of any length; krohn verify says up to which length it is right"
    )

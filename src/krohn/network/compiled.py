"""A compiled network: explicit matrices together with the meaning of every part."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton, Word
from krohn.base.extras import missing
from krohn.base.notebook import html_table
from krohn.errors import InvalidInput, counted, plainly
from krohn.network.forward import run
from krohn.network.program import Program
from krohn.network.register_meaning import Meaning
from krohn.network.transformer import Layout, Transformer

METHODS = ("scan", "cascade", "paper", "grid", "features", "wide")


@dataclass(frozen=True, eq=False, repr=False)
class CompiledNetwork(Reader):
    """A Transformer that simulates ``automaton`` on words up to ``length``, and its ground truth.

    Attributes:
        transformer: the matrices; everything that runs is in here.
        automaton: what it simulates, start state included.
        method: the construction: ``scan``, ``cascade``, ``features``, ``paper`` or ``grid``.
        program: the discrete meaning the weights realise; ``None`` where the construction has none.
        layout: what every channel holds after every block, and what every head does.
        notes: where the search was cut short, and the option that continues it; not stored.
        proved: the float format in which the checker accepted it when it was compiled; ``None`` if it did
            not, or was not asked. What is proved is for ``krohn verify`` to say.
        passed_over: better networks that the checker did not accept, with the reasons; not stored.
    """

    transformer: Transformer
    automaton: Semiautomaton
    method: str
    program: Program | None
    layout: Layout
    notes: tuple[str, ...] = ()
    proved: str | None = None
    passed_over: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        wrong = list(_mismatches(self))
        if wrong:
            raise InvalidInput(f"a compiled network must fit together: {'; '.join(wrong)}")

    @property
    def meanings(self) -> dict[str, Meaning]:
        """What the registers mean, by their names."""
        if self.program is None:
            return {meaning.name: meaning for meaning in self.layout.registers}
        return {register.name: register.meaning for register in self.program.registers}

    @property
    def length(self) -> int:
        """The longest word it was built for."""
        return self.transformer.max_length

    @property
    def longest(self) -> int:
        """The longest word that it reads."""
        return self.length

    def forward(self, words: npt.NDArray[np.int64], /, dtype: Any = "float64") -> npt.NDArray[np.int64]:
        """Outputs after each letter of words ``[batch, length]``, by a plain forward pass in ``dtype``."""
        return run(self.transformer, words, dtype)

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Every matrix by its name in ``model.safetensors``, and in the ``state_dict`` of ``to_torch()``."""
        return self.transformer.tensors()

    # Lazy imports below: those parts depend on this one.

    def save(self, directory: str | Path) -> None:
        """Writes the network to a directory, as ``krohn compile --out`` does."""
        import_module("krohn.network.storage").save(self, directory)

    def to_torch(self, dtype: Any = "float64", device: Any = "cpu") -> Any:
        """The network as a ``torch.nn.Module``; ``dtype`` is one of torch, or a name such as ``bf16``."""
        return _part("krohn.lab.bridge", "to_torch").to_torch(self, dtype=dtype, device=device)

    @plainly
    def export(self, to: str, directory: str | Path, **options: Any) -> Any:
        """Writes it as ``hf``, ``transformer-lens`` or ``onnx``; options are those of ``krohn.export``."""
        return _part("krohn.exporting.driver", "export").export(self, to, directory, **options)

    def report(self, dtype: str | None = None, architecture: str = "transformer") -> Any:
        """What ``krohn compile`` prints: ``text()`` and ``to_json()``; bounds on depth are for ``dtype``."""
        return import_module("krohn.construct.compile_report").CompileReport(self, dtype)

    def view(self, word: str = "", name: str = "") -> Any:
        """What ``krohn explain`` prints and writes: the meaning of all parts, or their values on a word."""
        return import_module("krohn.network.explanation").view(self, word, name)

    def explain(self, word: Word) -> Any:
        """Register values and attention weights by layer and position, from a real forward pass."""
        return import_module("krohn.network.explanation").explain_word(self, word)

    def __repr__(self) -> str:
        net = self.transformer
        built = f"words up to {self.length:,} letters, method {self.method}"
        layers, blocks = counted(net.depth, "layer"), counted(net.num_blocks, "block")
        sizes = f"{layers} ({blocks} of GPT-2), {counted(net.dim, 'dimension')}"
        proved = f", proved in {self.proved}" if self.proved else ""
        name = self.automaton.name or "of an automaton"
        return f"<CompiledNetwork {name}: {built}, {sizes}, {net.num_parameters:,} parameters{proved}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and what the heads of every layer do."""
        said = import_module("krohn.network.plain_words").head_words(self)
        rows = [
            (number, "; ".join(heads), " → ".join(map(str, layer.mlp.hidden_widths)))
            for number, (heads, layer) in enumerate(zip(said, self.transformer.layers, strict=True), start=1)
        ]
        proved = self.proved or "not shown to the checker"
        facts = {"words up to": self.length, "method": self.method, **self.sizes(), "proved": proved}
        title = f"A Transformer for {self.automaton.name or 'an automaton'}"
        return html_table(title, facts, ("layer", "heads", "hidden units of the MLP"), rows)

    def sizes(self) -> dict[str, int | float]:
        """The quantities that the theorems bound."""
        net = self.transformer
        return {
            # The paper counts layers whose attention is the identity; it has them so that no MLP is deep.
            "depth": len(net.layers) if self.method == "paper" else net.depth,
            "blocks": net.num_blocks,
            "dim": net.dim,
            "heads": net.heads,
            "head_dim": net.head_dim,
            "mlp_width": net.mlp_width,
            "mlp_depth": net.mlp_depth,
            "max_weight": net.max_weight,
            "num_parameters": net.num_parameters,
        }


def _part(module: str, what: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error, f"{what} of a network") or error from error


def _mismatches(net: CompiledNetwork) -> Iterable[str]:
    matrices, automaton, program, layout = net.transformer, net.automaton, net.program, net.layout
    if net.method not in METHODS:
        yield f"the method is {net.method!r}, not one of {', '.join(METHODS)}"
    if matrices.embedding.shape[0] != automaton.num_letters:
        yield f"{matrices.embedding.shape[0]} embeddings for {automaton.num_letters} letters"
    outputs = len(automaton.output_names)
    if matrices.readout.shape[1] != outputs:
        yield f"{matrices.readout.shape[1]} outputs for {outputs} {automaton.target}s"
    if len(layout.heads) != len(matrices.layers) or any(len(m) != matrices.dim for m in layout.moments):
        yield "the layout describes other layers or channels than the matrices have"
    elif any(len(a) != len(b.heads) for a, b in zip(layout.heads, matrices.layers, strict=True)):
        yield "the layout describes other heads than the matrices have"
    if program is None:
        return
    if (len(program.layers), program.num_padding) != (len(matrices.layers), matrices.num_padding):
        yield "program and matrices disagree on layers or padding"
    if (program.num_letters, len(program.readout.codes)) != (automaton.num_letters, outputs):
        yield "program and automaton disagree on letters or outputs"
    for heads, layer in zip(layout.heads, program.layers, strict=False):
        if any(not 0 <= n < len(layer.attention) for head in heads for n in head.operations):
            yield "the layout names operations of heads that the program does not have"
    known = set(program.register)
    named = {channel.register for moment in layout.moments for channel in moment if channel.register}
    if named - known:
        yield f"the layout names registers the program does not have: {', '.join(sorted(named - known))}"

"""A compiled network: explicit matrices with the meaning of every part, and the folder that keeps both.

The folder holds ``model.safetensors`` (matrices) and ``krohn.json`` (their meaning).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save as save_tensors

from krohn.automata.files import automaton_from_payload, automaton_payload
from krohn.automata.observed import with_target
from krohn.automata.reader import Reader
from krohn.automata.semiautomaton import Semiautomaton, Target
from krohn.automata.zoo import true_name
from krohn.base.extras import missing
from krohn.base.files import (
    COMPILED,
    KEYS,
    Folder,
    json_bytes,
    path_of,
    read_json,
    read_tensors,
    require_keys,
    short,
    shown,
    write_folder,
)
from krohn.base.notebook import html_table
from krohn.errors import InvalidFile, InvalidInput, counted
from krohn.network.forward import run
from krohn.network.layout import Layout
from krohn.network.plain_words import head_words
from krohn.network.program import Meaning, Program
from krohn.network.program_file import built, from_json, plain, program_from_json, program_to_json
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import MODEL, transformer_from

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

    def save(self, directory: str | Path) -> None:
        """Writes the network to a directory, as ``krohn compile --out`` does."""
        save(self, directory)

    def to_torch(self, dtype: Any = "float64", device: Any = "cpu") -> Any:
        """The network as a ``torch.nn.Module``; ``dtype`` is one of torch, or a name such as ``bf16``.

        The one method that reaches into a room above: users of torch look for it on the network.
        """
        try:
            from krohn.lab.bridge import to_torch
        except ModuleNotFoundError as error:
            raise missing(error, "to_torch of a network") or error from error
        return to_torch(self, dtype=dtype, device=device)

    def __repr__(self) -> str:
        net = self.transformer
        built = f"words up to {self.length:,} letters, method {self.method}"
        layers, blocks = counted(net.depth, "layer"), counted(net.num_blocks, "block")
        sizes = f"{layers} ({blocks} of GPT-2), {counted(net.dim, 'dimension')}"
        proved = f", proved in {self.proved} when compiled" if self.proved else ""
        name = self.automaton.name or "of an automaton"
        return f"<CompiledNetwork {name}: {built}, {sizes}, {net.num_parameters:,} parameters{proved}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and what the heads of every block do."""
        rows = [
            (number, "; ".join(heads), " → ".join(map(str, layer.mlp.hidden_widths)))
            for number, (heads, layer) in enumerate(
                zip(head_words(self), self.transformer.layers, strict=True), start=1
            )
        ]
        proved = f"{self.proved}, when compiled" if self.proved else "not shown to the checker"
        facts = {"words up to": self.length, "method": self.method, **self.sizes(), "proved": proved}
        title = f"A Transformer for {self.automaton.name or 'an automaton'}"
        return html_table(title, facts, ("block", "heads", "hidden units of the MLP"), rows)

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


MEANING = KEYS[COMPILED]
"""The file of what the matrices mean."""
VERSION = 1
FIELDS = {"krohn", "automaton", "digest", "method", "length", "mask", "program", "layout", "shape"}
MAX_NAME = 200
Format = Literal["float64", "float32", "bfloat16", "float16"]


def save(network: CompiledNetwork, directory: str | Path) -> None:
    """Writes both files or none; an existing network is replaced, other files stay.

    The old meaning is removed before the new matrices are written: neither a reader nor a crash can pair
    matrices with the wrong meaning.
    """
    folder = path_of(directory)
    Folder(folder).check_target(COMPILED, (MODEL, MEANING))
    automaton_from_payload(automaton_payload(network.automaton))  # refuse names that a file cannot hold
    files = {MODEL: save_tensors(network.transformer.tensors()), MEANING: json_bytes(_meaning(network))}
    write_folder(folder, files, key=MEANING)


def load(directory: str | Path) -> CompiledNetwork:
    """The network saved in a directory; anything that does not fit is refused in one line."""
    folder = Path(directory)
    payload = _read_meaning(folder / MEANING)
    _must_exist(folder / MODEL)
    tensors = read_tensors(folder / MODEL)
    try:
        target = from_json(payload.get("target", "state"), Target, "target")
        automaton = with_target(stored_automaton(payload), target)
        program = None if payload["program"] is None else program_from_json(payload["program"])
        from_json(payload["mask"], Literal["causal"], "mask")
        network = transformer_from(tensors, payload["shape"])
        if type(payload["length"]) is not int or network.max_length != payload["length"]:
            given = shown(payload["length"])
            raise InvalidFile(f"length must be {network.max_length}, as the positions say; got {given}")
        layout = built(Layout, payload["layout"], "layout", optional=("registers",))
        method = from_json(payload["method"], str, "method")
        proved = from_json(payload.get("proved"), Format | None, "proved")
        return CompiledNetwork(network, automaton, method, program, layout, proved=proved)
    except InvalidFile as error:
        raise InvalidFile(f"{short(folder)}: {error}") from error
    except InvalidInput as error:
        raise InvalidFile(f"{short(folder)}: not a compiled network: {error}") from error


def _meaning(network: CompiledNetwork) -> dict[str, Any]:
    name = true_name(network.automaton)
    return {
        "krohn": VERSION,
        **({"name": name} if 0 < len(name) <= MAX_NAME else {}),
        "method": network.method,
        "length": network.length,
        "mask": "causal",
        "proved": network.proved,
        **({"target": "observation"} if network.automaton.target == "observation" else {}),
        "automaton": automaton_payload(network.automaton),
        "digest": network.automaton.digest,
        "shape": [[len(layer.heads), len(layer.mlp.weights)] for layer in network.transformer.layers],
        "layout": {key: part for key, part in plain(network.layout).items() if part or key != "registers"},
        "program": None if network.program is None else program_to_json(network.program),
    }


def stored_automaton(payload: dict[str, Any]) -> Semiautomaton:
    """The automaton that a network's file holds; a name that does not give this automaton is dropped."""
    name = payload.get("name", "")
    if not isinstance(name, str) or len(name) > MAX_NAME or not name.isprintable():
        raise InvalidFile(f"name must be a printable string of at most {MAX_NAME} characters")
    automaton = automaton_from_payload(payload["automaton"], name)
    if automaton.digest != payload["digest"]:
        raise InvalidFile("the automaton does not have the digest the file states; compile it again")
    return replace(automaton, name=true_name(automaton))


def _read_meaning(path: Path) -> dict[str, Any]:
    """The file's content, with the right keys and version; the values are checked later, one by one."""
    _must_exist(path)
    payload = require_keys(read_json(path), FIELDS, short(path), optional=("name", "target", "proved"))
    if type(payload["krohn"]) is not int or payload["krohn"] != VERSION:
        raise InvalidFile(f"{short(path)} must have version {VERSION}; got {shown(payload['krohn'])}")
    return payload


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise InvalidFile(f"{short(path)} must exist (a directory written by krohn compile); it does not")

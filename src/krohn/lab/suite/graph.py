"""A decoder as a graph of heads and MLPs, and circuits in it, in the file format of the MIB benchmark.

Writers put something into the residual stream: ``input`` (token and position), every head and every MLP.
Readers take something out: a head's query, key and value, every MLP, and ``logits``. An edge is a writer and
a later reader; the reader's input is the sum of what its writers wrote.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.files import read_json
from krohn.errors import InvalidFile, counted

Flags = npt.NDArray[np.bool_]
Scores = npt.NDArray[np.float64]
PARTS = ("q", "k", "v")


@dataclass(frozen=True)
class Graph:
    """The nodes and edges of a decoder with this many layers and heads."""

    layers: int
    heads: int
    dim: int

    @cached_property
    def writers(self) -> tuple[str, ...]:
        """In the order in which they write."""
        blocks = ((*(f"a{i}.h{h}" for h in range(self.heads)), f"m{i}") for i in range(self.layers))
        return ("input", *(name for block in blocks for name in block))

    @cached_property
    def readers(self) -> tuple[str, ...]:
        """In the order in which they read."""
        blocks = (
            (*(f"a{i}.h{h}<{part}>" for part in PARTS for h in range(self.heads)), f"m{i}")
            for i in range(self.layers)
        )
        return (*(name for block in blocks for name in block), "logits")

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Where the stream can be swapped, by TransformerLens's names."""
        inside = (f"blocks.{i}.hook_resid_{part}" for i in range(self.layers) for part in ("mid", "post"))
        return ("blocks.0.hook_resid_pre", *inside)

    @cached_property
    def earlier(self) -> tuple[int, ...]:
        """For each reader, how many of the writers come before it."""
        width = self.heads + 1
        before = []
        for layer in range(self.layers):
            before += [1 + layer * width] * (3 * self.heads) + [1 + layer * width + self.heads]
        return (*before, len(self.writers))

    @cached_property
    def possible(self) -> Flags:
        """[reader, writer]: whether there is an edge."""
        out: Flags = np.arange(len(self.writers)) < np.array(self.earlier)[:, None]
        return out

    @cached_property
    def edges(self) -> dict[str, tuple[int, int]]:
        """(reader, writer) by the name of the edge."""
        return {
            f"{self.writers[writer]}->{name}": (reader, writer)
            for reader, name in enumerate(self.readers)
            for writer in range(self.earlier[reader])
        }

    def names_of(self, kept: Flags) -> list[str]:
        """The edges among ``kept``, in the order of the file."""
        return [name for name, place in self.edges.items() if kept[place]]

    def flags_of(self, names: Iterable[str]) -> Flags:
        """Inverse of ``names_of``."""
        out = np.zeros(self.possible.shape, dtype=bool)
        for name in names:
            out[self.edges[name]] = True
        return out

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """The writer that each reader belongs to; −1 for the logits."""
        names = (name.partition("<")[0] for name in self.readers)
        return tuple(-1 if name == "logits" else self.writers.index(name) for name in names)

    def prune(self, kept: Flags) -> Flags:
        """The edges on a path from ``input`` to the logits; the others cannot matter."""
        kept = kept & self.possible
        useful, fed = np.zeros(len(self.writers), dtype=bool), np.zeros(len(self.writers), dtype=bool)
        fed[0] = True
        for reader, owner in enumerate(self.owners):
            if owner >= 0 and kept[reader, fed].any():
                fed[owner] = True
        for reader in reversed(range(len(self.readers))):
            if self.owners[reader] < 0 or useful[self.owners[reader]]:
                useful |= kept[reader]
        reaches = np.array([owner < 0 or bool(useful[owner]) for owner in self.owners])
        out: Flags = kept & fed & reaches[:, None]
        return out


@dataclass(frozen=True, eq=False)
class Circuit:
    """A score for every edge, and which edges are in the circuit; as arrays [reader, writer] of a graph.

    An edge that was left out has the score NaN.
    """

    graph: Graph
    scores: Scores
    kept: Flags

    def to_json(self) -> dict[str, Any]:
        """MIB's file: configuration, nodes, edges."""
        graph = self.graph
        used = {end.partition("<")[0] for name in self.names for end in name.split("->")}
        return {
            "cfg": {
                "n_layers": graph.layers,
                "n_heads": graph.heads,
                "parallel_attn_mlp": False,
                "d_model": graph.dim,
            },
            "nodes": {name: {"in_graph": name in used} for name in (*graph.writers, "logits")},
            "edges": {
                name: {"score": float(self.scores[place]), "in_graph": bool(self.kept[place])}
                for name, place in graph.edges.items()
                if not np.isnan(self.scores[place])
            },
        }

    @property
    def ranking(self) -> Scores:
        """Edges by absolute score, as MIB ranks them; those that were left out come last."""
        return np.where(np.isnan(self.scores), -1.0, np.abs(self.scores))

    @property
    def names(self) -> list[str]:
        """The edges of the circuit."""
        return self.graph.names_of(self.kept)


def circuit_of(graph: Graph, kept: Flags) -> Circuit:
    """A circuit whose edges score 1 and all others 0."""
    return Circuit(graph, (kept & graph.possible).astype(np.float64), kept & graph.possible)


def read_circuit(path: Path, graph: Graph) -> Circuit:
    """A circuit file as MIB has it, for this graph.

    An edge must have a finite ``score``, or at least ``in_graph``. An edge that the file leaves out is not
    claimed.
    """
    payload = read_json(path)
    edges = payload.get("edges") if isinstance(payload, dict) else None
    if not isinstance(edges, dict):
        raise InvalidFile(f"{path} must be a circuit with an object 'edges', as MIB writes it")
    _fits(path, payload.get("cfg"), graph)
    unknown = [name for name in edges if name not in graph.edges]
    if unknown:
        raise InvalidFile(
            f"{path} must name edges of this network, such as {next(iter(graph.edges))}; "
            f"it has {counted(len(unknown), 'unknown edge')}: {unknown[0][:60]!r}"
        )
    scores, kept = np.full(graph.possible.shape, np.nan), np.zeros(graph.possible.shape, dtype=bool)
    for name, entry in edges.items():
        score, inside = _entry(path, name, entry)
        scores[graph.edges[name]], kept[graph.edges[name]] = score, inside
    return Circuit(graph, scores, kept)


def _fits(path: Path, given: object, graph: Graph) -> None:
    own = {"n_layers": graph.layers, "n_heads": graph.heads, "d_model": graph.dim}
    if given is None:
        return
    if not isinstance(given, dict):
        raise InvalidFile(f"{path} must have an object 'cfg'; it has {str(given)[:40]!r}")
    odd = [name for name, value in own.items() if name in given and given[name] != value]
    if odd:
        raise InvalidFile(
            f"{path} must be a circuit of this network, with {odd[0]} = {own[odd[0]]}; "
            f"it has {str(given[odd[0]])[:20]}"
        )


def _entry(path: Path, name: str, entry: object) -> tuple[float, bool]:
    score = entry.get("score") if isinstance(entry, dict) else None
    inside = entry.get("in_graph") if isinstance(entry, dict) else None
    if (
        not isinstance(inside, bool | None)
        or isinstance(score, bool)
        or not isinstance(score, int | float | None)
    ):
        raise InvalidFile(f"{path}: edge {name} must have a number 'score' and true or false as 'in_graph'")
    if score is None and inside is None:
        raise InvalidFile(f"{path}: edge {name} must have a 'score', or at least 'in_graph'; it has neither")
    return float(inside or 0) if score is None else float(score), bool(inside)

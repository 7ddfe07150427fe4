"""The file of a graph: which operators run, on which numbers, for words of each length.

Every scalar of one run on one word has a number: first the constants, then the numbers that Python holds, the
tokens, and what each node makes, in order. A node's arguments are lists of such numbers, so views,
transposes, concatenations and writes into parts of a tensor are all the same thing: other lists. No shape is
left but those of four forms of node: entry by entry, row by row, products of matrices, and rows of a table.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.check.claim import GRAPH
from krohn.check.files.folders import Net, Tensors, parse_json, read_bytes, read_tensors, whole_numbers
from krohn.check.ground import Array, Integers
from krohn.errors import need

FILE, MODEL = "graph.json", "model.safetensors"
VERSION = 1
HALVES = ("bfloat16", "float16")
"""Types that numbers may be stored in; what computes is float32."""
EACH = {
    **dict.fromkeys(("add", "sub", "mul", "div", "max", "min"), 2),
    **dict.fromkeys(("whole_add", "whole_sub", "whole_mul"), 2),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "and", "or"), 2),
    **dict.fromkeys(("neg", "abs", "square", "exp", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid"), 1),
    **dict.fromkeys(("silu", "gelu", "gelu_tanh", "relu", "erf", "sin", "cos", "not", "float"), 1),
    **dict.fromkeys(HALVES, 1),
    "where": 3,
}
"""Entry by entry: how many arguments each has."""
ROWS = {"sum": 1, "mean": 1, "softmax": 1, "norm": 3}
"""Row by row; ``norm`` is LayerNorm, with a gain and a shift for each entry of a row."""
FORMS = {**dict.fromkeys(EACH, 1), **dict.fromkeys(ROWS, 2), "matmul": 4, "lookup": 3}
"""How many sizes a node has: [n], [rows, width], [batch, n, k, m] or [n, rows of the table, width]."""
LARGEST = 1 << 24
"""Scalars of a graph, and entries of its lists."""
MOST_NODES, MOST_LISTED = 1 << 16, 1 << 27
"""Nodes of all graphs of a file, and what their arguments list together."""


@dataclass(frozen=True, eq=False)
class Node:
    """An operator, its sizes, lists of scalars for arguments, and the number of its first result."""

    op: str
    sizes: tuple[int, ...]
    args: tuple[Integers, ...]
    first: int
    epsilon: float = 0.0
    rounds: int = 0
    scale: float = 1.0

    @property
    def made(self) -> int:
        """How many scalars it makes."""
        return size_made(self.op, self.sizes)


@dataclass(frozen=True, eq=False)
class Graph:
    """What runs on a word of ``length`` tokens: scalars ``answer`` [position, token of the vocabulary]."""

    length: int
    constants: npt.NDArray[Any]
    numbers: Array
    nodes: tuple[Node, ...]
    answer: Integers

    @property
    def held(self) -> int:
        """Scalars before the tokens."""
        return len(self.constants) + len(self.numbers)

    @property
    def scalars(self) -> int:
        """All of them."""
        return self.held + self.length + sum(node.made for node in self.nodes)

    @cached_property
    def known(self) -> tuple[Array, Array]:
        """Constants and Python's numbers; the latter may be rounded to float32 or not."""
        with np.errstate(all="ignore"):
            near = np.abs(self.numbers - self.numbers.astype("f4"))
        near = np.where(np.isinf(self.numbers), 0.0, near)
        values = np.concatenate([self.constants.astype(np.float64), self.numbers])
        return values, np.concatenate([np.zeros(len(self.constants)), near])


def size_made(op: str, sizes: tuple[int, ...]) -> int:
    """How many scalars such a node makes."""
    if op == "matmul":
        return prod(sizes[:2]) * sizes[3]
    if op == "lookup":
        return sizes[0] * sizes[2]
    return sizes[0] if op in ("sum", "mean") else prod(sizes)


def wanted_sizes(op: str, sizes: tuple[int, ...]) -> list[int]:
    """How many scalars each argument lists."""
    if op in EACH:
        return [sizes[0]] * EACH[op]
    if op == "matmul":
        return [prod(sizes[:3]), sizes[0] * sizes[2] * sizes[3]]
    if op == "lookup":
        return [sizes[0], sizes[1] * sizes[2]]
    return [prod(sizes), *[sizes[1]] * (ROWS[op] - 1)]


def read_graph(folder: Path, tokens: Mapping[str, Any] | None) -> Net:
    """The folder of a graph: JSON and tensors, of which nothing is executed."""
    text = read_bytes(folder / FILE)
    return graph_net(text, read_tensors(folder / MODEL), tokens)


def graph_net(text: bytes, tensors: Tensors, tokens: Mapping[str, Any] | None) -> Net:
    """The network of a graph; its digest covers the text, every list and every constant."""
    about = {} if tokens is None else {"tokens": dict(tokens)}
    return Net(
        GRAPH,
        {"graph": hashlib.sha256(text).hexdigest(), **about},
        {**tensors, FILE: np.frombuffer(text, np.uint8)},
    )


def graphs_of(net: Net) -> dict[int, Graph]:
    """The graph for words of each length; anything malformed is refused."""
    held = dict(net.tensors)
    payload = parse_json(held.pop(FILE).tobytes())
    need(
        isinstance(payload, dict) and set(payload) == {"krohn", "graphs"},
        f"{FILE} must have krohn and graphs",
    )
    need(
        payload["krohn"] == VERSION and type(payload["krohn"]) is int, f"{FILE} must be of version {VERSION}"
    )
    graphs = payload["graphs"]
    need(isinstance(graphs, list) and graphs, f"{FILE} must list graphs")
    for one in graphs:
        fits = isinstance(one, dict) and isinstance(one.get("nodes"), list)
        need(fits, "a graph must have length, nodes and answer")
    count = sum(len(one["nodes"]) for one in graphs)
    need(count <= MOST_NODES, f"{FILE} must have at most {MOST_NODES:,} nodes; it has {count:,}")
    made, listed = {}, 0
    for number, one in enumerate(graphs):
        graph = _graph(one, {part: held.pop(f"{number}.{part}", None) for part in PARTS})
        need(graph.length not in made, f"{FILE} must have one graph for each length")
        listed += sum(len(arg) for node in graph.nodes for arg in node.args)
        need(listed <= MOST_LISTED, f"arguments of all nodes must list at most {MOST_LISTED:,} scalars")
        made[graph.length] = graph
    need(not held, f"{MODEL} must have no other tensors than those of the graphs")
    return made


PARTS = {"constants": "f4", "numbers": "f8", "lists": "i8"}


def _graph(one: Any, parts: dict[str, Any]) -> Graph:
    need(
        isinstance(one, dict) and set(one) == {"length", "nodes", "answer"},
        "a graph must have length, nodes and answer",
    )
    for part, kind in PARTS.items():
        fits = parts[part] is not None and parts[part].ndim == 1 and parts[part].dtype == np.dtype(kind)
        need(fits, f"a graph must have {part}, one row of {kind}")
    lists = parts["lists"].astype(np.int64)
    need(whole_numbers(one["length"], 1 << 16, least=1), "a graph's length must be a number from 1 on")
    need(isinstance(one["nodes"], list), "a graph must list nodes")
    first = len(parts["constants"]) + len(parts["numbers"]) + one["length"]
    nodes, listed = [], 0

    def scalars(start: Any, size: int) -> Integers:
        need(whole_numbers(start, len(lists) - size + 1), "a list of scalars must lie inside the lists")
        found: Integers = lists[start : start + size]
        need(
            not size or (found.min() >= 0 and found.max() < first),
            "scalars must be made before they are read",
        )
        return found

    for entry in one["nodes"]:
        node = _node(entry, first, scalars)
        nodes.append(node)
        listed += sum(len(arg) for arg in node.args)
        need(listed <= MOST_LISTED, f"arguments of all nodes must list at most {MOST_LISTED:,} scalars")
        first += node.made
        need(first <= LARGEST, f"a graph must have at most {LARGEST:,} scalars")
    answer = one["answer"]
    fits = whole_numbers(answer, LARGEST, 3) and answer[1] == one["length"] and answer[2] > 0
    need(fits, "a graph's answer must be [start, length, tokens]")
    out = scalars(answer[0], answer[1] * answer[2]).reshape(answer[1:])
    return Graph(one["length"], parts["constants"], parts["numbers"], tuple(nodes), out)


def _node(entry: Any, first: int, scalars: Any) -> Node:
    need(isinstance(entry, dict) and {"op", "sizes", "args"} <= set(entry), "a node has op, sizes and args")
    extra = set(entry) - {"op", "sizes", "args"}
    op = entry["op"]
    need(isinstance(op, str) and op in FORMS, f"there is no operator {str(op)[:40]!r}")
    allowed = {"norm": {"epsilon"}, "matmul": {"rounds", "scale"}, "softmax": {"rounds"}}.get(op, set())
    need(extra <= allowed, f"{op} has other fields than {', '.join(sorted(allowed)) or 'these'}")
    fits = whole_numbers(entry["sizes"], LARGEST, FORMS[op], least=1)
    need(fits, f"{op} must have {FORMS[op]} sizes")
    sizes = tuple(entry["sizes"])
    lengths = wanted_sizes(op, sizes)
    need(max(lengths) <= LARGEST and size_made(op, sizes) <= LARGEST, f"{op} must be smaller")
    need(isinstance(entry["args"], list) and len(entry["args"]) == len(lengths), f"{op} has other arguments")
    args = tuple(scalars(start, size) for start, size in zip(entry["args"], lengths, strict=True))
    epsilon, scale, rounds = entry.get("epsilon", 0.0), entry.get("scale", 1.0), entry.get("rounds", 0)
    fits = type(epsilon) is float and 0 <= epsilon < 1e6 and type(scale) is float and abs(scale) < 1e6
    need(fits and whole_numbers(rounds, 65), f"{op} must have epsilon, scale and rounds within their bounds")
    return Node(op, sizes, args, first, epsilon, rounds, scale)


def written(graphs: list[Graph]) -> tuple[bytes, Tensors]:
    """Text and tensors of the file, the same bytes on every machine."""
    entries: list[dict[str, Any]] = []
    tensors: Tensors = {}
    for number, graph in enumerate(graphs):
        lists: list[Integers] = []
        seen: dict[bytes, int] = {}
        end = 0

        def start(part: Integers, lists: list[Integers] = lists, seen: dict[bytes, int] = seen) -> int:
            nonlocal end
            key = hashlib.sha256(part.tobytes()).digest() + len(part).to_bytes(8, "little")
            if key not in seen:
                seen[key] = end
                lists.append(part)
                end += len(part)
            return seen[key]

        nodes = []
        for node in graph.nodes:
            entry: dict[str, Any] = {"op": node.op, "sizes": list(node.sizes)}
            entry["args"] = [start(part) for part in node.args]
            entry |= {"epsilon": node.epsilon} if node.op == "norm" else {}
            entry |= {"rounds": node.rounds} if node.rounds else {}
            entry |= {"scale": node.scale} if node.scale != 1.0 else {}
            nodes.append(entry)
        answer = [start(graph.answer.reshape(-1)), *graph.answer.shape]
        entries.append({"length": graph.length, "nodes": nodes, "answer": answer})
        tensors[f"{number}.constants"] = graph.constants
        tensors[f"{number}.numbers"] = graph.numbers
        tensors[f"{number}.lists"] = np.concatenate(lists)
    text = json.dumps({"krohn": VERSION, "graphs": entries}, sort_keys=True, separators=(",", ":"))
    return text.encode(), tensors

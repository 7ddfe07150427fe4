"""Whether two graphs compute the same, whatever is computed at once: a number for each scalar's history.

A graph of two words at once has other nodes than one of a single word, of twice the size. Two scalars with
the same number (64 bits, hashed) come from the same operators on the same constants and tokens in the same
order of arguments.
"""

import numpy as np
import numpy.typing as npt

from krohn.check.graph.graph import EACH, Graph, Node

Marks = npt.NDArray[np.uint64]


def mixed(*parts: Marks | int) -> Marks:
    """One number of several, by the finaliser of splitmix64."""
    out: Marks = np.zeros(1, np.uint64)
    for part in parts:
        out = out * np.uint64(0x9E3779B97F4A7C15) + np.asarray(part, dtype=np.uint64)
        out = (out ^ (out >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        out = out ^ (out >> np.uint64(31))
    return out


def in_line(marks: Marks) -> Marks:
    """One number for each row [..., width]."""
    out: Marks = np.zeros(marks.shape[:-1], np.uint64)
    for at in range(marks.shape[-1]):
        out = mixed(out, marks[..., at])
    return out


def marks_of(graph: Graph, words: int = 1, word: int = 0) -> Marks:
    """Those of the answer to one of the words that are run at once [position, token]."""
    out: Marks = np.zeros(graph.scalars, np.uint64)
    constants = graph.constants.astype("f4").view(np.uint32).astype(np.uint64)
    numbers = graph.numbers.astype("f8").view(np.uint64)
    held = len(constants)
    out[:held] = mixed(1, constants)
    out[held : graph.held] = mixed(2, numbers)
    places = np.roll(np.arange(graph.length, dtype=np.uint64), word * (graph.length // words))
    out[graph.held : graph.held + graph.length] = mixed(3, places)
    for node in graph.nodes:
        out[node.first : node.first + node.made] = mixed(name_of(node), made_by(node, out))
    found: Marks = out[graph.answer].reshape(words, -1, graph.answer.shape[1])[word]
    return found


def name_of(node: Node) -> int:
    """Of the operator with its numbers."""
    text = f"{node.op} {node.epsilon!r} {node.rounds} {node.scale!r}".encode()
    return int(in_line(np.frombuffer(text, np.uint8).astype(np.uint64)[None])[0])


def made_by(node: Node, out: Marks) -> Marks:
    """What each result of a node is made of, without its operator."""
    args, sizes = [out[arg] for arg in node.args], node.sizes
    if node.op in EACH:
        return mixed(*args)
    if node.op == "matmul":
        b, n, k, m = sizes
        row = in_line(args[0].reshape(b, n, k))[:, :, None]
        column = in_line(args[1].reshape(b, k, m).swapaxes(1, 2))[:, None]
        return mixed(row + np.zeros_like(column), column + np.zeros_like(row)).reshape(-1)
    if node.op == "lookup":
        columns = in_line(args[1].reshape(sizes[1], sizes[2]).T)
        return mixed(np.repeat(args[0], sizes[2]), np.tile(columns, sizes[0]))
    rows = in_line(args[0].reshape(sizes))
    if node.op in ("sum", "mean"):
        return rows
    places = np.tile(np.arange(sizes[1], dtype=np.uint64), sizes[0])
    shared = [np.repeat(in_line(arg[None]), len(places)) for arg in args[1:]]
    return mixed(np.repeat(rows, sizes[1]), places, *shared)

"""Graphviz as AALpy, LearnLib and Automata Wiki write machines: acceptors, machines of Moore and of Mealy."""

import html
import re
from collections.abc import Iterator
from itertools import pairwise

from krohn.automata.reading.arrows import Arrows
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, LimitExceeded

MAX_TOKENS = 3_000_000
_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|\s+|(?P<sign>->|--|[{}\[\];,=:+])|"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"|(?P<html><)'
    r"|(?P<name>(?:[\w.\u0080-\U0010ffff]|-(?![->]))+)",
    re.DOTALL,
)
_LINE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)  # of the preprocessor
_BRACKET = re.compile(r"[<>]")
_SILENT = frozenset({"", "ε", "λ", "epsilon", "&epsilon;", "$"})
_HIDDEN_SHAPES = frozenset({"none", "point", "plaintext", "plain"})
_CHANCE = re.compile(r":\s*(0?\.\d+|1(\.0+)?|0|1)$")
Token = tuple[str, str]
Attributes = dict[str, str]


def read_dot(text: str) -> Arrows:
    """The arrows of a directed graph; its start is what a hidden node points at."""
    nodes, edges = _graph(text)
    hidden = _hidden(nodes, edges)
    read = Arrows(starts=list(dict.fromkeys(b for a, b, _ in edges if a in hidden)))
    drawn = [edge for edge in edges if edge[0] not in hidden]
    if not drawn or not any(label for *_, label in drawn):
        raise InvalidAutomaton("arrows of a Graphviz file must have labels, the letters that they read")
    labels = [label for *_, label in drawn]
    if all(_CHANCE.search(label.strip()) for label in labels):
        raise InvalidAutomaton(f"arrows must be certain; {shown(labels[0])} has a probability")
    states = dict.fromkeys(state for a, b, _ in drawn for state in (a, b))
    shows = {state: _output(state, nodes.get(state, {}).get("label", "")) for state in states}
    mealy = all("\n" in label or "/" in label for label in labels)
    if not mealy and all(value is not None for value in shows.values()):
        read.shown = {state: value or "" for state, value in shows.items()}
    elif not mealy:
        read.final = {
            state
            for state, given in nodes.items()
            if given.get("shape") == "doublecircle" or given.get("peripheries") == "2"
        }
    for source, target, label in drawn:
        inputs, out = label, None
        if mealy:
            inputs, _, out = label.partition("\n" if "\n" in label else "/")
            out = " ".join(out.split())
        for letter in _letters(inputs):
            read.add(source, letter, target, out)
    if not read.starts:
        first = next(iter(nodes), None)
        read.starts = [first if first in states else drawn[0][0]]
        read.notes.append(f"no start is marked: {shown(read.starts[0])}, the first state, is taken")
    read.states = [state for state in nodes if state in states]
    return read


def _letters(label: str) -> list[str | None]:
    """``a``, ``a | b`` or ``a,b``; inside parentheses they belong to a name, as in ``ACK(0,1)``."""
    text = label.strip()
    parts = [text] if text in {",", "|"} else re.split(r"[|,](?![^()]*\))", text)
    return [None if part.strip() in _SILENT else part.strip() for part in parts]


def _hidden(nodes: dict[str, Attributes], edges: list[tuple[str, str, str]]) -> set[str]:
    """Nodes that only mark the start: ``__start0``, or nothing to see and no arrow to them."""
    reached = {target for source, target, _ in edges if source != target}
    return {
        node
        for node in {source for source, _, _ in edges} - reached
        if node.startswith("__start")
        or nodes.get(node, {}).get("shape") in _HIDDEN_SHAPES
        or nodes.get(node, {}).get("style") in {"invis", "invisible"}
    }


def _output(name: str, label: str) -> str | None:
    """The output in ``s1|out`` or ``{ s1 | out }``."""
    text = label.strip()
    before, bar, after = (text[1:-1] if text.startswith("{") else text).partition("|")
    return after.strip() if bar and before.strip() == name else None


def _graph(text: str) -> tuple[dict[str, Attributes], list[tuple[str, str, str]]]:
    """Nodes with their attributes, arrows with their labels; defaults hold for the nodes after them."""
    nodes: dict[str, Attributes] = {}
    edges: list[tuple[str, str, str]] = []
    default: Attributes = {}
    for chain, given in _statements(text):
        if len(chain) == 1 and chain[0] in {"node", "edge", "graph"}:
            default = {**default, **given} if chain[0] == "node" else default
            continue
        for node in chain:
            if node not in nodes:
                nodes[node] = dict(default)
        if len(chain) == 1:
            nodes[chain[0]].update(given)
        edges += [(a, b, given.get("label", "")) for a, b in pairwise(chain)]
    return nodes, edges


def _statements(text: str) -> Iterator[tuple[list[str], Attributes]]:
    """The nodes of a chain ``a -> b -> c``, and its attributes."""
    tokens, place = list(_tokens(text)), 0
    last: Token = ("", "")
    tokens.append(last)
    while tokens[place] != last:
        kind, value = tokens[place]
        place += 1
        if kind == "sign":
            if value == "--":
                raise InvalidAutomaton("a graph must be directed, with arrows ->; got --")
            continue
        if kind == "name" and value.lower() in {"strict", "digraph", "graph", "subgraph"}:
            if value.lower() == "graph" and tokens[place] == ("sign", "["):
                _, place = _attributes(tokens, place)
            elif tokens[place][0] in {"name", "text"} and value.lower() != "strict":
                place += 1  # what the graph is called
            continue
        chain = [value]
        while tokens[place] in {("sign", "->"), ("sign", ":")}:
            if tokens[place + 1][0] not in {"name", "text", "html"}:
                raise InvalidAutomaton(
                    f"an arrow must lead from a node to a node; {shown(chain[-1])} -> does not"
                )
            if tokens[place][1] == "->":
                chain.append(tokens[place + 1][1])
            place += 2
        if tokens[place] == ("sign", "="):
            place = min(place + 2, len(tokens) - 1)
            continue
        given, place = _attributes(tokens, place)
        yield chain, given


def _attributes(tokens: list[Token], place: int) -> tuple[Attributes, int]:
    """``[key=value, …]``, any number of them, and where they end."""
    given: Attributes = {}
    while tokens[place] == ("sign", "["):
        place += 1
        while tokens[place] != ("sign", "]"):
            if tokens[place] in {("sign", ","), ("sign", ";")}:
                place += 1
                continue
            pair = tokens[place : place + 3]
            if len(pair) < 3 or pair[1] != ("sign", "=") or "sign" in (pair[0][0], pair[2][0]):
                raise InvalidAutomaton(
                    f"a [ must hold name=value and be closed by ]; got {shown(pair[0][1])}: "
                    "is a quote not escaped?"
                )
            (kind, content), place = pair[2], place + 3
            plain = _text_of(content) if kind == "html" else content.replace('\\"', '"')
            given[pair[0][1].lower()] = plain.replace("\\n", "\n") if kind == "text" else plain
        place += 1
    return given, place


def _tokens(text: str) -> Iterator[Token]:
    text, place, count = _LINE.sub("", text), 0, 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            line = text.count("\n", 0, place) + 1
            raise InvalidAutomaton(
                f"line {line}: {shown(text[place : place + 20])} is not Graphviz; is a quote not escaped?"
            )
        place = match.end()
        if match["html"]:
            place = _end_of_html(text, place)
            yield "html", text[match.end() : place - 1]
        elif match.lastgroup:
            yield match.lastgroup, match[match.lastgroup]
        count += 1
        if count > MAX_TOKENS:
            raise LimitExceeded(f"a Graphviz file may have at most {MAX_TOKENS:,} parts; this one has more")


def _end_of_html(text: str, place: int) -> int:
    depth = 1
    for match in _BRACKET.finditer(text, place):
        depth += 1 if match.group() == "<" else -1
        if not depth:
            return match.end()
    raise InvalidAutomaton("a label <…> must be closed by >; one is not")


def _text_of(label: str) -> str:
    """A label of HTML as text: ``<br />`` ends a line."""
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"\s*<br\s*/?>\s*", "\n", label, flags=re.IGNORECASE)))

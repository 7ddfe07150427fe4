"""JFLAP's automaton files (``.jff``): only elements and text are read; state positions are written.

JFLAP's automata may be partial and nondeterministic. A missing arrow leads to a new sink; where letters have
several targets, or there are ε-moves, the subset construction gives an automaton of the same language. A
letter is one character, so an arrow labelled ``ab`` reads an a, then a b.
"""

import logging
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

import numpy as np

from krohn.automata.diagram import MAX_DRAWN, accepts_words, places_of
from krohn.automata.graph import explore
from krohn.automata.semiautomaton import Semiautomaton, is_name
from krohn.automata.sizes import check_size
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, InvalidInput, LimitExceeded

MAX_JFF_BYTES = 4_000_000
MAX_DEPTH, MAX_ELEMENTS = 16, 200_000
MAX_LABEL = 100
SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LOG = logging.getLogger(__name__)
MAX_STATE_SETS, MAX_MEMBERS = 4_096, 4_000_000
"""Sets of states that a nondeterministic automaton may become, and states that are looked up for them."""
MAX_NAMES = 1_000_000
"""Characters of the names of all sets together; sets with longer names are numbered."""
SINK = "sink"
_Rows = dict[frozenset[int], list[frozenset[int]]]
"""Where each letter leads, for each set of states."""


class _SafeTree(TreeBuilder):
    """Builds the element tree; declarations and deep nesting are refused before they take effect."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = self.count = 0

    def start(self, tag: str, attrs: dict[Any, Any]) -> Element:
        self.depth, self.count = self.depth + 1, self.count + 1
        if self.depth > MAX_DEPTH or self.count > MAX_ELEMENTS:
            most = f"at most {MAX_ELEMENTS:,} elements, {MAX_DEPTH} deep"
            raise LimitExceeded(f"a .jff file may have {most}; this one has more")
        return super().start(tag, attrs)

    def end(self, tag: str) -> Element:
        self.depth -= 1
        return super().end(tag)

    def doctype(self, *given: Any) -> None:
        raise InvalidAutomaton(
            "a .jff file must have no document type and no entities; this one declares some"
        )


def _read(data: bytes) -> Element:
    parser = XMLParser(target=_SafeTree())
    try:
        parser.feed(data)
        root: Element = parser.close()
    except (ParseError, ValueError, LookupError) as error:  # the latter two: an unknown encoding
        if isinstance(error, InvalidInput):
            raise
        raise InvalidAutomaton(f"a .jff file must be XML; {shown(str(error))}") from error
    return root


def _one(element: Element, tag: str) -> str | None:
    """The text of the only child of that name; ``None`` if there is none."""
    children = element.findall(tag)
    if len(children) > 1:
        raise InvalidAutomaton(f"a <{element.tag}> must have one <{tag}>; got {len(children)}")
    return (children[0].text or "").strip() if children else None


def parse_jff(data: bytes, name: str = "") -> Semiautomaton:
    """The automaton in the bytes of a ``.jff`` file; final states are observed as 1."""
    if len(data) > MAX_JFF_BYTES:
        raise LimitExceeded(f"a .jff file must have at most {MAX_JFF_BYTES:,} bytes; it has {len(data):,}")
    root = _read(data)
    kind = _one(root, "type")
    if root.tag != "structure" or kind not in {"fa", None}:
        raise InvalidAutomaton(
            f"a .jff file must hold a finite automaton (type fa); got {shown(kind or root.tag)}"
        )
    inside = root.find("automaton")
    return _Drawn(root if inside is None else inside).automaton(name)


class _Drawn:
    """States in the order of the file, arrows by state and letter."""

    def __init__(self, element: Element) -> None:
        states = element.findall("state") + element.findall("block")
        ids = [state.get("id", "") for state in states]
        if not states or len(set(ids)) < len(ids):
            raise InvalidAutomaton("a .jff file must have states, each with an id of its own")
        self.number = {name: index for index, name in enumerate(ids)}
        written = [state.get("name", f"q{state.get('id')}") for state in states]
        self.names = ["_".join(name.split()) for name in written]
        changed = [pair for pair in zip(written, self.names, strict=True) if pair[0] != pair[1]]
        if changed:
            _LOG.warning("names of states have no spaces here: %s is called %s", *map(shown, changed[0]))
        starts = [index for index, state in enumerate(states) if state.find("initial") is not None]
        if len(starts) != 1:
            raise InvalidAutomaton(f"a .jff file must mark one initial state; got {len(starts)}")
        self.start = starts[0]
        self.final = {index for index, state in enumerate(states) if state.find("final") is not None}
        self.arrows: dict[tuple[int, str], set[int]] = {}
        self.members = 0
        for arrow in element.findall("transition"):
            source, target = (self._state(arrow, end) for end in ("from", "to"))
            self._arrow(source, _one(arrow, "read") or "", target)
        self.letters = sorted({letter for _, letter in self.arrows if letter})
        wrong = [letter for letter in self.letters if not is_name(letter)]
        if not self.letters or wrong:
            given = shown(wrong[0]) if wrong else "none"
            raise InvalidAutomaton(f"arrows must read letters without spaces; got {given}")

    def _arrow(self, source: int, label: str, target: int) -> None:
        """An arrow; one that reads several letters goes through a new state after each but the last."""
        if len(label) > MAX_LABEL:
            raise LimitExceeded(f"an arrow may read at most {MAX_LABEL} letters; one reads {len(label):,}")
        name = self.names[source][:MAX_LABEL]
        if len(self.names) > MAX_ELEMENTS:
            raise LimitExceeded(f"arrows may go through {MAX_ELEMENTS:,} states; here are more")
        for place in range(1, len(label)):
            inner = f"{name}.{label[:place]}"
            step = self.arrows.setdefault((source, label[place - 1]), set())
            known = [state for state in step if self.names[state] == inner and state >= len(self.number)]
            if not known:
                known.append(len(self.names))
                self.names.append(inner)
                step.add(known[0])
            source = known[0]
        self.arrows.setdefault((source, label[-1:]), set()).add(target)

    def _state(self, arrow: Element, end: str) -> int:
        given = _one(arrow, end)
        if given is None or given not in self.number:
            raise InvalidAutomaton(f"<{end}> of a transition must be the id of a state; got {shown(given)}")
        return self.number[given]

    def automaton(self, name: str) -> Semiautomaton:
        single = all(len(targets) == 1 for targets in self.arrows.values())
        if single and not any(letter == "" for _, letter in self.arrows):
            rows = {
                frozenset([state]): [self._after(frozenset([state]), letter) for letter in self.letters]
                for state in range(len(self.names))
            }
        else:
            rows = self._subsets()
        return self._build(rows, name)

    def _close(self, states: set[int]) -> frozenset[int]:
        """The ε-closure."""
        result, waiting = set(states), list(states)
        while waiting:
            for target in self.arrows.get((waiting.pop(), ""), ()):
                if target not in result:
                    result.add(target)
                    waiting.append(target)
        self.members += 1 + len(result)
        if self.members > MAX_MEMBERS:
            raise LimitExceeded(
                f"the arrows of a .jff file may be looked up {MAX_MEMBERS:,} times; these need more: "
                "make the automaton deterministic, or write .json"
            )
        return frozenset(result)

    def _after(self, group: frozenset[int], letter: str) -> frozenset[int]:
        self.members += len(group)
        return self._close({t for state in group for t in self.arrows.get((state, letter), ())})

    def _subsets(self) -> _Rows:
        """The reachable sets of states but the empty one, breadth first, and where each letter leads."""
        order, rows = explore(
            self._close({self.start}),
            lambda group: [self._after(group, letter) for letter in self.letters],
            MAX_STATE_SETS,
            f"a nondeterministic automaton may become at most {MAX_STATE_SETS:,} sets of states; "
            "this one becomes more: make it deterministic first",
        )
        return {group: [order[n] for n in row] for group, row in zip(order, rows, strict=True) if group}

    def _build(self, rows: _Rows, name: str) -> Semiautomaton:
        groups = list(rows)
        place = {group: index for index, group in enumerate(groups)}
        sink = len(groups)
        check_size("the file's automaton", sink + 1, len(self.letters))
        table = [[place.get(after, sink) for after in row] for row in rows.values()]
        partial = any(target == sink for row in table for target in row)
        lengths = [1 + len(own) for own in self.names]
        moderate = sum(lengths[state] for group in groups for state in group) <= MAX_NAMES
        names = [",".join(self.names[n] for n in sorted(group)) for group in groups if moderate]
        observe = [int(bool(group & self.final)) for group in groups]
        if partial:
            table.append([sink] * len(self.letters))
            names.append(SINK)
            observe.append(0)
        fit = moderate and len(set(names)) == len(names) and all(map(is_name, names))
        return Semiautomaton(
            np.array(table, dtype=np.int32),
            start=place[self._close({self.start})],
            state_names=tuple(names) if fit else (),
            letter_names=tuple(self.letters),
            observe=tuple(observe) if self.final else None,
            name=name,
        )


def _letters(automaton: Semiautomaton) -> Sequence[str]:
    """A character for each letter: its name if that is one, else the change is said."""
    names = automaton.letter_names
    if all(len(name) == 1 for name in names):
        return names
    if len(names) > len(SIGNS):
        raise InvalidInput(
            f"a letter of JFLAP is one character, so there may be at most {len(SIGNS)} with longer names; "
            f"got {len(names)}: write .json, which keeps all"
        )
    said = ", ".join(f"{name} is {sign}" for name, sign in zip(names[:8], SIGNS, strict=False))
    _LOG.warning("a letter of JFLAP is one character: %s%s", said, " …" if len(names) > 8 else "")
    return SIGNS[: len(names)]


def jff_text(automaton: Semiautomaton) -> str:
    """The automaton for JFLAP; states observed as 1 are final. Letters with longer names become a, b, c …"""
    from xml.sax.saxutils import escape, quoteattr  # loads urllib and http as well

    seen = automaton.observe or (0,) * automaton.num_states
    if automaton.observe is not None and not accepts_words(automaton):
        raise InvalidInput(
            "JFLAP marks states as final or not, so observations must be 0 or 1; write .json, which keeps all"
        )
    letters = _letters(automaton)
    places = places_of(automaton) if automaton.num_states <= MAX_DRAWN else None
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', "<!-- by krohn -->", "<structure>", "<type>fa</type>"]
    lines.append("<automaton>")
    for state, name in enumerate(automaton.state_names):
        x, y = places[state] if places else (120.0 * (state % 30), 120.0 * (state // 30))
        marks = ("<initial/>" if state == automaton.start else "") + ("<final/>" if seen[state] else "")
        inside = f"<x>{x:.1f}</x><y>{y:.1f}</y>{marks}"
        lines.append(f'<state id="{state}" name={quoteattr(name)}>{inside}</state>')
    for state, row in enumerate(automaton.table.tolist()):
        for letter, target in zip(letters, row, strict=True):
            ends = f"<from>{state}</from><to>{target}</to>"
            lines.append(f"<transition>{ends}<read>{escape(letter)}</read></transition>")
    return "\n".join([*lines, "</automaton>", "</structure>", ""])

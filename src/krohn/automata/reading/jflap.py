"""JFLAP's automaton files (``.jff``): only elements and text are read; state positions are written.

A letter is one character, so an arrow labelled ``ab`` reads an a, then a b.
"""

import logging
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from krohn.automata.diagram import MAX_DRAWN, accepts_words, places_of
from krohn.automata.reading.arrows import Arrows, distinct
from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, InvalidInput, LimitExceeded

MAX_JFF_BYTES = 4_000_000
MAX_DEPTH, MAX_ELEMENTS = 16, 200_000
MAX_LABEL = 100
SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_LOG = logging.getLogger(__name__)


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


def read_jff(data: bytes) -> Arrows:
    """The arrows in the bytes of a ``.jff`` file; a letter is one character."""
    if len(data) > MAX_JFF_BYTES:
        raise LimitExceeded(f"a .jff file must have at most {MAX_JFF_BYTES:,} bytes; it has {len(data):,}")
    root = _read(data)
    kind = _one(root, "type")
    if root.tag != "structure" or kind not in {"fa", None}:
        raise InvalidAutomaton(
            f"a .jff file must hold a finite automaton (type fa); got {shown(kind or root.tag)}"
        )
    inside = root.find("automaton")
    return _arrows(root if inside is None else inside)


def _arrows(element: Element) -> Arrows:
    """States in the order of the file; an arrow that reads several letters goes through new states."""
    states = element.findall("state") + element.findall("block")
    ids = [state.get("id", "") for state in states]
    if not states or len(set(ids)) < len(ids):
        raise InvalidAutomaton("a .jff file must have states, each with an id of its own")
    written = distinct([state.get("name") or f"q{state.get('id')}" for state in states])
    name = dict(zip(ids, written, strict=True))
    starts = [name[state.get("id", "")] for state in states if state.find("initial") is not None]
    if len(starts) != 1:
        raise InvalidAutomaton(f"a .jff file must mark one initial state; got {len(starts)}")
    final = {name[state.get("id", "")] for state in states if state.find("final") is not None}
    read, taken = Arrows(starts=starts, final=final, states=written), set(written)
    steps: dict[tuple[str, str], str] = {}
    for arrow in element.findall("transition"):
        source, target = (name[_end(arrow, end, name)] for end in ("from", "to"))
        label = _one(arrow, "read") or ""
        if len(label) > MAX_LABEL:
            raise LimitExceeded(f"an arrow may read at most {MAX_LABEL} letters; one reads {len(label):,}")
        if label.split() not in ([], [label]):
            raise InvalidAutomaton(f"arrows must read letters without spaces; got {shown(label)}")
        first = source
        for place in range(1, len(label)):
            key = (first, label[:place])
            if key not in steps:
                if len(read.states) > MAX_ELEMENTS:
                    raise LimitExceeded(f"arrows may go through {MAX_ELEMENTS:,} states; here are more")
                inner = f"{first[:MAX_LABEL]}.{label[:place]}"
                steps[key] = inner if inner not in taken else f"{inner}#{len(read.states)}"
                taken.add(steps[key])
                read.states.append(steps[key])
                read.add(source, label[place - 1], steps[key])
            source = steps[key]
        read.add(source, label[-1:] or None, target)
    return read


def _end(arrow: Element, end: str, name: dict[str, str]) -> str:
    given = _one(arrow, end)
    if given is None or given not in name:
        raise InvalidAutomaton(f"<{end}> of a transition must be the id of a state; got {shown(given)}")
    return given


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

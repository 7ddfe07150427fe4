"""HOA, the format of ω-automata, read as a finite machine: letters are classes of valuations.

What an infinite word needs is not modelled. If marks of one set are meant, a finite word is accepted where
its last state or arrow is marked; marks of several sets are shown.
"""

import re

from krohn.automata.reading.arrows import Arrows
from krohn.automata.reading.valuations import MAX_LABELS, classes, every, variable
from krohn.base.files import shown
from krohn.errors import InvalidAutomaton, LimitExceeded

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_HEADER = re.compile(rf"^\s*([A-Za-z_][\w-]*):([^\"\n]*(?:{_STRING}[^\"\n]*)*)", re.MULTILINE)
_ITEM = re.compile(
    rf"State:\s*(?:\[([^]]*)\])?\s*(\d+)\s*(?:{_STRING})?\s*(\{{[^}}]*\}})?"
    r"|(?:\[([^]]*)\])?\s*(\d+(?:\s*&\s*\d+)*)\s*(\{[^}]*\})?|(\S)"
)
_SIGN = re.compile(r"\s*(?:(@[\w.-]+|\d+|[tf](?!\w))|([!&|()]))")
_BINDS = {"|": 1, "&": 2, "!": 3}


def read_hoa(text: str) -> Arrows:
    """The arrows of the body; several starts and arrows are a nondeterministic machine."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    head, _, body = text.partition("--BODY--")
    if not head.lstrip().startswith("HOA:"):
        raise InvalidAutomaton("a HOA file must begin with HOA: v1")
    lines = [(key, value.strip()) for key, value in _HEADER.findall(head)]
    header = dict(lines)
    bits = len(re.findall(_STRING, header.get("AP", "")))
    starts = [value for key, value in lines if key == "Start"]
    if any("&" in value for value in starts):
        raise InvalidAutomaton("a HOA file must not branch universally; this one alternates in its start")
    labels = _Labels(bits)
    for key, value in lines:
        if key == "Alias":
            name, _, label = value.partition(" ")
            labels.known[name] = labels.value(label)
    acceptance = header.get("Acceptance", "0 t").split()[0]
    return _arrows(
        body.partition("--END--")[0], labels, starts, int(acceptance[:9]) if acceptance.isdigit() else 0
    )


def _arrows(body: str, labels: "_Labels", starts: list[str], sets: int) -> Arrows:
    """The machine, in which a mark of the only set is a final state, and marks of several are outputs."""
    found: list[tuple[str, int, str, str]] = []
    marks: dict[str, str] = {}
    state, own, implicit = "", None, 0
    for match in _ITEM.finditer(body):
        label, target, mark = match[4], match[5], match[6]
        if match[7]:
            raise InvalidAutomaton(
                f"the body of a HOA file must have states and arrows; got {shown(match[7])}"
            )
        if match[2] is not None:
            state, own, implicit = match[2], match[1], 0
            marks[state] = _set_of(match[3])
            continue
        if not state or "&" in target:
            raise InvalidAutomaton("an arrow must belong to a state and lead to one; this file alternates")
        guard = own if label is None else label
        if guard is None:
            value = 1 << (implicit & ((1 << labels.bits) - 1))
            implicit += 1
        else:
            value = labels.value(guard)
        found.append((state, value, target, _set_of(mark)))
    letters = classes((value for _, value, _, _ in found), labels.bits)
    reads = {value: [name for block, name in letters if block & value] for value in {row[1] for row in found}}
    read = Arrows(starts=[value.split()[0] for value in starts if value], states=list(marks))
    read.notes.append("read as a finite machine: what it demands of infinite words is not modelled")
    on_arrows = any(mark for *_, mark in found)
    if sets <= 1 and not on_arrows:
        read.final = {state for state, mark in marks.items() if mark or not sets}
    elif sets <= 1:  # the mark of an arrow goes to a copy of the state that it leads to
        read.final = {f"{target}/marked" for _, _, target, mark in found if mark}
        copies = [(s, value, f"{t}/marked" if mark else t) for s, value, t, mark in found]
        more = {target.removesuffix("/marked") for target in read.final}
        copies += [(f"{s}/marked", value, t) for s, value, t in copies if s in more]
        for source, value, target in copies:
            for name in reads[value]:
                read.add(source, name, target)
        return read
    elif not on_arrows:
        read.shown = {state: mark or "none" for state, mark in marks.items()}
    for source, value, target, mark in found:
        for name in reads[value]:
            read.add(source, name, target, (mark or "none") if on_arrows else None)
    return read


def _set_of(mark: str | None) -> str:
    return ",".join((mark or "").strip("{} ").split())


class _Labels:
    """Values of labels as sets of valuations."""

    def __init__(self, bits: int) -> None:
        self.bits, self.everything = bits, every(bits)
        self.known = {str(index): variable(index, bits) for index in range(bits)}
        self.known |= {"t": self.everything, "f": 0}
        self.cache: dict[str, int] = {}

    def value(self, label: str) -> int:
        """The valuations that the label lets pass: ``!`` binds most, then ``&``, then ``|``."""
        label = label.strip()
        if label not in self.cache:
            if len(self.cache) >= MAX_LABELS or len(label) > MAX_LABELS:
                raise LimitExceeded(
                    f"a HOA file may have {MAX_LABELS:,} labels of that many signs; here are more"
                )
            self.cache[label] = self._value(label)
        return self.cache[label]

    def _value(self, label: str) -> int:
        values, waiting = list[int](), list[str]()
        operand = True  # whether one must come next
        place = 0
        while place < len(label):
            match = _SIGN.match(label, place)
            if match is None or operand != (match[1] is not None or match[2] in "!("):
                break
            place = match.end()
            if match[1] is not None:
                if match[1] not in self.known:
                    break
                values.append(self.known[match[1]])
                operand = False
            elif match[2] in "!(":
                waiting.append(match[2])
            elif match[2] == ")":
                while waiting and waiting[-1] != "(":
                    self._apply(waiting.pop(), values)
                if not waiting:
                    break
                waiting.pop()
            else:
                while waiting and waiting[-1] != "(" and _BINDS[waiting[-1]] >= _BINDS[match[2]]:
                    self._apply(waiting.pop(), values)
                waiting.append(match[2])
                operand = True
        else:
            while waiting and waiting[-1] != "(":
                self._apply(waiting.pop(), values)
            if not waiting and len(values) == 1:
                return values[0]
        raise InvalidAutomaton(
            "a label must be made of numbers of propositions, aliases, t, f, ! & | and parentheses; "
            f"got {shown(label)}"
        )

    def _apply(self, sign: str, values: list[int]) -> None:
        last = values.pop()
        if sign == "!":
            values.append(self.everything & ~last)
        else:
            other = values.pop()
            values.append(other & last if sign == "&" else other | last)

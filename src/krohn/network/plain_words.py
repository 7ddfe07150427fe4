"""What registers and heads do in plain sentences, for students: the words of pages and of the terminal.

Most sentences stand beside the kinds of meanings (``register_kinds.KINDS``). Here is what depends on the
network as well: what letters add to a counter, the cosets that a tower of counters names, what heads fetch.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.layout import Layout
from krohn.network.operations import AttentionOperation, EndWrite, LookBack, PlaceSum, PrefixSum
from krohn.network.program import Meaning, Program
from krohn.network.register_kinds import KINDS

SUMS = {
    "is": ("how often {either} has come", "how many {of} so far"),
    "move": ("the sum of all moves, as if there were no walls",),
    "rise": ("brackets opened minus brackets closed",),
    "step ahead": ("the sum of that so far",),
    "step": ("{added}",),
}
"""What the sum of a register is, by its kind."""

FETCHED = {
    "visit": ("finds the last time it stood {number} below this, on the circle",),
    "axis visit": ("finds the last time it stood {start} below this on axis {number}, on the circle",),
    "held": ("finds the bracket opened last at height {number}",),
    "removed": ("finds the bracket that this letter would close",),
    "failed": ("looks for a mistake",),
    "memory": ("finds the value written last",),
    "place of reset": ("finds where it was written",),
    "latest letter": ("finds the last {either}", "finds the last of {of}"),
    **dict.fromkeys(("residue of", "folded place of"), ("finds {of}",)),
}
"""What a head does that fetches a register, by its kind."""


class Described(Protocol):
    """A network whose parts have meanings; not its class, which uses these words to show itself."""

    @property
    def automaton(self) -> Semiautomaton: ...  # noqa: D102
    @property
    def program(self) -> Program | None: ...  # noqa: D102
    @property
    def layout(self) -> Layout: ...  # noqa: D102
    @property
    def meanings(self) -> Mapping[str, Meaning]: ...  # noqa: D102


def register_words(network: Described) -> dict[str, str]:
    """What the registers hold, by name."""
    words = Wording(network.automaton, network)
    return {name: words.of(meaning) for name, meaning in words.meanings.items()}


ASIDES = (": ", "? ", ", depending on", ", given the counters", ", as a number")


def register_titles(network: Described) -> dict[str, str]:
    """Short forms of the sentences about registers, for tables and formulas; numbered where alike."""
    seen, titles = Counter[str](), dict[str, str]()
    for name, text in register_words(network).items():
        for aside in ASIDES:
            text = text.partition(aside)[0]
        text = text.removeprefix("1 if ")
        seen[text] += 1
        titles[name] = text if seen[text] == 1 else f"{text} ({seen[text]})"
    return titles


def head_words(network: Described) -> list[list[str]]:
    """What the heads of each layer look for; a head without an operation keeps its description."""
    if network.program is None:
        return [[head.text for head in layer] for layer in network.layout.heads]
    words = Wording(network.automaton, network)
    return [
        [
            "; ".join(dict.fromkeys(words.of_head(layer.attention[n]) for n in head.operations)) or head.text
            for head in heads
        ]
        for layer, heads in zip(network.program.layers, network.layout.heads, strict=True)
    ]


class Wording:
    """Sentences for meanings: of features of an automaton, or of the registers of a network for it."""

    def __init__(self, automaton: Semiautomaton, network: Described | None = None) -> None:
        self.automaton = automaton
        self.meanings: Mapping[str, Meaning] = {} if network is None else network.meanings
        sources = network.program.sources if network and network.program else ()
        self.brought = {self.meanings[source.register]: source.letters for source in sources}

    def of(self, meaning: Meaning) -> str:
        """What a register with this meaning holds."""
        texts, inner = KINDS[meaning.kind][1:], meaning.of[0] if meaning.of else meaning
        if meaning.kind == "sum" and inner.kind in SUMS:
            meaning, texts = inner, SUMS[inner.kind]
        elif meaning.kind == "sum at places" and inner.kind == "step at places":
            meaning, texts = inner, ("{added at places}",)
        elif meaning.kind == "back" and inner.kind in ("letter", "symbol"):
            texts = ("the letter before" if meaning.number == 1 else "the letter {number} places back",)
        elif meaning.kind == "back" and inner.kind == "point":
            texts = ("where {window} {point}",)
        return self._said(meaning, texts)

    def of_head(self, operation: AttentionOperation) -> str:
        """``1 back: symbol`` is ``looks at the letter before``."""
        targets = [self.meanings[name] for name in operation.targets]
        if any(target.kind == "named" for target in targets):
            return operation.describe()
        if isinstance(operation, (PrefixSum, PlaceSum)):
            return "; ".join(dict.fromkeys(f"{_verb(words)} {words}" for words in map(self.of, targets)))
        if isinstance(operation, LookBack):
            if targets[0].kind == "map before" or any(each.kind == "point" for each in targets[0].of):
                subject, several = _window(targets[0])
                verb = "do" if several else "does"
                return f"fetches what {subject} {verb} to each {self._points(targets[0])}"
            return f"looks at {' and '.join(dict.fromkeys(map(self.of, targets)))}"
        if all(target.kind in FETCHED for target in targets):
            return "; ".join(dict.fromkeys(self._said(target, FETCHED[target.kind]) for target in targets))
        if isinstance(operation, EndWrite):
            which = "first" if operation.end == "earliest" else "last"
            return f"finds the {which} {' and '.join(self._marked(name) for name in operation.flags)}"
        return operation.describe()

    def _marked(self, flag: str) -> str:
        """A position where a flag is 1: the letters there, where these decide."""
        meaning = self.meanings[flag]
        if meaning.kind == "is" and meaning.of[0].letters:
            return _either(meaning.of[0].letters)
        words = self.of(meaning)
        return f"place where {words.removeprefix('1 if ')}" if words.startswith("1 if ") else f"1 of: {words}"

    def _said(self, meaning: Meaning, texts: Sequence[str]) -> str:
        """The last of the texts is for a set of letters that is described, not listed."""
        listed = not meaning.of or meaning.of[0].kind in ("letters", "is")
        back = f", {meaning.lag} back" if meaning.lag else ""
        parts = "".join(f" (part {int(step) + 1})" for step in meaning.part if step.isdecimal())
        return texts[0 if listed else -1].format_map(_WordParts(self, meaning)) + back + parts

    def counter(self, meaning: Meaning) -> tuple[str, str, str]:
        """A counter of a group: what a letter adds, the sum of that, and its remainder."""
        letters = self.brought.get(replace(meaning, kind="step"))
        return self._wheel(meaning) if letters is None else self._sum(letters, meaning.modulus or 1)

    def _sum(self, values: tuple[int, ...], modulus: int) -> tuple[str, str, str]:
        """A counter that the letter alone moves."""
        names = self.automaton.letter_names
        if self._is_sign(values):
            step, added = (
                "1 if the letter is an odd permutation",
                "how many letters so far were odd permutations",
            )
            return step, added, "how many swaps so far, mod 2: whether the order is even or odd"
        if set(values) == {1}:
            step, added = "1 for every letter", "how many letters so far"
        elif set(values) == {0, 1}:
            one = _either(name for name, value in zip(names, values, strict=True) if value)
            step, added = f"1 if the letter is {one}", f"how often {one} has come"
        else:
            return self._weigh(values, modulus)
        return step, added, f"{added}, mod {modulus}"

    def _weigh(self, values: tuple[int, ...], modulus: int) -> tuple[str, str, str]:
        """A counter by what each letter adds; the remainder does not depend on the sign of a step."""
        residues = tuple(value % modulus for value in values)
        numbers = self.automaton.letter_names == tuple(map(str, residues))
        if numbers and values == residues:
            added = "the sum of the letters so far"
            return "the number that the letter adds", added, f"{added}, mod {modulus}"
        left = f"what the letters so far add up to, modulo {modulus}: {self.values(residues)}"
        return (
            f"a number for each letter: {self.values(values)}",
            f"what the letters so far add up to: {self.values(values)}",
            f"the sum of the letters so far, mod {modulus}" if numbers else left,
        )

    def _wheel(self, meaning: Meaning) -> tuple[str, str, str]:
        """A counter that the letter moves depending on the counters before: a coset, once all are known."""
        counters = [m for m in self.meanings.values() if m.kind == "counter" and m.tower == meaning.tower]
        here = sum(counter.section == meaning.section for counter in counters)
        kind = "switch" if meaning.modulus == 2 else f"wheel of {meaning.modulus}"
        this = f"{kind} {meaning.number}" if meaning.number else f"the {kind}"
        if meaning.modulus == 2:
            step, added = f"1 if the letter flips {this}, ", f"how often {this} has been flipped"
        else:
            step, added = f"how far the letter turns {this}, ", f"how far {this} has been turned in all"
        step += "depending on the counters before"
        title = f"{kind} {meaning.number} of {here}" if meaning.number else f"a {kind}"
        known = [c.modulus or 1 for c in counters if (c.section or 0) <= (meaning.section or 0)]
        cosets, states = math.prod(known), self.automaton.num_states
        if math.prod(c.modulus or 1 for c in counters) != states or any(
            len(set(letter)) < states for letter in self.automaton.letters
        ):
            return step, added, f"{title}: the counters before decide how a letter moves it"
        those = "it says" if here == 1 else "both say" if here == 2 else f"all {here} say"
        what = "which state it is" if cosets == states else f"in which of {cosets} cosets the state lies"
        return step, added, f"{title}: with the counters before, {those} {what}"

    def point(self, meaning: Meaning) -> str:
        """What a scan follows: states, or chairs where people change places."""
        scanned = meaning.of[0] if meaning.of else meaning
        names, state = self.automaton.state_names, scanned.state
        if state is not None:
            return f"state {names[state] if state < len(names) else state}"
        return f"{self._points(meaning)} {scanned.number}"

    def _points(self, meaning: Meaning) -> str:
        scanned = meaning.of[0] if meaning.of else meaning
        return "state" if scanned.state is not None else "chair" if self._seats else "point"

    @property
    def _seats(self) -> bool:
        """Whether letters are permutations written as digits."""
        names = self.automaton.letter_names
        digits = [str(place) for place in range(len(names[0]))]
        return len(digits) > 1 and all(sorted(name) == digits for name in names)

    def values(self, values: tuple[int, ...]) -> str:
        """What letters add, where it is not 0: the first four."""
        named = [
            f"{name} adds {'−' if value < 0 else ''}{abs(value)}"
            for name, value in zip(self.automaton.letter_names, values, strict=True)
            if value
        ]
        return ", ".join(named[:4]) + (", …" if len(named) > 4 else "")

    def _is_sign(self, values: tuple[int, ...]) -> bool:
        """Whether letters are permutations written as digits, and the value is 1 for the odd ones."""
        names = self.automaton.letter_names
        if not self._seats:
            return False
        odd = [sum(a > b for i, a in enumerate(name) for b in name[i + 1 :]) % 2 for name in names]
        return any(odd) and tuple(odd) == tuple(values)


class _WordParts(dict[str, str]):
    """What the template of a sentence asks for."""

    def __init__(self, words: Wording, meaning: Meaning) -> None:
        super().__init__()
        self.words, self.meaning = words, meaning

    def __missing__(self, key: str) -> str:
        words, meaning, of = self.words, self.meaning, self.meaning.of
        match key:
            case "of" | "second":
                part = of[key == "second"]
                return _either(part.letters) if part.kind == "letters" else words.of(part)
            case "own":
                return _either(meaning.letters)
            case "listed":
                return ", ".join(meaning.letters)
            case "either":
                return _either(_innermost(meaning).letters)
            case "state":
                return words.point(meaning).removeprefix("state ")
            case "point":
                return words.point(meaning)
            case "window":
                subject, several = _window(meaning)
                return f"{subject} {'take' if several else 'takes'}"
            case "acting":
                doing = "what the letter does, given the counters before"
                return "the letter" if meaning.section == 1 else doing
            case "counter":
                return words.counter(meaning)[0 if meaning.kind == "step" else 2]
            case "added":
                return words.counter(meaning)[1]
            case "added at places":
                added = words._sum(words.brought[meaning], meaning.modulus or 1)[1]
                return f"{added}, at places of kind {meaning.start}"
            case "moves":
                brought = words.brought.get(meaning)
                return "" if brought is None else f": {words.values(brought)}"
            case "folded":
                if meaning.modulus == 1:
                    return f"but at most {meaning.start}"
                return f"from {meaning.start} on mod {meaning.modulus}"
            case "counted":
                return _counted(meaning)
        return str(getattr(meaning, key))


def _innermost(meaning: Meaning) -> Meaning:
    """What the others are of, by the first each time."""
    while meaning.of:
        meaning = meaning.of[0]
    return meaning


def _window(meaning: Meaning) -> tuple[str, bool]:
    """The letters that a map belongs to, and whether they are several."""
    count, last = meaning.length or 0, meaning.start or 0
    if meaning.kind in ("point", "map"):
        return ("this letter", False) if count == 1 else (f"the last {count} letters", True)
    if meaning.kind == "back":
        count, last = meaning.of[0].length or 0, meaning.number or 0
    elif meaning.kind == "map before":
        last = count
    else:
        count -= last
    if count == 1:
        return ("the letter before" if last == 1 else f"the letter {last} places back"), False
    return f"the {count} letters before {'those' if count == last else f'the last {last}'}", True


def _counted(meaning: Meaning) -> str:
    """Of letters that count at some positions only: they come out of turn there, or just count there."""
    if meaning.kind == "place flag":
        return "would be out of turn" if meaning.of[0].kind == "wrong letters" else "is counted"
    wrong = any(each.kind == "wrong letters" for each in meaning.of[1].of)
    return "came out of turn" if wrong else "has come where it is counted"


def _either(names: Iterable[str]) -> str:
    """``a``, ``a or b``, ``one of 7 letters (a, b, c, …)``."""
    names = list(names)
    if len(names) > 4:
        return f"one of {len(names)} letters ({', '.join(names[:3])}, …)"
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _verb(words: str) -> str:
    return "counts" if words.startswith(("how often", "how many")) else "works out"

"""What a register must hold, computed from the fields of its meaning and the word alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.program import Meaning

Word = Sequence[str]


def naive(meaning: Meaning, word: Word, automaton: Semiautomaton) -> int | None:
    """The value at the last letter of the word; ``None`` where the fields alone do not say it."""
    t, of = len(word), meaning.of
    match meaning.kind:
        case "position":
            return t
        case "position from 0":
            return t % meaning.modulus
        case "position from 1":
            return 1 + (t - 1) % meaning.modulus
        case "folded position":
            return folded(t, meaning)
        case "is" | "writes":
            return member(of[0], word, t)
        case "sum" | "number" if of[0].kind in ("is", "letters", "alternating", "at place"):
            return count(of[0].of[0] if of[0].kind == "is" else of[0], word)
        case "count":
            total = count(of[0], word)
            return None if total is None else total % meaning.modulus
        case "ever" | "count up to":
            total = count(of[0], word)
            return None if total is None else min(total, meaning.number or 1)
        case "place flag" if of[0].kind == "at place":
            return int(t == of[0].number)
        case "residue of" | "folded place of":
            where = place(of[0], word)
            return folded(where, meaning) if where is not None else None
        case "point" | "map" if meaning.state is not None and t >= meaning.length:
            return after(automaton, meaning.state, word[t - meaning.length :])
        case "earlier point" if meaning.state is not None and t >= meaning.length:
            return after(automaton, meaning.state, word[t - meaning.length : t - meaning.start])
        case "map before" if t >= 2 * meaning.length:
            return after(automaton, meaning.state, word[t - 2 * meaning.length : t - meaning.length])
        case "back" if t > meaning.number:
            return naive(of[0], word[: t - meaning.number], automaton)
        case "state" | "read off" if not meaning.part:
            return after(automaton, automaton.start, word)
        case "failed" if not meaning.part:
            state = after(automaton, automaton.start, word)
            return int(all(letter[state] == state for letter in automaton.letters))
        case "bracket" | "act" | "rise" | "height" | "error" | "removed" | "held" | "on stack" if (
            automaton.name.startswith("Dyck")
        ):
            return on_stack(meaning, word, int(automaton.name.removeprefix("Dyck").partition(",")[0]))
    return None


OPENING, CLOSING = "([", ")]"


def on_stack(meaning: Meaning, word: Word, top: int) -> int | None:
    """What is said of a stack of at most ``top`` brackets, up to the first mistake; then nothing is said."""
    stack: list[int] = []
    latest: dict[int, int] = {}
    closed = None
    for t, name in enumerate(word, 1):
        opens, kind = name in OPENING, (OPENING + CLOSING).index(name) % 2
        mistake = len(stack) == top if opens else not stack or stack[-1] != kind
        if mistake and t < len(word):
            return -1 if (meaning.kind, meaning.number) == ("on stack", 1) else None
        if mistake:
            break
        closed = None if opens else stack.pop()
        if opens:
            stack.append(kind)
            latest[len(stack)] = kind
    height = sum(1 if name in OPENING else -1 for name in word)
    facts = {"bracket": kind, "act": int(opens), "rise": 1 if opens else -1, "error": int(mistake)}
    if meaning.kind in facts:
        return facts[meaning.kind]
    if meaning.kind == "height":
        return height
    if mistake:
        return -1 if (meaning.kind, meaning.number) == ("on stack", 1) else None
    match meaning.kind:
        case "removed":
            return closed
        case "held":
            return latest.get(meaning.number)
    return 1 + stack[meaning.number - 1] if meaning.number <= len(stack) else 0


Values = Sequence[int]


def related(meaning: Meaning, held: Mapping[Meaning, Values], size: int) -> list[int | None] | None:
    """The values at all positions, padding too, from those of other registers; ``None`` if not said.

    ``size`` is the number of places of a line with walls.
    """

    def other(kind: str, **changes: int | None) -> Values | None:
        return held.get(replace(meaning, kind=kind, **changes))

    def latest(keys: Values, wanted: Values, values: Values) -> list[int | None]:
        """The value where the key was last the one that is wanted now."""
        found = [[p for p in range(t + 1) if keys[p] == wanted[t]] for t in range(len(keys))]
        return [values[places[-1]] if places else None for places in found]

    match meaning.kind:
        case "memory":
            flags, written = other("reset"), other("written") or other("target")
            return latest(flags, [1] * len(flags), written)
        case "place of reset":
            flags = other("reset", modulus=None)
            return latest(flags, [1] * len(flags), [t % meaning.modulus for t in range(len(flags))])
        case "counter":
            steps = other("step")
            return None if steps is None else [total % meaning.modulus for total in accumulate(steps)]
        case "unclamped":
            totals = [*accumulate(other("move", modulus=None))]
            start = held[meaning][0]
            return [(start + total - totals[0]) % meaning.modulus for total in totals]
        case "axis sum":
            return [*accumulate(other("axis move"))]
        case "axis key":
            return [total % size for total in other("axis sum")]
        case "axis visit":
            keys = other("axis key", start=None)
            return latest(keys, [(key - meaning.start) % size for key in keys], other("axis sum", start=None))
        case "axis bit":
            return [int(place >= meaning.start) for place in other("axis state", start=None)]
        case "axis state":
            place, moves, walk = 0, other("axis move"), list[int | None]()
            for move in moves:
                place = min(max(place + move, 0), size - 1)
                walk.append(place)
            return walk
    return None


def member(letters: Meaning, word: Word, t: int) -> int | None:
    """Whether the letter at position t is one of the set."""
    match letters.kind:
        case "letters":
            return int(word[t - 1] in letters.letters)
        case "at place":
            return int(t == letters.number and word[t - 1] in letters.letters)
        case "alternating":
            return int(word[t - 1] in letters.of[1 - t % 2].letters)
    return None


def count(letters: Meaning, word: Word) -> int | None:
    """How many letters so far are of the set."""
    each = [member(letters, word, t) for t in range(1, len(word) + 1)]
    return None if None in each else sum(each)


def place(mark: Meaning, word: Word) -> int | None:
    """The first or last position of a set of letters, 0 if there is none."""
    if mark.of[0].kind != "letters":
        return None
    positions = [t for t in range(1, len(word) + 1) if member(mark.of[0], word, t)]
    return (positions[0] if mark.kind == "first" else positions[-1]) if positions else 0


def folded(t: int, meaning: Meaning) -> int:
    """Exact up to some position, then modulo the period."""
    early = meaning.start or 1
    while t >= early + meaning.modulus:
        t -= meaning.modulus
    return t


def after(automaton: Semiautomaton, state: int, word: Word) -> int:
    """Where the letters lead."""
    for name in word:
        state = automaton.step(state, automaton.letter_names.index(name))
    return state

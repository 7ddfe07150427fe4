"""Resolves names: the families of the zoo, one per row, and patterns, tables and files.

Every public function accepts an automaton as an object, a name or a file (``as_automaton``).
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, overload

import numpy as np

from krohn.automata.boolean import FORMS, combined, parts_of
from krohn.automata.brackets import dyck
from krohn.automata.files import FILES, automaton_from_payload, load_automaton
from krohn.automata.gridworlds import grid
from krohn.automata.groups import cyclic, dihedral, quaternion
from krohn.automata.observations import boundary, by_number, first_element, relative, stack_top
from krohn.automata.permutations import alternating, permutation_reset, symmetric
from krohn.automata.products import direct_product
from krohn.automata.reading.arrows import finish
from krohn.automata.reading.objects import PACKAGES, read_object
from krohn.automata.regular import from_regex
from krohn.automata.rubik import rubik
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.textbook import abab, adder, counter, full_monoid, memory, parity, write_once
from krohn.base.notebook import Rows, table
from krohn.base.plugins import Plugins, instance_of
from krohn.base.typed import plainly
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, UnknownName, counted

Observation = Callable[[Semiautomaton], list[int]]

_N = r"([0-9]{1,30})"  # ASCII digits; the size check refuses what is too large
_MAX_FACTORS = 16


@dataclass(frozen=True)
class Family:
    """Automata whose names follow one pattern.

    Attributes:
        form: how its names look.
        pattern: the regular expression of its names; its groups are the arguments of ``build``.
        build: makes the automaton.
        summary: a one-line description.
        examples: the names that ``krohn zoo`` lists.
        observations: observation maps by name, selected as ``NAME@OBSERVATION``.
        sentence: what one of them is and what a letter does, for students; called with the automaton and the
            arguments of ``build``.
    """

    form: str
    pattern: str
    build: Callable[..., Semiautomaton]
    summary: str
    examples: tuple[str, ...]
    observations: Mapping[str, Observation] = field(default_factory=dict)
    sentence: Callable[..., str] | None = None


def _cyclic(n: str, letters: str | None) -> Semiautomaton:
    return cyclic(int(n), None if letters is None else (0, 1))


def _grid(sides: str, noop: str | None) -> Semiautomaton:
    return grid(*map(int, sides.split("x")), noop=noop is not None)


def _grid_sentence(automaton: Semiautomaton, sides: str, noop: str | None) -> str:
    if "x" in sides:
        return "A robot on a board: a letter moves it one square, and walls stop it."
    return f"A robot on a line of {int(sides)} squares: L and R move it one square, and walls stop it."


def _symmetric_sentence(automaton: Semiautomaton, n: str, letters: str | None) -> str:
    swap = "10" + "".join(map(str, range(2, int(n))))
    known = f" ({swap} swaps the first two)" if swap in automaton.letter_names else ""
    return (
        f"{int(n)} people in {int(n)} chairs: a letter says how they change places{known}, and the "
        "state is their order."
    )


FAMILIES = (
    Family(
        "Cn, Cn:01",
        rf"C{_N}(:01)?",
        _cyclic,
        "cyclic group; letters are all n elements, or 0 and 1",
        (*(f"C{n}" for n in range(2, 9)), "C5:01"),
        {"zero": by_number(lambda q, n: int(q == 0))},
        sentence=lambda automaton, n, letters: (
            f"A counter from 0 to {int(n) - 1} that starts again at 0: each letter is a number that is added."
        ),
    ),
    Family(
        "D2n",
        rf"D{_N}",
        lambda order: dihedral(int(order)),
        "dihedral group of that order: toggle the direction, drive one place on",
        ("D6", "D8"),
        {"location": by_number(lambda q, n: q % (n // 2)), "toggle": by_number(lambda q, n: q // (n // 2))},
        sentence=lambda automaton, order: (
            f"A car on a round road with {int(order) // 2} places: toggle turns it round, drive moves "
            "it one place ahead."
        ),
    ),
    Family(
        "An, An:LETTERS",
        rf"A{_N}(?::(.+))?",
        lambda n, letters: alternating(int(n), letters or "paper"),
        "alternating group acting on itself; letters are the 3-cycles (1 2 i)",
        ("A4", "A5"),
        {"first": first_element, "relative": relative},
        sentence=lambda automaton, n, letters: (
            f"{int(n)} people in {int(n)} chairs, of whom a letter moves three around: the state is "
            "their order."
        ),
    ),
    Family(
        "Sn, Sn:LETTERS",
        rf"S{_N}(?::(.+))?",
        lambda n, letters: symmetric(int(n), letters or "paper"),
        "symmetric group acting on itself; letters are a swap, a cycle and six more",
        ("S3", "S4", "S5"),
        {"first": first_element, "relative": relative},
        sentence=_symmetric_sentence,
    ),
    Family(
        "Q8",
        "Q8",
        quaternion,
        "quaternion group; letters 1, i, j, k",
        ("Q8",),
        sentence=lambda automaton: (
            "The eight unit quaternions ±1, ±i, ±j, ±k: a letter multiplies from the right."
        ),
    ),
    Family(
        "Dyckn,k",
        rf"Dyck{_N},{_N}",
        lambda depth, kinds: dyck(int(depth), int(kinds)),
        "stack of at most n brackets of k types; illegal moves lead to a sink",
        ("Dyck4,2", "Dyck4,8"),
        {"top": stack_top},
        sentence=lambda automaton, depth, kinds: (
            f"A stack of at most {int(depth)} open brackets: a letter opens a bracket or closes the "
            "last one; a wrong one leads to a state that nothing leaves."
        ),
    ),
    Family(
        "Gridn, GridAxB, Grid…:noop",
        r"Grid([0-9]{1,30}(?:x[0-9]{1,30}){0,7})(:noop)?",
        _grid,
        "gridworld on a line, in the plane, in a box",
        ("Grid4", "Grid9", "Grid9:noop", "Grid3x4"),
        {"boundary": boundary},
        sentence=_grid_sentence,
    ),
    Family(
        "FlipFlop",
        "FlipFlop",
        lambda: memory(2, "FlipFlop"),
        "memory of one of two values",
        ("FlipFlop",),
        sentence=lambda automaton, *n: (
            "A memory of one value: a letter writes a value, or leaves the last one."
        ),
    ),
    Family(
        "Memoryn",
        rf"Memory{_N}",
        lambda n: memory(int(n)),
        "memory of one of n values",
        ("Memory3",),
        sentence=lambda automaton, *n: (
            "A memory of one value: a letter writes a value, or leaves the last one."
        ),
    ),
    Family(
        "WriteOncen",
        rf"WriteOnce{_N}",
        lambda n: write_once(int(n)),
        "cell that keeps the first of n values written to it until it is cleared",
        ("WriteOnce2",),
        sentence=lambda automaton, n: "A cell that keeps the first value written to it until it is cleared.",
    ),
    Family(
        "abab",
        "abab",
        abab,
        "the language (abab)*",
        ("abab",),
        {"accept": by_number(lambda q, n: int(q == 3))},
        sentence=lambda automaton: (
            "Does the word read abab again and again? A letter out of turn spoils it for good."
        ),
    ),
    Family(
        "Parity",
        "Parity",
        parity,
        "parity of the ones",
        ("Parity",),
        sentence=lambda automaton: "Has 1 been read an even or an odd number of times?",
    ),
    Family(
        "Countern",
        rf"Counter{_N}",
        lambda n: counter(int(n)),
        "counter modulo n, one letter",
        ("Counter5",),
        sentence=lambda automaton, n: (
            f"A counter from 0 to {int(n) - 1} with one letter, which adds 1; after {int(n) - 1} comes 0."
        ),
    ),
    Family(
        "Add, Addk",
        rf"Add{_N}?",
        lambda addends: adder(int(addends or 2)),
        "binary adder with carry, of two or k numbers",
        ("Add",),
        {"digit": by_number(lambda q, n: q % 2), "carry": by_number(lambda q, n: q // 2)},
        sentence=lambda automaton, k: (
            "Binary addition, digit by digit: the state holds the digit written and the carry."
        ),
    ),
    Family(
        "Rubik",
        "Rubik",
        rubik,
        "the 3×3×3 cube on its 48 movable stickers",
        ("Rubik",),
        sentence=lambda automaton: "One sticker of Rubik's cube: a letter turns a face.",
    ),
    Family(
        "PermResetn",
        rf"PermReset{_N}(?::(.+))?",
        lambda n, letters: permutation_reset(int(n), letters or "minimal"),
        "permutations of n people and a reset to each of them",
        ("PermReset3", "PermReset5"),
        {"first": first_element},
        sentence=lambda automaton, n, letters: (
            f"{int(n)} people in {int(n)} chairs: a letter moves them, or sets them to one order."
        ),
    ),
    Family(
        "Tn",
        rf"T{_N}",
        lambda n: full_monoid(int(n)),
        "full transformation monoid on n points",
        ("T3",),
        sentence=lambda automaton, n: (
            f"A token on {int(n)} places: letters move it, and some of them join two places for good."
        ),
    ),
)
_PRODUCTS = ("C2xC2", "C2xC2xC2")
ADDED: Plugins[Family] = Plugins(
    "krohn.automata", "an automaton family", dict, instance_of(Family, "an automaton family")
)
"""Families of other packages."""


def families() -> Iterator[Family]:
    """All families: krohn's own, then those of other packages, loaded lazily."""
    yield from FAMILIES
    yield from ADDED.added().values()


class Zoo(Rows[str]):
    """The names, and the families they belong to."""

    def to_json(self) -> dict[str, Any]:
        """``automata``, one row for each name, and ``families``."""
        kinds = [
            {"form": family.form, "summary": family.summary, "observations": list(family.observations)}
            for family in families()
        ]
        return {"automata": self.rows(), "families": kinds}

    def text(self) -> str:
        """Both as tables."""
        named = table(
            ("name", "states", "letters"),
            [(row["name"], row["num_states"], row["num_letters"]) for row in self.rows()],
        )
        forms = table(
            ("form", "what it is", "observations"),
            [
                (one.form, one.summary, " ".join(f"@{name}" for name in one.observations))
                for one in families()
            ],
        )
        also = "Also: AxB (direct product), regex:PATTERN, table:ROWS, files (" + " ".join(FILES) + ")."
        return f"{named}\n\n{forms}\n\n{also}\nLetters of one: krohn zoo NAME"


@overload
def zoo() -> Zoo: ...
@overload
def zoo(name: str) -> Semiautomaton: ...
@plainly
def zoo(name: str | None = None) -> Semiautomaton | Zoo:
    """The automaton of that name: ``zoo("S4")``, ``zoo("C2xC2")``, ``zoo("Dyck4,8@top")``; else all names.

    A pattern, a table and a file will do, as for ``krohn zoo``. ``zoo().to_frame()`` lists the names with
    their numbers of states and letters.

    Example:
        >>> grid = krohn.zoo("Grid4")
        >>> grid.num_states, grid.letter_names, grid.run([1, 1, 0])
        (4, ('L', 'R'), [1, 2, 1])
    """
    if name is None:
        return Zoo(zoo_names(), lambda each: entry(named(each)))
    return parse_spec(name)


def named(name: str) -> Semiautomaton:
    """The automaton of a name; no file is read."""
    text, at, observation = name.partition("@")
    # A product sign precedes a letter, the next factor's first; the x in Grid3x4 precedes a digit.
    factors = re.split(r"x(?=[A-Z]|abab)", text)
    if len(factors) > _MAX_FACTORS:
        raise InvalidInput(f"a product may have at most {_MAX_FACTORS} factors; got {len(factors)}")
    if len(factors) > 1:
        if at:
            raise InvalidInput(f"an observation must belong to one named automaton; got the product {name!r}")
        return direct_product(*(_build_named(factor)[1] for factor in factors))
    family, automaton = _build_named(text)
    if not at:
        return automaton
    if observation not in family.observations:
        known = ", ".join(family.observations) or "none"
        raise UnknownName(f"the observations of {text} are: {known}; got {observation!r}")
    return replace(automaton, observe=tuple(family.observations[observation](automaton)), name=name)


def about(automaton: Semiautomaton) -> str:
    """One sentence: what the automaton is, and what a letter does."""
    name = (automaton.name or "").partition("@")[0]
    if name.startswith("regex:"):
        pattern = name.removeprefix("regex:")
        return f"Does the word read so far match {pattern}? The state is what must be remembered to tell."
    for family in families():
        if family.sentence is not None and (match := re.fullmatch(family.pattern, name)):
            return family.sentence(automaton, *match.groups())
    if parts_of(name):
        return f"Is the word read so far one of {name}? The state is what must be remembered to tell."
    if re.fullmatch(r"\w+x[A-Z]\w*", name):
        return f"{' and '.join(re.split(r'x(?=[A-Z])', name))} side by side: a letter moves each of them."
    states = f"{automaton.num_states} states" if automaton.num_states > 1 else "one state"
    return f"A machine with {states}: every letter moves it along one arrow."


def entry(automaton: Semiautomaton) -> dict[str, Any]:
    """One row of a list of automata."""
    known = ("name", "num_states", "num_letters")
    return {**{key: getattr(automaton, key) for key in known}, "letters": list(automaton.letter_names)}


def zoo_names() -> tuple[str, ...]:
    """One name or more of every family, in the order of the list, and the paper's products."""
    return (*(name for family in families() for name in family.examples), *_PRODUCTS)


def _build_named(name: str) -> tuple[Family, Semiautomaton]:
    for family in families():
        match = re.fullmatch(family.pattern, name)
        if match:
            try:
                return family, replace(family.build(*match.groups()), name=name)
            except LimitExceeded as error:
                raise LimitExceeded(f"{error}{_near(name)}") from error
    if os.path.isdir(name):
        raise UnknownName(f"an automaton must be a name or a file; {name[:60]!r} is a folder{_near(name)}")
    raise UnknownName(
        "an automaton must be named as krohn zoo lists it (S4, Dyck4,2, C2xC3), or be regex:PATTERN, "
        f"table:ROWS, {FORMS}, or a file ({' '.join(FILES)}); got {name[:60]!r}{_near(name)}"
    )


def _near(name: str) -> str:
    """ "Did you mean": the pattern with its prefix, or similar listed names; else nothing."""
    bare = re.sub(r"[()\[\]\s_]", "", name)  # Dyck(2,3)
    if bare != name and any(re.fullmatch(family.pattern, bare) for family in families()):
        return f": did you mean {bare}?"
    if _is_pattern(name):
        return f": did you mean 'regex:{name}'?"
    by_lower = {known.lower(): known for known in zoo_names()}
    near = [by_lower[close] for close in get_close_matches(name[:60].lower(), by_lower)]
    return f": did you mean {' or '.join(near)}?" if near else ""


def _is_pattern(text: str) -> bool:
    """Whether the text is short, has regex operators, and parses as a regex."""
    try:
        return len(text) <= 60 and bool(set(text) & set("|*+?(){}[]")) and bool(from_regex(text))
    except KrohnError:
        return False


DROP = "@drop"
"""Behind the name of a file: without the outputs of its machine."""

AutomatonLike = Any
"""What every public function takes as an automaton: a Semiautomaton, a name, a file, a dictionary, a table,
an object of automata-lib, AALpy, pyformlang, pandas or networkx."""


def as_automaton(given: AutomatonLike) -> Semiautomaton:
    """The automaton itself, from an object, a name or a file."""
    if isinstance(given, Semiautomaton):
        return given
    if isinstance(given, str):
        return parse_spec(given)
    if isinstance(given, os.PathLike):
        return load_automaton(os.fspath(given))
    if isinstance(given, Mapping | Sequence | np.ndarray):
        return automaton(given)
    arrows = read_object(given)
    if arrows is not None:
        return finish(arrows)
    raise InvalidInput(
        "an automaton must be a Semiautomaton, a name, a file, a dictionary, a table, or an object of "
        f"{PACKAGES}; got {type(given).__name__}"
    )


def automaton(
    given: AutomatonLike, *, start: Any = None, accept: Iterable[Any] | None = None, name: str = ""
) -> Semiautomaton:
    """An automaton from a dictionary or a table; a name, a file or an object works too.

    Args:
        given: ``{"even": {"a": "odd"}, "odd": {"a": "even"}}``, from states to letters to next states; the
            payload of a file; or rows of next states, one for each state and in it one for each letter; or an
            automaton of automata-lib, AALpy, pyformlang, a pandas table, a networkx digraph.
        start: the start state, by name or number; the first one by default.
        accept: the accepting states, by name or number.
        name: what to call it.

    Example:
        >>> light = krohn.automaton({"off": {"push": "on"}, "on": {"push": "off"}}, accept=["on"])
        >>> light.run("push push push"), light.observe
        ([1, 0, 1], (0, 1))
    """
    result = _from_mapping(given, name) if isinstance(given, Mapping) else None
    if isinstance(given, np.ndarray) or (isinstance(given, Sequence) and not isinstance(given, str)):
        result = _from_rows(given, name)
    if result is None:
        result = as_automaton(given)
    if start is not None:
        result = replace(result, start=_state(result, start))
    if accept is not None:
        chosen = {_state(result, state) for state in accept}
        result = replace(result, observe=tuple(int(state in chosen) for state in range(result.num_states)))
    return result


def _from_mapping(given: Mapping[Any, Any], name: str) -> Semiautomaton:
    if "krohn" in given and "next" in given:
        return automaton_from_payload(dict(given), name)
    rows = given.values()
    if not given or not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput(
            "a dictionary must lead from states to letters to next states, as "
            '{"p": {"a": "q"}, "q": {"a": "p"}}'
        )
    states = [str(state) for state in given]
    letters = list(dict.fromkeys(str(letter) for row in rows for letter in row))
    moves = {
        str(state): {str(letter): str(target) for letter, target in row.items()}
        for state, row in given.items()
    }
    payload = {"krohn": 1, "letters": letters, "states": states, "start": states[0], "next": moves}
    return automaton_from_payload(payload, name)


def _from_rows(rows: Any, name: str) -> Semiautomaton:
    try:
        table = np.array(rows)
    except ValueError as error:
        raise InvalidInput("a table must have a row for each state, all of one length") from error
    if table.ndim != 2 or table.dtype.kind not in "iu":
        raise InvalidInput(
            "a table must have a row for each state and in it the number of the next state for each letter; "
            f"got an array of {table.dtype} with shape {table.shape}"
        )
    return Semiautomaton(table, name=name)


def _state(automaton: Semiautomaton, given: Any) -> int:
    """A state by name, or by number if no state has that name."""
    if str(given) in automaton.state_names:
        return automaton.state_names.index(str(given))
    if isinstance(given, int | np.integer) and 0 <= given < automaton.num_states:
        return int(given)
    raise InvalidInput(f"a state must be one of {' '.join(automaton.state_names[:20])}; got {given!r:.60}")


def parse_spec(text: str) -> Semiautomaton:
    """What ``text`` stands for: ``S4``, ``regex:(ab)*``, ``table:01.10``, ``file.json``, ``and(A; B)``."""
    if expression := parts_of(text):
        operation, parts = expression
        return combined(operation, [parse_spec(part) for part in parts], text)
    if text.startswith("regex:"):
        return from_regex(text.removeprefix("regex:"))
    if text.startswith("table:"):
        return _from_table(text)
    place = text.removesuffix(DROP)
    return load_automaton(place, outputs=place == text) if names_a_file(place) else named(text)


def names_a_file(text: str) -> bool:
    """Whether the text is read as a file's name: it has the ending of one, or a folder in it."""
    return not text.startswith(("regex:", "table:")) and (text.lower().endswith(FILES) or os.sep in text)


def split_specs(text: str) -> list[str]:
    """Names with commas between; a comma before a digit belongs to a name, as in Dyck4,2."""
    names: list[str] = []
    for part in (piece.strip() for piece in text.split(",")):
        if names and part[:1].isdigit():
            names[-1] += f",{part}"
        elif part:
            names.append(part)
    return names


def _from_table(text: str) -> Semiautomaton:
    """A small automaton typed in place: a row for each state, in it the target of each letter as a digit."""
    rows = text.removeprefix("table:").split(".")
    targets = [[int(digit) if digit in "0123456789" else -1 for digit in row] for row in rows]
    widths = {len(row) for row in rows}
    named = all(0 <= q < len(rows) for row in targets for q in row)
    if len(rows) > 10 or len(widths) > 1 or 0 in widths or not named:
        raise InvalidInput(
            "table:ROWS must have a row for each of at most 10 states and in it a digit for each letter, the "
            f"state that it leads to (table:01.10 is parity); got {text[:60]!r}, {counted(len(rows), 'row')}"
        )
    return Semiautomaton(np.array(targets), 0, name=text)


def true_name(automaton: Semiautomaton) -> str:
    """The automaton's name if it is a zoo name or a pattern that gives this very automaton; empty if not."""
    name = automaton.name
    if not name or name.endswith(FILES) or os.sep in name.partition("regex:")[0]:
        return ""
    try:
        named = parse_spec(name)
    except KrohnError:
        return ""
    same = named.table.shape == automaton.table.shape and named.digest == automaton.digest
    return name if same else ""

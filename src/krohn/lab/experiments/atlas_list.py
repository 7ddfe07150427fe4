"""The automata of the atlas: about 2,200 that krohn generates, by kind, and those of a folder.

Everything is drawn from fixed seeds: the same list on every machine. An automaton is the part reachable from
its start, with its states numbered in the order of a breadth-first search; one that was listed before, or has
a single state, is left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.small import small_automata
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, KrohnError

MOST_STATES, MOST_LETTERS = 32, 16
Map = tuple[int, ...]
Dice = np.random.Generator
SEED = 67


@dataclass(frozen=True)
class Entry:
    """One automaton of the atlas: its name, its kind, and its table with state 0 as the start."""

    name: str
    kind: str
    table: tuple[Map, ...]

    @property
    def automaton(self) -> Semiautomaton:
        """As krohn has it."""
        return Semiautomaton(np.array(self.table), 0, name=self.name)


def reached(rows: list[list[int]], start: int = 0) -> tuple[Map, ...]:
    """The reachable part, its states in the order of a breadth-first search."""
    order = [start]
    for state in order:
        order += [target for target in dict.fromkeys(rows[state]) if target not in order]
    place = {state: number for number, state in enumerate(order)}
    return tuple(tuple(place[target] for target in rows[state]) for state in order)


def of_letters(letters: list[Map]) -> tuple[Map, ...]:
    """The table of letters that are given as maps."""
    return reached([list(row) for row in zip(*letters, strict=True)])


def _any(dice: Dice) -> list[Map]:
    size, letters = int(dice.choice([2, 3, 4, 5, 6, 8, 10, 12, 16])), int(dice.integers(2, 5))
    return [tuple(dice.integers(0, size, size).tolist()) for _ in range(letters)]


def _permutations(dice: Dice) -> list[Map]:
    size, letters = int(dice.choice([3, 4, 5, 6, 8, 10])), int(dice.integers(2, 5))
    return [tuple(dice.permutation(size).tolist()) for _ in range(letters)]


def _resets(dice: Dice) -> list[Map]:
    """One or two letters that forget all, among permutations."""
    size, letters = int(dice.choice([2, 3, 4, 5, 6, 8, 12])), int(dice.integers(1, 4))
    forget = [(int(dice.integers(size)),) * size for _ in range(int(dice.integers(1, 3)))]
    return forget + [tuple(dice.permutation(size).tolist()) for _ in range(letters)]


def _monotone(dice: Dice) -> list[Map]:
    size, letters = int(dice.integers(3, 25)), int(dice.integers(2, 5))
    return [tuple(sorted(dice.integers(0, size, size).tolist())) for _ in range(letters)]


def _one_way(dice: Dice) -> list[Map]:
    """No letter leads back: the states are ordered, and a letter stays or goes up."""
    size, letters = int(dice.integers(3, 17)), int(dice.integers(2, 5))
    stay = float(dice.choice([0.5, 0.8, 0.9]))
    return [
        tuple(
            state if dice.random() < stay else int(dice.integers(state, min(size, state + 4)))
            for state in range(size)
        )
        for _ in range(letters)
    ]


def _walls(dice: Dice) -> list[Map]:
    """Steps on a line or in the plane that stop at walls."""
    sides = (
        [int(dice.integers(3, 25))] if dice.random() < 0.6 else [int(side) for side in dice.integers(2, 6, 2)]
    )
    letters: list[Map] = []
    for axis in range(len(sides)):
        steps = {-int(dice.integers(1, 4)), int(dice.integers(1, 4))}
        letters += [_shift(sides, axis, step) for step in steps]
    if dice.random() < 0.4:
        letters.append(_shift(sides, 0, int(dice.choice([-5, -4, 4, 5]))))
    return letters


def _shift(sides: list[int], axis: int, step: int) -> Map:
    cells = list(np.ndindex(*sides))
    number = {cell: index for index, cell in enumerate(cells)}
    moved = []
    for cell in cells:
        place = list(cell)
        place[axis] = min(max(place[axis] + step, 0), sides[axis] - 1)
        moved.append(number[tuple(place)])
    return tuple(moved)


def _cascade(dice: Dice) -> list[Map]:
    """Two to four flip-flops; what a letter does to one depends on those before it."""
    parts, letters = int(dice.integers(2, 5)), int(dice.integers(2, 5))
    return [_cascade_letter(parts, dice) for _ in range(letters)]


def _cascade_letter(parts: int, dice: Dice) -> Map:
    acts = [dice.integers(0, 3, 2**part) for part in range(parts)]  # 0 and 1 write, 2 keeps
    images = []
    for state in range(2**parts):
        bits = [state >> part & 1 for part in range(parts)]
        new = [
            int(bits[part] if (act := acts[part][state & (2**part - 1)]) == 2 else act)
            for part in range(parts)
        ]
        images.append(sum(bit << part for part, bit in enumerate(new)))
    return tuple(images)


def _counter_cascade(dice: Dice) -> list[Map]:
    """A flip-flop that decides which way the letters move a counter with walls."""
    size, letters = int(dice.integers(3, 13)), int(dice.integers(2, 5))
    result = []
    for _ in range(letters):
        write, steps = int(dice.integers(0, 3)), [int(step) for step in dice.integers(-2, 3, 2)]
        images = []
        for state in range(2 * size):
            bit, place = state % 2, state // 2
            place = min(max(place + steps[bit], 0), size - 1)
            images.append(2 * place + (bit if write == 2 else write))
        result.append(tuple(images))
    return result


def _register(dice: Dice) -> list[Map]:
    """The last letters: every letter is shifted in, sometimes through a map of letters."""
    values, depth = (2, int(dice.integers(2, 6))) if dice.random() < 0.6 else (3, int(dice.integers(2, 4)))
    size = values**depth
    letters: list[Map] = [
        tuple((state * values + value) % size for state in range(size)) for value in range(values)
    ]
    if dice.random() < 0.5:
        letters.append(tuple(range(size)))
    if dice.random() < 0.3:
        letters.append((0,) * size)
    return letters


def _stack(dice: Dice) -> list[Map]:
    """A stack of one to three kinds of brackets; an illegal letter leads to a sink, or is left out."""
    kinds = int(dice.integers(1, 4))
    depth = {1: int(dice.integers(3, 24)), 2: int(dice.integers(2, 5)), 3: int(dice.integers(1, 3))}[kinds]
    stacks: list[tuple[int, ...]] = [()]
    for stack in stacks:
        if len(stack) < depth:
            stacks += [(*stack, kind) for kind in range(kinds)]
    number = {stack: index for index, stack in enumerate(stacks)}
    sink = len(stacks) if dice.random() < 0.5 else None
    letters: list[Map] = []
    for kind in range(kinds):
        push = [number.get((*stack, kind)) for stack in stacks]
        pop = [number[stack[:-1]] if stack and stack[-1] == kind else None for stack in stacks]
        for images in (push, pop):
            filled = [
                target if target is not None else (index if sink is None else sink)
                for index, target in enumerate(images)
            ]
            letters.append(tuple(filled + ([] if sink is None else [sink])))
    size = len(letters[0])
    if dice.random() < 0.3:
        letters.append((0,) * size)
    if dice.random() < 0.3:
        letters.append(tuple(range(size)))
    return letters


def _quasi(dice: Dice) -> list[Map]:
    """An aperiodic part beside a clock: what the group counts is the length alone."""
    letters = _cascade(dice) if dice.random() < 0.5 else _walls(dice)
    size, period = len(letters[0]), int(dice.integers(2, 4))
    return [
        tuple(period * letter[state // period] + (state + 1) % period for state in range(size * period))
        for letter in letters
    ]


RANDOM: dict[str, tuple[Callable[[Dice], list[Map]], int]] = {
    "any maps": (_any, 260),
    "permutations": (_permutations, 200),
    "resets among permutations": (_resets, 240),
    "monotone": (_monotone, 280),
    "one way": (_one_way, 200),
    "walls": (_walls, 160),
    "cascade": (_cascade, 240),
    "counter cascade": (_counter_cascade, 160),
    "register": (_register, 20),
    "stack": (_stack, 60),
    "clock beside aperiodic": (_quasi, 80),
}
"""Kinds that are drawn, and how many different automata of each."""
IN_VAIN = 400

SPECS = (
    *(f"Grid{size}" for size in range(2, 25)),
    *(f"Counter{size}" for size in range(3, 17)),
    *(f"Memory{size}" for size in range(2, 14)),
    *(f"WriteOnce{size}" for size in range(2, 14)),
    *(f"PermReset{size}" for size in (3, 4)),
    *("Grid3x3", "Grid3x4", "Grid4x4", "Grid4x5", "Grid2x2x2", "FlipFlop", "Parity", "abab", "Add", "T3"),
    *("Dyck2,2", "Dyck3,2", "Dyck4,1", "Dyck2,3", "Dyck8,1", "Dyck16,1", "Dyck1,4", "A4", "S3", "S4", "Q8"),
)
"""Named automata that are listed by their names."""


def groups() -> dict[str, list[Map]]:
    """Groups of order at most 32 by name: generators as permutations."""
    known: dict[str, list[Map]] = {f"C{n}": [_cycle(n)] for n in range(2, 33)}
    known |= {f"D{2 * n}": [_cycle(n), tuple(-x % n for x in range(n))] for n in range(3, 17)}
    known |= {f"Dic{4 * n}": _dicyclic(n) for n in range(2, 9)}
    known["A4"] = [(1, 2, 0, 3), (1, 0, 3, 2)]
    known["S4"] = [(1, 2, 3, 0), (1, 0, 2, 3)]
    known |= {f"F{p * order}": [_cycle(p), tuple(x * unit % p for x in range(p))]
              for p, unit, order in ((5, 2, 4), (7, 2, 3))}  # fmt: skip
    parts = (
        *(("C2", "C2"), ("C2", "C4"), ("C3", "C3"), ("C4", "C4"), ("C2", "C8"), ("C5", "C5"), ("C3", "C6")),
        *(("C2", "C2", "C2"), ("C2", "C2", "C2", "C2"), ("C2",) * 5, ("C2", "C2", "C4"), ("C2", "C2", "C3")),
        *(
            ("D6", "C3"),
            ("D8", "C2"),
            ("D8", "C3"),
            ("D6", "C4"),
            ("D10", "C3"),
            ("A4", "C2"),
            ("Dic8", "C2"),
        ),
        *(("D8", "C4"), ("Dic8", "C3"), ("Dic12", "C2"), ("D8", "C2", "C2")),
    )
    for names in parts:
        generators: list[Map] = []
        before = 0
        total = sum(len(known[name][0]) for name in names)
        for name in names:
            for generator in known[name]:
                shifted = [before + image for image in generator]
                after = before + len(generator)
                generators.append((*range(before), *shifted, *range(after, total)))
            before += len(known[name][0])
        known["x".join(names)] = generators
    return known


def _cycle(n: int) -> Map:
    return tuple((state + 1) % n for state in range(n))


def _dicyclic(n: int) -> list[Map]:
    """⟨a, x | a²ⁿ, x² = aⁿ, xax⁻¹ = a⁻¹⟩, by its action on itself: aᵏxᵉ is number 2k + e."""
    turn = tuple(2 * ((k // 2 + (1 if k % 2 == 0 else -1)) % (2 * n)) + k % 2 for k in range(4 * n))
    other = tuple(2 * (k // 2) + 1 if k % 2 == 0 else 2 * ((k // 2 + n) % (2 * n)) for k in range(4 * n))
    return [turn, other]


PRESENTATIONS = 8


def _group_entries() -> Iterator[Entry]:
    """Every group by up to eight generating sets of two to four elements; its own elements are the states."""
    for index, (name, generators) in enumerate(groups().items()):
        elements = _generated(generators)
        dice, seen = np.random.default_rng([SEED, 1000 + index]), set()
        for _ in range(20 * PRESENTATIONS):
            count = int(dice.integers(2, 5))
            if count >= len(elements):
                continue
            chosen = tuple(sorted(dice.choice(len(elements), count, replace=False).tolist()))
            letters = [elements[place] for place in chosen]
            if chosen in seen or len(_generated(letters)) < len(elements):
                continue
            seen.add(chosen)
            number = {element: place for place, element in enumerate(elements)}
            rows = [[number[_then(element, letter)] for letter in letters] for element in elements]
            yield Entry(f"{name}:{'.'.join(map(str, chosen))}", "groups", reached(rows))
            if len(seen) == PRESENTATIONS:
                break


def _then(first: Map, second: Map) -> Map:
    return tuple(second[image] for image in first)


def _generated(generators: list[Map]) -> list[Map]:
    """All products, the identity first."""
    elements = [tuple(range(len(generators[0])))]
    seen = set(elements)
    for element in elements:
        for generator in generators:
            product = _then(element, generator)
            if product not in seen:
                seen.add(product)
                elements.append(product)
    return elements


def generated() -> list[Entry]:
    """The automata that krohn generates, kind by kind."""
    entries: list[Entry] = []
    seen: set[tuple[Map, ...]] = set()

    def add(entry: Entry) -> bool:
        fits = 2 <= len(entry.table) <= MOST_STATES and len(entry.table[0]) <= MOST_LETTERS
        if not fits or entry.table in seen:
            return False
        seen.add(entry.table)
        entries.append(entry)
        return True

    for spec in SPECS:
        automaton = parse_spec(spec)
        add(Entry(spec, "named", reached(automaton.table.tolist(), automaton.start)))
    for entry in _group_entries():
        add(entry)
    for states in (2, 3):
        for number, small in enumerate(small_automata(states, 2)):
            add(Entry(f"small {states}.{number}", "small", reached(small.table.tolist(), small.start)))
    for index, (kind, (draw, wanted)) in enumerate(RANDOM.items()):
        dice = np.random.default_rng([SEED, index])
        number = vain = 0
        while number < wanted and vain < IN_VAIN:
            table = of_letters(list(dict.fromkeys(draw(dice))))
            if add(Entry(f"{kind} {number}", kind, table)):
                number, vain = number + 1, 0
            else:
                vain += 1
    return entries


def of_folder(folder: Path) -> list[Entry]:
    """The automata of a folder, by the names of their files; those that are too large are left out."""
    if not folder.is_dir():
        raise InvalidInput(f"--also must be a folder of automata; {folder} is none")
    entries = []
    for path in sorted(folder.iterdir()):
        try:
            automaton: Any = parse_spec(str(path))
        except (KrohnError, OSError):
            continue
        table = reached(automaton.table.tolist(), automaton.start)
        if 2 <= len(table) <= MOST_STATES and len(table[0]) <= MOST_LETTERS:
            entries.append(Entry(path.stem, folder.name, table))
    return entries

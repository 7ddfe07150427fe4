"""Textbook automata and those of the paper: gridworlds, small groups, stacks, counters, a cube; products.

At the end the observation maps φ of the paper's indirect-supervision table.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from krohn.automata.semiautomaton import Semiautomaton, Transformation, capped_power, check_size
from krohn.errors import InvalidInput

# Gridworlds on a line, in the plane and beyond: moves that stop at the walls (Theorem 3).


def grid(*sides: int, noop: bool = False) -> Semiautomaton:
    """A box of cells with two letters per axis, one step down and one step up; start in the corner 0.

    On a line the letters are L, R; in the plane L, R (first axis), D, U (second); beyond, ``-i`` and ``+i``.
    """
    label = "x".join(map(str, sides))
    if not sides or min(sides) < 1:
        raise InvalidInput(f"every side of a grid must be ≥ 1; got Grid{label}: write Grid4, Grid3x4")
    check_size(f"Grid{label}", math.prod(sides), 2 * len(sides) + noop)
    cells = np.indices(sides).reshape(len(sides), -1)
    columns: list[npt.ArrayLike] = []
    for axis, side in enumerate(sides):
        for step in (-1, 1):
            moved = cells.copy()
            moved[axis] = np.clip(moved[axis] + step, 0, side - 1)
            columns.append(np.ravel_multi_index(tuple(moved), sides))
    letters = _letter_names(len(sides))
    if noop:
        columns.append(np.arange(math.prod(sides)))
        letters = (*letters, "noop")
    return Semiautomaton(
        np.stack(columns, axis=1),
        state_names=tuple(",".join(map(str, cell)) for cell in cells.T.tolist()),
        letter_names=letters,
        name=f"Grid{label}" + (":noop" if noop else ""),
    )


def _letter_names(axes: int) -> tuple[str, ...]:
    if axes <= 2:
        return ("L", "R", "D", "U")[: 2 * axes]
    return tuple(f"{sign}{axis}" for axis in range(1, axes + 1) for sign in "-+")


# Small groups acting on themselves: cyclic, dihedral, quaternion (the paper's Appendix B.1).


def cyclic(n: int, letters: tuple[int, ...] | None = None) -> Semiautomaton:
    """Addition modulo ``n``; the letters are all elements unless some are chosen."""
    if n < 1:
        raise InvalidInput(f"a cyclic group Cn must have n ≥ 1; got C{n}: write C2, C3, …")
    check_size(f"C{n}", n, n if letters is None else len(letters))
    chosen = tuple(range(n)) if letters is None else letters
    table = (np.arange(n)[:, None] + np.array(chosen)[None, :]) % n
    return Semiautomaton(table, letter_names=tuple(map(str, chosen)), name=f"C{n}")


def dihedral(order: int) -> Semiautomaton:
    """D of the given order 2n: a car on a ring of n places that turns around (toggle) or drives on.

    State ``n·toggle + place``; drive moves the place by +1 if the toggle is 0, by −1 if it is 1.
    """
    if order < 2 or order % 2:
        raise InvalidInput(
            f"a dihedral group is named by its order, an even number ≥ 2; got D{order}: write D6, D8, …"
        )
    n = order // 2
    check_size(f"D{order}", order, 2)
    toggle, place = np.divmod(np.arange(order), n)
    turned = n * (1 - toggle) + place
    driven = n * toggle + (place + 1 - 2 * toggle) % n
    names = tuple(f"{s},{p}" for s, p in zip(toggle.tolist(), place.tolist(), strict=True))
    return Semiautomaton(
        np.stack([turned, driven], axis=1),
        state_names=names,
        letter_names=("toggle", "drive"),
        name=f"D{order}",
    )


def quaternion() -> Semiautomaton:
    """Q8 = {±1, ±i, ±j, ±k} under right multiplication by 1, i, j, k; states 4–7 are the negatives."""
    # Products of units as (sign, unit): i·j = k, j·k = i, k·i = j, i² = j² = k² = −1.
    units = [
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(0, 1), (1, 0), (0, 3), (1, 2)],
        [(0, 2), (1, 3), (1, 0), (0, 1)],
        [(0, 3), (0, 2), (1, 1), (1, 0)],
    ]
    table = [
        [4 * (sign ^ product_sign) + unit for product_sign, unit in units[element]]
        for sign in (0, 1)
        for element in range(4)
    ]
    names = ("1", "i", "j", "k")
    return Semiautomaton(
        np.array(table), state_names=(*names, *(f"-{x}" for x in names)), letter_names=names, name="Q8"
    )


# Bracket languages of bounded depth: the semiautomaton of a stack (the paper's Dyck n,k).


_BRACKETS = ("()", "[]", "{}", "<>")
_MAX_SPELLED = 20_000_000  # most brackets in the names of all stacks together; beyond, states are numbered


def dyck(depth: int, kinds: int) -> Semiautomaton:
    """A stack of at most ``depth`` open brackets of ``kinds`` types; an illegal move leads to a sink.

    Letters 0…k−1 open, k…2k−1 close. State 0 is the empty stack, then the stacks by length and, bottom
    first, in lexicographic order; the last state is the sink.
    """
    if depth < 1 or kinds < 1:
        raise InvalidInput(f"Dyckn,k must have n ≥ 1 and k ≥ 1; got Dyck{depth},{kinds}: write Dyck4,2")
    name = f"Dyck{depth},{kinds}"
    most = capped_power(kinds, depth)
    stacks_in_all = depth + 1 if kinds == 1 else (most * kinds - 1) // (kinds - 1)
    num_states = stacks_in_all + 1
    check_size(name, num_states, 2 * kinds)
    opens, closes = bracket_names(kinds)
    table = np.full((num_states, 2 * kinds), num_states - 1, dtype=np.int32)
    names = [""]
    spelled = depth * num_states <= _MAX_SPELLED
    offset = 0
    for length in range(depth + 1):
        size = kinds**length
        stacks = np.arange(size)
        if length < depth:
            pushed = offset + size + stacks[:, None] * kinds + np.arange(kinds)
            table[offset : offset + size, :kinds] = pushed
            if spelled:
                names += [names[offset + stack] + bracket for stack in range(size) for bracket in opens]
        if length > 0:
            below = offset - size // kinds + stacks // kinds
            table[offset + stacks, kinds + stacks % kinds] = below
        offset += size
    names[0] = "empty"
    # Beyond the limit, names would take more memory than the table: states are numbered instead.
    state_names = (*names, "sink") if spelled else ()
    return Semiautomaton(table, state_names=state_names, letter_names=(*opens, *closes), name=name)


def bracket_names(kinds: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the opening and of the closing brackets: real brackets up to four types, numbered beyond."""
    if kinds <= len(_BRACKETS):
        return tuple(pair[0] for pair in _BRACKETS[:kinds]), tuple(pair[1] for pair in _BRACKETS[:kinds])
    return tuple(f"({i}" for i in range(1, kinds + 1)), tuple(f"){i}" for i in range(1, kinds + 1))


# Textbook automata of a few states: parity, memory units, counters, (abab)*, the adder, full monoids.


def parity() -> Semiautomaton:
    """Q = Σ = {0, 1}: the parity of the ones read so far."""
    return Semiautomaton(np.array([[0, 1], [1, 0]]), name="Parity")


def counter(n: int) -> Semiautomaton:
    """Counting modulo ``n`` with the single letter 1."""
    if n < 1:
        raise InvalidInput(f"Countern must have n ≥ 1; got Counter{n}: write Counter5")
    check_size(f"Counter{n}", n, 1)
    return Semiautomaton.from_letters([[*range(1, n), 0]], letter_names=("1",), name=f"Counter{n}")


def memory(n: int, name: str = "") -> Semiautomaton:
    """A memory of ``n`` values: the letter ``read`` keeps the value, letter i writes i. FlipFlop is n = 2."""
    if n < 1:
        raise InvalidInput(f"Memoryn must have n ≥ 1; got Memory{n}: write Memory2")
    check_size(f"Memory{n}", n, n + 1)
    values = np.arange(n)
    table = np.column_stack([values, np.broadcast_to(values, (n, n))])
    names = tuple(str(value) for value in range(1, n + 1))
    return Semiautomaton(table, state_names=names, letter_names=("read", *names), name=name or f"Memory{n}")


def write_once(n: int) -> Semiautomaton:
    """A cell that keeps the first of ``n`` values written until it is cleared; ``idle`` does nothing."""
    if n < 1:
        raise InvalidInput(f"WriteOncen must have n ≥ 1 values; got WriteOnce{n}: write WriteOnce2")
    check_size(f"WriteOnce{n}", n + 1, n + 2)
    states = np.arange(n + 1)
    writes = [np.where(states == 0, value, states) for value in range(1, n + 1)]
    names = tuple(str(value) for value in range(1, n + 1))
    return Semiautomaton(
        np.column_stack([*writes, np.zeros_like(states), states]),
        state_names=("empty", *names),
        letter_names=(*names, "clear", "idle"),
        name=f"WriteOnce{n}",
    )


def abab() -> Semiautomaton:
    """The five states of (abab)*: four in a cycle that starts, and accepts, at 3, and a failure state 4."""
    table = [[4, 1], [2, 4], [4, 3], [0, 4], [4, 4]]
    return Semiautomaton(np.array(table), start=3, letter_names=("a", "b"), name="abab")


def adder(addends: int = 2) -> Semiautomaton:
    """Adds ``addends`` binary numbers, least bit first; a letter holds one bit of each.

    State ``digit + 2·carry``: the digit just written and the carry, which stays below the number of addends.
    """
    if not 1 <= addends <= 12:
        raise InvalidInput(f"an adder must have 1 to 12 addends; got Add{addends}: write Add or Add3")
    carry = np.arange(2 * addends) // 2
    letters = [format(bits, f"0{addends}b") for bits in range(2**addends)]
    ones = np.array([bits.count("1") for bits in letters])
    total = carry[:, None] + ones[None, :]
    names = tuple(f"{state % 2}c{state // 2}" for state in range(2 * addends))
    label = "Add" if addends == 2 else f"Add{addends}"
    # digit = total mod 2, next carry = total div 2, and digit + 2·carry = total itself.
    return Semiautomaton(total, state_names=names, letter_names=tuple(letters), name=label)


def full_monoid(n: int) -> Semiautomaton:
    """Tₙ, all maps of n points, generated by a cycle, a swap of 0 and 1, and the map that sends 1 to 0."""
    if n < 1:
        raise InvalidInput(f"a full transformation monoid Tn must have n ≥ 1; got T{n}: write T3")
    check_size(f"T{n}", n, 3)
    points = list(range(n))
    letters = {
        "cycle": [*points[1:], 0],
        "swap": [1, 0, *points[2:]],
        "merge": [0, 0, *points[2:]],
    }
    if n == 1:
        letters = {"merge": [0]}
    if n == 2:
        del letters["cycle"]
    return Semiautomaton.from_letters(letters.values(), letter_names=tuple(letters), name=f"T{n}")


FACES = "ULFRBD"
AROUND = {"U": "LBRF", "L": "UFDB", "F": "URDL", "R": "UBDF", "B": "ULDR", "D": "LFRB"}
"""A clockwise turn of a face, seen from outside, carries each of its neighbours to the next."""


def rubik() -> Semiautomaton:
    """A sticker's place is the state; a letter turns one face clockwise and carries its stickers along."""
    # A cubie is the faces that it touches; centres never move, and have no state.
    cubies = ["".join(faces) for faces in itertools.product(("L", "", "R"), ("D", "", "U"), ("B", "", "F"))]
    stickers = [_sticker(own, cubie) for own in FACES for cubie in cubies if own in cubie and len(cubie) > 1]
    return Semiautomaton.from_letters(
        [_quarter_turn(stickers, face) for face in FACES],
        letter_names=tuple(FACES),
        state_names=tuple(stickers),
        name="Rubik",
    )


def _sticker(own: str, faces: str) -> str:
    """A sticker's name, its own face first: ``UFR`` is the U sticker of the corner of U, F and R."""
    return own + "".join(face for face in FACES if face in faces and face != own)


def _quarter_turn(stickers: list[str], face: str) -> Transformation:
    """Where a turn carries each sticker: those of cubies that touch the face go around it."""
    place = {name: index for index, name in enumerate(stickers)}
    carry = str.maketrans(AROUND[face], AROUND[face][1:] + AROUND[face][0])
    moved = [name.translate(carry) if face in name else name for name in stickers]
    return tuple(place[_sticker(name[0], name)] for name in moved)


# Products: states are tuples, numbered with the first component as the most significant digit.


def direct_product(*components: Semiautomaton) -> Semiautomaton:
    """The components side by side; a letter is a tuple of letters, one for each."""
    if not components:
        raise InvalidInput("a direct product must have at least one component; got none")
    num_states = math.prod(part.num_states for part in components)
    num_letters = math.prod(part.num_letters for part in components)
    name = "x".join(part.name or "?" for part in components)
    check_size(name, num_states, num_letters)
    table = np.zeros((1, 1), dtype=np.int64)
    start = 0
    for part in components:
        rows, columns = table.shape[0] * part.num_states, table.shape[1] * part.num_letters
        pairs = table[:, None, :, None] * part.num_states + part.table[None, :, None, :]
        table = pairs.reshape(rows, columns)
        start = start * part.num_states + part.start
    return Semiautomaton(
        table.astype(np.int32),
        start=start,
        state_names=_tuple_names([part.state_names for part in components]),
        letter_names=_tuple_names([part.letter_names for part in components]),
        name=name,
    )


def _tuple_names(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names of tuples, ``a,b``; plain numbers where commas in names would make two of them equal."""
    names = tuple(",".join(names) for names in itertools.product(*parts))
    return names if len(set(names)) == len(names) else ()


# Observations.


def stack_top(automaton: Semiautomaton) -> list[int]:
    """Dyck: 0 for the empty stack, 1…k for the bracket on top, k + 1 for the sink."""
    kinds = automaton.num_letters // 2
    tops = [0]
    # Stacks are numbered by length and lexicographically, so the top runs fastest.
    tops += [1 + stack % kinds for stack in range(automaton.num_states - 2)]
    return [*tops, kinds + 1]


def boundary(automaton: Semiautomaton) -> list[int]:
    """Grid: 1 where a wall stops some move."""
    stopped = automaton.table == np.arange(automaton.num_states)[:, None]
    moves = [name != "noop" for name in automaton.letter_names]
    return [int(value) for value in stopped[:, moves].any(axis=1)]


def first_element(automaton: Semiautomaton) -> list[int]:
    """Permutations: who sits on the first chair, 0-based (the paper counts from 1)."""
    separator = "." if "." in automaton.state_names[0] else None
    return [int(name.split(separator)[0] if separator else name[0]) for name in automaton.state_names]


def by_number(show: Callable[[int, int], int]) -> Callable[[Semiautomaton], list[int]]:
    """A function of a state's number and of how many states there are."""
    return lambda automaton: [show(q, automaton.num_states) for q in range(automaton.num_states)]

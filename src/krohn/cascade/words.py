"""Words in the letters for what a skeleton speaks of: transports and generators.

The inverse of a transport needs no partial maps: if v leads from P back to the representative R, then
w_P·v permutes the states of R; with m the order of that permutation, v·(w_P·v)^(m−1) undoes w_P on R.
"""

from collections.abc import Iterable, Mapping
from math import lcm
from typing import TypeVar

from krohn.cascade.skeleton import Permutation, SetClass, Skeleton
from krohn.errors import InvalidInput

Key = TypeVar("Key")
Word = tuple[int, ...]
_SEARCHED = 2000  # tuples of tiles looked at for a shortest word


def transport_word(frame: Skeleton, target: int) -> Word:
    """The word that carries the representative of a class onto a member, tile i onto tile i."""
    letters: list[int] = []
    origin = frame.parent[target]
    while origin is not None:
        target, letter = origin
        letters.append(letter)
        origin = frame.parent[target]
    return tuple(reversed(letters))


def return_word(frame: Skeleton, source: int) -> Word:
    """A word that carries a member back onto its representative and undoes the transport there."""
    part = frame.classes[frame.class_of[source]]
    out, back = transport_word(frame, source), _path(frame, source, part.representative)
    loop = out + back
    states = frame.states(part.representative)
    moved = dict(zip(states, apply_word(frame, states, loop), strict=True))
    return back + loop * (_order(moved) - 1)


def generator_word(frame: Skeleton, part: SetClass, generator: Permutation) -> Word:
    """A word that fixes the representative as a set and permutes its tiles by the generator.

    A shortest one if a short search finds it, else the one that the Schreier element spells.
    """
    goal = [0] * len(part.tiles)
    for place, image in enumerate(generator):
        goal[place] = part.tiles[image]
    found = _shortest(frame, part.tiles, tuple(goal))
    if found is not None:
        return found
    source, letter = part.generators[generator]
    word = (*transport_word(frame, source), letter)
    return word + return_word(frame, frame.images[letter][source])


def _shortest(frame: Skeleton, tiles: tuple[int, ...], goal: tuple[int, ...]) -> Word | None:
    """A shortest word that carries each tile to its goal; None if that takes more than a few steps.

    Tiles cover their set, so a word that permutes the tiles of R carries R onto itself.
    """
    origin: dict[tuple[int, ...], tuple[tuple[int, ...], int] | None] = {tiles: None}
    queue = [tiles]
    for current in queue:
        for letter, row in enumerate(frame.images):
            following = tuple([row[tile] for tile in current])
            if following not in origin and len(set(following)) == len(tiles):
                origin[following] = (current, letter)
                queue.append(following)
                if following == goal:
                    return _trace(origin, goal)
        if len(queue) > _SEARCHED:
            return None
    return None


def apply_word(frame: Skeleton, states: Iterable[int], word: Word) -> list[int]:
    """The states after a word, one by one."""
    current = list(states)
    for letter in word:
        column = frame.automaton.letters[letter]
        current = [column[state] for state in current]
    return current


def spelled(frame: Skeleton, word: Word) -> str:
    """The word in letter names; the empty word is ε."""
    names = [frame.automaton.letter_names[letter] for letter in word]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names) or "ε"


def _path(frame: Skeleton, source: int, target: int) -> Word:
    """A shortest path inside one class."""
    index = frame.class_of[source]
    origin: dict[int, tuple[int, int] | None] = {source: None}
    queue = [source]
    for current in queue:
        if current == target:
            break
        for letter, row in enumerate(frame.images):
            following = row[current]
            if following not in origin and frame.class_of[following] == index:
                origin[following] = (current, letter)
                queue.append(following)
    if target not in origin:
        raise InvalidInput(f"set {source} must lead back to set {target} to have a word; it does not")
    return _trace(origin, target)


def _trace(origin: Mapping[Key, tuple[Key, int] | None], target: Key) -> Word:
    letters = []
    step = origin[target]
    while step is not None:
        target, letter = step
        letters.append(letter)
        step = origin[target]
    return tuple(reversed(letters))


def _order(moved: dict[int, int]) -> int:
    lengths, seen = [1], set()
    for start in moved:
        length, current = 0, start
        while current not in seen:
            seen.add(current)
            current = moved[current]
            length += 1
        lengths.append(max(length, 1))
    return lcm(*lengths)

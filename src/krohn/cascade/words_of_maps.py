"""Words for the maps of a skeleton: transports and generators.

The inverse of a transport needs no partial maps: if v leads from P back to the representative R, then
w_P·v permutes the states of R; with m the order of that permutation, v·(w_P·v)^(m−1) undoes w_P on R.
"""

from collections.abc import Callable
from math import inf
from typing import TypeVar

from krohn.algebra.packed import product_of_word
from krohn.algebra.transformation import order
from krohn.automata.quotients import word_along
from krohn.cascade.skeleton import Permutation, SetClass, Skeleton

Word = tuple[int, ...]
Node = TypeVar("Node", int, tuple[int, ...])
_SEARCHED = 2000  # tuples of tiles searched for a shortest word


def transport_word(frame: Skeleton, target: int) -> Word:
    """The word that carries the representative of a class onto a member, tile i onto tile i."""
    return word_along(frame.parent.__getitem__, target)


def return_word(frame: Skeleton, source: int) -> Word:
    """A word that carries a member back onto its representative and undoes the transport there."""
    part = frame.classes[frame.class_of[source]]

    def inside(row: list[int], member: int) -> int | None:
        return row[member] if frame.class_of[row[member]] == part.number else None

    out, back = transport_word(frame, source), _shortest(frame, source, part.representative, inside, inf)
    assert back is not None, "the members of a class lead to each other, unless classes were merged"
    loop = out + back
    place = {state: number for number, state in enumerate(frame.states(part.representative))}
    images = product_of_word(frame.automaton.letters, loop)
    return back + loop * (order([place[images[state]] for state in place]) - 1)


def generator_word(frame: Skeleton, part: SetClass, generator: Permutation) -> Word:
    """A word that fixes the representative as a set and permutes its tiles by the generator.

    A shortest one if a short search finds it, else the word of the Schreier element.
    """
    goal = [0] * len(part.tiles)
    for place, image in enumerate(generator):
        goal[place] = part.tiles[image]
    # Tiles cover their set, so a word that permutes the tiles of R carries R onto itself.
    result = _shortest(frame, part.tiles, tuple(goal), _carried, _SEARCHED)
    if result is not None:
        return result
    source, letter = part.generators[generator]
    word = (*transport_word(frame, source), letter)
    return word + return_word(frame, frame.images[letter][source])


def _carried(row: list[int], tiles: tuple[int, ...]) -> tuple[int, ...] | None:
    """The images of tiles under a letter, if they stay apart."""
    images = tuple([row[tile] for tile in tiles])
    return images if len(set(images)) == len(images) else None


def _shortest(
    frame: Skeleton, start: Node, goal: Node, step: Callable[[list[int], Node], Node | None], most: float
) -> Word | None:
    """A shortest word from start to goal by steps that exist; None if there is none, or too many nodes."""
    origin: dict[Node, tuple[Node, int] | None] = {start: None}
    queue = [start]
    for current in queue:
        if goal in origin or len(queue) > most:
            break
        for letter, row in enumerate(frame.images):
            following = step(row, current)
            if following is not None and following not in origin:
                origin[following] = (current, letter)
                queue.append(following)
    return word_along(origin.get, goal) if goal in origin else None


def spell(frame: Skeleton, word: Word) -> str:
    """The word in letter names; the empty word is ε."""
    names = [frame.automaton.letter_names[letter] for letter in word]
    return ("" if all(len(name) == 1 for name in names) else " ").join(names) or "ε"

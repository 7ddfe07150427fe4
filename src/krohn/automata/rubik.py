"""The 3×3×3 cube: a face turns by a quarter, and the state of the automaton is where one sticker lies."""

import itertools

from krohn.automata.semiautomaton import Semiautomaton, Transformation

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

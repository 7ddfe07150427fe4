"""The 3×3×3 cube as an automaton on its 48 movable stickers (the paper's Rubik example)."""

import itertools

import numpy as np

from krohn.automata.semiautomaton import Semiautomaton, Transformation
from krohn.errors import InvalidInput

Vector = tuple[int, int, int]
Sticker = tuple[Vector, Vector]

# Outward normal of each face, seen from the front: x to the right, y up, z towards the viewer.
FACES: dict[str, Vector] = {
    "U": (0, 1, 0),
    "L": (-1, 0, 0),
    "F": (0, 0, 1),
    "R": (1, 0, 0),
    "B": (0, 0, -1),
    "D": (0, -1, 0),
}


def rubik(turns: int = 6) -> Semiautomaton:
    """A sticker's place is the state; a letter turns one face and carries the stickers on it along.

    ``turns`` is 6 (clockwise quarter turns), 12 (and their inverses, ``U'``), or 18 (and half turns, ``U2``).
    """
    if turns not in (6, 12, 18):
        raise InvalidInput(f"the cube must have 6, 12 or 18 turns; got Rubik:{turns}")
    stickers = _stickers()
    quarter = {name: _quarter_turn(stickers, normal) for name, normal in FACES.items()}
    letters = dict(quarter)
    if turns >= 12:
        letters |= {f"{name}'": _power(turn, 3) for name, turn in quarter.items()}
    if turns == 18:
        letters |= {f"{name}2": _power(turn, 2) for name, turn in quarter.items()}
    return Semiautomaton.from_letters(
        letters.values(),
        letter_names=tuple(letters),
        state_names=_sticker_names(stickers),
        name="Rubik" if turns == 6 else f"Rubik:{turns}",
    )


def _stickers() -> list[Sticker]:
    """Every (cubie, outward normal), face by face, without the six centres, which never move."""
    cubies = list(itertools.product((-1, 0, 1), (-1, 0, 1), (-1, 0, 1)))
    return [
        (cubie, normal)
        for normal in FACES.values()
        for cubie in cubies
        if _dot(cubie, normal) == 1 and cubie != normal
    ]


def _quarter_turn(stickers: list[Sticker], normal: Vector) -> Transformation:
    """Clockwise, seen from outside, is a rotation by −90° about the outward normal."""
    place = {sticker: index for index, sticker in enumerate(stickers)}
    image = []
    for cubie, outward in stickers:
        on_face = _dot(cubie, normal) == 1
        target = (_rotate(cubie, normal), _rotate(outward, normal)) if on_face else (cubie, outward)
        image.append(place[target])
    return tuple(image)


def _rotate(vector: Vector, axis: Vector) -> Vector:
    """Rodrigues' formula at −90°: the part along the axis stays, the rest becomes vector × axis."""
    along = _dot(vector, axis)
    cross = np.cross(vector, axis)
    x, y, z = (along * a + int(c) for a, c in zip(axis, cross, strict=True))
    return (x, y, z)


def _dot(left: Vector, right: Vector) -> int:
    return sum(a * b for a, b in zip(left, right, strict=True))


def _power(turn: Transformation, exponent: int) -> Transformation:
    image = tuple(range(len(turn)))
    for _ in range(exponent):
        image = tuple(turn[place] for place in image)
    return image


def _sticker_names(stickers: list[Sticker]) -> tuple[str, ...]:
    """The faces a cubie touches, the sticker's own face first: ``UFR`` is the U sticker of corner UFR."""
    names = []
    for cubie, normal in stickers:
        own = next(name for name, face in FACES.items() if face == normal)
        others = [name for name, face in FACES.items() if face != normal and _dot(cubie, face) == 1]
        names.append(own + "".join(others))
    return tuple(names)

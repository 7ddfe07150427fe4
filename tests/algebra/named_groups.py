"""Generators of well-known groups, written down independently of the package."""

from itertools import product
from random import Random

Generators = list[tuple[int, ...]]

_CUBE = {
    "U": "1,3,8,6 2,5,7,4 9,33,25,17 10,34,26,18 11,35,27,19",
    "L": "9,11,16,14 10,13,15,12 1,17,41,40 4,20,44,37 6,22,46,35",
    "F": "17,19,24,22 18,21,23,20 6,25,43,16 7,28,42,13 8,30,41,11",
    "R": "25,27,32,30 26,29,31,28 3,38,43,19 5,36,45,21 8,33,48,24",
    "B": "33,35,40,38 34,37,39,36 3,9,46,32 2,12,47,29 1,14,48,27",
    "D": "41,43,48,46 42,45,47,44 14,22,30,38 15,23,31,39 16,24,32,40",
}
CUBE_ORDER = 43252003274489856000


def from_cycles(text: str, degree: int) -> tuple[int, ...]:
    """A permutation from 1-based cycles such as ``1,2,3 4,5``."""
    images = list(range(degree))
    for part in text.split():
        cycle = [int(point) - 1 for point in part.split(",")]
        for point, image in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            images[point] = image
    return tuple(images)


def cube() -> Generators:
    """The six face turns of Rubik's cube on its 48 moving stickers."""
    return [from_cycles(text, 48) for text in _CUBE.values()]


def symmetric(degree: int) -> Generators:
    return [(*range(1, degree), 0), (1, 0, *range(2, degree))]


def alternating(degree: int) -> Generators:
    return [from_cycles(f"1,2,{point}", degree) for point in range(3, degree + 1)]


def matrices(mats: list[list[list[int]]], prime: int, *, translate: bool) -> Generators:
    """Matrices acting on row vectors over the field of ``prime`` elements, and one translation if asked."""
    dimension = len(mats[0])
    points = list(product(range(prime), repeat=dimension))
    index = {point: number for number, point in enumerate(points)}
    generators = []
    for matrix in mats:
        images = [
            tuple(sum(v[i] * matrix[i][j] for i in range(dimension)) % prime for j in range(dimension))
            for v in points
        ]
        generators.append(tuple(index[image] for image in images))
    if translate:
        generators.append(tuple(index[((v[0] + 1) % prime, *v[1:])] for v in points))
    return generators


SL2 = [[[1, 1], [0, 1]], [[1, 0], [1, 1]]]
GL3 = [[[0, 1, 0], [0, 0, 1], [1, 0, 0]], [[1, 1, 0], [0, 1, 0], [0, 0, 1]]]


def mathieu11() -> Generators:
    return [from_cycles("1,2,3,4,5,6,7,8,9,10,11", 11), from_cycles("3,7,11,8 4,10,5,6", 11)]


def regular(generators: Generators) -> Generators:
    """The group acting on its own elements by multiplication on the right, by brute force."""
    elements = closure(generators)
    index = {element: number for number, element in enumerate(elements)}
    return [
        tuple(index[tuple(generator[image] for image in element)] for element in elements)
        for generator in generators
    ]


def closure(generators: Generators) -> list[tuple[int, ...]]:
    """All elements of the generated group by breadth-first search from the identity."""
    elements = [tuple(range(len(generators[0])))]
    seen = set(elements)
    for element in elements:
        for generator in generators:
            image = tuple(generator[point] for point in element)
            if image not in seen:
                seen.add(image)
                elements.append(image)
    return elements


def random_generators(seed: int, *, smallest: int = 2, largest: int = 6) -> Generators:
    """One to three permutations; often of a proper subgroup, for some are products of the others."""
    rng = Random(seed)
    degree = rng.randint(smallest, largest)
    result = [tuple(rng.sample(range(degree), degree)) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.5:
        result = [tuple(g[g[point]] for point in range(degree)) for g in result]
    return [*result, tuple(result[-1][result[0][point]] for point in range(degree))]

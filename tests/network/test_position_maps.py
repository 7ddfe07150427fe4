"""Maps of MLPs, and sums and first or last positions found by heads, against plain Python."""

from itertools import product
from random import Random

import numpy as np
import pytest

from every import every
from krohn.errors import InvalidInput
from krohn.network.operations import Clamp, EndWrite, Linear, Modulo, PlaceSum, Table
from krohn.network.program import Places, Readout, Register, interpret_registers
from network.hand_written_programs import parity_program

SHAPE = (20, 9)
RNG = np.random.default_rng(3)
VALUES = {name: RNG.integers(-4, 5, SHAPE) for name in ("a", "b", "c")}
FLAGS = {name: RNG.integers(0, 2, SHAPE) for name in ("f", "g")}
TERMS = (("a", 2), ("b", -1), ("c", 3))
EVERYWHERE = list(product(range(SHAPE[0]), range(SHAPE[1])))


def total(word: int, t: int) -> int:
    return sum(factor * int(VALUES[name][word, t]) for name, factor in TERMS) + 5


def test_sums_residues_and_clamps_are_those_of_single_numbers() -> None:
    linear = Linear(TERMS, 5, "x").apply(VALUES)["x"]
    residue = Modulo(TERMS, 5, 7, "x").apply(VALUES)["x"]
    mapped = Modulo(TERMS, 5, 3, "x", (9, -2, 4)).apply(VALUES)["x"]
    clamped = Clamp(TERMS, 5, -3, 6, "x").apply(VALUES)["x"]
    for word, t in EVERYWHERE:
        z = total(word, t)
        assert linear[word, t] == z
        assert residue[word, t] == z % 7 >= 0
        assert mapped[word, t] == (9, -2, 4)[z % 3]
        assert clamped[word, t] == max(-3, min(6, z))


@every("seed", range(8))
def test_a_table_answers_every_listed_row_and_refuses_the_others(seed: int) -> None:
    random = Random(seed)
    listed = random.sample(list(product(range(-4, 5), range(-4, 5))), 40)
    rows = {row: (random.randint(-9, 9), random.randint(0, 3)) for row in listed}
    table = Table(("a", "b"), ("x", "y"), tuple(rows.items()))
    given = np.array([random.choice(listed) for _ in range(60)])
    result = table.apply({"a": given[:, :1], "b": given[:, 1:]})
    for number, row in enumerate(map(tuple, given.tolist())):
        assert (result["x"][number, 0], result["y"][number, 0]) == rows[row]
    for row in [r for r in product(range(-6, 7), range(-6, 7)) if r not in rows][::7]:
        with pytest.raises(InvalidInput, match="no row"):
            table.apply({"a": np.array([[row[0]]]), "b": np.array([[row[1]]])})


def test_sums_over_places_and_ends_of_flags_are_those_of_a_loop() -> None:
    values = {**VALUES, **FLAGS}
    summed = PlaceSum("f", ("a",), ("x",)).apply(values)["x"]
    ends = {
        end: EndWrite(("f", "g"), end, ("a",), ("x",)).apply(values)["x"]  # type: ignore[arg-type]
        for end in ("earliest", "latest")
    }
    for word, t in EVERYWHERE:
        seen = range(t + 1)
        assert summed[word, t] == sum(VALUES["a"][word, i] for i in seen if FLAGS["f"][word, i])
        both = [i for i in seen if i > 0 and FLAGS["f"][word, i] and FLAGS["g"][word, i]] or [0]
        assert ends["earliest"][word, t] == VALUES["a"][word, both[0]]
        assert ends["latest"][word, t] == VALUES["a"][word, both[-1]]


def test_places_repeat_after_their_beginning_and_wide_ones_add_up() -> None:
    place = Places("p", (0, 5), (1, 2, 3))
    plain = [0, 5, 1, 2, 3, 1, 2, 3, 1]
    assert [place.at(t) for t in range(9)] == plain
    assert place.along(9, "integer").tolist() == plain
    assert place.along(9, "wide").tolist() == [sum(plain[: t + 1]) for t in range(9)]


@pytest.mark.parametrize(
    ("register", "after", "bounds"),
    [
        (Register("n", -2, 3), 10, (-2, 3)),
        (Register("w", -2, 3, "wide"), 10, (-20, 30)),
        (Register("w", 1, 3, "wide"), 10, (0, 30)),
        (Register("c", 0, 3, "circle"), 10, (0, 3)),
    ],
)
def test_only_sums_grow_with_the_word(register: Register, after: int, bounds: tuple[int, int]) -> None:
    assert register.bounds(after) == bounds


@every(
    ("make", "complaint"),
    [
        (lambda: Table((), ("x",), (((), (1,)),)), "needs inputs"),
        (lambda: Table(("a",), ("x",), (((1,), (1,)), ((1,), (2,)))), "distinct inputs"),
        (lambda: Table(("a",), ("x",), (((1, 2), (1,)),)), "1 inputs and 1 outputs"),
        (lambda: Table(("a", "b"), ("x",), (((0, 0), (1,)), ((2**40, 2**40), (2,)))), "closer together"),
        (lambda: Modulo((("a", 1),), 0, 1, "x"), "at least 2"),
        (lambda: Modulo((("a", 1),), 0, 3, "x", (1, 2)), "one value per residue"),
        (lambda: Register("", 0, 1), "needs a name"),
        (lambda: Register("a", 2, 1), "low ≤ high"),
        (lambda: Register("a", 1, 2, "circle"), "0..n−1"),
        (lambda: Places("p", (), (1,)), "a value at BOS"),
        (lambda: Readout(("a",), ((1,), (1,))), "same code"),
        (lambda: interpret_registers(parity_program(), [0, 1]), "must be an array"),
    ],
)
def test_what_has_no_meaning_cannot_be_made(make, complaint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput, match=complaint):
        make()

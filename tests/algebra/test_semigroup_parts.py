"""Image sets, R-classes, D-classes, groups and boxes of small semigroups, each against all elements."""

import math
import xml.etree.ElementTree as ET
from collections import Counter
from random import Random

import numpy as np
import pytest

from algebra.golden_cases import CASES, Letters, NaiveGreen, letters_of, naive_elements, times
from every import every
from krohn.algebra.analysis import algebra_of
from krohn.algebra.green import Eggbox
from krohn.algebra.idempotents import idempotent_onto, idempotent_power
from krohn.algebra.image_orbit import ImageOrbit
from krohn.algebra.one_length import group_of_one_length
from krohn.algebra.packed import ByteRows, TupleRows, image_array, product_of_word, rows_for
from krohn.algebra.permgroup import PermutationGroup
from krohn.algebra.transition_semigroup import TransitionSemigroup
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo

SEEDS = range(30)


def random_letters(seed: int) -> Letters:
    """Maps of three to five states, some of them permutations; at most 150 elements."""
    rng = Random(seed)
    while True:
        size = rng.randint(3, 5)
        maps = [
            rng.sample(range(size), size) if rng.random() < 0.4 else rng.choices(range(size), k=size)
            for _ in range(rng.randint(1, 3))
        ]
        letters = tuple(map(tuple, maps))
        if len(naive_elements(letters)) <= 150:
            return letters


@every("seed", SEEDS)
def test_image_sets_are_those_of_the_elements_and_paths_lead_between_them(seed: int) -> None:
    letters = random_letters(seed)
    orbit = ImageOrbit(letters)
    elements = naive_elements(letters)
    assert sorted(map(tuple, orbit.sets)) == sorted({tuple(sorted(set(x))) for x in elements})
    for number, members in enumerate(orbit.sets):
        assert orbit.number[members] == number
        for letter, action in enumerate(letters):
            target = orbit.sets[orbit.successors[number][letter]]
            assert tuple(target) == tuple(sorted({action[q] for q in members}))
    for component in orbit.components:
        for member in component.members:
            back = component.path_to_base(member)
            assert {product_of_word(letters, back)[q] for q in orbit.sets[member]} == set(component.base)
            assert set(component.sequence[member]) == set(orbit.sets[member])
            moved = {tuple(x[q] for q in component.base) for x in elements} | {tuple(component.base)}
            assert tuple(component.sequence[member]) in moved


@every("seed", SEEDS)
def test_the_group_of_an_image_set_is_how_elements_that_keep_it_permute_it(seed: int) -> None:
    letters = random_letters(seed)
    elements = naive_elements(letters)
    for component in ImageOrbit(letters).components:
        base = list(component.base)
        actions = {
            tuple(base.index(x[q]) for q in base) for x in elements if sorted({x[q] for q in base}) == base
        }
        assert set(component.group.elements()) == actions | {tuple(range(len(base)))}


@pytest.mark.parametrize("seed", SEEDS)
def test_there_is_one_representative_in_each_r_class_and_letters_lead_between_them(seed: int) -> None:
    letters = random_letters(seed)
    right = NaiveGreen(letters).right
    classes = TransitionSemigroup(letters).r_classes
    result = [tuple(row) for row in classes.representatives]
    assert len(result) == classes.count
    assert Counter(right[x] for x in result) == Counter(set(right.values()))
    number = {right[x]: index for index, x in enumerate(result)}
    edges = [number[right[times(letter, x)]] for x in result for letter in letters]
    assert classes.left_edges == edges
    bases = [tuple(classes.orbit.components[part].base) for part in classes.component_numbers]
    assert bases == [tuple(sorted(set(x))) for x in result]


@every("seed", SEEDS)
def test_boxes_have_the_shape_and_the_stars_of_their_d_class(seed: int) -> None:
    letters = random_letters(seed)
    naive = NaiveGreen(letters)
    expected = Counter()
    stars = Counter()
    for ideal in set(naive.two_sided.values()):
        members = [x for x in naive.elements if naive.two_sided[x] == ideal]
        rows, columns = {naive.right[x] for x in members}, {naive.left[x] for x in members}
        idempotents = [x for x in members if times(x, x) == x]
        size = len(members) // (len(rows) * len(columns))
        expected[len(set(members[0])), len(rows), len(columns), size, len(idempotents)] += 1
        stars += Counter(sum(naive.right[x] == row for x in idempotents) for row in rows)
    parts = TransitionSemigroup(letters).d_classes
    actual = [(part.rank, part.num_r, part.num_l, part.h_size, part.num_idempotents) for part in parts]
    assert Counter(actual) == expected
    assert [part.rank for part in parts] == sorted((part.rank for part in parts), reverse=True)
    lines = [line for line in Eggbox(parts).text().splitlines() if line.startswith("  ")]
    assert Counter(line.count("*") for line in lines) == stars


def test_boxes_of_one_rank_stand_side_by_side_and_none_overlap() -> None:
    parts = TransitionSemigroup(letters_of(CASES["rand8_s1"])).d_classes
    root = ET.fromstring(Eggbox(parts).svg())
    space = "{http://www.w3.org/2000/svg}"
    rects = [
        tuple(float(shape.get(name) or 0) for name in ("x", "y", "width", "height"))
        for shape in root.findall(f"{space}rect")
        if shape.get("stroke-width") == "1.4"
    ]
    assert len(rects) == len(parts)
    tops: dict[int, set[float]] = {}
    for part, (_, y, width, height) in zip(parts, rects, strict=True):
        assert (width, height) == (18 * part.num_l, 18 * part.num_r)
        tops.setdefault(part.rank, set()).add(y)
    assert all(len(result) == 1 for result in tops.values())
    for one, (x, y, width, height) in enumerate(rects):
        for left, top, wide, high in rects[one + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + high <= y
    right, bottom = (max(r[axis] + r[axis + 2] for r in rects) for axis in (0, 1))
    assert right <= float(root.get("width") or 0)
    assert bottom <= float(root.get("height") or 0)


@every("seed", SEEDS)
def test_a_subgroup_sits_at_its_idempotent(seed: int) -> None:
    letters = random_letters(seed)
    elements = naive_elements(letters)
    for subgroup in TransitionSemigroup(letters).subgroups:
        one = subgroup.idempotent
        assert one is not None
        assert times(one.images, one.images) == one.images
        assert tuple(sorted(set(one.images))) == subgroup.states
        assert product_of_word(letters, one.word * one.exponent) == one.images
        members = [x for x in elements if times(times(one.images, x), one.images) == x]
        units = {
            x for x in members if any(times(x, y) == times(y, x) == one.images for y in members)
        }  # the largest group with this identity
        states = list(subgroup.states)
        assert {tuple(states.index(x[q]) for q in states) for x in units} == set(subgroup.group.elements())
        assert subgroup.order == len(units)


def test_an_image_set_without_an_idempotent_gives_none_and_a_limit_is_named() -> None:
    """0 → 1 → 2 → 2: words have the images {1, 2} and {2}, and only the second is left where it is."""
    chain = ImageOrbit(((1, 2, 2),))
    assert [(part.rank, idempotent_onto(part) is None) for part in chain.components] == [
        (1, False),
        (2, True),
    ]
    assert idempotent_power([(1, 2, 0)], [0]).exponent == 3
    collapsing = idempotent_power([(1, 2, 0, 2)], [0])
    assert (collapsing.images, collapsing.exponent) == ((0, 1, 2, 1), 3)


def test_an_exponent_too_large_to_multiply_out() -> None:
    """Cycles of 2, 3, 5 … 47 states: the word's order is the product of these primes, some 6 · 10¹⁷."""
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47]
    starts = [sum(primes[:n]) for n in range(len(primes))]
    cycles = [start + (k + 1) % p for start, p in zip(starts, primes, strict=True) for k in range(p)]
    power = idempotent_power([cycles], [0])
    assert power.exponent == math.prod(primes)
    assert power.images == tuple(range(sum(primes)))
    witness = group_of_one_length(TransitionSemigroup([tuple(cycles), power.images]).images)
    assert witness is not None
    assert witness.words == ()  # there is a group, and its words are too long to write out


@pytest.mark.parametrize("degree", [1, 2, 5, 256, 257])
def test_rows_of_bytes_and_of_tuples_multiply_alike(degree: int) -> None:
    rng = Random(degree)
    first, second = (tuple(rng.choices(range(degree), k=degree)) for _ in range(2))
    kinds = [TupleRows(degree)] + ([ByteRows(degree)] if degree <= 256 else [])
    assert type(rows_for(degree)) is type(kinds[-1])
    source = rng.sample(range(degree), (degree + 1) // 2)
    target = rng.choices(range(degree), k=len(source))
    for rows in kinds:
        a, b = rows.pack(first), rows.pack(second)
        assert tuple(rows.send(a, rows.table(b))) == times(first, second)
        assert tuple(rows.through(a)(rows.table(b))) == times(first, second)
        matched = rows.matching(rows.pack(source), rows.pack(target))
        assert list(rows.send(rows.pack(source), matched)) == target
        for form in (a, list(first)):
            array = image_array([form, form])
            assert (array.shape, array.dtype) == ((2, degree), np.uint8 if degree <= 256 else np.uint16)
            assert array[1].tolist() == list(first)
    assert product_of_word([first, second], [0, 1, 1]) == times(times(first, second), second)
    assert product_of_word([first], []) == tuple(range(degree))


def test_the_reason_names_states_and_words_and_shortens_long_lists() -> None:
    letters = [(1, 0, 2, 2), (0, 1, 3, 3)]
    automaton = Semiautomaton.from_letters(
        letters, state_names=("on", "off", "idle", "dead"), letter_names=("flip", "halt")
    )
    report = algebra_of(automaton)
    assert "C2 of order 2 permutes the states {on, off, idle}, at the idempotent (flip)^2" in report.reason
    wheel = algebra_of(zoo("C40")).reason
    assert wheel.endswith("C40 of order 40 permutes all 40 states, at the identity")
    turn = [(*((q + 1) % 20 for q in range(20)), 0)]
    long = algebra_of(Semiautomaton.from_letters(turn)).reason
    assert "… (20 in all)}" in long
    assert "11, …" in long


def test_a_page_shows_what_is_known_and_what_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.algebra.transition_semigroup.MAX_CLASSES", 50)
    known, unknown = algebra_of("S4"), algebra_of(zoo("T7"))
    assert repr(known) == "<Algebra: 24 states, 8 letters, semigroup of 24 elements, ACC0>"
    assert "semigroup of unknown size" in repr(unknown)
    assert "<th>D-classes</th><td>1</td>" in known._repr_html_()
    assert "<th>semigroup</th><td>not known</td>" in unknown._repr_html_()
    assert isinstance(known.groups[0].group, PermutationGroup)

"""The labels of hints against their meaning, computed letter by letter."""

from itertools import product

import pytest
import torch

import krohn
from every import every
from krohn.cascade.holonomy import holonomy_cascade
from krohn.errors import Unsupported
from krohn.lab import random_streams
from krohn.lab.tasks.batches import Task
from krohn.lab.tasks.cascade_levels import cascade, cascade_levels
from krohn.lab.tasks.doubling import MOST_ELEMENTS, doubling, products
from krohn.lab.tasks.task_config import TaskConfig

CPU = torch.device("cpu")
PLACES = [(1, 2), (2, 4), (3, 8), (5, 32)]
LENGTH = 19


def words_of(spec: str) -> torch.Tensor:
    task = Task(TaskConfig(spec=spec, length=LENGTH), krohn.zoo(spec), CPU)
    return task.sample(random_streams.replicate_keys(3, 2), 0, 4)[0]


def images(spec: str, factor: list[int]) -> list[int]:
    """Where a factor takes each state."""
    table, row = krohn.zoo(spec).table.tolist(), list(range(krohn.zoo(spec).num_states))
    for letter in factor:
        row = [table[state][letter] for state in row]
    return row


@every("spec", ["C3", "D6", "S5", "Grid9", "Dyck4,2", "abab"])
def test_a_label_is_the_element_of_the_last_letters(spec: str) -> None:
    automaton, feasible = krohn.zoo(spec), spec.startswith("Dyck")
    found = products(automaton, feasible=feasible)
    assert found is not None
    lessons, words = doubling(automaton, PLACES, CPU, feasible=feasible), words_of(spec)[:, :2]
    labels = lessons.labels(words)
    assert labels.shape == (len(PLACES), *words.shape, 1)
    for (_, window), hint, own in zip(PLACES, lessons.hints, labels[..., 0], strict=True):
        assert int(own.max()) < hint.classes
        for word, row in zip(words.flatten(0, 1).tolist(), own.flatten(0, 1).tolist(), strict=True):
            for end, label in enumerate(row, 1):
                assert found.rows[label].tolist() == images(spec, word[max(0, end - window) : end])


def test_elements_are_numbered_once_and_by_length() -> None:
    found = products(krohn.zoo("S5"), feasible=False)
    assert found is not None
    assert len({tuple(row) for row in found.rows.tolist()}) == len(found.rows) == 120
    for most in range(3):
        factors = [list(word) for size in range(most + 1) for word in product(range(8), repeat=size)]
        assert len({tuple(images("S5", word)) for word in factors}) == found.within[most]


def test_feasible_factors_of_dyck_are_those_that_avoid_the_error() -> None:
    automaton = krohn.zoo("Dyck4,2")
    (error,) = [q for q in range(automaton.num_states) if set(automaton.table[q].tolist()) == {q}]
    found = products(automaton, feasible=True)
    assert found is not None
    assert len(found.rows) == 1245
    short = [list(word) for size in range(5) for word in product(range(automaton.num_letters), repeat=size)]
    rows = {tuple(images("Dyck4,2", word)) for word in short}
    assert found.within[4] == len([row for row in rows if set(row) != {error}])


def test_a_large_monoid_is_asked_for_the_image_of_each_state() -> None:
    spec = "Grid30"
    automaton, words = krohn.zoo(spec), words_of(spec)
    assert products(automaton, feasible=False) is None
    lessons = doubling(automaton, PLACES, CPU, feasible=False)
    assert {(hint.classes, hint.parts) for hint in lessons.hints} == {(30, 30)}
    labels = lessons.labels(words)
    for place, (_, window) in enumerate(PLACES):
        for end in (1, 2, 5, LENGTH):
            word = words[1, 2].tolist()[max(0, end - window) : end]
            assert labels[place, 1, 2, end - 1].tolist() == images(spec, word)


def test_larger_ones_are_refused() -> None:
    with pytest.raises(Unsupported, match=f"at most {MOST_ELEMENTS:,} elements or at most 64 states"):
        doubling(krohn.zoo("Grid70"), PLACES, CPU, feasible=False)


def test_the_levels_of_a_group_are_its_cosets() -> None:
    automaton = krohn.zoo("S4")
    table, levels = cascade_levels(automaton)
    assert [len(set(level.tolist())) for level in levels] == [2, 6]  # S4/A4 and S4/V4
    for level in levels:  # a coset and a letter determine the next coset
        steps = {
            (level[state], letter): set() for state in range(24) for letter in range(automaton.num_letters)
        }
        for state, letter in product(range(24), range(automaton.num_letters)):
            steps[level[state], letter].add(int(level[table[state, letter]]))
        assert {len(targets) for targets in steps.values()} == {1}
        sizes = [level.tolist().count(coset) for coset in set(level.tolist())]
        assert len(set(sizes)) == 1


def test_the_levels_of_other_automata_are_the_coordinates_of_the_cascade() -> None:
    automaton, words = krohn.zoo("Grid4"), words_of("Grid4")
    covering, lessons = holonomy_cascade(automaton), cascade(automaton, 4, CPU)
    assert [hint.block for hint in lessons.hints] == [1, 2, 3]
    labels = lessons.labels(words)[..., 0]
    for index in (0, 3):
        place = covering.initial
        for position, letter in enumerate(words[1, index].tolist()):
            place = covering.step(place, letter)
            assert tuple(labels[:, 1, index, position].tolist()) == place


@every(("spec", "layers", "reason"), [("A5", 7, "has one"), ("C2", 7, "has one"), ("Grid9", 7, "8 levels")])
def test_a_cascade_that_cannot_be_taught_is_refused(spec: str, layers: int, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        cascade(krohn.zoo(spec), layers, CPU)

"""Products against their definitions on pairs and tuples."""

import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from naive_machines import closure

from krohn.automata.products import direct_product
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import zoo


@st.composite
def automata(draw: st.DrawFn, most_states: int = 4, most_letters: int = 3) -> Semiautomaton:
    states, letters = draw(st.integers(1, most_states)), draw(st.integers(1, most_letters))
    entries = st.lists(st.integers(0, states - 1), min_size=states * letters, max_size=states * letters)
    table = np.array(draw(entries)).reshape(states, letters)
    return Semiautomaton(table, start=draw(st.integers(0, states - 1)))


def numbered(parts: Sequence[Semiautomaton]) -> list[tuple[int, ...]]:
    """The tuples of states in the order of their numbers."""
    return list(itertools.product(*(range(part.num_states) for part in parts)))


@given(st.lists(automata(3, 2), min_size=1, max_size=3))
def test_a_direct_product_moves_each_component_by_its_own_letter(parts: list[Semiautomaton]) -> None:
    product, states = direct_product(*parts), numbered(parts)
    letters = list(itertools.product(*(range(part.num_letters) for part in parts)))
    assert (product.num_states, product.num_letters) == (len(states), len(letters))
    assert states[product.start] == tuple(part.start for part in parts)
    for (q, state), (a, letter) in itertools.product(enumerate(states), enumerate(letters)):
        moved = tuple(part.step(s, x) for part, s, x in zip(parts, state, letter, strict=True))
        assert states[product.step(q, a)] == moved


def test_a_direct_product_of_groups_has_the_product_of_their_orders() -> None:
    assert len(closure(direct_product(zoo("C2"), zoo("C3")).letters)) == 6
    assert len(closure(direct_product(zoo("C2"), zoo("C2"), zoo("S3")).letters)) == 24


def test_names_that_would_coincide_become_numbers() -> None:
    left = Semiautomaton(np.array([[0], [1]]), state_names=("a", "a,b"))
    right = Semiautomaton(np.array([[0], [1]]), state_names=("b,c", "c"))
    assert direct_product(left, right).state_names == ("0", "1", "2", "3")

"""Properties that hold for any table, formula, permutation-reset automaton and gridworld."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from krohn.algebra.counters import prime_tower
from krohn.algebra.transformation import compose
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.forward import apply_mlp
from krohn.paper.barrington import barrington
from krohn.paper.bounds import scan_bounds
from krohn.paper.interpolation import interpolate_nd
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper
from krohn.paper.theorem3 import build_grid
from paper.lemmas import interpolation_nd_bound, interpolation_nd_meaning
from paper.paper_oracles import assert_simulates
from paper.recipe_sizes import theorem2_bounds
from paper.test_grid_recognition import renamed_grid

FEW = settings(max_examples=25, deadline=None)


@st.composite
def tables(draw):
    dims = draw(st.integers(1, 4))
    rows = draw(st.lists(st.tuples(*[st.integers(-3, 3)] * dims), min_size=1, max_size=12, unique=True))
    values = draw(st.lists(st.integers(-9, 9), min_size=len(rows), max_size=len(rows)))
    noise = draw(st.lists(st.floats(-0.25, 0.25), min_size=dims, max_size=dims))
    return np.array(rows), np.array(values, dtype=np.float64)[:, None], np.array(noise)


@FEW
@given(tables())
def test_any_table_is_reproduced_within_its_tolerance_and_bounds(table) -> None:
    rows, values, noise = table
    mlp = interpolate_nd(rows, values)
    out = apply_mlp(mlp, rows + noise)
    np.testing.assert_allclose(out, interpolation_nd_meaning(rows, values, rows + 0.9 * noise), atol=1e-6)
    assert interpolation_nd_bound(rows, values).violations(mlp) == []


FORMULAS = st.recursive(
    st.sampled_from(["x", "y", "z"]),
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({} & {})".format, inner, inner),
        st.builds("({} | {})".format, inner, inner),
        st.builds("({} ^ {})".format, inner, inner),
    ),
    max_leaves=5,
)


@FEW
@given(FORMULAS)
def test_any_formula_is_evaluated_by_its_word(text) -> None:
    python = text.replace("!", "~")  # ~ binds like !; the last bit of an integer is the truth value
    program = barrington(text)
    for values in itertools.product((False, True), repeat=3):
        names = dict(zip("xyz", values, strict=True))
        assert program.accepts(names) == bool(
            eval(python, {}, dict(zip("xyz", map(int, values), strict=True))) & 1
        )


@st.composite
def permutation_reset_automata(draw):
    states = draw(st.integers(2, 4))
    moves = draw(st.lists(st.permutations(range(states)), min_size=0, max_size=2))
    resets = draw(st.lists(st.integers(0, states - 1), min_size=0 if moves else 1, max_size=2))
    letters = [*moves, *([reset] * states for reset in resets)]
    return Semiautomaton.from_letters(letters, start=draw(st.integers(0, states - 1)))


@FEW
@given(permutation_reset_automata(), st.integers(0, 2**32 - 1))
def test_any_permutation_reset_automaton_is_built_by_both_theorems(automaton, seed) -> None:
    words = np.random.default_rng(seed).integers(0, automaton.num_letters, (6, 11))
    bounds = (theorem2_bounds(automaton, 11), scan_bounds(automaton.num_states, 11))
    for net, bound in zip((build_paper(automaton, 11), build_scan(automaton, 11)), bounds, strict=True):
        assert_simulates(net, words)
        assert net.transformer.depth <= bound.stated.depth


@FEW
@given(st.lists(st.permutations(range(4)), min_size=1, max_size=3))
def test_any_group_on_four_points_has_a_faithful_encoding(generators) -> None:
    tower = prime_tower([tuple(g) for g in generators], 4)
    assert len(tower.vectors) == np.prod(tower.moduli, initial=1)
    assert len(set(tower.vectors.values())) == len(tower.vectors)
    assert all(compose(g, h) in tower.vectors for g in tower.vectors for h in list(tower.vectors)[:3])


@FEW
@given(
    st.lists(st.integers(2, 4), min_size=1, max_size=3),
    st.integers(0, 99),
    st.sampled_from(["mod", "mod_sum", "count"]),
)
def test_any_box_is_a_grid_of_two_layers(shape, seed, variant) -> None:
    axes = len(shape)
    moves = [tuple(sign * (i == axis) for i in range(axes)) for axis in range(axes) for sign in (1, -1)]
    automaton = renamed_grid(tuple(shape), moves, seed)
    net = build_grid(automaton, 12, variant, "sin")
    assert net.transformer.depth == 2
    assert_simulates(net, np.random.default_rng(seed).integers(0, len(moves), (5, 12)))

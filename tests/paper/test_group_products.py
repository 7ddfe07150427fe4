"""Direct, semidirect and wreath products, and solvable groups, against plain multiplication of elements."""

import itertools

import numpy as np
import pytest

from every import every
from krohn.algebra.counters import prime_tower
from krohn.algebra.transformation import compose
from krohn.network.forward import apply_mlp, logits
from krohn.network.transformer import Transformer
from krohn.paper.bounds import solvable_group_bounds
from krohn.paper.counter import absorber
from krohn.paper.group_products import (
    SHARED,
    GroupSimulator,
    cyclic_simulator,
    direct_product,
    reindex_mlp,
    semidirect_product,
    solvable_simulator,
    trivial_simulator,
    wreath_product,
)
from paper.group_oracles import Multiply, Sizes, cyclic, direct, semidirect, sizes, wreath
from paper.lemmas import reindex_meaning

LENGTH = 9
GROUPS = {
    "S3": [(1, 0, 2), (1, 2, 0)],
    "C6": [(1, 2, 3, 4, 5, 0)],
    "C9": [(1, 2, 3, 4, 5, 6, 7, 8, 0)],
    "D8": [(1, 2, 3, 0), (0, 3, 2, 1)],
    "Q8": [(1, 2, 3, 0, 5, 6, 7, 4), (4, 7, 6, 5, 2, 1, 0, 3)],
    "A4": [(1, 2, 0, 3), (1, 0, 3, 2)],
    "S4": [(1, 0, 2, 3), (1, 2, 3, 0)],
    "F20": [(1, 2, 3, 4, 0), (0, 2, 4, 1, 3)],
}


def prefix_codes(sim: GroupSimulator, elements: list, words, dtype=np.float64):
    """Runs the simulator as a Transformer that shows its channels."""
    embedding = np.array([[*sim.encode(element), 0, 0] for element in elements], dtype=np.float64)
    padding = np.array([[0] * sim.rep_dim + [1, 0]])
    dim = sim.rep_dim + SHARED
    positions = np.zeros((1 + words.shape[1], dim))
    positions[:, -1] = absorber(1 + words.shape[1], LENGTH)
    network = Transformer(embedding, padding, positions, sim.layers, np.eye(dim), np.zeros(dim))
    return logits(network, words, dtype)[..., : sim.rep_dim]


def assert_multiplies(sim: GroupSimulator, elements: list, multiply: Multiply) -> None:
    words = np.random.default_rng(0).integers(0, len(elements), (40, LENGTH))
    products = [itertools.accumulate((elements[letter] for letter in word), multiply) for word in words]
    wanted = np.array([[sim.encode(element) for element in row] for row in products])
    for dtype in (np.float64, np.float32):
        np.testing.assert_allclose(prefix_codes(sim, elements, words, dtype), wanted, atol=0.02)


def shared_once(sims: list[Sizes]) -> int:
    """Σ dim of the lemmas, less the two shared channels that all but one do not need again."""
    return sum(sim.dim for sim in sims) - SHARED * (len(sims) - 1)


def test_a_direct_product_has_the_sizes_of_its_lemma() -> None:
    s3 = solvable_simulator(prime_tower(GROUPS["S3"], 3), LENGTH)
    sims = [cyclic_simulator(2, LENGTH), cyclic_simulator(5, LENGTH), s3]
    product = direct_product(sims)
    size, parts = sizes(product), [sizes(sim) for sim in sims]
    assert size.depth == max(part.depth for part in parts)
    assert size.dim == shared_once(parts) <= sum(part.dim for part in parts)
    assert size.heads <= sum(part.heads for part in parts)
    # A part that is done or idle is carried along by its residual, so no part needs units for it.
    assert size.mlp_width <= sum(part.mlp_width for part in parts)
    assert size.max_weight <= max(part.max_weight for part in parts)
    assert (product.rep_dim, product.rep_size) == (
        sum(sim.rep_dim for sim in sims),
        max(sim.rep_size for sim in sims),
    )


@pytest.mark.parametrize(("n", "h", "power"), [(5, 2, 4), (7, 3, 2), (9, 2, 8), (13, 4, 5)])
def test_a_semidirect_product_has_the_sizes_of_its_lemma(n, h, power) -> None:
    one, other = cyclic_simulator(n, LENGTH), cyclic_simulator(h, LENGTH)
    sim = semidirect_product(one, other, lambda k, g: g * power**k % n)
    size, normal, acting = sizes(sim), sizes(one), sizes(other)
    assert size.depth == normal.depth + acting.depth + 2
    assert size.dim == shared_once([normal, acting])
    assert size.heads == max(normal.heads, acting.heads)
    # Two coordinates are told apart by 4 units each, and there is one unit per pair (Lemma mlp-nd).
    assert size.mlp_width <= max(normal.mlp_width, acting.mlp_width, 4 * n * h)
    assert size.max_weight <= max(normal.max_weight, acting.max_weight, 6 * n, 2)
    assert (sim.rep_dim, sim.rep_size) == (2, max(one.rep_size, other.rep_size))


@pytest.mark.parametrize(("n", "h"), [(2, 2), (2, 3), (3, 2), (5, 3)])
def test_a_wreath_product_has_the_sizes_of_its_lemma(n, h) -> None:
    one, other = cyclic_simulator(n, LENGTH), cyclic_simulator(h, LENGTH)
    sim = wreath_product(one, other, h)
    size, normal, top = sizes(sim), sizes(one), sizes(other)
    assert size.depth == normal.depth + top.depth + 2
    assert size.dim <= h * normal.dim + top.dim
    assert size.heads == max(h * normal.heads, top.heads)
    assert size.mlp_width <= max(h * normal.mlp_width, top.mlp_width, 5 * h**2 * n)
    assert size.max_weight <= max(normal.max_weight, top.max_weight, 6 * h)
    assert (sim.rep_dim, sim.rep_size) == (h * one.rep_dim + 1, max(one.rep_size, other.rep_size))


def test_a_direct_product_runs_in_the_depth_of_its_deepest_factor() -> None:
    sim = direct_product([cyclic_simulator(n, LENGTH) for n in (2, 3, 5)])
    numbers = direct([cyclic(n) for n in (2, 3, 5)])
    assert_multiplies(sim, list(sim.elements), numbers)
    assert (sizes(sim).depth, sim.rep_dim, sizes(sim).heads) == (1, 3, 3)
    deep = direct_product([sim, solvable_simulator(prime_tower(GROUPS["S3"], 3), LENGTH)])
    assert sizes(deep).depth == 4
    assert_multiplies(deep, list(deep.elements)[::7], direct([numbers, compose]))


def test_a_semidirect_product_takes_two_more_layers() -> None:
    def mirror(h, g):
        return (-g) % 5 if h else g

    def double(h, g):
        return g * 2**h % 7

    flip = semidirect_product(cyclic_simulator(5, LENGTH), cyclic_simulator(2, LENGTH), mirror)
    assert_multiplies(flip, list(flip.elements), semidirect(cyclic(5), cyclic(2), mirror))
    assert (sizes(flip).depth, sizes(flip).dim, sizes(flip).heads) == (4, 4, 1)
    assert sizes(flip).mlp_width <= max(4 * 5 * LENGTH, 4 * 10)
    turn = semidirect_product(cyclic_simulator(7, LENGTH), cyclic_simulator(3, LENGTH), double)
    assert_multiplies(turn, list(turn.elements), semidirect(cyclic(7), cyclic(3), double))


def test_a_wreath_product_needs_no_table_of_its_elements() -> None:
    sim = wreath_product(cyclic_simulator(2, LENGTH), cyclic_simulator(3, LENGTH), 3)
    elements = [(f, k) for f in itertools.product(range(2), repeat=3) for k in range(3)]
    assert_multiplies(sim, elements, wreath(cyclic(2), 3))
    assert (sizes(sim).depth, sim.rep_dim, sizes(sim).heads) == (1 + 1 + 2, 3 * 1 + 1, 3)
    assert sizes(sim).mlp_width <= max(3 * 4 * 2 * LENGTH, 4 * 3 * LENGTH, 5 * 3**2 * 2)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("order", [2, 3, 5])
def test_reindexing_permutes_the_copies(order, sign) -> None:
    rng = np.random.default_rng(order)
    mlp = reindex_mlp(order, 2, 4, sign)
    for k in range(order):
        blocks = rng.integers(0, 4, (order, 2))
        out = apply_mlp(mlp, np.array([[*blocks.reshape(-1), k]], dtype=np.float64))
        assert out.reshape(order, 2).tolist() == reindex_meaning(blocks.tolist(), k, sign)


@every("name", GROUPS)
def test_a_solvable_group_is_simulated_within_the_theorem(name) -> None:
    generators = GROUPS[name]
    tower = prime_tower(generators, len(generators[0]))
    sim = solvable_simulator(tower, LENGTH)
    assert_multiplies(sim, list(tower.vectors), compose)
    bound = solvable_group_bounds(len(tower.vectors), len(generators[0]), LENGTH)
    size = sizes(sim)
    assert size.depth == 3 * len(tower.moduli) - 2 <= bound.stated.depth
    assert size.dim <= bound.stated.dim
    assert size.heads <= bound.stated.heads
    assert size.mlp_width <= bound.stated.mlp_width
    assert size.max_weight <= bound.stated.max_weight
    assert (sim.rep_dim, sim.rep_size) <= (2 * len(tower.vectors), len(generators[0]))


@every("name", GROUPS)
def test_the_embedding_is_a_faithful_homomorphism_into_the_wreath_product(name) -> None:
    generators = GROUPS[name]
    tower = prime_tower(generators, len(generators[0]))
    assert len(set(tower.vectors.values())) == len(tower.vectors) == np.prod(tower.moduli)
    assert not any(tower.vectors[tuple(range(tower.degree))])
    assert max(max(code) for code in tower.vectors.values()) < max(tower.moduli)
    coset, (prime,) = tower.sections[0].residues, tower.sections[0].moduli
    for g, h in itertools.product(list(tower.vectors)[:20], repeat=2):
        assert coset[compose(g, h)][0] == (coset[g][0] + coset[h][0]) % prime


def test_sine_counters_work_inside_products() -> None:
    tower = prime_tower(GROUPS["S3"], 3)
    sim = solvable_simulator(tower, LENGTH, "sin")
    assert_multiplies(sim, list(tower.vectors), compose)
    assert sizes(sim).mlp_width < sizes(solvable_simulator(tower, LENGTH)).mlp_width


def test_the_trivial_group_needs_nothing() -> None:
    assert trivial_simulator().layers == solvable_simulator(prime_tower([], 4), LENGTH).layers == ()
    assert trivial_simulator().rep_dim == 0

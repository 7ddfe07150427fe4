"""Hard inputs give a network or a one-line error with the limit, within a bounded amount of work."""

import random

import pytest

import krohn
from construct.small_automata import hard_words
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.construct.request import Request
from krohn.construct.sources import proposals
from krohn.errors import Unsupported
from krohn.functions import simulate
from unproved import compile

Maps = list[list[int]]


def r_trivial(states: int, seed: int) -> Maps:
    dice = random.Random(seed)
    return [[dice.randint(q, states - 1) for q in range(states)] for _ in range(3)]


def many_sinks(states: int, sinks: int, seed: int) -> Maps:
    dice = random.Random(seed)
    live = states - sinks
    return [[dice.randrange(states) if q < live else q for q in range(states)] for _ in range(2)]


def flip_flops(count: int) -> Maps:
    size = range(2**count)
    written = [[q | 1 << bit for q in size] for bit in range(count)]
    return written + [[q & ~(1 << bit) for q in size] for bit in range(count)]


def uniform(states: int, seed: int) -> Maps:
    dice = random.Random(seed)
    return [[dice.randrange(states) for _ in range(states)] for _ in range(2)]


FAMILIES = {
    **{f"R-trivial {seed}": r_trivial(6 + 3 * seed, seed) for seed in range(6)},
    **{f"sinks {seed}": many_sinks(8 + 3 * seed, 4 + 2 * seed, seed) for seed in range(5)},
    **{f"uniform {seed}": uniform(5 + 2 * seed, seed) for seed in range(6)},
    "six flip-flops": flip_flops(6),
}
EFFORT = 0.03


@pytest.mark.parametrize("part", ["few", "rest"])
@every("name", FAMILIES)
def test_hard_families_are_answered_within_their_units(name: str, part: str) -> None:
    if (list(FAMILIES).index(name) % 2 == 0) != (part == "few"):
        return
    automaton = Semiautomaton.from_letters(FAMILIES[name])
    request = Request(automaton, 12, effort=EFFORT)
    budget = request.budget()
    assert proposals(request, budget)
    assert budget.done <= budget.units
    network = krohn.compile(automaton, 12, effort=EFFORT)
    words = hard_words(automaton, 12, 10)
    assert (network.run(words) == simulate(automaton, words)).all()


def test_bits_side_by_side_are_one_layer() -> None:
    automaton = Semiautomaton.from_letters(flip_flops(6))
    network = compile(automaton, 12)
    assert network.transformer.depth == 1
    words = hard_words(automaton, 12, 20)
    assert (network.run(words) == simulate(automaton, words)).all()
    assert krohn.decompose(automaton).levels == 1


@every(
    ("spec", "depth", "parameters"),
    [("Grid9x9", 2, 5_500), ("C2xDyck4,2", 3, 5_500), ("C2xGrid9", 2, 3_000), ("Grid40", 2, 8_000)],
)
def test_known_shapes_are_found_at_the_top_and_inside_products(
    spec: str, depth: int, parameters: int
) -> None:
    automaton = krohn.parse_spec(spec)
    network = compile(automaton, 100)
    sizes = network.sizes()
    assert sizes["depth"] == depth
    assert sizes["num_parameters"] <= parameters
    words = hard_words(automaton, 100, 4)
    assert (network.run(words) == simulate(automaton, words)).all()


def driven_shape(inner: Semiautomaton) -> Semiautomaton:
    """A switch in front of an automaton: it reads letters only while the switch is on."""
    size = inner.num_states
    switched = [[q + size if q < size else q - size for q in range(2 * size)]]
    letters = [[q if q < size else size + inner.step(q - size, a) for q in range(2 * size)]
               for a in range(inner.num_letters)]  # fmt: skip
    return Semiautomaton.from_letters(letters + switched)


@pytest.mark.parametrize("spec", ["Grid5", "Dyck2,2"])
def test_known_shapes_are_found_in_the_fibre_of_a_serial_plan(spec: str) -> None:
    automaton = driven_shape(krohn.parse_spec(spec))
    network = compile(automaton, 24, method="cascade", effort=0.1)
    plan = krohn.decompose(automaton, effort=0.1).plan  # type: ignore[arg-type]
    kinds = {part.kind for part in plan.components}
    assert {"Grid5": "clamped counter", "Dyck2,2": "stack place"}[spec] in kinds
    words = hard_words(automaton, 24, 30)
    assert (network.run(words) == simulate(automaton, words)).all()


def test_a_plan_that_does_not_fit_gives_way_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few rows allowed the tables of the cascade are refused, and the scan has none."""
    automaton = krohn.zoo("T3")
    assert compile(automaton, 100, method="cascade").transformer.depth == 5
    monkeypatch.setattr("krohn.construct.request.MAX_ROWS", 8)
    network = compile(automaton, 100, effort=0.1)
    assert network.method == "scan"
    with pytest.raises(Unsupported, match="raise --effort"):
        compile(automaton, 100, method="cascade")


@every("spec", ["Dyck4,2", "T3", "S4", "Grid3x4", "Add", "regex:(a|b)*abb", "abab"])
def test_decompose_shows_the_plan_that_compile_builds(spec: str) -> None:
    automaton = krohn.parse_spec(spec)
    shown = krohn.decompose(automaton)  # type: ignore[arg-type]
    built = compile(automaton, 20, method="cascade")
    assert shown.layers == built.transformer.depth
    request = Request(automaton, 20, method="cascade")  # type: ignore[arg-type]
    (proposal,) = proposals(request, request.budget())
    assert list(proposal.lines) == ["  " * indent + node.title for indent, node in shown.plan.walk()]


def test_the_letters_last_read_are_the_state_without_a_table() -> None:
    automaton = krohn.parse_spec("regex:(a|b)*a(a|b){9}")
    network = compile(automaton, 30)
    assert (network.transformer.depth, network.transformer.mlp_width) == (1, 0)
    words = hard_words(automaton, 30, 40)
    assert (network.run(words) == simulate(automaton, words)).all()

"""Choice of plans and options: requests against a table, sources against a model, objectives."""

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import krohn
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.portable import Budget
from krohn.construct.compiling import cost
from krohn.construct.request import CHOICES, Objective, Proposal, ProposalSource, Request
from krohn.construct.sources import proposals
from krohn.errors import InvalidInput, LimitExceeded, Unsupported
from krohn.network.compiled import CompiledNetwork
from krohn.network.lowering.assembly import lowers_again
from krohn.network.program import Program
from unproved import compile

OBJECTIVES: tuple[Objective, ...] = ("depth", "blocks", "parameters", "width")
ACCEPTED = {  # the methods that accept a non-default value of each option, as documented
    "target=observation": {"auto", "cascade", "features"},
    "objective=width": {"auto", "cascade", "features"},
    "activation=sin": {"paper", "grid"},
    "gadget=hat": {"scan"},
    "gadget=direct": {"scan"},
    "dtype=float32": {"auto", "cascade", "features", "scan", "paper", "grid"},
}
LENGTH = 7


@every("setting", ACCEPTED)
def test_an_option_is_accepted_by_exactly_the_methods_that_have_it(setting: str) -> None:
    name, value = setting.split("=")
    for method in ("auto", "scan", "cascade", "features", "paper", "grid"):
        options = {"method": method, name: value}
        if method in ACCEPTED[setting]:
            assert getattr(Request(parse_spec("C2"), 4, **options), name) == value  # type: ignore[arg-type]
            continue
        with pytest.raises(InvalidInput, match=name) as refused:
            Request(parse_spec("C2"), 4, **options)  # type: ignore[arg-type]
        assert len(str(refused.value)) <= 300


@every("name", CHOICES)
@every("wrong", ["", "Auto ", "none", 0, 1.5])
def test_an_unknown_choice_is_named_with_the_known_ones(name: str, wrong: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        Request(parse_spec("C2"), 4, **{name: wrong})  # type: ignore[arg-type]
    line = next(part for part in str(refused.value).split("; ") if part.startswith(f"{name} must be one of"))
    assert line.removeprefix(f"{name} must be one of ").split(", ") == [str(value) for value in CHOICES[name]]
    assert f"got {wrong!r}" in str(refused.value)


@every("wrong", [0, -1, -0.5, float("nan"), float("-inf"), float("inf")])
def test_an_effort_that_is_not_positive_is_refused_with_its_value(wrong: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        Request(parse_spec("C2"), 4, effort=wrong)
    assert str(refused.value) == f"effort must be positive; got {wrong!r}"


def no_program() -> Program:
    raise AssertionError("a program is written only where its plan is chosen")


def fake_source(
    name: str, methods: tuple[str, ...], layers: int | None, least: int, log: list[str]
) -> ProposalSource:
    """A source that records its calls; without layers it has no proposal."""

    def propose(request: Request, budget: Budget) -> Iterable[Proposal]:
        log.append(name)
        if layers is None:
            raise (Unsupported if len(log) % 2 else LimitExceeded)(f"{name} has none; ask another")
        return [Proposal(name, layers, no_program, ())]

    return ProposalSource(name, methods, propose, lambda request: least)


@every("seed", range(40))
def test_sources_are_asked_in_order_unless_as_few_layers_have_been_found(seed: int) -> None:
    rng = random.Random(seed)
    objective = OBJECTIVES[seed % 4]
    request = Request(parse_spec("C2"), 4, method=rng.choice(("auto", "cascade")), objective=objective)
    rows = []
    for number in range(4):
        methods = rng.choice((("auto",), ("auto", "cascade")))
        rows.append((f"s{number}", methods, rng.choice((None, 1, 2, 3, 4)), rng.randint(0, 3)))
    asked: list[str] = []
    result: list[int] = []
    for name, methods, layers, least in rows:
        if request.method in methods and (objective != "depth" or all(least < old for old in result)):
            asked.append(name)
            result += [] if layers is None else [layers]
    log: list[str] = []
    sources = tuple(fake_source(*row, log) for row in rows)
    if result:
        assert [plan.layers for plan in proposals(request, request.budget(), sources)] == result
    else:
        with pytest.raises(Unsupported) as refused:
            proposals(request, request.budget(), sources)
        assert all(f"{name} has none" in str(refused.value) for name in asked)
        assert ("; ask another" in str(refused.value)) == (len(asked) == 1)  # advice only where it is whole
    assert log == asked


@cache
def small(seed: int) -> Semiautomaton:
    """Two or three states, two letters, a random start, and two colours that the states show."""
    rng = random.Random(seed)
    size = rng.randint(2, 3)
    letters = [[rng.randrange(size) for _ in range(size)] for _ in range(2)]
    result = Semiautomaton.from_letters(letters, start=rng.randrange(size))
    return replace(result, observe=tuple(rng.randrange(2) for _ in range(size)))


@cache
def network_of(seed: int, objective: Objective) -> CompiledNetwork:
    return compile(small(seed), LENGTH, objective=objective, effort=0.1)


def naive_states(automaton: Semiautomaton, words: np.ndarray) -> list[list[int]]:
    runs = []
    for word in words.tolist():
        state, run = automaton.start, []
        for letter in word:
            state = int(automaton.table[state, letter])
            run.append(state)
        runs.append(run)
    return runs


WORDS = np.array(list(product(range(2), repeat=LENGTH)), dtype=np.int64)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_no_objective_is_served_better_by_the_network_of_another(seed: int) -> None:
    networks = {objective: network_of(seed, objective) for objective in OBJECTIVES}
    for objective, other in product(OBJECTIVES, repeat=2):
        own, theirs = (cost(networks[name].transformer, objective) for name in (objective, other))
        assert own[0] <= theirs[0], f"{objective} of the network for {other}"
    sizes = {name: network.sizes() for name, network in networks.items()}
    assert sizes["blocks"]["blocks"] <= sizes["depth"]["blocks"]
    assert sizes["depth"]["depth"] <= sizes["blocks"]["depth"]
    assert all(size["blocks"] >= size["depth"] for size in sizes.values())


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_networks_of_all_objectives_have_the_states_of_every_word(seed: int) -> None:
    expected = naive_states(small(seed), WORDS)
    for objective in OBJECTIVES:
        assert network_of(seed, objective).run(WORDS).tolist() == expected, objective


@every("seed", range(5, 9))
def test_a_network_for_the_observation_shows_the_colour_of_the_state(seed: int) -> None:
    automaton = small(seed)
    assert automaton.observe is not None
    network = compile(automaton, LENGTH, target="observation", effort=0.1)  # type: ignore[arg-type]
    colours = [[automaton.observe[state] for state in run] for run in naive_states(automaton, WORDS)]
    assert network.run(WORDS).tolist() == colours
    assert network.automaton.num_states <= automaton.num_states


def test_sums_are_rounded_where_the_proof_needs_it() -> None:
    """Both ways are tried; the one with fewer blocks is proved up to some length, the other beyond it."""
    automaton = parse_spec("regex:a*b(a|b)*aab")
    found = [krohn.compile(automaton, length) for length in (100, 1000)]
    assert [(net.proved, net.transformer.depth, net.transformer.num_blocks) for net in found] == [
        ("float32", 1, 2),
        ("float32", 1, 4),
    ]
    assert all(lowers_again(net) for net in found)


def test_what_never_changes_needs_no_layer() -> None:
    automaton = replace(parse_spec("C3"), observe=(1, 1, 1))
    network = compile(automaton, LENGTH, target="observation", effort=0.1)
    assert network.transformer.depth == 0
    assert (network.run(np.zeros((1, LENGTH), dtype=np.int64)) == 1).all()

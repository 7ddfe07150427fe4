"""What the compiler builds is certified: a sample of random automata and regular expressions."""

import re
import time

import numpy as np
import pytest

import krohn
from every import every
from krohn.check.ground import Refused, Work
from krohn.errors import KrohnError
from krohn.proving.attempts import arithmetic, attempt
from krohn.proving.witness.machines import tabulate_step
from krohn.proving.witness.search import begin_walk, checkable, walk_through
from proving.built_networks import compiled

PATTERNS = ["a*b(a|b)*", "(aab)*", "a(ba)*b*"]


@every("seed", range(4))
@every("dtype", ["float64", "float32"])
def test_random_automata_are_certified(seed: int, dtype: str) -> None:
    dice = np.random.default_rng(seed)
    states = int(dice.integers(3, 7))
    automaton = krohn.Semiautomaton(table=dice.integers(states, size=(states, 2)).astype(np.int32))
    network = krohn.compile(automaton, 32, dtype=dtype)
    assert attempt(network.transformer, automaton, 32, arithmetic(dtype))[1] is None


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions_are_certified(pattern: str) -> None:
    automaton = krohn.from_regex(pattern)
    network = krohn.compile(automaton, 32)
    assert krohn.verify(network, second_opinion=False).certified


@every("length", [1, 24])
def test_short_and_longer_words_are_certified(length: int) -> None:
    for spec in ("C3", "abab", "Grid4"):
        network = krohn.compile(krohn.zoo(spec), length, method="cascade")
        outcome = attempt(network.transformer, network.automaton, length, arithmetic("float64"))[1]
        assert outcome is None, spec


@every("length", [1, 2, 7])
@every("method", ["scan", "paper", "grid"])
def test_faithful_constructions_are_certified_at_small_lengths(method: str, length: int) -> None:
    network = compiled("Grid4", length, method)
    assert attempt(network.transformer, network.automaton, length, arithmetic("float64"))[1] is None


FORMERLY_LOST = [
    ("D8", 1, "float64", {"method": "cascade"}),  # a window that ends before the first position
    ("A4", 1, "float32", {"method": "paper"}),  # a sum of noise alone
    ("C6", 16, "float32", {"method": "paper", "activation": "sin"}),  # noise beside the steps of a sum
    ("D6", 64, "float32", {"method": "scan", "gadget": "plateau"}),  # two hidden layers
    ("D6", 64, "float64", {"method": "scan", "gadget": "hat"}),
]


@pytest.mark.parametrize(("spec", "length", "dtype", "options"), FORMERLY_LOST)
def test_what_a_version_refused_is_certified(
    spec: str, length: int, dtype: str, options: dict[str, str]
) -> None:
    network = krohn.compile(krohn.zoo(spec), length, dtype=dtype, **options)  # type: ignore[arg-type]
    assert attempt(network.transformer, network.automaton, length, arithmetic(dtype))[1] is None


@pytest.mark.parametrize(
    ("spec", "options"),
    [("Grid9", {"activation": "sin"}), ("Grid3", {"activation": "sin"})],
)
def test_the_longest_words_that_the_compiler_promises_are_certified(
    spec: str, options: dict[str, str]
) -> None:
    automaton = krohn.zoo(spec)
    with pytest.raises(KrohnError, match="use --") as refusal:
        krohn.compile(automaton, 64, method="grid", dtype="float32", **options)  # type: ignore[arg-type]
    longest = int(re.findall(r"largest that holds is (\d+)", str(refusal.value))[0])
    network = krohn.compile(automaton, longest, method="grid", dtype="float32", **options)  # type: ignore[arg-type]
    assert attempt(network.transformer, automaton, longest, arithmetic("float32"))[1] is None


def test_printed_visits_are_refused_without_the_long_search() -> None:
    network = krohn.compile(krohn.zoo("Grid5"), 40, method="grid", variant="log_depth")
    start = time.process_time()
    refusal = attempt(network.transformer, network.automaton, 40, arithmetic("float64"))[1]
    assert refusal is not None
    assert "run, not proved" in refusal.reason
    assert time.process_time() - start < 10  # the search for a machine took minutes


@pytest.mark.parametrize("states", [21, 30])
def test_random_automata_of_middle_size_are_proved_in_float32(states: int) -> None:
    table = np.random.default_rng(0).integers(states, size=(states, 4))
    network = krohn.compile(krohn.Semiautomaton(table=table), 64)
    assert network.proved == "float32"
    assert not network.passed_over  # the first scan is taken: what its heads copy is exact


def test_the_budget_counts_the_runs_of_an_mlp_on_all_values_of_a_counter() -> None:
    length, given = 100, 1e9
    network = krohn.compile("C2", length, method="cascade", unproved=True)
    checked = checkable(network.transformer, network.automaton)[0]
    walk = begin_walk(checked, "float64", length, Work(given))
    walk_through(walk)
    moment, layer = walk.moments[1], checked.layers[0]
    rows = moment.classes * int(moment.high[0] - moment.low[0] + 1)
    work = rows * sum(weight.shape[1] for weight in layer.weights)
    budget = Work(given)
    tabulate_step(moment, layer, budget, choices=True)
    assert (len(moment.low), given - budget.left) == (1, work)
    with pytest.raises(Refused, match="all values of counter 1"):
        tabulate_step(moment, layer, Work(work - 1), choices=True)

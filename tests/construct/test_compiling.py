"""``krohn.compile``: every automaton of the paper, random ones, regexes, options, and refusals."""

import numpy as np
import pytest
from size_table import PAPER_AUTOMATA

import krohn
from construct.small_automata import assert_simulates, random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput, Unsupported
from krohn.network.compiled import load, save
from unproved import compile

# depth and dimension at T = 100: neither may grow.
SIZES = {
    **{f"C{n}": (1, 3) for n in range(2, 9)},
    "C2xC2": (1, 4),
    "C2xC2xC2": (1, 5),
    "D6": (2, 4),
    "D8": (1, 11),
    "Q8": (2, 5),
    "A4": (2, 5),
    "S4": (3, 6),
    "A5": (7, 16),
    "S5": (7, 16),
    "Grid4": (2, 6),
    "Grid9": (2, 6),
    "Dyck4,2": (3, 11),
}


@every("name", PAPER_AUTOMATA)
def test_the_automata_of_the_paper_compile_at_length_100_as_small_as_ever(name: str) -> None:
    network = compile(krohn.zoo(name), 100)
    assert_simulates(network, count=6)
    sizes = network.sizes()
    assert sizes["depth"] <= SIZES[name][0]
    assert sizes["dim"] <= SIZES[name][1]


@every("seed", range(12))
def test_random_automata_compile(seed: int) -> None:
    assert_simulates(compile(random_automaton(seed), 24, effort=0.1), count=4)  # type: ignore[arg-type]


@every("seed", range(0, 60, 5))
def test_random_automata_compile_as_cascades_however_deep(seed: int) -> None:
    automaton = random_automaton(1000 + seed)
    if not krohn.decompose(automaton, plain=True).is_solvable:
        with pytest.raises(Unsupported, match="not solvable"):
            compile(automaton, 20, method="cascade")  # type: ignore[arg-type]
        return
    network = compile(automaton, 20, method="cascade", effort=0.1)  # type: ignore[arg-type]
    assert_simulates(network, count=4)


REGEXES = [
    "(ab)*", "a*b*", "(a|b)*abb", "(a|b)*a(a|b)", "(aab|b)*", "b*ab*ab*", "((a|b)(a|b))*", "(aaa)*b",
    "(a|b)*aa(a|b)*", "(a|b|c)*abc", "(ab|bc|ca)*", "(a(bb)*a|b)*", "a(a|b)*a|b(a|b)*b", "(aa|aaa)*",
    "(a{2}|b{3})*", "[ab]*c", "a?b?c?", "b(ab)*a?", "b*(ab*ab*)*", "((ab)*|c)*",
]  # fmt: skip


@every("pattern", REGEXES)
def test_regular_expressions_compile(pattern: str) -> None:
    assert_simulates(compile(krohn.from_regex(pattern), 30, effort=0.1), count=4)  # type: ignore[arg-type]


OTHERS = ["FlipFlop", "Memory3", "abab", "Add", "T3", "Grid3x4", "Grid9:noop", "Counter5", "PermReset3", "S3"]


@every("objective", ["depth", "parameters", "width"])
@every("name", ["abab", "Grid4"])
def test_every_option_gives_a_right_network(name: str, objective: str) -> None:
    network = compile(krohn.zoo(name), 40, objective=objective, effort=0.2)  # type: ignore[arg-type]
    assert_simulates(network, count=6)


@every("name", OTHERS)
def test_the_rest_of_the_zoo_compiles(name: str) -> None:
    assert_simulates(compile(krohn.zoo(name), 50, effort=0.1), count=6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("abab", 1),
        ("Grid3x4", 2),
    ],
)
def test_special_plans_are_as_shallow_as_they_should_be(name: str, depth: int) -> None:
    assert compile(krohn.zoo(name), 100).sizes()["depth"] == depth  # type: ignore[arg-type]


def test_objectives_are_met() -> None:
    automaton = krohn.zoo("S4")
    depth, few, slim = (compile(automaton, 100, objective=o) for o in ("depth", "parameters", "width"))
    wide = compile(automaton, 100, dtype="float64")
    assert few.sizes()["num_parameters"] <= depth.sizes()["num_parameters"] < wide.sizes()["num_parameters"]
    assert slim.sizes()["mlp_width"] <= 20 < 200 < wide.sizes()["mlp_width"]
    assert depth.sizes()["depth"] == wide.sizes()["depth"] == 3


@pytest.mark.parametrize("start", range(3))
def test_any_start_state_is_honoured(start: int) -> None:
    for letters in ([(1, 2, 0), (0, 0, 1)], [(1, 2, 2), (0, 0, 1)]):
        assert_simulates(compile(Semiautomaton.from_letters(letters, start=start), 12, effort=0.05))


@every("length", [1, 2, 3])
@every("name", ["C2", "FlipFlop", "Grid4", "S4", "T3", "A5", "Dyck1,1"])
def test_the_shortest_lengths_work(name: str, length: int) -> None:
    assert_simulates(compile(krohn.zoo(name), length, effort=0.2), count=4)


def test_an_automaton_with_one_reachable_state_needs_no_layer() -> None:
    network = compile(Semiautomaton.from_letters([(1, 1), (1, 0)][:1], start=1), 5)
    assert network.sizes()["depth"] == 0
    assert network.run(np.zeros((1, 5), dtype=int)).tolist() == [[1] * 5]


def test_unreachable_states_are_never_reported() -> None:
    automaton = Semiautomaton.from_letters([(1, 0, 2, 3), (0, 1, 3, 2)], start=0)
    network = compile(automaton, 9)
    words = np.random.default_rng(0).integers(0, 2, (50, 9))
    assert set(network.run(words).ravel().tolist()) <= {0, 1}


@pytest.mark.parametrize("method", ["scan", "paper", "grid"])
def test_the_paper_s_methods_are_reached_by_name(method: str) -> None:
    network = compile(krohn.zoo("Grid4"), 16, method=method)  # type: ignore[arg-type]
    assert network.method == method
    assert_simulates(network, count=4)


def test_a_compiled_network_survives_the_disk(tmp_path) -> None:  # type: ignore[no-untyped-def]
    network = compile(krohn.zoo("Grid4"), 20)
    save(network, tmp_path)
    assert_simulates(load(tmp_path), count=4)


def test_all_faults_of_a_request_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        compile(krohn.zoo("C2"), 0, method="magic", objective="beauty")  # type: ignore[arg-type]
    for part in ("length must be", "method must be", "objective must be"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["S4", "Grid9", "T3", "Dyck1,2", "Add"])
def test_float64_gives_mlps_of_at_most_three_hidden_layers(name: str) -> None:
    network = compile(krohn.zoo(name), 64, dtype="float64", effort=0.1)
    assert max(len(block.mlp.hidden_widths) for block in network.transformer.layers) <= 3
    assert_simulates(network, count=4)


def test_a_length_beyond_the_float_format_is_refused_with_the_largest_that_holds() -> None:
    automaton = krohn.zoo("C8")
    with pytest.raises(
        Unsupported, match=r"length 100000 is too long for float32, which suffices up to length (\d+)"
    ) as caught:
        compile(automaton, 100_000, method="cascade", dtype="float32")
    longest = int(str(caught.value).split("up to length ")[1].split(":")[0])
    assert 100 < longest < 100_000
    network = compile(automaton, longest, method="cascade", dtype="float32")
    words = np.random.default_rng(0).integers(0, 8, (2, longest))
    words[1] = 7
    expected = [automaton.run(word) for word in words.tolist()]
    assert network.run(words, np.float32).tolist() == expected


def test_a_length_beyond_the_estimate_is_compiled_where_it_is_proved() -> None:
    automaton = krohn.zoo("Q8")
    with pytest.raises(
        Unsupported, match="length 600 is too long for float32, which suffices up to length 577"
    ):
        compile(automaton, 600, method="cascade", dtype="float32")
    network = krohn.compile(automaton, 600, dtype="float32")
    assert (network.transformer.depth, network.proved) == (2, "float32")
    words = np.random.default_rng(0).integers(0, automaton.num_letters, (2, 600))
    expected = [automaton.run(word) for word in words.tolist()]
    assert network.run(words, np.float32).tolist() == expected


def test_too_many_table_rows_and_too_long_words_are_refused_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("krohn.construct.request.MAX_ROWS", 5)
    with pytest.raises(Unsupported, match=r"16 reachable rows, more than 5; raise --effort") as caught:
        compile(krohn.zoo("Q8"), 10**7, method="cascade", dtype="float16")
    assert "is too long for float16" in str(caught.value)


def test_compiled_parity_runs_at_length_five_thousand() -> None:
    network = compile(krohn.zoo("Parity"), 5_000)
    words = np.random.default_rng(0).integers(0, 2, (1, 5_000))
    assert network.run(words).tolist() == [krohn.zoo("Parity").run(words[0].tolist())]

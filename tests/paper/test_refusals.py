"""What the paper's constructions refuse: each row lacks one thing, and the line says which."""

from collections.abc import Callable

import pytest

from krohn.automata.zoo import parse_spec
from krohn.cascade.holonomy import holonomy_cascade
from krohn.errors import InvalidInput, KrohnError, LimitExceeded, Unsupported
from krohn.network.forward import logits
from krohn.paper.age_mlp import state_mlp
from krohn.paper.barrington import barrington
from krohn.paper.bounds import cascade_bounds, grid_bounds
from krohn.paper.component_cascade import component_cascade
from krohn.paper.composition import composition_mlp
from krohn.paper.counter import modular_mlp
from krohn.paper.group_products import cyclic_simulator, semidirect_product, wreath_product
from krohn.paper.interpolation import interpolate_1d, interpolate_nd, threshold
from krohn.paper.positions import selection_gap
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem2 import build_paper
from krohn.paper.theorem3 import build_grid
from paper.lemma_networks import build_counter, build_memory
from paper.paper_oracles import all_words, line, random_automaton
from unproved import compile

C2, S4, T3 = map(parse_spec, ("C2", "S4", "T3"))
LEMMAS = [
    (InvalidInput, "distinct", lambda: interpolate_1d([1, 1], [0, 1])),
    (InvalidInput, "one value per point", lambda: interpolate_1d([1, 2], [0])),
    (InvalidInput, "distinct", lambda: interpolate_nd([[0, 1], [0, 1]], [0, 1])),
    (InvalidInput, "apart", lambda: interpolate_nd([[0.0], [0.5]], [0, 1])),
    (InvalidInput, "one value per row", lambda: interpolate_nd([[0.0], [1.0]], [0])),
    (InvalidInput, "positive", lambda: threshold(0.0)),
    (InvalidInput, "positive error", lambda: selection_gap(3, 0.0)),
    (InvalidInput, "modulus must be at least 1; got 0", lambda: build_counter(0, 4)),
    (InvalidInput, "at least 1; got 3 and 0", lambda: modular_mlp(3, 0)),
    (InvalidInput, "counting must be one of relu, steps, sin", lambda: build_counter(3, 4, 0, "tanh")),
    (InvalidInput, "at least one state; got 0", lambda: build_memory(0, 4)),
    (InvalidInput, "at least 1; got 0", lambda: build_memory(2, 0)),
    (
        InvalidInput,
        "both groups listed",
        lambda: semidirect_product(
            wreath_product(cyclic_simulator(2, 9), cyclic_simulator(3, 9), 3),
            cyclic_simulator(2, 9),
            lambda h, g: g,
        ),
    ),
]
BOUNDS = [
    (InvalidInput, "gridworlds only", lambda: grid_bounds(parse_spec("C3"), 10)),
    (LimitExceeded, "fewer than 1,000 states; got 1,000", lambda: cascade_bounds(1000, 2, 5, 10)),
]
SCANS = [
    (InvalidInput, "at least 1; got 0", lambda: build_scan(random_automaton(2, 2, 0), 0)),
    (InvalidInput, "gadget must be one of", lambda: build_scan(random_automaton(2, 2, 0), 4, "tiny")),
    (LimitExceeded, "at most 40,000,000 entries", lambda: composition_mlp(4682, "direct")),
    (LimitExceeded, "at most 40,000,000 entries", lambda: composition_mlp(100, "plateau")),
]
GRIDS = [
    (InvalidInput, "length ≤ 4; got 5", lambda: logits(build_grid(line(3), 4).transformer, all_words(2, 5))),
    (InvalidInput, "at least 1; got 0", lambda: build_grid(line(3), 0)),
    (InvalidInput, "variant must be one of mod, mod_sum", lambda: build_grid(line(3), 4, "wild")),
    (InvalidInput, "must be one of relu, clamped, sin", lambda: build_grid(line(3), 4, "mod", "tanh")),
    (InvalidInput, "variant must be one of log_depth", lambda: state_mlp(3, 10, "wild")),
    (Unsupported, "needs a gridworld .* use method cascade or scan", lambda: build_grid(parse_spec("C4"), 4)),
]
THEOREM2 = [
    (Unsupported, "A5 of order 60", lambda: build_paper(parse_spec("A5"), 10)),
    (
        Unsupported,
        "needs 24 table rows, more than 10; raise --eff",
        lambda: build_paper(S4, 10, max_rows=10),
    ),
    (
        Unsupported,
        "component 0 .*; component 1 .*; the wiring into level 1 needs",
        lambda: build_paper(T3, 10, max_rows=5),
    ),
    (InvalidInput, "at least 1; got 0", lambda: build_paper(C2, 0)),
    (
        LimitExceeded,
        "at most 3; there are more",
        lambda: component_cascade(holonomy_cascade(parse_spec("Grid4")), 3),
    ),
]
METHODS = [
    (
        InvalidInput,
        "variant must be one of mod, .*; got 'round'",
        lambda: compile(parse_spec("Grid4"), 5, method="grid", variant="round"),
    ),
    (
        InvalidInput,
        "activation sin is for methods paper and grid",
        lambda: compile(C2, 5, method="scan", activation="sin"),
    ),
    (
        Unsupported,
        "no length holds: composing maps of 120 states",
        lambda: compile(parse_spec("S5"), 5, method="scan", dtype="float16"),
    ),
    (
        Unsupported,
        "method grid needs a gridworld",
        lambda: compile(S4, 10, method="grid", dtype="float16"),
    ),
    (
        Unsupported,
        "at most 14,563 letters.*use --activation sin.*method auto",
        lambda: compile(S4, 1_000_000, method="paper"),
    ),
]
BARRINGTON = [
    (InvalidInput, "all groups of .* are solvable; try A5", lambda: barrington("x", S4)),
    (InvalidInput, "all groups of .* are solvable", lambda: barrington("x", parse_spec("FlipFlop"))),
    (InvalidInput, "all groups of .* are solvable", lambda: barrington("x", parse_spec("Dyck4,2"))),
    (LimitExceeded, "at most 4000 elements", lambda: barrington("x", parse_spec("Rubik"))),
    (LimitExceeded, "10 letters; this formula needs 16", lambda: barrington("a & b & c & d", max_length=10)),
    (
        InvalidInput,
        "every variable needs a value; without.*: y",
        lambda: barrington("x & y").word({"x": True}),
    ),
    (InvalidInput, "a variable, 0, 1, ! or .* at character 1 .* got the end", lambda: barrington("")),
    (InvalidInput, "at character 4 .* got the end", lambda: barrington("x &")),
    (InvalidInput, "the end or an operator at character 3 .* got 'y'", lambda: barrington("x y")),
    (InvalidInput, r"a closing \) at character 3", lambda: barrington("(x")),
    (InvalidInput, r"at character 5 .* got '\$'", lambda: barrington("x & $")),
    (InvalidInput, "the end or an operator", lambda: barrington("x)")),
    (InvalidInput, "at character 1", lambda: barrington("& x")),
    (InvalidInput, "at most 100 nested operators", lambda: barrington("(" * 200 + "x" + ")" * 200)),
]


@pytest.mark.parametrize(
    ("error", "says", "call"), [*LEMMAS, *BOUNDS, *SCANS, *GRIDS, *THEOREM2, *METHODS, *BARRINGTON]
)
def test_what_cannot_be_built_is_refused_in_one_line(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)

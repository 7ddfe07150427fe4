"""What automata, words, names and samples refuse: the line names what is wrong with each."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import krohn
from krohn.automata.diagram import MAX_DRAWN, diagram
from krohn.automata.distributions import source
from krohn.automata.observed import with_target
from krohn.automata.products import direct_product
from krohn.automata.quotients import quotient
from krohn.automata.regular import from_regex
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.sizes import check_size
from krohn.automata.small import small_automata
from krohn.automata.zoo import as_automaton, parse_spec, zoo
from krohn.errors import InvalidAutomaton, InvalidInput, KrohnError, LimitExceeded, UnknownName
from krohn.functions import simulate

NAN = float("nan")
PARITY = Semiautomaton(np.array([[1, 0], [0, 1]]))
C4, C5 = zoo("C4:01"), zoo("C5")
START = r"the start state must lie in \[0, 2\)"


def sampled(**options: Any) -> Callable[[], object]:
    """A call for ten words of ten letters, but for these."""
    return lambda: krohn.sample("Parity", **{"length": 10, "count": 10, **options})


def many_faces() -> object:
    """State i has i + 1 letters that avoid the sink, so the die needs lcm(1, …, 30) faces."""
    size = 30
    table = np.full((size + 1, size), size)
    for state in range(size):
        table[state, : state + 1] = (state + 1) % size
    return source(Semiautomaton(table), "feasible")


WORDS = [
    (InvalidInput, "every letter must be one of a b.*; letter ", lambda: from_regex("(ab)*").run("abc")),
    (InvalidInput, "every letter must be one of a b.*; letter ", lambda: from_regex("(ab)*").run(["a", "c"])),
    (InvalidInput, "every letter must be one of a b.*; letter ", lambda: from_regex("(ab)*").run("0 1")),
    (InvalidInput, "one of a b, or a number below 2", lambda: from_regex("(ab)*").run([0, 2])),
    (InvalidInput, "one of a b, or a number below 2", lambda: from_regex("(ab)*").run([-1])),
    (InvalidInput, r"letter 2 is '1\.0'", lambda: PARITY.run([0, 1.0])),
    *((InvalidInput, START, lambda start=start: PARITY.run([0], start=start)) for start in (-1, 2, 0.5, "p")),
    *(
        (InvalidInput, START, lambda start=start: simulate(PARITY, [[0]], start))
        for start in (-1, 2, 0.5, "p")
    ),
    (InvalidInput, "words must have one length", lambda: simulate(PARITY, [[0, 1], [0]])),
    (InvalidInput, "words must have one length", lambda: simulate(PARITY, [[0, [1]], [0, 1]])),
    (InvalidInput, "integer array", lambda: simulate(C5, [[0.5]])),
    (InvalidInput, "integer array", lambda: simulate(C5, np.zeros((1, 1, 1), dtype=np.int64))),
    (InvalidInput, "word 1, position 2 is 5", lambda: simulate(C5, [[0, 0, 0], [0, 0, 5]])),
    (InvalidInput, "word 0, position 0 is -1", lambda: simulate(C5, [[-1]])),
]
AUTOMATA = [
    (InvalidAutomaton, "same states", lambda: Semiautomaton.from_letters([(0, 1), (0,)])),
    (InvalidAutomaton, "must hold integers; got float64", lambda: Semiautomaton.from_letters([(0.5, 1)])),
    *(
        (
            InvalidAutomaton,
            r"must be integers in \[0, 2147483647\]; got",
            lambda value=value: Semiautomaton(PARITY.table, observe=(0, value)),
        )
        for value in (2**31, 2**40, -1, 0.5, NAN, None)
    ),
    (InvalidInput, "an automaton that shows something", lambda: with_target(PARITY, "observation")),
    (LimitExceeded, "X has 500,001: choose a smaller one", lambda: check_size("X", 500_001, 1)),
    (LimitExceeded, "500,000 states × 41 letters: choose fewer", lambda: check_size("X", 500_000, 41)),
    (LimitExceeded, r"5 states and 3 letters have 3\.05e\+10: take fewer", lambda: small_automata(5, 3)),
    (InvalidInput, "got NoneType", lambda: as_automaton(None)),
    (LimitExceeded, f"at most {MAX_DRAWN} states; got 120", lambda: diagram(zoo("S5"))),
    (LimitExceeded, "at most", lambda: direct_product(zoo("S5"), zoo("S5"), zoo("S5"))),
    (InvalidInput, "at least one component", lambda: direct_product()),
    (InvalidInput, "'0' and '1' are together, but letter '1' takes them", lambda: quotient(C4, [0, 0, 1, 1])),
    (InvalidInput, "one class per state", lambda: quotient(C4, [0, 0])),
    (
        InvalidInput,
        "'0' and '2' have different observations",
        lambda: quotient(zoo("C4:01@zero"), [0, 1, 0, 1]),
    ),
]
SAMPLES = [
    *(
        (InvalidInput, f"length must lie in 1–1,000,000; got {length}", sampled(length=length))
        for length in (0, -3, 10**9, 2.5, "2", NAN)
    ),
    *(
        (InvalidInput, f"count must be an integer ≥ 0; got {count}", sampled(count=count))
        for count in (-1, 3.0, NAN)
    ),
    *(
        (InvalidInput, f"seed must be an integer ≥ 0; got {seed}", sampled(seed=seed))
        for seed in (-1, 1.5, None)
    ),
    (LimitExceeded, "at most", sampled(count=10**12)),
    (UnknownName, "a distribution must be one of", sampled(distribution="odd")),
    (UnknownName, "must be one of auto, uniform", lambda: source(zoo("Parity"), "normal")),
    (InvalidInput, "uniform takes no parameter; got '1'", lambda: source(zoo("Parity"), "uniform:1")),
    *(
        (InvalidInput, r"P of .* must lie in \[0, 1\]", lambda text=text: source(zoo("Parity"), text))
        for text in ("bernoulli", "bernoulli:1.5", "bernoulli:-0.1", "bernoulli:nan", "abab:x")
    ),
    *(
        (InvalidInput, "with two letters; C3 has 3", lambda text=text: source(zoo("C3"), text))
        for text in ("bernoulli:0.5", "abab:0.5")
    ),
    (LimitExceeded, "use uniform", many_faces),
]
NAMES = {
    "S5:foo": "letters must be one of paper",
    "S5:1234": "each of 0–4",
    "S5:01233": "each of 0–4",
    "S5:(0 5)": "distinct points",
    "S5:(0 0)": "distinct points",
    "S5:10234,10234": "must be distinct",
    "S5:paper,9": "1–8",
    "S5:paper,x": "1–8",
    "A5:12034,10234": "10234 is odd",
    "A4:adjacent": "odd",
    "S40": "at most 500,000 states; S40 has more than a trillion",
    "s4": "got 's4': did you mean S4",
    "dyck4,2": "got 'dyck4,2': did you mean Dyck4,2",
    "Rubick": "got 'Rubick': did you mean Rubik",
    **dict.fromkeys(("table:", "table:01.1", "table:02.10", "table:0x.10"), "table:ROWS"),
    **dict.fromkeys(("table:01..10", "table:0²", "table:" + "0." * 10 + "0"), "table:ROWS"),
}


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        *WORDS,
        *AUTOMATA,
        *SAMPLES,
        *((KrohnError, says, lambda name=name: parse_spec(name)) for name, says in NAMES.items()),
    ],
)
def test_what_is_invalid_is_refused_in_one_line(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_what_is_just_within_the_limits_is_taken() -> None:
    check_size("X", 500_000, 40)
    assert PARITY.run([np.int8(1), True]) == PARITY.run([1, 1])

"""``compile`` with the paper's methods: their options, what a float format asks of them, and refusals."""

import re

import numpy as np
import pytest

from construct.small_automata import assert_simulates
from every import every
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, Unsupported
from krohn.paper.positions import circle_code
from krohn.paper.theorem1 import scan_gamma
from paper.lemmas import computed_margin
from unproved import compile


@every(
    ("name", "method", "option"),
    [
        *(("Q8", "scan", {"gadget": gadget}) for gadget in ("direct", "plateau", "hat")),
        ("Q8", "scan", {}),
        ("T3", "paper", {}),
        *(
            ("Grid4", "grid", {"variant": variant})
            for variant in ("mod", "mod_sum", "log_depth", "max_pool", "constant_depth", "count")
        ),
    ],
)
def test_every_option_of_the_paper_s_methods_is_reached_and_right(name, method, option) -> None:
    network = compile(parse_spec(name), 20, method=method, **option)
    assert network.method == method
    assert_simulates(network, count=4)


def test_options_change_what_is_built() -> None:
    q8 = parse_spec("Q8")
    assert compile(q8, 20, method="scan", gadget="hat").sizes()["mlp_width"] == 8 * 8 + 8
    assert compile(q8, 20, method="scan", gadget="plateau").sizes()["mlp_width"] == 4 * 64 + 8
    assert compile(parse_spec("Grid9"), 20, method="grid", variant="mod_sum").sizes()["dim"] == 9


def test_options_of_other_methods_are_refused_together() -> None:
    with pytest.raises(InvalidInput) as caught:
        compile(parse_spec("C2"), 5, method="grid", gadget="hat", target="observation", objective="width")
    for part in ("gadget is an option of method scan", "target observation is for", "objective width is for"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["C2", "S4"])
def test_the_longest_circle_that_float32_bears_is_one_hot_and_the_estimate_not_far_off(name) -> None:
    states = parse_spec(name).num_states
    with pytest.raises(Unsupported, match=r"use a longer format or method auto") as caught:
        compile(parse_spec(name), 5000, method="scan", dtype="float32")
    for length, holds in ((_largest(caught.value), True), (3 * _largest(caught.value), False)):
        code = circle_code(1 + length, length, scan_gamma(states, length))
        assert (computed_margin(code, 1, "float32") > 104) == holds


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("C2", "scan"),
        ("S4", "paper"),
        ("T3", "paper"),
        ("Grid4", "grid"),
    ],
)
def test_a_refusal_for_float16_names_a_length_that_holds(name, method) -> None:
    automaton = parse_spec(name)
    with pytest.raises(Unsupported, match="is too much for float16, the largest that holds is") as caught:
        compile(automaton, 5000, method=method, dtype="float16")
    longest = _largest(caught.value)
    assert longest >= 1
    network = compile(automaton, longest, method=method, dtype="float16")
    letters = automaton.num_letters
    words = np.random.default_rng(0).integers(0, letters, (6, longest))
    words[: min(letters, 4)] = np.arange(letters)[:4, None]
    expected = [automaton.run(word) for word in words.tolist()]
    assert network.run(words, np.float16).tolist() == expected


def test_theorem_two_names_rows_and_length_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.construct.request.MAX_ROWS", 5)
    with pytest.raises(Unsupported, match="is too much for float16") as caught:
        compile(parse_spec("T3"), 5000, method="paper", dtype="float16")
    assert "needs 108 table rows, more than 5; raise --effort" in str(caught.value)


def _largest(error: Exception) -> int:
    match = re.search(r"the largest that holds is (\d+)", str(error))
    assert match is not None
    return int(match.group(1))


def test_sines_have_the_same_width_at_every_length() -> None:
    widths = {
        compile("S4", length, method="paper", activation="sin").sizes()["mlp_width"] for length in (8, 4000)
    }
    assert len(widths) == 1

"""Errata of the gadgets, Theorem 1 and the two lemmas: the printed version fails, the corrected one holds."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.network.forward import apply_mlp, logits
from krohn.network.transformer import Head, Mlp
from krohn.paper.blocks import basis, lift_mlp
from krohn.paper.bounds import counter_bounds, memory_bounds, scan_bounds
from krohn.paper.composition import composition_mlp, composition_width
from krohn.paper.interpolation import interpolate_1d, interpolate_nd, threshold
from krohn.paper.memory import memory_score
from krohn.paper.positions import circle, circle_code
from krohn.paper.theorem1 import build_scan, scan_gamma
from paper.lemma_networks import build_counter, build_memory
from paper.lemmas import product_bound
from paper.paper_oracles import all_words, assert_simulates, random_automaton, random_words
from paper.printed_versions import error_rate, with_heads, with_layer

DOCS = Path(__file__).parents[2] / "docs" / "errata.md"
TESTS = Path(__file__).parent


def test_every_erratum_of_the_page_has_a_test_and_every_test_an_erratum() -> None:
    listed = {
        int(number) for number in re.findall(r"^\| (\d+) [FBMN] ", DOCS.read_text(), flags=re.MULTILINE)
    }
    sources = "".join(path.read_text() for path in sorted(TESTS.glob("test_errata*.py")))
    tested = {int(number) for number in re.findall(r"def test_erratum_(\d+)_", sources)}
    assert listed == tested == set(range(1, max(listed) + 1))


def test_every_erratum_is_cited_in_the_code() -> None:
    files = [*sorted(Path(krohn.__file__).parent.rglob("*.py")), Path(__file__).parent / "recipe_sizes.py"]
    sources = " ".join(path.read_text() for path in files)
    lists = re.findall(r"[Ee]rrat(?:um|a) (\d+(?:(?:, | and | to )\d+)*)", " ".join(sources.split()))
    cited = {int(number) for result in lists for number in re.findall(r"\d+", result)}
    cited |= {int(number) for number in re.findall(r"\((\d\d?)\)[,:. ]", _texts_that_name_the_page(sources))}
    assert set(range(1, 40)) - cited == set()


def _texts_that_name_the_page(sources: str) -> str:
    """Docstrings that refer to docs/errata.md and then give numbers in parentheses."""
    return " ".join(text for text in sources.split('"""') if "docs/errata.md" in text)


def test_erratum_01_the_second_bias_of_the_table_makes_it_constantly_zero() -> None:
    points, values = [[0, 1], [1, 0], [2, 2]], [[5], [6], [7]]
    inputs = np.array(points, dtype=np.float64)
    assert not apply_mlp(interpolate_nd(points, values, match_bias=-2), inputs).any()
    assert apply_mlp(interpolate_nd(points, values), inputs).tolist() == values


def test_erratum_02_the_ramp_of_the_threshold_is_too_wide() -> None:
    gap = 1.0
    printed = Mlp((np.full((1, 2), 0.5 / gap), [[1.0], [-1.0]]), ([0.5, -0.5], [0.0]))
    edge = np.array([[gap - gap / 4]])
    assert apply_mlp(printed, edge)[0, 0] == pytest.approx(0.875)
    assert apply_mlp(threshold(gap), edge)[0, 0] == 1.0


def test_erratum_03_the_circle_bound_is_false_in_both_halves() -> None:
    points = circle(np.arange(8), 8)
    assert abs(points[0] @ points[4]) > 1 - 2 * math.pi**2 / 64
    assert points[0] @ points[1] > 1 - 2 * math.pi**2 / 64
    for count in range(2, 200):
        assert math.cos(2 * math.pi / count) <= product_bound(count) + 1e-15


@pytest.fixture(name="scan")
def scan_fixture():
    return build_scan(random_automaton(4, 2, 5, 3), 8)


def test_erratum_04_the_rotation_looks_ahead(scan) -> None:
    code = circle_code(9, 8, scan_gamma(4, 8))

    def printed(layer: int, number: int, head: Head) -> Head:
        return head if number else replace(head, key=head.query @ code.key_rotation(-(2**layer)))

    words = all_words(2, 8)
    assert error_rate(scan, with_heads(scan.transformer, printed), words) > 0.2
    assert_simulates(scan, words)


def test_erratum_05_the_values_are_read_from_empty_channels(scan) -> None:
    printed = with_heads(scan.transformer, lambda _l, _n, head: replace(head, value=basis(10, range(4))))
    assert error_rate(scan, printed, all_words(2, 8)) > 0.2


def test_erratum_06_only_the_start_coordinate_is_right_at_the_last_position(scan) -> None:
    readout = np.zeros((10, 4))
    readout[4 + 1] = np.arange(4)
    printed = replace(scan.transformer, readout=readout)
    words = all_words(2, 8)
    wrong = logits(printed, words).argmax(-1) != np.array([scan.automaton.run(word) for word in words])
    assert wrong[:, -1].any()
    assert not wrong[:, :-1].any()


@pytest.mark.parametrize("states", [2, 6, 24])
def test_erratum_07_the_printed_composition_is_wider_than_claimed(states) -> None:
    stated = scan_bounds(states, 8).stated.mlp_width
    assert composition_mlp(states, "plateau").hidden_widths[0] > stated
    assert composition_width(states, "hat") == stated
    noisy = np.full((1, 2 * states), 1.0)
    noisy[0, :states] += 0.2
    exact = apply_mlp(composition_mlp(states, "hat"), np.ones((1, 2 * states)))
    assert abs(apply_mlp(composition_mlp(states, "hat"), noisy) - exact).max() > 0.1
    assert abs(apply_mlp(composition_mlp(states, "direct"), noisy) - exact).max() < 1e-9


def test_erratum_08_the_product_in_the_second_layer_is_f_not_g() -> None:
    g, f = np.array([1, 2, 0]), np.array([0, 0, 2])
    mlp = composition_mlp(3, "plateau")
    given = np.concatenate([g, f])[None].astype(np.float64)
    hidden = np.maximum(given @ mlp.weights[0] + mlp.biases[0], 0)
    products = np.maximum(hidden @ mlp.weights[1] + mlp.biases[1], 0).reshape(3, 3)
    known = g[:, None] == np.arange(3)[None, :]
    assert (products == known * f[None, :]).all()
    assert not (products == known * g[None, :]).all()
    assert abs(mlp.weights[0]).max() == 4.0 < 4 * 3


def test_erratum_09_errors_of_the_right_map_add_up_so_a_tenth_per_layer_is_too_much() -> None:
    mlp, value = composition_mlp(3, "plateau"), np.array([[1.0, 1.0, 1.0]])
    error = 0.0
    for _ in range(3):
        error += 0.1
        out = apply_mlp(mlp, np.concatenate([[[0.0, 1.0, 2.0]], value + error], axis=1))
        assert abs(out - value).max() == pytest.approx(error)
    assert error > 0.25
    # What the printed γ really gives is an error of 0.1/T per layer.
    assert 3 * 2 * 9 * math.exp(-scan_gamma(3, 8) * (1 - math.cos(math.pi / 8))) < 0.1 / 8


@pytest.mark.parametrize("length", [3, 5, 6, 7, 9])
def test_erratum_10_neither_a_power_of_two_nor_more_than_one_padding_position_is_needed(length) -> None:
    net = build_scan(random_automaton(3, 2, 1, 2), length)
    assert net.transformer.num_padding == 1
    assert_simulates(net, all_words(2, length))


def test_erratum_11_without_residuals_the_positions_are_lost_after_one_layer(scan) -> None:
    network = scan.transformer
    for index in range(network.depth):
        network = with_layer(
            network, index, lambda layer: replace(layer, keep_attention=np.zeros(10), keep_mlp=np.zeros(10))
        )
    assert error_rate(scan, network, all_words(2, 8)) > 0.2


def test_erratum_12_the_remainder_forgets_a_factor_two_and_the_start() -> None:
    modulus, length, start = 3, 6, 1
    net = build_counter(modulus, length, start)
    points = np.arange((modulus - 1) * length + 1) / (2 * length)
    words = all_words(modulus, length)
    for target, least in (((length * points) % modulus, 0.6), ((2 * length * points) % modulus, 0.9)):
        table = interpolate_1d(points.tolist(), target, 1 / (2 * length))
        printed = with_layer(
            net.transformer, 0, lambda layer, t=table: replace(layer, mlp=lift_mlp(t, [0], [0], 3))
        )
        assert error_rate(net, printed, words) > least
    assert_simulates(net, words)


def test_erratum_13_the_score_of_the_text_lets_a_no_op_tie_with_the_first_position() -> None:
    net = build_memory(2, 6, 1)
    printed = with_heads(net.transformer, lambda _l, _n, head: replace(head, query=head.query * [0.5, 1.0]))
    idle = np.full((1, 6), 2)
    seen = {}
    logits(printed, idle, observe=lambda name, value: seen.update({name: value}))
    assert seen["layer.0.head.0.weights"][0, -1, 0] == pytest.approx(0.5, abs=0.01)
    logits(net.transformer, idle, observe=lambda name, value: seen.update({name: value}))
    assert seen["layer.0.head.0.weights"][0, -1, 0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("states", "length"), [(5, 3), (2, 1)])
def test_erratum_14_the_norm_of_the_memory_lemma_is_too_small(states, length) -> None:
    printed = interpolate_1d(list(range(1, states + 1)), list(range(1, states + 1)), 0.5)
    needed = max(memory_score(states, length), abs(printed.biases[0]).max())
    bounds = memory_bounds(states, length)
    assert needed > bounds.stated.max_weight
    assert needed <= bounds.corrected.max_weight
    assert build_memory(states, length).transformer.max_weight <= bounds.corrected.max_weight
    assert counter_bounds(2, 5).stated == counter_bounds(2, 5).corrected


def test_the_untouched_networks_are_right(scan) -> None:
    assert_simulates(scan, random_words(2, 8, 50))

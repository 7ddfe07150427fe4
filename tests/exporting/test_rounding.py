"""The forward pass with amplified rounding, and refusal of exports that do not tolerate it."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.cli.app import run
from krohn.errors import Unsupported
from krohn.exporting import from_compiled
from krohn.exporting.from_compiled import Checked, check_rounding, decoder_of_compiled, measure
from krohn.exporting.lowering import Measured, lower, power_of_two
from krohn.exporting.standard_blocks import standard_blocks
from krohn.network.gpt2.decoder import Decoder
from krohn.network.gpt2.reference import (
    Amplified,
    Array,
    OneAfterAnother,
    Steps,
    Words,
    logits,
    rounded_logits,
)
from krohn.network.gpt2.vocabulary import vocabulary_of


def test_sums_go_from_the_first_term_to_the_last() -> None:
    dice = np.random.default_rng(0)
    left = dice.normal(size=(2, 3, 300)).astype(np.float32)
    right = dice.normal(size=(300, 4)).astype(np.float32)
    wanted = np.zeros((2, 3, 4), dtype=np.float32)
    for place in np.ndindex(wanted.shape):
        total = np.float32(0)
        for a, b in zip(left[place[:2]], right[:, place[2]], strict=True):
            total = np.float32(total + np.float32(a * b))
        wanted[place] = total
    actual = OneAfterAnother().product(left, right)
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(actual, wanted)


def test_equal_terms_drift_by_a_third_of_their_number_at_most_and_not_much_less() -> None:
    units = []
    for count in (300, 1000, 3000):
        term = np.float32(1) / np.linspace(1, 3, 400, dtype=np.float32)
        result = OneAfterAnother().product(np.ones((1, count), np.float32), np.tile(term, (count, 1)))
        drift = np.abs(result[0] / (count * term.astype(np.float64)) - 1.0).max()
        units.append(drift / (count * 2.0**-24))
    assert min(units) > 0.2
    assert max(units) < 0.34


def test_an_error_is_multiplied_and_what_is_exact_stays_exact() -> None:
    x = np.array([[[0.1, 0.2, 0.3]]], dtype=np.float32).astype(np.float64)
    weight, bias = np.array([[0.7], [0.9], [1.1]], dtype=np.float32), np.array([1e4], dtype=np.float32)
    exact = Steps().linear(x, weight.astype(np.float64), bias.astype(np.float64))
    error = OneAfterAnother().linear(x.astype(np.float32), weight, bias) - exact
    assert error[0, 0, 0] != 0
    np.testing.assert_allclose(Amplified(5.0).linear(x, weight, bias), exact + 5 * error, rtol=1e-15)
    whole = np.array([[[3.0, 5.0, 7.0]]])
    assert Amplified(1e6).linear(whole, np.ones((3, 1)), np.ones(1)).item() == 16.0


@pytest.mark.parametrize("normalized", [True, False])
def test_the_error_grows_with_the_factor_from_that_of_float64(normalized: bool) -> None:
    network = krohn.compile(krohn.zoo("D6"), length=30, unproved=True)
    decoder = decoder_of_compiled(network, normalized=normalized)
    words = np.random.default_rng(1).integers(2, size=(4, 30))
    exact = logits(decoder, words, np.float64)
    errors = [np.abs(rounded_logits(decoder, words, factor) - exact).max() for factor in (1.0, 8.0, 64.0)]
    single = np.abs(logits(decoder, words) - exact).max()
    assert single / 4 < errors[0] < 30 * single
    assert 3 * errors[0] < errors[1]
    assert 3 * errors[1] < errors[2]


def test_an_export_that_is_right_only_in_our_order_of_summation_is_found() -> None:
    """A count to 2048, modulo 12, of equal terms: right as numpy sums, wrong from the first to the last."""
    network = krohn.compile(krohn.zoo("C12"), length=2048, dtype="float64", unproved=True)
    names = vocabulary_of(
        network.automaton.letter_names, network.automaton.state_names, network.transformer.num_padding
    )
    blocks = standard_blocks(network.transformer)
    decoder = lower(blocks, names, Measured(1000.0, 1.0, 100.0), normalized=True)
    word = np.ones((1, 2048), dtype=np.int64)
    right = np.array(names.states)[np.asarray(krohn.simulate(network.automaton, word))]
    assert (logits(decoder, word).argmax(-1) == right).all()
    assert (logits(decoder, word, np.float64).argmax(-1) == right).all()
    assert (rounded_logits(decoder, word).argmax(-1) != right).any()


def test_a_network_for_short_words_bears_it_and_hardly_loses_its_lead() -> None:
    network = krohn.compile(krohn.zoo("Grid9"), length=40, unproved=True)
    checked = check_rounding(decoder_of_compiled(network, normalized=True), network)
    assert (checked.wrong, checked.counterexample) == (0, None)
    assert checked.words > 100
    assert checked.least_lead > 19


def test_an_export_that_bears_too_little_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rough(decoder: Decoder, words: Words) -> Array:
        return rounded_logits(decoder, words, 1e5)

    monkeypatch.setattr(from_compiled, "rounded_logits", rough)
    network = krohn.compile(krohn.zoo("C3"), length=40)
    with pytest.raises(Unsupported, match=r"2 times the rounding of float32.*after .* it says .*, not "):
        krohn.export(network, "hf", tmp_path / "out", proof=False)
    assert run(["compile", "C3", "--length", "40", "--out", str(tmp_path / "c3")]) == 0
    capsys.readouterr()
    arguments = ["export", str(tmp_path / "c3"), "--to", "onnx", "--out", str(tmp_path / "out"), "--no-proof"]
    assert run([*arguments, "--json"]) == 1
    payload = json.loads(capsys.readouterr().out)
    assert (payload["checked"]["wrong"], payload["written"], payload["files"]) == (0, False, [])
    assert payload["rounding"]["wrong"] > 0
    assert payload["rounding"]["factor"] == 2
    assert payload["counterexample"]["got"] != payload["counterexample"]["expected"]
    assert not (tmp_path / "out").exists()
    assert run([*arguments, "--unchecked"]) == 0
    assert "**It fails the test of rounding**" in capsys.readouterr().out
    page = (tmp_path / "out" / "README.md").read_text()
    assert "**It fails the test of rounding** and was written with `--unchecked`" in page
    krohn.export(network, "hf", tmp_path / "python", unchecked=True, proof=False)
    assert json.loads((tmp_path / "python" / "export.json").read_text())["rounding"]["wrong"] > 0


def test_a_long_counterexample_is_shortened_in_the_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from krohn.exporting import network_files

    result = from_compiled.WrongToken(("a",) * 1500, "p", "q")
    monkeypatch.setattr(network_files, "check", lambda *_: Checked(1, 1, -1.0, result))
    refused = network_files.export_compiled(krohn.compile(krohn.zoo("C2"), length=4), ["hf"])[0].refusal
    assert refused is not None
    assert "after a a a a a a a a a a a a … (1,500 letters) … a a" in refused
    assert len(refused) < 200


def test_exponentials_are_off_by_twenty_units() -> None:
    """Of two keys the second weighs half as much as the first, which is exact."""
    scores = np.array([[0.0, -np.inf], [0.0, np.log(0.5)]], dtype=np.float32)
    value = np.array([[0.0], [1.0]], dtype=np.float32)
    share = OneAfterAnother().mixed(scores, value)[1, 0].astype(np.float64)
    off = share / (1 - share) / 0.5 - 1
    assert 18 < off * 2.0**24 < 22


def test_short_words_and_words_of_one_letter_are_among_those_that_are_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = krohn.compile(krohn.zoo("C3"), length=9, unproved=True)
    decoder = decoder_of_compiled(network, normalized=True)
    for check, name in ((from_compiled.check, "logits"), (check_rounding, "rounded_logits")):
        seen: list[Words] = []

        def recorded(decoder: Decoder, words: Words, seen: list[Words] = seen) -> Array:
            seen.append(words)
            return logits(decoder, words)

        monkeypatch.setattr(from_compiled, name, recorded)
        checked = check(decoder, network)
        assert checked.words == sum(map(len, seen))
        first = {tuple(word) for word in seen[0]}
        if name == "logits":
            assert first == set(itertools.product(range(3), repeat=6))  # 3⁷ would be too many
        else:
            assert first == {(0,) * 9, (1,) * 9, (2,) * 9}
        assert {words.shape[1] for words in seen[1:]} == {9}


def test_the_constant_is_the_least_power_of_two_that_is_not_below() -> None:
    wanted = {1.0: 1.0, 1.5: 2.0, 64.0: 64.0, 64.5: 128.0, 2048.0: 2048.0, 0.75: 1.0}
    assert {value: power_of_two(value) for value in wanted} == wanted


def test_what_is_measured_has_twelve_bits() -> None:
    """Whatever the order of sums: weights that are scaled by it have the same bits on every machine."""
    network = krohn.compile("D6", length=10, dtype="float64")
    cells = measure(standard_blocks(network.transformer), network)
    for value in (cells.stream, cells.lead, cells.logit):
        assert (math.frexp(value)[0] * 4096).is_integer()
    assert not (math.frexp(cells.stream)[0] * 8).is_integer()  # a norm that is no round number

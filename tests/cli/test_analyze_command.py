import json
from pathlib import Path
from typing import Any

import pytest

import krohn
from every import every
from krohn.cli.app import run
from krohn.construct.analyzing import GROWTH


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["analyze", *arguments, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert isinstance(payload, dict)
    return payload


@every(
    ("spec", "expected"),
    [
        ("S4", ("ACC0", 24, True, [24], [["C2", "C2", "C3", "C2"]], 1)),
        ("S5", ("NC1-complete", 120, True, [120], [["A5", "C2"]], 1)),
        ("A5", ("NC1-complete", 60, True, [60], [["A5"]], 1)),
        ("Grid4", ("AC0", 17, False, [], [], 3)),
        ("Dyck4,2", ("AC0", 1245, False, [], [], 5)),
        ("T3", ("ACC0", 27, False, [6, 2], [["C3", "C2"], ["C2"]], 2)),
        ("abab", ("AC0", 9, False, [2], [["C2"]], 2)),
        ("regex:(ab)*", ("AC0", 5, False, [], [], 2)),
        ("regex:(aa)*", ("AC0", 2, True, [2], [["C2"]], 1)),
    ],
)
def test_the_report_has_the_promised_keys(
    capsys: pytest.CaptureFixture[str], spec: str, expected: tuple[object, ...]
) -> None:
    actual = report(capsys, spec)
    orders = [group["order"] for group in actual["groups"]]
    factors = [group["factors"] for group in actual["groups"]]
    keys = ("complexity", "semigroup_size", "is_group")
    assert (*(actual[key] for key in keys), orders, factors, actual["levels"]) == expected
    assert actual["quasi_aperiodic"] == (actual["complexity"] == "AC0")
    assert actual["quasi_aperiodic"] or not actual["is_aperiodic"]
    assert (actual["witness"] is None) == actual["quasi_aperiodic"]
    if actual["witness"] is not None:
        witness = actual["witness"]
        assert {len(word) for word in witness["words"]} == {witness["length"]}
        assert witness["group"]["order"] == len(witness["words"]) > 1
    assert actual["is_solvable"] == (actual["complexity"] != "NC1-complete")
    assert actual["num_states"] > 0
    assert actual["num_letters"] > 0
    assert actual["complexity"] in actual["reason"]


def test_a_person_reads_the_verdict_and_the_eggbox(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "T3", "--verbose", "--eggbox"]) == 0
    text = capsys.readouterr().out
    assert "complexity   ACC0" in text
    assert "3 D-classes (3 regular), 5 R, 7 L, 13 H; 10 idempotents" in text
    assert "rank 3: 1 × 1, group S3" in text


def test_the_eggbox_is_written_as_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "t3.svg"
    assert run(["analyze", "T3", "--svg", str(target), "--json"]) == 0
    assert target.read_text().startswith("<svg")
    assert json.loads(capsys.readouterr().out)["semigroup_size"] == 27


def test_a_limit_leaves_the_verdict_and_a_note(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krohn.algebra.transition_semigroup.MAX_CLASSES", 100)
    assert run(["analyze", "T6", "--effort", "0.2", "--json"]) == 0
    output = capsys.readouterr()
    payload = json.loads(output.out)
    assert payload["semigroup_size"] is None
    assert payload["complexity"] == "NC1-complete"
    assert "at most 20 R-classes" in output.err
    assert "--effort" in output.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["Nonsense"],
        ["T6", "--effort", "0"],
        ["Grid9", "--effort", "1e-5"],
        ["T6", "--eggbox", "--effort", "1e-5"],
        ["regex:(("],
        [],
    ],
)
def test_bad_input_is_one_line_and_status_two(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["analyze", *arguments]) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def test_depth_is_bounded_on_both_sides_with_a_witness(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "D6", "--json"]) == 0
    depth = json.loads(capsys.readouterr().out)["depth"]
    assert (depth["upper"], depth["lower"], depth["optimal"]) == (2, 2, True)
    assert depth["blocks"] == krohn.compile("D6", 100).transformer.num_blocks == 3
    assert depth["witness"]["kind"] == "block scheme"
    beyond = f"{depth['lower_beyond']:,} letters"
    assert run(["analyze", "D6"]) == 0
    assert f"depth        2, optimal beyond {beyond} (--verbose says" in capsys.readouterr().out
    assert run(["analyze", "D6", "--verbose"]) == 0
    text = capsys.readouterr().out
    assert f"depth        2, optimal for words of more than {beyond} and layers of 8 heads of" in text
    assert depth["lower_for"] == {"heads": 8, "head_dim": 64, "bits": 24}
    assert "24 bits: answers that survive an error of 2^-24" in text
    assert "blocks       3 of GPT-2, " in text
    assert "not enough" not in text


def test_one_layer_of_c2_has_constant_heads_and_an_mlp_that_grows(capsys: pytest.CaptureFixture[str]) -> None:
    """What analyze prints beside "1, optimal", measured: as √T with four hidden layers, as T with one."""
    assert run(["analyze", "C2"]) == 0
    text = capsys.readouterr().out
    assert "depth        1, optimal beyond 1 letter\nblocks       1 of GPT-2, " in text
    assert f"\ngrows        {GROWTH['precision', 'width']}\n" in text
    keys = ("depth", "heads", "head_dim", "mlp_depth", "mlp_width")
    for objective, length, hidden, width in (
        ("parameters", 100, 4, 8),
        ("parameters", 1_000, 4, 23),
        ("blocks", 100, 1, 101),
    ):
        built = krohn.compile("C2", length, method="cascade", objective=objective).sizes()
        assert [built[key] for key in keys] == [1, 1, 1, hidden, width]


def test_one_layer_of_d8_is_a_property_of_its_two_letters() -> None:
    letters = krohn.zoo("D8").letters
    with_noop = krohn.Semiautomaton.from_letters([*letters, range(8)])
    assert [krohn.analyze(one).depth.upper for one in ("D8", with_noop)] == [1, 2]


@pytest.mark.parametrize(
    ("length", "dtype", "beyond", "settled"),
    [
        (6, None, 2_177, False),
        (100, None, 2_177, False),
        (2_177, None, 2_177, False),
        (2_178, None, 2_177, True),
        (577, "float32", 1_217, False),
    ],
)
def test_no_depth_is_called_optimal_for_words_too_short_for_the_lower_bound(
    length: int, dtype: str | None, beyond: int, settled: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """The networks of Q8 have one head of dimension 2 in each layer; without a format they are for float64.

    In float32 nothing is built beyond 577 letters, where the bound for 24 bits does not hold yet.
    """
    arguments = ["compile", "Q8", "--length", str(length), "--method", "cascade", "--unproved"]
    arguments += [] if dtype is None else ["--dtype", dtype]
    assert run([*arguments, "--json"]) == 0
    depth = json.loads(capsys.readouterr().out)["depth_bounds"]
    assert (depth["lower"], depth["lower_beyond"], depth["optimal"]) == (2, beyond, settled)
    assert depth["lower_for"]["bits"] == (53 if dtype is None else 24)
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert ("optimal" in text) == settled
    assert f"at least 2 for words of more than {beyond:,} letters" in text


@pytest.mark.parametrize(
    ("spec", "length", "sentence"),
    [
        ("C2", 1, "no layer; in words of 1 letter position and last letter decide; at least 1 for words"),
        ("regex:a*", 7, "no layer; in words of every length position and last letter decide"),
        ("S4", 2, "1 layer for this length; a scan takes ⌈log₂ T⌉ for T letters (krohn analyze says if"),
    ],
)
def test_statements_about_short_words_name_their_length(
    spec: str, length: int, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compile", spec, "--length", str(length)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("depth: "))
    assert line.startswith(f"depth: {sentence}")
    assert "optimal" not in line


def test_the_paper_s_network_is_no_less_constant_than_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compile", "S4", "--length", "5", "--method", "paper", "--unproved"]) == 0
    text = capsys.readouterr().out
    assert "depth: 4 layers, by a plan that takes as many for every length; at least 2" in text
    assert "no constant depth" not in text


def test_a_pattern_without_its_prefix_is_offered_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", "(a|b)*abb"]) == 2
    error = capsys.readouterr().err
    assert "did you mean 'regex:(a|b)*abb'?" in error
    assert error.count("\n") == 1
    assert run(["analyze", "((a"]) == 2
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "upper", "grows"),
    [
        ("regex:(a|b)*a", 0, []),
        ("regex:(aa)*", 0, []),
        ("regex:((a|b)(a|b))*", 0, []),
        ("FlipFlop", 1, ["precision"]),
        ("regex:(a|b)*a(a|b)", 1, ["precision"]),
        ("C3", 1, ["precision", "width"]),
        ("D6", 2, ["precision", "width"]),
    ],
)
def test_what_grows_is_what_grows_in_compiled_networks(spec: str, upper: int, grows: list[str]) -> None:
    """The MLPs of networks for 16 and 256 letters, and whether there is a head at all."""
    depth = krohn.analyze(krohn.parse_spec(spec)).to_json()["depth"]
    assert (depth["upper"], depth["grows"]) == (upper, grows)
    short, long = (krohn.compile(spec, length, unproved=True).transformer for length in (16, 256))
    assert (short.mlp_width < long.mlp_width) == ("width" in grows)
    assert any(layer.heads for layer in short.layers) == ("precision" in grows)

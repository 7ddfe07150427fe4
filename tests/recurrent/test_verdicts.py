"""Which architecture can: the rows of `krohn analyze`, and the commands for witnesses."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import krohn
from krohn.algebra.analysis import algebra_of
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.proving.recurrent import run_all
from krohn.recurrent.one_step import deltanet
from krohn.recurrent.recurrent_network import RecurrentNetwork
from krohn.recurrent.verdicts import verdicts

WRITE_ONCE = Semiautomaton.from_letters(
    [(1, 1, 2), (2, 1, 2), (0, 0, 0), (0, 1, 2)], letter_names=("a", "b", "clear", "idle")
)


def rows(automaton: Semiautomaton) -> dict[str, tuple[bool | None, int | None, int | None]]:
    result = verdicts(automaton, algebra_of(automaton))
    return {row.name: (row.can, row.layers, row.steps) for row in result}


# can, layers, steps of: [0, 1], [-1, 1], complex, DeltaNet [0, 2], DeltaProduct, rank-one
EXPECTED = {
    "FlipFlop": [(True, 1, 1), (True, 1, 1), (True, 1, 1), (True, 1, 1), (True, 1, 1), (True, 1, 1)],
    "C2": [(False, None, None), (True, 1, 1), (True, 1, 1), (True, 1, 1), (True, 1, 1), (True, 1, 1)],
    "C3": [
        (False, None, None),
        (False, None, None),
        (True, 1, 1),
        (True, 2, 1),
        (True, 1, 2),
        (True, 1, 2),
    ],
    "D8": [(False, None, None), (True, 2, 1), (True, 2, 1), (True, 2, 1), (True, 1, 2), (True, 1, 2)],
    "D6": [(False, None, None), (False, None, None), (True, 2, 1), (True, 2, 1), (True, 1, 2), (True, 1, 2)],
    "S4": [
        (False, None, None),
        (False, None, None),
        (True, 3, 1),
        (True, 4, 1),
        (True, 1, 2),
        (True, 1, 2),
    ],
    "S5": [(False, None, None)] * 3 + [(True, 4, 1), (True, 1, 4), (True, 1, 4)],
    "T3": [
        (False, None, None),
        (False, None, None),
        (True, 3, 1),
        (True, 6, 1),
        (True, 2, 2),
        (True, 1, 2),
    ],
}
SOFT = "Transformer, soft attention of fixed precision"
NAMES = ["diagonal [0, 1]", "diagonal [-1, 1]", "diagonal complex", "DeltaNet [0, 2]", "DeltaProduct"]


@pytest.mark.parametrize("spec", EXPECTED)
def test_the_rows_follow_the_groups(spec) -> None:
    result = rows(parse_spec(spec))
    assert [result[name] for name in (*NAMES, "rank-one (RWKV-7)")] == EXPECTED[spec]
    assert result["LSTM"] == result["GRU"] == result["PD-SSM"] == (True, 1, 1)
    assert result["Transformer, fixed depth"][0] is (spec != "S5")


def test_blocks_take_the_layers_that_the_construction_has() -> None:
    """A ring of five with a reset: up to four swaps, so blocks of four letters: 2 layers count, 5 work."""
    moves = [[(place + 1) % 5 for place in range(5)], [0] * 5]
    ring = Semiautomaton.from_letters(moves)
    assert rows(ring)["DeltaNet [0, 2]"] == (True, 7, 1)
    assert deltanet(ring).layers == 7
    # All maps of five points have four levels with up to four swaps: too many values to build.
    assert rows(krohn.zoo("T5"))["DeltaNet [0, 2]"] == (True, 2 + 4 * 5, 1)


@pytest.mark.parametrize("seed", range(40))
def test_past_temporal_logic_is_what_never_returns(seed: int) -> None:
    """Against the definition: the state after a letter from the partially ordered part and that letter.

    A network that reads the strict past by a partially ordered automaton, and the letter, must be one whose
    classes of states, told apart by what letters do next, form no cycle: all pairs of states are tried.
    """
    rng = np.random.default_rng(seed)
    states, letters = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    automaton = reachable(
        Semiautomaton.from_letters(
            [tuple(int(q) for q in rng.integers(0, states, states)) for _ in range(letters)]
        )
    )
    count = automaton.num_states
    # Pairs of states that some word, the empty one included, followed by some letter tells apart.
    apart = {
        (p, q) for p in range(count) for q in range(count) if any(a[p] != a[q] for a in automaton.letters)
    }
    while more := {
        (p, q)
        for p in range(count)
        for q in range(count)
        if (p, q) not in apart and any((a[p], a[q]) in apart for a in automaton.letters)
    }:
        apart |= more
    reach = [[p == q for q in range(count)] for p in range(count)]
    for _ in range(count):
        reach = [
            [reach[p][q] or any(reach[a[p]][q] for a in automaton.letters) for q in range(count)]
            for p in range(count)
        ]
    returns = any(reach[p][q] and reach[q][p] for p, q in apart)
    row = next(row for row in verdicts(automaton, algebra_of(automaton)) if row.name == SOFT)
    assert row.can is not returns
    if returns:
        assert row.witness is not None
        letters = automaton.letter_names.index
        for times in (1, 2, 5):
            words = [
                [letters(x) for part in each for x in part["word"] * (times if part["repeated"] else 1)]
                for each in row.witness["patterns"]
            ]
            first, second = (automaton.run(word[:-1])[-1] if word[:-1] else 0 for word in words)
            assert words[0][-1] == words[1][-1]
            assert automaton.step(first, words[0][-1]) != automaton.step(second, words[0][-1])
            assert reach[first][second]
            assert reach[second][first]


def test_both_transformers_say_what_they_assume() -> None:
    """A flip-flop that may idle is beyond fixed precision without positions; one that writes is not."""
    idle = Semiautomaton.from_letters([(0, 0), (1, 1), (0, 1)])
    writes = Semiautomaton.from_letters([(0, 0), (1, 1)])
    result = [
        {row.name: row for row in verdicts(one, algebra_of(one))} for one in (idle, writes, parse_spec("S5"))
    ]
    assert [rows[SOFT].can for rows in result] == [False, True, False]
    assert [rows["Transformer, fixed depth"].can for rows in result] == [True, True, False]
    assert "no positions" in result[0][SOFT].assumptions
    assert "depend on the length" in result[0]["Transformer, fixed depth"].assumptions


def test_least_is_claimed_for_one_layer_and_for_diagonal_layers_on_groups() -> None:
    result = {row.name: row for row in verdicts(parse_spec("S4"), algebra_of(parse_spec("S4")))}
    assert result["diagonal complex"].least
    assert result["DeltaProduct"].least
    assert not result["DeltaNet [0, 2]"].least
    grid = {row.name: row for row in verdicts(parse_spec("Grid4"), algebra_of(parse_spec("Grid4")))}
    assert not grid["diagonal [0, 1]"].least


def test_transpositions_are_one_reflection_each() -> None:
    letters = [tuple(q + (q == i) - (q == i + 1) for q in range(5)) for i in range(4)]
    assert rows(Semiautomaton.from_letters(letters))["DeltaNet [0, 2]"] == (True, 1, 1)


def test_the_write_once_cell_shows_two_idempotents_with_one_image() -> None:
    result = {row.name: row for row in verdicts(WRITE_ONCE, algebra_of(WRITE_ONCE))}
    assert result["DeltaProduct"].layers == 2
    reason = result["DeltaProduct"].reason
    first, second = reason.split("margin: ")[1].removesuffix(" are idempotents with one image").split(" and ")
    images = []
    for words in (first, second):
        act = [
            WRITE_ONCE.run([WRITE_ONCE.letter_names.index(x) for x in words.split()], q)[-1] for q in range(3)
        ]
        assert [act[q] for q in act] == act
        images.append(act)
    assert images[0] != images[1]
    assert set(images[0]) == set(images[1])


def test_analyze_has_a_row_per_family(capsys) -> None:
    assert run(["analyze", "C3", "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    keys = {"name", "can", "layers", "steps", "margin", "reason", "source", "assumptions", "least"}
    keys |= {"unless", "witness"}
    assert [set(row) for row in payload["architectures"]] == [keys] * 17
    assert run(["analyze", "C3", "--verbose"]) == 0
    assert "real diagonal layers can only do 2-groups" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("architecture", "name"),
    [("deltaproduct", "D8"), ("diagonal", "D8"), ("rankone", "D6"), ("lstm", "D8"), ("gru", "D8")],
)
def test_compile_verify_and_run_a_witness(architecture, name, capsys, tmp_path, monkeypatch) -> None:
    folder = str(tmp_path / "net")
    assert run(["compile", name, "--architecture", architecture, "--out", folder]) == 0
    capsys.readouterr()
    assert run(["verify", folder, "--automaton", name, "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["certified"]
    assert payload["every_length"]
    automaton = parse_spec(name)
    word = np.random.default_rng(0).integers(0, 2, 60)
    monkeypatch.setattr("sys.stdin", io.StringIO(" ".join(automaton.letter_names[a] for a in word)))
    assert run(["run", folder]) == 0
    states = capsys.readouterr().out.split()
    assert states == [automaton.state_names[q] for q in automaton.run(word)]


def test_a_broken_witness_is_refuted_with_a_word(capsys, tmp_path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "net"
    assert run(["compile", "abab", "--architecture", "lstm", "--out", str(folder)]) == 0
    tensors = load_file(folder / "model.safetensors")
    tensors["head.weight"] = -tensors["head.weight"]
    save_file(tensors, folder / "model.safetensors")
    capsys.readouterr()
    assert run(["verify", str(folder)]) == 1
    assert "counterexample: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "C2", "--architecture", "lstm", "--length", "4"], "--length is for Transformers"),
        (["compile", "C2", "--architecture", "gru", "--target", "state"], "--target is for Transformers"),
        (["compile", "C2"], "choose it with --length"),
        (["compile", "A5", "--architecture", "diagonal"], "choose deltaproduct, rankone, lstm or gru"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments, message, capsys) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


def test_files_of_others_are_neither_lost_nor_believed(capsys, tmp_path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"mine")
    assert run(["compile", "C2", "--architecture", "lstm", "--out", str(tmp_path)]) == 2
    assert (tmp_path / "model.safetensors").read_bytes() == b"mine"
    (tmp_path / "recurrent.json").write_text('{"krohn": true}')
    assert run(["verify", str(tmp_path)]) == 2
    assert "must have the keys" in capsys.readouterr().err
    folder = tmp_path / "net"
    assert run(["compile", "C2", "--architecture", "lstm", "--out", str(folder)]) == 0
    assert run(["verify", str(folder), "--automaton", "C3"]) == 1
    assert "you mean 3 states" in capsys.readouterr().out


def test_states_that_no_word_reaches_do_not_count() -> None:
    """S5 on five states that cannot be entered, beside a flip-flop."""
    memory = Semiautomaton([[0, 1], [0, 1]], 0)
    beside = Semiautomaton([[0, 1], [0, 1], [3, 3], [4, 2], [5, 4], [6, 5], [2, 6]], 0)
    assert algebra_of(beside).is_solvable is False
    assert verdicts(beside, algebra_of(beside)) == verdicts(memory, algebra_of(memory))


def with_unit(read: int, weight: float, bias: float, written: int, size: float) -> RecurrentNetwork:
    """C5 by rotations, with one more hidden unit: it reads one channel and writes to one."""
    network = krohn.compile("C5", architecture="diagonal")
    held = dict(network.cell.tensors)
    column, row = (
        np.zeros((len(held["h.0.mlp.in"]), 1), np.float32),
        np.zeros((1, network.cell.dim), np.float32),
    )
    column[read], row[0, written] = weight, size
    held["h.0.mlp.in"] = np.hstack([held["h.0.mlp.in"], column])
    held["h.0.mlp.in_bias"] = np.append(held["h.0.mlp.in_bias"], np.float32(bias))
    held["h.0.mlp.out"] = np.vstack([held["h.0.mlp.out"], row])
    return replace(network, cell=replace(network.cell, tensors=held))


def test_a_length_for_one_order_of_sums_is_told_with_the_order() -> None:
    """A unit that reads what is nearly 0 has no ball; what is left is a search, from left to right."""
    verdict = krohn.verify(with_unit(6, 1.0, 0.0, 0, 0.0))
    assert not verdict
    assert verdict.largest == verdict.to_json()["horizon"] == 9
    assert "is right in float32, sums added from left to right, not fused, one letter after" in verdict.text()
    whole = krohn.verify(krohn.compile("C5", architecture="diagonal"))
    assert "letters is right in float32, one letter after the other" in whole.text()


def test_a_word_that_float32_runs_wrong_refutes_nothing_in_bfloat16() -> None:
    """257 is 256 in bfloat16: there the unit is 0, and in float32 1 after the letter 1."""
    network = with_unit(1, 257.0, -256.0, 7, 8.0)
    single, half = krohn.verify(network), krohn.verify(network, "bfloat16", length=3)
    assert single.counterexample is not None
    assert half.second_opinion is not None
    assert half.second_opinion.wrong > 0
    assert half.counterexample is None
    stored = {n: torch.from_numpy(t).bfloat16().float().numpy() for n, t in network.cell.tensors.items()}
    assert run_all(replace(network.cell, tensors=stored), network.automaton)[1] is None


HARD, PERIODIC = "Transformer, hard attention", "Transformer, hard attention and periodic positions"
COUNTS, DEEP = "C-RASP (will it generalise in length)", "Transformer, log depth"


@pytest.mark.parametrize(
    ("spec", "soft", "counts", "hard", "periodic"),
    [
        ("regex:(a|b)*b", True, True, True, True),
        ("regex:a*b*", True, True, True, True),
        ("regex:(ab)*", False, True, True, True),
        ("regex:(a|bac)*", False, True, True, True),
        ("FlipFlop", False, False, True, True),
        ("regex:(ab|bba)*", False, False, True, True),
        ("regex:(aa)*", False, False, False, True),
        ("abab", False, False, False, True),
        ("Parity", False, False, False, False),
        ("A5", False, False, False, False),
    ],
)
def test_kinds_of_transformer(spec, soft, counts, hard, periodic) -> None:
    """Without a letter's place the length cannot be counted modulo a number, with periods it can."""
    result = {row.name: row for row in krohn.analyze(parse_spec(spec)).families}
    assert [result[name].can for name in (SOFT, COUNTS, HARD, PERIODIC)] == [soft, counts, hard, periodic]
    assert result[DEEP].can is result["Transformer, looped"].can is True
    assert all(row.source and row.assumptions for row in result.values())
    assert all(result[name].witness for name in (SOFT, COUNTS, HARD, PERIODIC) if not result[name].can)
    assert result["Transformer, fixed depth"].unless == ("TC⁰ = NC¹" if spec == "A5" else "")


def test_a_row_that_is_conditional_is_no_plain_no(capsys) -> None:
    assert run(["analyze", "A5", "--verbose"]) == 0
    text = capsys.readouterr().out
    (line,) = (line for line in text.splitlines() if line.startswith("Transformer, fixed depth  "))
    assert "not unless TC⁰ = NC¹" in line
    assert "arXiv 2503.03961" in text

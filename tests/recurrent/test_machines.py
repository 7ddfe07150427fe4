"""Searches, files and exact runs of witnesses, on random automata and broken files."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cascade.random_automata import random_automaton
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidFile, InvalidInput, KrohnError
from krohn.network.storage import MODEL, is_witness
from krohn.recurrent import closure
from krohn.recurrent.balls import Ball, DiagonalBalls
from krohn.recurrent.cells import Stage
from krohn.recurrent.closure import UNKNOWN, Closure, Machine, _compared, _numbered, behind, close
from krohn.recurrent.horizon import _flat, _joined, _leads, _points, certified_horizon
from krohn.recurrent.witness_files import MEANING, Witness, load, run_all, save
from krohn.recurrent.witnesses import WITNESSES, diagonal, lstm

KINDS = [*WITNESSES]


def small(seed: int) -> Semiautomaton:
    return random_automaton(seed, smallest=2, largest=4)


@pytest.mark.parametrize("seed", [1, 3, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_any_small_automaton_has_a_witness_that_is_proved(kind: str, seed: int) -> None:
    automaton = small(seed)
    cell = WITNESSES[kind](automaton)
    proof = close(cell, automaton)
    assert proof.every_length
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(3, 30))
    assert Witness(cell, automaton).run(words).tolist() == [automaton.run(word) for word in words.tolist()]
    found = run_all(Witness(cell, automaton), automaton, most=60)
    assert found.wrong == 0


def test_all_words_of_the_largest_length_are_run() -> None:
    automaton = parse_spec("S3")
    cell = lstm(automaton)
    found = run_all(Witness(cell, automaton), automaton, most=100)
    letters = automaton.num_letters
    longest = max(n for n in range(1, 9) if letters**n <= 100)
    assert (found.length, found.words) == (longest, letters**longest)
    other = Semiautomaton(automaton.table, start=1)  # the same moves from another start
    truth = [other.run(word) for word in product(range(letters), repeat=longest)]
    said = [automaton.run(word) for word in product(range(letters), repeat=longest)]
    wrong = run_all(Witness(cell, automaton), other, most=100).wrong
    assert wrong == sum(a != b for a, b in zip(truth, said, strict=True)) > 0
    assert run_all(Witness(cell, automaton), automaton, most=1).length == 1
    single = Semiautomaton.from_letters([[1, 0]])
    assert run_all(Witness(lstm(single), single), single).to_json() == {"length": 1, "words": 1, "wrong": 0}


def counter_stage(modulus: int) -> Stage:
    """Carries how many ones it was handed, modulo a number, and hands this on twice."""

    def step(given: np.ndarray, carried: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        after = (carried + given[:, :1]) % modulus
        return after.astype(np.float32), np.hstack([after, after]).astype(np.float32)

    return Stage(1, step)


def run_machine(machine: Machine, word: tuple[int, ...]) -> list[list[float]]:
    state, seen = 0, []
    for letter in word:
        seen.append(machine.vectors[machine.given[state, letter]].tolist())
        state = int(machine.follow[state, letter])
    return seen


LETTERS = Machine(np.zeros((1, 2), np.int64), np.arange(2)[None], np.array([[0.0], [1.0]], np.float32), 1)


def test_a_search_finds_every_pair_and_hands_on_the_same() -> None:
    counting = behind(LETTERS, counter_stage(3), 100, lambda: False)
    assert counting.reached == len(counting.follow) == 3
    twice = behind(counting, counter_stage(4), 100, lambda: False)
    assert twice.reached == 12  # a residue modulo 3, and the sum of these modulo 4
    for word in product(range(2), repeat=6):
        total = sums = 0
        wanted = []
        for letter in word:
            total = (total + letter) % 3
            sums = (sums + total) % 4
            wanted.append([float(sums)] * 2)
        assert run_machine(twice, word) == wanted


def test_a_search_that_is_cut_off_says_which_states_it_does_not_know() -> None:
    cut = behind(LETTERS, counter_stage(50), 5, lambda: False)
    assert cut.reached > 5
    assert (cut.follow == UNKNOWN).any()
    assert (cut.follow < len(cut.follow)).all()
    word = (1,) * len(cut.follow)
    assert run_machine(cut, word) == [[t + 1.0] * 2 for t in range(len(word))]
    after = behind(cut, counter_stage(2), 1000, lambda: False)
    assert (after.follow == UNKNOWN).any()  # what is unknown above stays unknown below
    hopeless = behind(LETTERS, counter_stage(50), 1000, lambda: True)
    assert len(hopeless.follow) == 1


def test_levels_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure, "MAX_LEVELS", 4)
    cut = behind(LETTERS, counter_stage(50), 1000, lambda: False)
    assert len(cut.follow) == 4
    assert cut.reached == 5


def test_rows_are_numbered_as_they_come() -> None:
    numbers, count = _numbered(np.array([[3, 1], [0, 0], [3, 1], [0, 2], [0, 0]]))
    assert numbers.tolist() == [0, 1, 0, 2, 1]
    assert count == 3


def parity_machine(logits: list[list[float]], follow: list[list[int]]) -> Machine:
    given = np.array([[0, 1], [1, 0]])
    return Machine(np.array(follow), given, np.array(logits, np.float32), 2)


def test_a_machine_beside_the_automaton() -> None:
    automaton = parse_spec("C2")
    right = parity_machine([[2, 0], [0, 3]], [[0, 1], [1, 0]])
    found = _compared(right, automaton, (2,), any_order=True)
    assert (found.every_length, found.margin, found.any_order, found.horizon) == (True, 2.0, True, None)
    stuck = parity_machine([[2, 0], [0, 3]], [[0, 1], [1, 1]])  # after two ones it stays
    wrong = _compared(stuck, automaton, (2,), any_order=True)
    assert wrong.counterexample is not None
    word, got = wrong.counterexample
    assert (len(word), wrong.horizon) == (3, 2)
    assert got != automaton.run(word)[-1]
    cut = parity_machine([[2, 0], [0, 3]], [[0, 1], [1, UNKNOWN]])
    short = _compared(cut, automaton, (2,), any_order=True)
    assert (short.every_length, short.horizon, short.counterexample) == (False, 2, None)


def test_a_counterexample_has_names() -> None:
    automaton = parse_spec("abab")
    said = Closure(False, (3, 4), 0.0, False, 1, ((0, 1), 2)).to_json(automaton)
    assert said["counterexample"] == {
        "letters": [automaton.letter_names[0], automaton.letter_names[1]],
        "got": automaton.state_names[2],
        "expected": automaton.state_names[automaton.run([0, 1])[-1]],
    }
    assert (said["certified"], said["vectors"], said["vectors_by_layer"]) == (False, 7, [3, 4])
    assert Closure(True, (3,), 1.0, True, None, None).to_json(automaton)["counterexample"] is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_witness_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    automaton = parse_spec("FlipFlop")
    witness = Witness(WITNESSES[kind](automaton), automaton)
    for folder in ("a", "b"):
        save(witness, tmp_path / folder)
    for name in (MODEL, MEANING):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    again = load(tmp_path / "a")
    assert (again.automaton, again.automaton.name) == (automaton, "FlipFlop")
    assert type(again.cell) is type(witness.cell)
    assert again.cell.options == witness.cell.options
    for name, value in witness.cell.tensors.items():
        assert np.array_equal(again.cell.tensors[name], value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"krohn": 1}, "krohn must be 2; got 1"),
        ({"krohn": True}, "krohn must be 2; got True"),
        ({"architecture": "mamba"}, "architecture must be one of deltaproduct"),
        ({"architecture": ["lstm"]}, "architecture must be one of deltaproduct"),
        ({"architecture": "gru"}, "gru needs the tensors"),
        ({"options": []}, "options must be an object"),
        ({"options": {"hidden": 3}}, "options must be those of the tensors"),
        ({"digest": "0"}, "does not have the digest"),
        ({"name": "x" * 201}, "name must be a string of at most 200"),
        ({"automaton": {}}, "not a recurrent witness"),
        ({"extra": 1}, "must have the keys"),
    ],
)
def test_a_broken_description_is_one_line(change: dict[str, object], says: str, tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    save(Witness(lstm(automaton), automaton), tmp_path)
    payload = json.loads((tmp_path / MEANING).read_text()) | change
    (tmp_path / MEANING).write_text(json.dumps(payload))
    with pytest.raises(InvalidFile, match=says) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_tensors_that_are_none_are_refused(data: bytes, tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    save(Witness(lstm(automaton), automaton), tmp_path)
    (tmp_path / MODEL).write_bytes(data)
    with pytest.raises(InvalidFile, match=r"not a recurrent witness|safetensors file"):
        load(tmp_path)


def test_a_witness_may_be_replaced_but_nothing_else(tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    witness = Witness(lstm(automaton), automaton)
    assert not is_witness(tmp_path)
    save(witness, tmp_path)
    save(Witness(WITNESSES["gru"](automaton), automaton), tmp_path)
    assert load(tmp_path).cell.kind == "gru"
    (tmp_path / MEANING).unlink()
    kept = (tmp_path / MODEL).read_bytes()
    with pytest.raises(InvalidInput, match="choose another directory"):
        save(witness, tmp_path)
    assert (tmp_path / MODEL).read_bytes() == kept


def test_right_logits_must_lead_wherever_they_are() -> None:
    middle = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    right = np.array([0, 2])
    for radius, leads in ((0.4, True), (0.5, False), (0.6, False)):
        assert _leads(Ball(middle, np.full((2, 3), radius)), right) is leads
    assert not _leads(Ball(middle, np.zeros((2, 3))), np.array([0, 1]))


def test_rows_of_balls_are_taken_and_joined() -> None:
    balls = DiagonalBalls(diagonal(parse_spec("D10")), "float32")
    first = balls.start()
    ends = [balls.step(first, letter)[0] for letter in (0, 1)]
    joined = _joined(ends)
    assert np.array_equal(_flat(joined), np.concatenate([_flat(end) for end in ends]))
    picked = _points(joined, [1, 1, 0])
    assert np.array_equal(_flat(picked), _flat(joined)[[1, 1, 0]])
    assert not any(ball.radius.any() for block in picked for ball in block)


def test_a_horizon_is_for_diagonal_stacks_whose_floats_do_not_close() -> None:
    automaton = parse_spec("C5")
    assert certified_horizon(lstm(automaton), automaton) is None
    exact = parse_spec("C4")
    assert certified_horizon(diagonal(exact), exact) is None
    cell = diagonal(automaton)
    spoiled = {name: value.copy() for name, value in cell.tensors.items()}
    spoiled["head.bias"][0] += 10
    assert certified_horizon(replace(cell, tensors=spoiled), automaton) == 0


def test_a_group_that_is_not_solvable_has_no_diagonal_witness() -> None:
    with pytest.raises(KrohnError, match="choose deltaproduct"):
        diagonal(parse_spec("A5"))

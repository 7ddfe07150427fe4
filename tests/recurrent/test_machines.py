"""Searches, files and exact runs of witnesses, on random automata and broken files."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from cascade.random_automata import random_automaton
from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.base.files import Folder
from krohn.check.claim import ANY, LEFT
from krohn.check.ground import Real, Refused, Work, between, point
from krohn.check.recurrent import closure
from krohn.check.recurrent.balls import DiagonalBalls, horizon, join, points
from krohn.check.recurrent.cells import Stage
from krohn.check.recurrent.closure import UNKNOWN, Mealy, beside_automaton, leads
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.transformer_file import MODEL
from krohn.proving.recurrent import SearchedClosure, close, horizon_of, run_all
from krohn.proving.witness.search import checkable_table
from krohn.recurrent.recurrent_network import RecurrentNetwork, load, save
from krohn.recurrent.recurrent_weights import WEIGHTS, diagonal, lstm
from recurrent.horizons import certified_horizon

KINDS = [*WEIGHTS]


def small(seed: int) -> Semiautomaton:
    return random_automaton(seed, smallest=2, largest=4)


@every("seed", [1, 3, 4])
@every("kind", KINDS)
def test_any_small_automaton_has_a_witness_that_is_proved(kind: str, seed: int) -> None:
    automaton = small(seed)
    cell = WEIGHTS[kind](automaton)
    proof = close(cell, automaton)
    assert proof.every_length
    words = np.random.default_rng(0).integers(automaton.num_letters, size=(3, 30))
    assert RecurrentNetwork(cell, automaton).run(words).tolist() == [
        automaton.run(word) for word in words.tolist()
    ]
    assert run_all(cell, automaton, most=60)[0].wrong == 0


def test_all_words_of_the_largest_length_are_run() -> None:
    automaton = parse_spec("S3")
    cell = lstm(automaton)
    counts, _ = run_all(cell, automaton, most=100)
    letters = automaton.num_letters
    longest = max(n for n in range(1, 9) if letters**n <= 100)
    assert (counts.length, counts.words) == (longest, letters**longest)
    other = Semiautomaton(automaton.table, start=1)  # the same moves from another start
    truth = [other.run(word) for word in product(range(letters), repeat=longest)]
    answers = [automaton.run(word) for word in product(range(letters), repeat=longest)]
    wrong = run_all(cell, other, most=100)[0].wrong
    assert wrong == sum(a != b for a, b in zip(truth, answers, strict=True)) > 0
    assert run_all(cell, automaton, most=1)[0].length == 1
    single = Semiautomaton.from_letters([[1, 0]])
    opinion, wrong_word = run_all(lstm(single), single)
    assert (opinion.length, opinion.words, opinion.wrong, wrong_word) == (1, 1, 0, None)


def counter_stage(modulus: int) -> Stage:
    """Carries how many ones it was handed, modulo a number, and hands this on twice."""

    def step(given: Real, carried: Real) -> tuple[Real, Real]:
        after = (carried.lo + given.lo[:, :1]) % modulus
        return point(after), point(np.hstack([after, after]))

    return Stage(1, step)


def behind(machine: Mealy, stage: Stage, limit: int) -> Mealy:
    return closure.behind(machine, stage, limit, Work(1e9))


def run_machine(machine: Mealy, word: tuple[int, ...]) -> list[list[float]]:
    state, seen = 0, []
    for letter in word:
        seen.append(machine.vectors.lo[machine.given[state, letter]].tolist())
        state = int(machine.follow[state, letter])
    return seen


LETTERS = Mealy(np.zeros((1, 2), np.int64), np.arange(2)[None], point([[0.0], [1.0]]), 1)


def test_a_search_finds_every_pair_and_hands_on_the_same() -> None:
    counting = behind(LETTERS, counter_stage(3), 100)
    assert counting.reached == len(counting.follow) == 3
    twice = behind(counting, counter_stage(4), 100)
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
    cut = behind(LETTERS, counter_stage(50), 5)
    assert cut.reached > 5
    assert (cut.follow == UNKNOWN).any()
    assert (cut.follow < len(cut.follow)).all()
    word = (1,) * len(cut.follow)
    assert run_machine(cut, word) == [[t + 1.0] * 2 for t in range(len(word))]
    after = behind(cut, counter_stage(2), 1000)
    assert (after.follow == UNKNOWN).any()  # what is unknown above stays unknown below


def test_levels_and_work_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure, "MAX_LEVELS", 4)
    cut = behind(LETTERS, counter_stage(50), 1000)
    assert len(cut.follow) == 4
    assert cut.reached == 5
    with pytest.raises(Refused, match="more work than it is given"):
        closure.behind(LETTERS, counter_stage(50), 1000, Work(10))


def test_what_a_linear_recurrence_carries_must_be_a_point() -> None:
    def step(given: Real, carried: Real) -> tuple[Real, Real]:
        wide = between(given.lo, given.lo + 1e-9)
        return wide, wide

    assert behind(LETTERS, Stage(1, step), 10).reached == 3  # the start, and a box for each letter
    with pytest.raises(Refused, match="a memory is rounded"):
        behind(LETTERS, Stage(1, step, linear=1), 10)


def parity_machine(logits: Real, follow: list[list[int]]) -> Mealy:
    given = np.array([[0, 1], [1, 0]])
    return Mealy(np.array(follow), given, logits, 2)


def test_a_machine_beside_the_automaton() -> None:
    automaton, logits = checkable_table(parse_spec("C2")), point([[2.0, 0.0], [0.0, 3.0]])
    turns = [[0, 1], [1, 0]]
    result = beside_automaton(parity_machine(logits, turns), automaton, Work(1e9))
    assert result == (True, 2.0, 2, None)
    wide = between(logits.lo - 0.9, logits.hi + 0.9)
    proved, margin, _, _ = beside_automaton(parity_machine(wide, turns), automaton, Work(1e9))
    assert (proved, round(margin, 9)) == (True, 0.2)
    for spread in (1.0, 1.1):  # two answers may be alike, or the wrong one is larger
        wider = between(logits.lo - spread, logits.hi + spread)
        proved, _, length, doubt = beside_automaton(parity_machine(wider, turns), automaton, Work(1e9))
        assert (proved, length, doubt) == (False, 0, (0,))
    stuck = parity_machine(logits, [[0, 1], [1, 1]])  # after two ones it stays
    proved, _, length, doubt = beside_automaton(stuck, automaton, Work(1e9))
    assert (proved, length, len(doubt or ())) == (False, 2, 3)
    cut = parity_machine(logits, [[0, 1], [1, UNKNOWN]])
    assert beside_automaton(cut, automaton, Work(1e9))[::2] == (False, 2)


def test_what_a_closure_adds_to_a_verdict() -> None:
    closed = SearchedClosure(False, (3, 4), 0.0, ANY, 1).to_json()
    assert (closed["vectors"], closed["vectors_by_layer"], closed["horizon"]) == (7, [3, 4], 1)
    assert not closed["any_order"]
    assert SearchedClosure(True, (3,), 1.0, ANY).to_json()["any_order"]
    assert not SearchedClosure(True, (3,), 1.0, LEFT).to_json()["any_order"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_witness_is_read_as_it_was_written(kind: str, tmp_path: Path) -> None:
    automaton = parse_spec("FlipFlop")
    witness = RecurrentNetwork(WEIGHTS[kind](automaton), automaton)
    for folder in ("a", "b"):
        save(witness, tmp_path / folder)
    for name in (MODEL, "recurrent.json"):
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
        ({"name": "x" * 201}, "name must be a printable string of at most 200"),
        ({"automaton": {}}, "not a recurrent network"),
        ({"extra": 1}, "must have the keys"),
    ],
)
def test_a_broken_description_is_one_line(change: dict[str, object], says: str, tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    save(RecurrentNetwork(lstm(automaton), automaton), tmp_path)
    payload = json.loads((tmp_path / "recurrent.json").read_text()) | change
    (tmp_path / "recurrent.json").write_text(json.dumps(payload))
    with pytest.raises(InvalidFile, match=says) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("data", [b"", b"nothing", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_invalid_tensors_are_refused(data: bytes, tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    save(RecurrentNetwork(lstm(automaton), automaton), tmp_path)
    (tmp_path / MODEL).write_bytes(data)
    with pytest.raises(InvalidFile, match=r"not a recurrent network|safetensors file"):
        load(tmp_path)


def test_a_witness_may_be_replaced_but_nothing_else(tmp_path: Path) -> None:
    automaton = parse_spec("C2")
    witness = RecurrentNetwork(lstm(automaton), automaton)
    assert Folder(tmp_path).kind is None
    save(witness, tmp_path)
    save(RecurrentNetwork(WEIGHTS["gru"](automaton), automaton), tmp_path)
    assert load(tmp_path).cell.kind == "gru"
    (tmp_path / "recurrent.json").unlink()
    before = (tmp_path / MODEL).read_bytes()
    with pytest.raises(InvalidInput, match="choose another directory"):
        save(witness, tmp_path)
    assert (tmp_path / MODEL).read_bytes() == before


def test_right_logits_must_lead_wherever_they_are() -> None:
    middle = np.array([[3.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    right = np.array([0, 2])
    for radius, clear in ((0.4, True), (0.5, False), (0.6, False)):
        assert (leads(between(middle - radius, middle + radius), right) > 0).all() == clear
    assert not (leads(point(middle), np.array([0, 1])) > 0).all()


def test_rows_of_balls_are_joined() -> None:
    balls = DiagonalBalls(diagonal(parse_spec("D10")), "float32")
    ends = [balls.step(balls.start(), letter)[0] for letter in (0, 1)]
    both = join([points(end) for end in ends])
    for block, first, second in zip(both, *ends, strict=True):
        for ball, one, other in zip(block, first, second, strict=True):
            assert np.array_equal(ball.middle, np.concatenate([one.middle, other.middle]))
            assert not ball.radius.any()


def test_a_horizon_is_checked_from_its_witness_alone() -> None:
    automaton = parse_spec("C5")
    cell, result = diagonal(automaton), horizon_of(diagonal(automaton), automaton)
    assert result is not None
    own, witness = checkable_table(automaton), result.witness

    def letters(**change: object) -> int:
        return horizon(cell, own, "float32", {**witness, **change}, Work(1e12))

    assert letters() == result.length > 10_000
    assert letters(allowed=[size / 10 for size in witness["allowed"]]) < result.length
    other = [row[:] for row in witness["follow"]]
    other[1][0] = (other[1][0] + 1) % len(other)
    for error, says, change in (
        (Refused, "one of another state", {"follow": other}),
        (Refused, r"does not lead|may be on|may lie", {"allowed": [3.0]}),
        (Refused, r"nothing is rounded|must be exact", {"allowed": [0.0]}),
        (InvalidFile, "witness", {"references": [[9, 0]]}),
        (InvalidFile, "witness", {"references": [[0, 0.5]]}),
        (InvalidFile, "witness", {"follow": [[0]]}),
        (InvalidFile, "witness", {"allowed": [float("nan")]}),
        (InvalidFile, "witness", {"allowed": []}),
        (InvalidFile, "must have references, follow and allowed", {"more": 1}),
    ):
        with pytest.raises(error, match=says):
            letters(**change)


def test_a_horizon_is_for_diagonal_stacks_whose_floats_do_not_close() -> None:
    automaton = parse_spec("C5")
    assert certified_horizon(lstm(automaton), automaton) is None
    exact = parse_spec("C4")
    assert certified_horizon(diagonal(exact), exact) is None
    cell = diagonal(automaton)
    spoiled = {name: value.copy() for name, value in cell.tensors.items()}
    spoiled["head.bias"][0] += 10
    assert certified_horizon(replace(cell, tensors=spoiled), automaton) == 0

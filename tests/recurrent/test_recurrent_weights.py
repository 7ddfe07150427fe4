"""Recurrent witnesses: right on long words, proved for every length, and the same in torch's own cells."""

import itertools

import numpy as np
import pytest
import torch

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.recurrent.stacks import RankOneStack
from krohn.lab.cards.recurrent_modules import in_training
from krohn.proving.evidence import Counterexample
from krohn.proving.recurrent import close
from krohn.recurrent.recurrent_network import CELLS, RecurrentNetwork, logits_of
from krohn.recurrent.recurrent_weights import WEIGHTS, deltaproduct, diagonal, gru, lstm, rankone
from krohn.recurrent.small_action import small_action, swaps_and_merges
from recurrent.horizons import certified_horizon

# Write a or b if empty, clear, idle: the smallest automaton that one contracting layer cannot hold apart.
WRITE_ONCE = Semiautomaton.from_letters([(1, 1, 2), (2, 1, 2), (0, 0, 0), (0, 1, 2)])
ANY = ["C2", "FlipFlop", "abab", "T3"]


def automaton_of(name: str) -> Semiautomaton:
    return WRITE_ONCE if name == "write-once" else parse_spec(name)


def long_words(automaton: Semiautomaton, seed: int = 0) -> np.ndarray:
    """Half by chance, half with letters that repeat."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, automaton.num_letters, (6, 60))
    for t in range(1, 60):
        repeat = rng.random(3) < 0.9
        words[:3, t] = np.where(repeat, words[:3, t - 1], words[:3, t])
    return words


CASES = [(kind, name) for kind in ("rankone", "lstm", "gru") for name in (*ANY, "write-once")] + [
    ("deltaproduct", name) for name in ("C5", "Memory3", "S4", "T3", "write-once", "Dyck2,2")
]
CASES += [("deltanet", name) for name in ("D6", "write-once")]
CASES += [("diagonal", name) for name in ("C4", "Memory3", "Q8", "Grid4", "write-once")]


@every(("kind", "name"), CASES)
def test_a_witness_is_proved_for_every_length_and_runs_long_words_right(kind, name) -> None:
    automaton = automaton_of(name)
    cell = WEIGHTS[kind](automaton)
    proof = close(cell, automaton)
    assert proof.every_length
    assert proof.any_order
    assert proof.margin >= 0.7
    words = long_words(automaton)
    assert (RecurrentNetwork(cell, automaton).run(words) == [automaton.run(word) for word in words]).all()


def test_few_vectors_are_reached() -> None:
    s5 = parse_spec("S5")
    assert close(deltaproduct(s5), s5).vectors == 120
    assert deltaproduct(s5).steps == 4
    grid = parse_spec("Grid4")
    assert close(lstm(grid), grid).vectors == 4 * 2 + 1
    assert close(gru(grid), grid).vectors == 4 * 2 + 1


@every(
    ("kind", "name"),
    [
        (kind, name)
        for kind in ("lstm", "gru", "deltaproduct", "rankone")
        for name in ("abab", "T3", "write-once")
    ]
    + [
        ("deltaproduct", "S5"),
        ("deltanet", "A4"),
        ("diagonal", "D8"),
        ("diagonal", "write-once"),
        ("diagonal", "T3"),
    ],
)
def test_the_training_architecture_computes_the_witness(kind, name) -> None:
    automaton = automaton_of(name)
    network, weights = in_training(WEIGHTS[kind](automaton), chunks=True)
    length = 400 if kind in ("lstm", "gru") else 4096  # a loop over positions, or a scan
    words = np.random.default_rng(2).integers(0, automaton.num_letters, (2, length))
    with torch.no_grad():
        states = network.logits(weights, torch.from_numpy(words)[None]).argmax(-1)[0]
    assert (states.numpy() == [automaton.run(word) for word in words]).all()


@pytest.mark.parametrize(("kind", "name"), [("deltaproduct", "T3"), ("diagonal", "D8"), ("diagonal", "C4")])
def test_exact_stacks_are_the_same_bits_in_both_forms_and_in_bfloat16(kind, name) -> None:
    automaton = automaton_of(name)
    cell = WEIGHTS[kind](automaton)
    assert close(cell, automaton, dtype="bfloat16").every_length
    network, weights = in_training(cell, chunks=True)
    word = long_words(automaton)[0]
    logits = logits_of(cell, word[None])[0]
    for dtype in (torch.float32, torch.bfloat16):
        typed = {key: value.to(dtype) for key, value in weights.items()}
        with torch.no_grad():
            outputs = network.logits(typed, torch.from_numpy(word)[None, None])[0, 0]
        assert np.array_equal(outputs.float().numpy(), logits)


@pytest.mark.parametrize(("name", "layers"), [("D8", 2), ("Q8", 2), ("D6", 2), ("C4", 1), ("Grid4", 3)])
def test_a_diagonal_stack_has_a_layer_for_each_section(name, layers) -> None:
    assert diagonal(automaton_of(name)).layers == layers


def test_rotations_that_are_rounded_close_or_get_a_horizon() -> None:
    three, five = parse_spec("C3"), parse_spec("C5")
    assert close(diagonal(three), three).every_length
    assert not close(diagonal(three), three).any_order
    cell = diagonal(five)
    assert not close(cell, five, limit=300).every_length
    sharp, coarse = (certified_horizon(cell, five, dtype) for dtype in ("float32", "bfloat16"))
    assert sharp is not None
    assert coarse is not None
    assert 10_000 < sharp < 10_000_000
    assert 1 <= coarse < 1_000
    assert certified_horizon(diagonal(parse_spec("D8")), parse_spec("D8")) is None


@pytest.mark.slow
def test_a_horizon_is_never_longer_than_the_first_wrong_word() -> None:
    automaton = parse_spec("C5")
    words = np.tile(np.arange(5)[:, None], (1, 60))
    truth = np.array([automaton.run(word) for word in words])
    rng, short = np.random.default_rng(0), 0
    for size in (1e-3, 1e-2, 0.1, 0.3):
        cell = diagonal(automaton)
        for name in ("h.0.mix.gate.weight", "h.0.mix.write"):
            cell.tensors[name][:] += (rng.normal(size=cell.tensors[name].shape) * size).astype(np.float32)
        horizon = certified_horizon(cell, automaton)
        wrong = np.flatnonzero((RecurrentNetwork(cell, automaton).run(words) != truth).any(axis=0))
        if len(wrong):
            short += 1
            assert (horizon or 0) <= wrong[0]
    assert short >= 2


def broken(cell, rng):
    """The cell with one weight negated, scaled or replaced."""
    name = str(rng.choice([key for key, value in cell.tensors.items() if value.any()]))
    tensors = {key: value.copy() for key, value in cell.tensors.items()}
    flat = tensors[name].reshape(-1)
    place = rng.choice(np.flatnonzero(flat)) if rng.random() < 0.7 else rng.integers(flat.size)
    flat[place] = rng.choice([-flat[place], flat[place] * 0.5, flat[place] + rng.normal() * 3, 0.0])
    return type(cell).of(tensors, cell.options)


@pytest.mark.parametrize("part", ["few", "rest"])
@pytest.mark.parametrize("kind", CELLS)
def test_no_mutant_is_proved_and_wrong(kind, part) -> None:
    """The first half of what is drawn for each automaton, or the second."""
    rng = np.random.default_rng(5)
    refuted = 0
    for name in ("C3", "FlipFlop", "D8" if kind != "deltaproduct" else "abab"):
        automaton = parse_spec(name)
        original = WEIGHTS[kind](automaton)
        words = np.array([*itertools.product(range(automaton.num_letters), repeat=5)])
        truth = np.array([automaton.run(word) for word in words])
        cells = [broken(original, rng) for _ in range(6)]
        for cell in cells[:3] if part == "few" else cells[3:]:
            proof = close(cell, automaton, limit=400)
            wrong = (RecurrentNetwork(cell, automaton).run(words) != truth).any()
            assert not (proof.every_length and wrong)
            if proof.counterexample is not None:
                word, got = proof.counterexample.word, proof.counterexample.got
                run = RecurrentNetwork(cell, automaton).run(np.array([word]))[0]
                assert run[-1] == got != automaton.run(word)[-1]
                assert (run[:-1] == automaton.run(word)[:-1]).all()
                refuted += 1
    assert refuted >= 2


def test_a_network_that_returns_to_the_start_with_a_wrong_answer_is_refuted() -> None:
    automaton = parse_spec("C2")
    still = {name: np.zeros_like(value) for name, value in rankone(automaton).tensors.items()}
    still["head.bias"] = np.array([1, 0], dtype=np.float32)
    proof = close(RankOneStack(still), automaton)
    assert proof.counterexample == Counterexample((1,), 1, 0)


def test_ties_and_numbers_that_are_not_finite_never_pass() -> None:
    automaton = parse_spec("C2")
    tensors = {name: value.copy() for name, value in rankone(automaton).tensors.items()}
    tied = {
        **tensors,
        "head.weight": np.zeros_like(tensors["head.weight"]),
        "head.bias": np.zeros(2, np.float32),
    }
    assert not close(RankOneStack(tied), automaton).every_length
    huge = {**tensors, "h.0.mix.value": np.full_like(tensors["h.0.mix.value"], 3e38)}
    with np.errstate(all="ignore"):
        assert not close(RankOneStack(huge), automaton, limit=100).every_length


def test_values_that_are_not_dyadic_are_not_called_exact() -> None:
    automaton = parse_spec("C3")
    cell = deltaproduct(automaton)
    spoiled = {name: value.copy() for name, value in cell.tensors.items()}
    spoiled["h.0.mix.value"] = spoiled["h.0.mix.value"] * np.float32(0.9999999)
    proof = close(type(cell)(spoiled), automaton, limit=500)
    assert not proof.any_order


def test_the_limit_gives_a_horizon() -> None:
    automaton = parse_spec("C5")
    proof = close(diagonal(automaton), automaton, limit=300)
    assert not proof.every_length
    assert proof.reason.startswith("more than ")
    assert proof.counterexample is None
    assert proof.horizon is not None
    words = np.array([*itertools.product(range(5), repeat=min(proof.horizon, 4))])
    assert (
        RecurrentNetwork(diagonal(automaton), automaton).run(words) == [automaton.run(word) for word in words]
    ).all()


def test_a_memory_rounded_by_a_library_is_not_proved() -> None:
    automaton = parse_spec("C5")
    cell = deltaproduct(automaton)
    spoiled = {name: value.copy() for name, value in cell.tensors.items()}
    spoiled["h.0.mix.beta.weight"] = np.minimum(spoiled["h.0.mix.beta.weight"], np.float32(10))
    proof = close(type(cell)(spoiled), automaton, limit=300)
    assert (proof.every_length, proof.counterexample) == (False, None)
    assert "library's last bit" in proof.reason


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_map_is_the_product_of_its_steps_and_no_fewer_suffice(n) -> None:
    for images in itertools.product(range(n), repeat=n):
        place = list(range(n))
        steps = swaps_and_merges(images)
        for kind, i, j in steps:
            step = {j: i, i: j} if kind == "swap" else {j: i}
            place = [step.get(q, q) for q in place]
        assert tuple(place) == images
        matrix = np.eye(n)[list(images)] - np.eye(n)
        assert len(steps) == np.linalg.matrix_rank(matrix)


@pytest.mark.parametrize(
    ("spec", "points"), [("S4", 4), ("A5", 5), ("S5", 5), ("Q8", 8), ("C6", 6), ("D8", 4)]
)
def test_groups_act_on_few_points(spec, points) -> None:
    automaton = parse_spec(spec)
    action = small_action(automaton.letters)
    assert len(action[0]) == points
    rng = np.random.default_rng(1)
    for word in rng.integers(0, automaton.num_letters, (50, 8)):  # equal products on both sides
        again = [*word, *word]
        big, small = list(range(automaton.num_states)), list(range(points))
        for letter in again:
            big = [automaton.letters[letter][q] for q in big]
            small = [action[letter][q] for q in small]
        assert (big == sorted(big)) == (small == sorted(small))


@pytest.mark.parametrize(("name", "layers"), [("D6", 3), ("C5:01", 7), ("T3", 6)])
def test_one_step_a_letter_suffices_with_more_layers(name, layers) -> None:
    cell = WEIGHTS["deltanet"](parse_spec(name))
    assert (cell.options["householders"], cell.layers) == (1, layers)
    assert close(cell, parse_spec(name)).every_length
    assert deltaproduct(parse_spec(name)).steps > 1


def test_the_steps_of_a_long_cycle_take_linear_work() -> None:
    class Counted(tuple[int, ...]):
        reads = 0

        def __getitem__(self, index):
            Counted.reads += 1
            return super().__getitem__(index)

    size = 1_000
    assert len(swaps_and_merges(Counted((*range(1, size), 0)))) == size - 1
    assert Counted.reads < 10 * size

"""The search layer by layer against a naive one over whole vectors; chunks; horizons of stacks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.evaluate.witness_networks import in_training
from krohn.models.kernels import delta_scan
from krohn.recurrent.cells import Sums
from krohn.recurrent.chunks import same_in_chunks
from krohn.recurrent.closure import close
from krohn.recurrent.delta_witness import in_columns
from krohn.recurrent.horizon import certified_horizon
from krohn.recurrent.one_step import with_one_step
from krohn.recurrent.witness_files import Witness
from krohn.recurrent.witnesses import WITNESSES, deltaproduct, diagonal

STACKS = [("deltaproduct", "T3"), ("diagonal", "D8"), ("diagonal", "D6")]


def naive(cell, automaton, limit):
    """Whole vectors one by one: pairs that were reached, or a shortest wrong word, or neither."""
    start = (np.zeros(cell.size, np.float32), automaton.start)
    seen, queue = {(start[0].tobytes(), start[1])}, [(*start, ())]
    for vector, state, word in queue:
        for letter in range(automaton.num_letters):
            with np.errstate(all="ignore"):
                after, logits = cell.answer(vector[None], letter)
            target = automaton.step(state, letter)
            others = np.delete(logits[0], target)
            if not (logits[0, target] > others).all():
                return "wrong", (*word, letter)
            key = ((after[0] + np.float32(0)).tobytes(), target)
            if key not in seen:
                seen.add(key)
                queue.append((after[0], target, (*word, letter)))
        if len(seen) > limit:
            return "limit", len(seen)
    return "closed", len(seen)


def mutant(cell, rng):
    """One number of one tensor changed."""
    name = str(rng.choice([key for key, value in cell.tensors.items() if value.any()]))
    tensors = {key: value.copy() for key, value in cell.tensors.items()}
    flat = tensors[name].reshape(-1)
    place = rng.choice(np.flatnonzero(flat))
    flat[place] = rng.choice([-flat[place], flat[place] * 0.5, flat[place] + 1.0, 0.0])
    return type(cell).of(tensors, cell.options)


@pytest.mark.parametrize(("kind", "name"), STACKS)
def test_layer_by_layer_decides_as_whole_vectors_do(kind, name) -> None:
    automaton, rng = parse_spec(name), np.random.default_rng(3)
    original = WITNESSES[kind](automaton)
    outcomes = set()
    for cell in [original, *(mutant(original, rng) for _ in range(8))]:
        proof, (outcome, found) = close(cell, automaton, limit=300), naive(cell, automaton, 300)
        outcomes.add(outcome)
        if outcome == "closed":
            assert proof.every_length
        elif outcome == "wrong":
            assert proof.counterexample is not None
            assert len(proof.counterexample[0]) == len(found)
            assert (Witness(cell, automaton).run(np.array([proof.counterexample[0]]))[0] != automaton.run(
                proof.counterexample[0])).any() or proof.margin == 0  # fmt: skip
    assert outcomes >= {"closed", "wrong"}


def test_what_no_later_layer_sees_is_forgotten() -> None:
    automaton = parse_spec("D6")
    cell = with_one_step(in_columns(automaton)).network()
    proof = close(cell, automaton)
    assert proof.every_length
    assert proof.layers == (2, 3, 12, 48)
    assert naive(cell, automaton, 600) == ("closed", 72)


@pytest.mark.parametrize(("name", "layers"), [("S4", 3), ("A4", 2), ("C12", 1), ("T3", 3)])
def test_rounded_rotations_close_because_nothing_is_written_while_they_turn(name, layers) -> None:
    automaton = parse_spec(name)
    proof = close(diagonal(automaton), automaton, limit=2_000)
    assert proof.every_length
    assert len(proof.layers) == layers
    assert (proof.any_order, proof.chunked) == (False, False)


@pytest.mark.parametrize(
    ("kind", "name", "chunk"),
    [("deltaproduct", "T3", 5), ("deltaproduct", "Memory3", 7), ("rankone", "abab", 5)],
)
def test_chunks_that_are_called_exact_are_the_same_bits(kind, name, chunk, monkeypatch) -> None:
    automaton = parse_spec(name)
    cell = WITNESSES[kind](automaton)
    assert close(cell, automaton).chunked
    plain = delta_scan._chunked
    monkeypatch.setattr(delta_scan, "_chunked", lambda *given: plain(*given[:-1], chunk))
    network, weights = in_training(cell)
    word = np.random.default_rng(0).integers(automaton.num_letters, size=150)
    with torch.no_grad():
        found = network.logits(weights, torch.from_numpy(word)[None, None])[0, 0].numpy()
    states = np.zeros((1, cell.size), np.float32)
    for place, letter in enumerate(word):
        states, scores = cell.answer(states, int(letter))
        assert np.array_equal(scores[0], found[place])


def test_chunks_are_not_called_exact_where_they_are_not() -> None:
    cell = deltaproduct(parse_spec("C3"))
    sums = Sums()
    words = replace(cell, sums=sums)
    for letter in range(3):
        words.answer(np.zeros((1, cell.size), np.float32), letter)
    assert same_in_chunks(cell, sums)
    (name,) = sums.steps
    assert not same_in_chunks(cell, replace(sums, settled=False))
    assert not same_in_chunks(cell, replace(sums, sizes={name: (2.0**22, 1.0)}))
    half = {
        key: np.where(np.arange(len(row)) == 0, np.float32(0.5), row) for key, row in sums.steps[name].items()
    }
    assert not same_in_chunks(cell, replace(sums, steps={name: half}))
    _, steps, width, _ = cell.sizes_of_heads
    looks = slice(1 + width + steps * width, 1 + width + 2 * steps * width)
    for row in sums.steps[name].values():
        row[looks] *= np.float32(0.75)  # rows that are carried back never end
    assert not same_in_chunks(cell, sums)
    tower = diagonal(parse_spec("C2"))
    gates = {b"": np.array([0.5], np.float32)}
    assert not same_in_chunks(tower, Sums(steps={"h.0.": gates}, sizes={"h.0.": (1.0, 1.0)}))
    assert same_in_chunks(WITNESSES["gru"](parse_spec("C2")), Sums()) is None


def test_stacks_have_a_horizon() -> None:
    automaton = parse_spec("D10")
    cell = diagonal(automaton)
    assert cell.layers == 2
    sharp, coarse = (certified_horizon(cell, automaton, dtype) for dtype in ("float32", "bfloat16"))
    assert sharp is not None
    assert coarse is not None
    assert 100_000 < sharp < 10_000_000
    assert 10 < coarse < 1_000


def test_the_horizon_of_a_stack_is_never_longer_than_the_first_wrong_word() -> None:
    automaton, rng, short = parse_spec("D10"), np.random.default_rng(1), 0
    words = rng.integers(0, 2, (6, 120))
    words[:2] = [[0], [1]]
    truth = np.array([automaton.run(word) for word in words])
    for size in (1e-3, 0.02, 0.05):
        cell = diagonal(automaton)
        for name in ("h.1.mix.gate.weight", "h.0.mlp.out", "h.1.mix.write"):
            used = cell.tensors[name]
            used[used != 0] += (rng.normal(size=int((used != 0).sum())) * size).astype(np.float32)
        horizon = certified_horizon(cell, automaton)
        wrong = np.flatnonzero((Witness(cell, automaton).run(words) != truth).any(axis=0))
        assert horizon is not None
        if len(wrong):
            short += 1
            assert horizon <= wrong[0]
        else:
            assert horizon > 0
    assert short >= 2

"""The search layer by layer against a naive one over whole vectors; chunks; horizons of stacks."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS
from krohn.check.arithmetic.sums import Notes
from krohn.check.ground import Work, point
from krohn.check.recurrent import closure
from krohn.check.recurrent.chunks import same_in_chunks
from krohn.lab.cards.recurrent_modules import in_training
from krohn.lab.models.kernels import delta_scan
from krohn.proving.recurrent import close
from krohn.proving.witness.search import checkable_table
from krohn.recurrent.delta_weights import in_columns
from krohn.recurrent.one_step import with_one_step
from krohn.recurrent.recurrent_network import PlainSums, RecurrentNetwork, logits_of
from krohn.recurrent.recurrent_weights import WEIGHTS, deltaproduct, diagonal
from recurrent.horizons import certified_horizon

STACKS = [("deltaproduct", "T3"), ("diagonal", "D8"), ("diagonal", "D6")]


def naive(cell, automaton, limit):
    """Whole vectors one by one: pairs that were reached, or a shortest wrong word, or neither."""
    sums = PlainSums(FORMATS["float32"])
    stages, rows = cell.stages(sums), cell.letters(sums)
    start = [point(np.zeros((1, stage.size))) for stage in stages]
    seen, queue = {(b"", automaton.start)}, [(start, automaton.start, ())]
    for carried, state, word in queue:
        for letter in range(automaton.num_letters):
            handed, after = rows[[letter]], []
            with np.errstate(all="ignore"):
                for stage, own in zip(stages, carried, strict=True):
                    memory, handed = stage.step(handed, own)
                    after.append(memory)
            target = automaton.step(state, letter)
            others = np.delete(handed.lo[0], target)
            if not (handed.lo[0, target] > others).all():
                return "wrong", (*word, letter)
            vector = b"".join((part.lo[0].astype(np.float32) + np.float32(0)).tobytes() for part in after)
            key = (vector if any(vector) else b"", target)
            if key not in seen:
                seen.add(key)
                queue.append((after, target, (*word, letter)))
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
    original = WEIGHTS[kind](automaton)
    outcomes = set()
    for cell in [original, *(mutant(original, rng) for _ in range(4))]:
        proof, (outcome, word) = close(cell, automaton, limit=300), naive(cell, automaton, 300)
        outcomes.add(outcome)
        if proof.every_length:
            assert outcome == "closed"
        elif outcome == "wrong":
            assert proof.counterexample is not None
            assert len(proof.counterexample.word) >= len(word)
            assert (
                RecurrentNetwork(cell, automaton).run(np.array([proof.counterexample.word]))[0]
                != automaton.run(proof.counterexample.word)
            ).any()
    assert close(original, automaton, limit=300).every_length
    assert outcomes >= {"closed", "wrong"}


def test_layers_reach_what_whole_vectors_do() -> None:
    automaton = parse_spec("D6")
    cell = with_one_step(in_columns(automaton)).network()
    proof = close(cell, automaton)
    assert proof.every_length
    assert proof.layers == (2, 3, 12, 72)
    assert naive(cell, automaton, 600) == ("closed", 72)


@pytest.mark.parametrize(("name", "layers"), [("C12", 1), ("T3", 3)])
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
    cell = WEIGHTS[kind](automaton)
    assert close(cell, automaton).chunked
    plain = delta_scan._scan_chunks
    monkeypatch.setattr(delta_scan, "_scan_chunks", lambda *given: plain(*given[:-1], chunk))
    network, weights = in_training(cell, chunks=True)
    word = np.random.default_rng(0).integers(automaton.num_letters, size=150)
    with torch.no_grad():
        logits = network.logits(weights, torch.from_numpy(word)[None, None])[0, 0].numpy()
    assert np.array_equal(logits_of(cell, word[None])[0], logits)


def noted(cell, automaton) -> Notes:
    return closure.close(cell, checkable_table(automaton), "float32", budget=Work(1e9)).notes


def test_chunks_are_not_called_exact_where_they_are_not() -> None:
    automaton = parse_spec("C3")
    cell = deltaproduct(automaton)
    notes = noted(cell, automaton)
    assert same_in_chunks(cell, notes, Work(1e10))
    (name,) = notes.steps
    assert not same_in_chunks(cell, replace(notes, exact=False), Work(1e10))
    assert not same_in_chunks(cell, replace(notes, sizes={name: (2.0**22, 1.0)}), Work(1e10))
    assert not same_in_chunks(
        cell, replace(notes, sizes={name: (2.0**120, 2.0**100)}), Work(1e10)
    )  # few bits, no range
    half = {key: np.where(np.arange(len(row)) == 0, 0.5, row) for key, row in notes.steps[name].items()}
    assert not same_in_chunks(cell, replace(notes, steps={name: half}), Work(1e10))
    _, steps, width, _ = cell.sizes_of_heads
    looks = slice(1 + width + steps * width, 1 + width + 2 * steps * width)
    ended = {key: row.copy() for key, row in notes.steps[name].items()}
    for row in ended.values():
        row[looks] *= 0.75  # rows that are carried back never end
    assert not same_in_chunks(cell, replace(notes, steps={name: ended}), Work(1e10))
    tower = diagonal(parse_spec("C2"))
    gates = {b"": np.array([0.5])}
    assert not same_in_chunks(tower, Notes(steps={"h.0": gates}, sizes={"h.0": (1.0, 1.0)}), Work(1e10))


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
        wrong = np.flatnonzero((RecurrentNetwork(cell, automaton).run(words) != truth).any(axis=0))
        assert horizon is not None
        if len(wrong):
            short += 1
            assert horizon <= wrong[0]
        else:
            assert horizon > 0
    assert short >= 2

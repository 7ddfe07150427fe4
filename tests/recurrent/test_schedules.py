"""What is proved is what runs: one letter after the other, in chunks only where the claim names them."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from krohn.check.__main__ import main
from krohn.check.files.reader import Automaton
from krohn.check.ground import Refused, Work
from krohn.check.recurrent import closure
from krohn.check.recurrent.stacks import DeltaStack
from krohn.cli.app import run
from krohn.lab.cards.recurrent_modules import in_training, states_in_training
from krohn.recurrent.recurrent_network import logits_of
from krohn.recurrent.recurrent_weights import WEIGHTS

SATURATED = 200.0
STAYS = Automaton(np.zeros((2, 2), dtype=np.int64), 0, np.arange(2))


def delta(keys: list, values: list, rates: list, queries: list) -> DeltaStack:
    """One head; for each letter steps of (key, value, β before the sigmoid), and what is read."""
    letters, steps = np.array(values).shape
    single = np.float32
    return DeltaStack(
        {
            "wte": np.eye(letters, dtype=single),
            "h.0.mix.query": np.array(queries, dtype=single),
            "h.0.mix.key": np.array(keys, dtype=single).reshape(letters, -1),
            "h.0.mix.value": np.array(values, dtype=single),
            "h.0.mix.beta.weight": np.array(rates, dtype=single),
            "h.0.mix.beta.bias": np.zeros(steps, dtype=single),
            "h.0.mix.gate.weight": np.zeros((letters, 1), dtype=single),
            "h.0.mix.gate.bias": np.full(1, SATURATED, dtype=single),
            "h.0.mix.out": np.zeros((1, letters), dtype=single),
            "head.weight": np.zeros((letters, 2), dtype=single),
            "head.bias": np.array([1.0, 0.0], dtype=single),
        }
    )


def closed(cell: DeltaStack) -> closure.Closure:
    with np.errstate(all="ignore"):
        return closure.close(cell, STAYS, "float32", budget=Work(1e8))


def run_in_torch(cell: DeltaStack, word: list[int], *, chunks: bool = False) -> np.ndarray:
    network, weights = in_training(cell, chunks=chunks)
    with torch.no_grad():
        return network.logits(weights, torch.tensor(word)[None, None])[0, 0].numpy()


def test_an_idle_step_whose_difference_overflows_is_not_proved() -> None:
    """The second letter has rate 0. rate·v − (rate·k)·S is 0; a kernel computes rate·(v − k·S), 0 times ∞."""
    keys = [[[1.0, 0.0]], [[1.0, 0.0]]]
    for large, proved in ((3e38, False), (1e38, True)):
        cell = delta(keys, [[-large], [large]], [[0.0], [-SATURATED]], [[0.0, 1.0], [0.0, 1.0]])
        assert np.isfinite(run_in_torch(cell, [0, 1])).all() == proved
        if proved:
            assert closed(cell).proved
        else:
            with pytest.raises(Refused, match="overflow"):
                closed(cell)


def test_a_memory_inside_a_letter_counts_for_chunks() -> None:
    """Six reflections S ← 2v − S carry the memory up and back within a letter: between letters it is 0."""
    values = [1.0, -1.0, 1.0, 1.0, -1.0, 1.0]
    memory = [0.0]
    for value in values:
        memory.append(2 * value - memory[-1])
    assert memory[-1] == 0
    cell = delta([[[1.0]] * 6] * 2, [values] * 2, [[SATURATED] * 6] * 2, [[1.0], [1.0]])
    top, _ = closed(cell).notes.sizes["h.0"]
    assert top >= max(map(abs, memory)) == 6


@pytest.mark.parametrize(
    ("kind", "name"), [("diagonal", "C5"), ("diagonal", "S4"), ("deltaproduct", "S3"), ("rankone", "abab")]
)
def test_the_module_reads_one_letter_after_the_other(kind: str, name: str) -> None:
    automaton = krohn.zoo(name)
    cell, words = (
        WEIGHTS[kind](automaton),
        np.random.default_rng(0).integers(automaton.num_letters, size=(3, 60)),
    )
    network, weights = in_training(cell)
    with torch.no_grad():
        logits = network.logits(weights, torch.from_numpy(words)[None])[0].numpy()
    assert np.abs(logits - logits_of(cell, words)).max() < 1e-5
    assert (states_in_training(cell, "cpu")(words) == krohn.simulate(automaton, words)).all()


def test_a_claim_names_its_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C3 as rotations rounds otherwise in chunks; S3 by reflections is the same in both forms."""
    for kind, name, chunks in (("diagonal", "C3", False), ("deltaproduct", "S3", True)):
        folder, own = tmp_path / name, str(tmp_path / f"{name}.json")
        krohn.save(krohn.compile(name, architecture=kind), folder)
        assert run(["verify", str(folder), "--out", own]) == 0
        assumed = json.loads(Path(own).read_text())["claim"]["assumptions"]
        assert ("chunks" in assumed, "letters" in assumed) == (chunks, not chunks)
        order = [] if chunks else ["--order", "left"]
        assert run(["verify", str(folder), "--recheck", own, *order]) == main([str(folder), own, *order]) == 0
        text = capsys.readouterr().out
        assert ("in chunks of at most 64 steps" in text) == chunks
        assert ("one letter after the other" in text) or chunks
        assert run(["verify", str(folder), "--recheck", own, "--chunks"]) == (not chunks)
        assert run(["verify", str(folder), "--chunks"]) == (not chunks)

"""Certificates of trained LSTMs: a right one is accepted, and nothing that lacks a hypothesis."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tests.coq.asking import answers_of

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.ground import Refused
from krohn.check.recurrent.boxes import Boxes, build_gated
from krohn.cli.app import run as command
from krohn.coq.certificate import run_certificate
from krohn.coq.exploring import grow
from krohn.coq.stored import StoredRun, StoredTensor, stored_run

NETWORKS = Path(__file__).parents[2] / "results" / "networks"
LATEST = Semiautomaton(np.array([[0, 1], [0, 1]]))
"""The state is the latest letter."""


def one_unit(**other: list[float]) -> StoredRun:
    """A single unit that forgets, and writes −1 or 1 by the letter; two rows and columns are padding."""
    values = {
        "wte": ([-1.0, 1.0, 0.0, 0.0], (1, 4, 1)),
        "weight_ih": ([0.0, 0.0, 6.0, 0.0], (1, 1, 4)),
        "weight_hh": ([0.25, 0.0, 0.5, 0.0], (1, 1, 4)),
        "bias": ([8.0, -2.0, 0.0, 4.0], (1, 4)),
        "head.weight": ([-3.0, 3.0, 0.0], (1, 1, 3)),
        "head.bias": ([0.5, 0.5, 0.0], (1, 3)),
    }
    tensors = tuple(
        StoredTensor(name, shape, np.array(other.get(name, numbers), np.float32).view(np.uint32))
        for name, (numbers, shape) in sorted(values.items())
    )
    cell = build_gated("lstm", {tensor.name: tensor.floats()[0] for tensor in tensors}, 2, 2)
    start, state, following = np.zeros((1, 2)), np.array([0, 0, 1]), np.array([[1, 2]] * 3)
    low = np.concatenate([start, [[-0.9, -1.3]], [[0.6, 0.7]]])
    high = np.concatenate([start, [[-0.6, -0.7]], [[0.9, 1.3]]])
    return StoredRun(LATEST, tensors, cell, Boxes(state, following, low, high))


@pytest.mark.parametrize("part", ["few", "rest"])
def test_without_one_hypothesis_no_lstm_is_accepted(program: Path, part: str) -> None:
    """Every second hypothesis, or the others."""
    run = one_unit()
    boxes, closed = grow(run)
    assert closed

    def moved(low: float, high: float, entry: tuple[int, int]) -> Boxes:
        other = replace(boxes, low=boxes.low.copy(), high=boxes.high.copy())
        other.low[entry] += low
        other.high[entry] += high
        return other

    def spoiled(**other: list[float]) -> tuple[StoredRun, Boxes]:
        return one_unit(**other), boxes

    swapped = replace(run, automaton=Semiautomaton(np.array([[1, 0], [1, 0]])))
    longer = replace(run, automaton=Semiautomaton(np.array([[0, 1, 1, 1, 1], [0, 1, 1, 1, 1]])))
    first, *others = run.tensors
    infinite = np.array([-1.0, 1.0, np.inf, 0.0], np.float32).view(np.uint32)
    table = [replace(t, words=infinite) if t.name == "wte" else t for t in run.tensors]
    unread = replace(run, tensors=tuple(table))
    cases = {
        "nothing": (run, boxes),
        "an input gate": spoiled(bias=[0.0, -2.0, 0.0, 4.0]),
        "a forget gate": spoiled(bias=[8.0, 2.0, 0.0, 4.0]),
        "an output gate": spoiled(bias=[8.0, -2.0, 0.0, 1.0]),
        "what is written": spoiled(weight_ih=[0.0, 0.0, -6.0, 0.0]),
        "what the units before do": spoiled(weight_hh=[0.25, 9.0, 0.5, 0.0]),
        "the letters": spoiled(wte=[1.0, -1.0, 0.0, 0.0]),
        "rows that no letter reads without infinities": (unread, boxes),
        "the read-out": spoiled(**{"head.weight": [3.0, -3.0, 0.0]}),
        "its bias": spoiled(**{"head.bias": [5.5, 0.5, 0.0]}),
        "no overflow": spoiled(weight_ih=[0.0, 0.0, 3e38, 0.0], wte=[-9.0, 9.0, 0.0, 0.0]),
        "a box that holds h": (run, moved(0.2, 0.0, (1, 0))),
        "a box that holds c": (run, moved(0.0, -0.4, (2, 1))),
        "no box that is empty": (run, moved(1.0, 0.0, (2, 0))),
        "a start at zero": (run, moved(0.1, 0.1, (0, 1))),
        "boxes where the read-out is right": (run, moved(-9.0, 9.0, (1, 0))),
        "followers": (run, replace(boxes, follower=boxes.follower[:, ::-1].copy())),
        "a follower that is shown": (run, replace(boxes, follower=np.array([[0, 2]] * 3))),
        "followers that exist": (run, replace(boxes, follower=np.array([[1, 3]] * 3))),
        "the states of boxes": (run, replace(boxes, state=np.array([0, 1, 0]))),
        "the start of the automaton": (run, replace(boxes, state=np.array([1, 0, 1]))),
        "the right automaton": (swapped, boxes),
        "a row for each letter": (longer, boxes),
        "no tensor missing": (replace(run, tensors=tuple(others)), boxes),
        "a name": (replace(run, tensors=(replace(first, name="other"), *others)), boxes),
    }
    # sizes are read off two tensors; without them there is no text
    cases = {name: case for name, case in cases.items() if {t.name for t in case[0].tensors} >= {"wte"}}
    assert len(cases) >= 22
    lacking = [name for name in cases if name != "nothing"]
    chosen = ["nothing", *(lacking[::2] if part == "few" else lacking[1::2])]
    answers = dict(zip(chosen, answers_of(run_certificate(*cases[name]) for name in chosen), strict=True))
    assert answers == {name: name == "nothing" for name in chosen}


@pytest.mark.parametrize("name", ["c2", "grid4", "c3"])
def test_a_trained_lstm_is_certified(coq: Path, name: str) -> None:
    verdict = krohn.verify(NETWORKS / f"{name}-lstm-proved", kernel=True)
    assert verdict.certified, verdict.reason
    assert verdict.length is None


def test_a_run_that_reads_more_than_letters_is_refused(tmp_path: Path) -> None:
    """The theorem is about letters from the zero state. Here a token before them, whose row is 0, toggles."""
    pytest.importorskip("torch")
    from krohn.lab.training.trained_network import read_run

    shutil.copytree(NETWORKS / "c2-lstm-proved", tmp_path, dirs_exist_ok=True)
    held = {name: value.copy() for name, value in load_file(tmp_path / "weights.safetensors").items()}
    toggle = held["wte"][:, 1:2].copy()
    held["wte"][:, :2] -= toggle
    held["bias"] += (toggle @ held["weight_ih"])[:, 0]
    save_file(held, tmp_path / "weights.safetensors", metadata={"krohn": "1"})
    config, words = json.loads((tmp_path / "config.json").read_text()), np.array([[0, 1, 1], [1, 0, 0]])
    for change, right in (({}, True), ({"bos": True}, False), ({"scratchpad": True}, None)):
        (tmp_path / "config.json").write_text(json.dumps({**config, "task": {**config["task"], **change}}))
        if right is not None:
            assert (read_run(tmp_path).states(words) == words.cumsum(1) % 2).all(1).tolist() == [right] * 2
        if right:
            assert stored_run(tmp_path).automaton.num_states == 2
        else:
            with pytest.raises(Refused, match="reads letters alone"):
                krohn.verify(tmp_path, kernel=True)
            assert command(["verify", str(tmp_path), "--kernel"]) == 2

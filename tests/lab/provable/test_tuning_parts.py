"""Parts of training for a proof: the loss, output files, refusals."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from krohn.check.certificate import read_certificate
from krohn.check.ground import Verdict
from krohn.check.recurrent.boxes import Boxes, boxes_from
from krohn.errors import Unsupported
from krohn.lab.provable import provable_run
from krohn.lab.provable.box_search import contexts
from krohn.lab.provable.code_training import GATES, CodeLoss, FineTuned, Goal, code_of
from krohn.lab.provable.trained import NAME, tensors_of
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.witness.search import checkable_table
from lab.provable.small_cells import KINDS, random_tensors

KEPT = Path(__file__).parents[3] / "results" / "networks" / "grid4-lstm-proved"


@pytest.fixture(scope="module")
def stored() -> tuple[TrainedNetwork, Goal, Boxes]:
    trained = read_run(KEPT)
    claim = checkable_table(trained.automaton)
    result = contexts(claim)
    assert result is not None
    boxes = boxes_from(read_certificate(KEPT / NAME).witness)
    assert np.array_equal(boxes.follower, result.follower)
    return trained, Goal("lstm", trained.automaton, result), boxes


def weights_of(trained: TrainedNetwork) -> dict[str, torch.Tensor]:
    return provable_run._unpad(trained)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_of_a_code_counts_gates_that_are_not_decided(kind: str) -> None:
    """All gates where the code wants them, by huge biases, cost only what the code itself forbids."""
    from krohn.automata.zoo import parse_spec

    automaton = parse_spec("C2")
    claim = checkable_table(automaton)
    result = contexts(claim)
    assert result is not None
    code = code_of(automaton, result)
    hidden = code.shape[1] + 1
    loss = CodeLoss(Goal(kind, automaton, result), code, hidden)
    tensors = random_tensors(kind, hidden, 0.0, 0)
    weights = {name: torch.tensor(value) for name, value in tensors.items()}
    undecided = float(loss(weights))
    kept_gate = "f" if kind == "lstm" else "z"
    columns = slice(
        GATES[kind].names.index(kept_gate) * hidden, (GATES[kind].names.index(kept_gate) + 1) * hidden
    )
    bias = GATES[kind].biases[0]
    weights[bias][columns] = -50.0  # closed: what it should be
    closed = float(loss(weights))
    weights[bias][columns] = 50.0
    opened = float(loss(weights))
    assert closed < undecided < opened
    wanted = GATES[kind].always[kept_gate]
    assert undecided - closed == pytest.approx(abs(wanted) + wanted**2, rel=1e-4)


def test_weights_lose_their_padding_and_get_it_back(
    stored: tuple[TrainedNetwork, Goal, Boxes], tmp_path: Path
) -> None:
    trained, _, boxes = stored
    used = weights_of(trained)
    assert used["head.bias"].shape == (4,)
    assert used["head.weight"].shape[1] == 4
    verdict = Verdict(True, 1.0, "")
    tuned = FineTuned(used, 7, boxes, verdict)
    from krohn.lab.training.directory import read_config

    outcome = provable_run._write(tmp_path / "out", trained, read_config(KEPT), tuned, 1.5)
    again = read_run(tmp_path / "out")
    for name, value in tensors_of(trained).items():
        if name != "head.bias":
            assert np.array_equal(tensors_of(again)[name], value)
    assert outcome.accuracy == 1.0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["provable"]["steps"] == 7
    assert "folder" not in result["provable"]
    assert (tmp_path / "out" / NAME).is_file()
    failed = replace(tuned, verdict=Verdict(False, 0.0, "no", at=(1, 0)))
    provable_run._write(tmp_path / "out", trained, read_config(KEPT), failed, 1.5)
    assert not (tmp_path / "out" / NAME).exists()  # an old proof does not stay beside other weights
    report = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (report["provable"]["proved"], report["replicates"][0]["status"]) == (False, "not proved")
    assert report["provable"]["failure"].startswith("no (state ")


def test_what_cannot_become_provable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krohn.lab.provable.box_search.MAX_BOXES", 2)
    with pytest.raises(Unsupported, match="this automaton has more"):
        provable_run.make_provable(KEPT)


def test_first_weights_are_those_of_a_run(stored: tuple[TrainedNetwork, Goal, Boxes]) -> None:
    trained, _, _ = stored
    one, same, other = (provable_run._fresh(trained, seed) for seed in (1, 1, 2))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["weight_hh"], other["weight_hh"])
    bound = len(one["weight_hh"]) ** -0.5
    assert float(one["weight_hh"].abs().max()) <= bound

"""From a finished run to a provable one: the same cell, trained to a code that can be proved.

Ordinary trained cells keep old states by gates that are 1 in float32: nothing contracts, and no boxes close.
So first weights of the run's own cell learn a code whose gates forget all else. This needs the whole
transition table: it is training with the automaton, not discovery of it. The result is a run directory with
these weights and their certificate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.files import write_json
from krohn.check.recurrent.boxes import GATED, MAX_BOXES
from krohn.errors import Unsupported
from krohn.lab import random_streams
from krohn.lab.models.architectures.looped import LoopedConfig
from krohn.lab.provable.box_search import contexts, proof_summary
from krohn.lab.provable.code_training import FineTuned, Goal, code_of, learn_code
from krohn.lab.provable.coded_run import CodedRun, make_coded
from krohn.lab.provable.exact import kind_of
from krohn.lab.provable.trained import NAME, BoxProof, certificate_of, save_certificate
from krohn.lab.training.config import RunConfig
from krohn.lab.training.directory import CONFIG, RESULT, read_config, write_weights
from krohn.lab.training.held_out import HeldOut
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.witness.search import checkable_table

FOLDER = "provable"
TEST_WORDS = 1024
TOO_MANY = f"--provable needs at most {MAX_BOXES} pairs of a state and a letter; this automaton has more"

Tell = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class ProvableRun:
    """The proved network's directory and the outcome."""

    folder: Path
    tuned: FineTuned
    seconds: float
    accuracy: float
    failure: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        result = self.tuned.verdict
        return {
            "proved": result.certified,
            "folder": str(self.folder),
            "steps": self.tuned.steps,
            "boxes": len(self.tuned.boxes.state),
            "margin": result.margin,
            "widest": self.tuned.boxes.widest,
            "failure": self.failure or None,
            "accuracy": self.accuracy,
            "seconds": self.seconds,
        }

    def text(self) -> str:
        """One line."""
        proof = self.to_json()
        if proof["proved"]:
            return (
                f"proved for words of every length: {proof['boxes']} boxes, logit margin "
                f"{proof['margin']:.3g}, {proof['steps']} steps in {proof['seconds']:.0f} s: "
                f"{proof['folder']}"
            )
        reason = f"not proved after {proof['steps']} steps ({proof['failure']})"
        return f"{reason}: try a larger --hidden or another --seed"


def provable_reasons(config: RunConfig, automaton: Semiautomaton) -> list[str]:
    """Every reason why a proof for every length cannot be attempted."""
    task, kind = config.task, config.model.kind
    if isinstance(config.model, LoopedConfig):
        return _coded_reasons(config, config.model)
    boxes = contexts(checkable_table(automaton))
    hidden = getattr(config.model, "hidden", 0)
    units = code_of(automaton, boxes).shape[1] if boxes is not None and kind in GATED else 0
    reasons = {
        f"--provable needs --model {', '.join(GATED)} or looped; got {kind}": kind not in GATED,
        "--provable needs words of letters alone: leave out --scratchpad and --bos": task.scratchpad
        or task.bos,
        "--provable needs --target state": task.target != "state",
        TOO_MANY: boxes is None,
        f"--provable needs --hidden {units} or more for this automaton; got {hidden}": units > hidden,
    }
    return [reason for reason, holds in reasons.items() if holds]


def _coded_reasons(config: RunConfig, model: LoopedConfig) -> list[str]:
    task = config.task
    reasons = {
        "--provable needs words of letters alone: leave out --scratchpad and --bos": task.scratchpad
        or task.bos,
        "--provable needs one block in all loops, with its norm: leave out blocks and norm": model.blocks > 1
        or not model.norm,
        "--provable finds codes after training: leave out codes": model.codes > 0,
    }
    return [reason for reason, holds in reasons.items() if holds]


def make_provable(directory: Path, *, tell: Tell = lambda step, violation: None) -> ProvableRun | CodedRun:
    """Trains the cell of a run to a code, or finds codes for a looped one; writes it into a subfolder.

    With it its boxes or codes and the certificate, if it is proved.
    """
    trained, config = read_run(directory), read_config(directory)
    reasons = provable_reasons(config, trained.automaton)
    if reasons:
        raise Unsupported("; ".join(reasons))
    if isinstance(config.model, LoopedConfig):
        return make_coded(directory / FOLDER, trained, config)
    boxes = contexts(checkable_table(trained.automaton))
    assert boxes is not None, "refused above"
    began, goal = perf_counter(), Goal(kind_of(trained), trained.automaton, boxes)
    code = code_of(trained.automaton, boxes)
    tuned = learn_code(goal, _fresh(trained, config.seed), code, seed=config.seed, tell=tell)
    return _write(directory / FOLDER, trained, config, tuned, perf_counter() - began)


def _accuracy(trained: TrainedNetwork) -> dict[str, Any]:
    """Scores on the test set."""
    words = HeldOut(trained.task, seed=TEST_SEED, count=TEST_WORDS)
    return words.judge(trained.network, trained.weights).of(0)


def _fresh(trained: TrainedNetwork, seed: int) -> dict[str, torch.Tensor]:
    """Initial weights, as at the start of a run."""
    layout = trained.network.layout
    flat = layout.initial(random_streams.replicate_keys(seed, 1))
    return _unpad(replace(trained, weights=layout.views(flat)))


def _unpad(trained: TrainedNetwork) -> dict[str, torch.Tensor]:
    """The weights without their padding."""
    result = {}
    for part in trained.network.layout.parameters:
        value = trained.weights[part.name][0]
        result[part.name] = value[tuple(slice(extent) for extent in part.used or part.shape)]
    result["head.bias"] = result["head.bias"][: trained.automaton.num_states]
    return result


def _write(
    folder: Path, trained: TrainedNetwork, config: RunConfig, tuned: FineTuned, seconds: float
) -> ProvableRun:
    weights = trained.network.layout.pad(tuned.weights)
    proved = TrainedNetwork(trained.network, weights, trained.task, 0)
    scores = _accuracy(proved)
    why = proof_summary(tuned.boxes, tuned.verdict, trained.automaton)
    built = ProvableRun(folder, tuned, seconds, scores["accuracy"], why)
    entry = {"status": "proved" if tuned.verdict.certified else "not proved", **scores}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).unlink(missing_ok=True)
    write_json(folder / CONFIG, config.to_dict())
    write_weights(folder, weights)
    if tuned.verdict.certified:
        proof = BoxProof(tuned.boxes, tuned.verdict)
        save_certificate(certificate_of(folder, proved, trained.automaton, proof), folder / NAME)
    about = built.to_json()
    del about["folder"]
    result = {"run": config.run_id, "replicate": trained.replicate, "replicates": [entry], "finished": True}
    write_json(folder / RESULT, {**result, "provable": about})
    return built

"""From a finished run to a provable one: fine-tuned weights and their certificate, as a run directory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

from krohn import atomic, random_streams
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.boxes import CELLS, MAX_BOXES
from krohn.errors import Unsupported
from krohn.study.box_loss import FineTuned, Goal
from krohn.study.box_search import contexts, proof_summary, words_of
from krohn.study.code_training import code_of, learn_code
from krohn.study.examined import kind_of
from krohn.study.fine_tune import fine_tune
from krohn.study.proving import BEFORE, NAME, Proof, certificate_of, save_certificate
from krohn.training.config import RunConfig
from krohn.training.directory import CONFIG, RESULT, read_config, write_weights
from krohn.training.metrics import HeldOut
from krohn.training.sections import TEST_SEED
from krohn.training.trained_states import TrainedStates, trained_states

FOLDER = "provable"
TEST_WORDS = 1024
WAYS = ("network", "code")
"""Fine-tune the trained network if it is right or no code fits; fallback: train fresh weights to a code."""
TOO_MANY = f"--provable needs at most {MAX_BOXES} pairs of a state and a letter; this automaton has more"

Tell = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class ProvableRun:
    """The fine-tuned network's directory and the outcome."""

    folder: Path
    way: str
    tuned: FineTuned
    seconds: float
    accuracy: float
    failure: str

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        result = self.tuned.verdict
        return {
            "proved": result.proved,
            "way": self.way,
            "folder": str(self.folder),
            "steps": self.tuned.steps,
            "boxes": len(self.tuned.boxes.state),
            "margin": result.margin,
            "widest": result.widest,
            "failure": self.failure or None,
            "accuracy": self.accuracy,
            "seconds": self.seconds,
        }


def provable_reasons(config: RunConfig, automaton: Semiautomaton) -> list[str]:
    """Every reason why a proof for every length cannot be attempted."""
    task, kind = config.task, config.model.kind
    reasons = {
        f"--provable needs --model {' or '.join(CELLS)}; got {kind}": kind not in CELLS,
        "--provable needs words of letters alone: leave out --scratchpad and --bos": task.scratchpad
        or task.bos,
        "--provable needs --target state": task.target != "state",
        TOO_MANY: contexts(words_of(automaton)) is None,
    }
    return [reason for reason, holds in reasons.items() if holds]


def make_provable(
    directory: Path, *, ways: Sequence[str] = WAYS, tell: Tell = lambda step, violation: None
) -> ProvableRun:
    """Fine-tunes the best replicate of a run; writes it, with its boxes if it is proved, into a subfolder."""
    trained, config = trained_states(directory), read_config(directory)
    words = words_of(trained.automaton)
    result = contexts(words)
    if result is None:
        raise Unsupported(TOO_MANY)
    goal = Goal(kind_of(trained), trained.automaton, words, result)
    began, seed, code = perf_counter(), config.seed, code_of(trained.automaton, result)
    first, tuned, way = _used(trained), None, "network"
    fits = "code" in ways and code.shape[1] <= first["weight_hh"].shape[0]
    if way in ways and (_accuracy(trained)["accuracy"] == 1.0 or not fits):
        tuned = fine_tune(goal, first, seed=seed, tell=tell)
    if fits and (tuned is None or not tuned.verdict.proved):
        tuned, way = learn_code(goal, _fresh(trained, seed), code, seed=seed, tell=tell), "code"
    if tuned is None:
        raise Unsupported(f"to prove this automaton the network needs --hidden {code.shape[1]} or more")
    return _write(directory / FOLDER, trained, config, tuned, way, perf_counter() - began)


def _accuracy(trained: TrainedStates) -> dict[str, Any]:
    """Scores on the test set."""
    words = HeldOut(trained.task, seed=TEST_SEED, count=TEST_WORDS)
    return words.judge(trained.network, trained.weights).of(0)


def _fresh(trained: TrainedStates, seed: int) -> dict[str, torch.Tensor]:
    """Initial weights, as at the start of a run."""
    layout = trained.network.layout
    flat = layout.initial(random_streams.replicate_keys(seed, 1))
    return _used(replace(trained, weights=layout.views(flat)))


def _used(trained: TrainedStates) -> dict[str, torch.Tensor]:
    """The weights without their padding."""
    result = {}
    for part in trained.network.layout.parameters:
        value = trained.weights[part.name][0]
        result[part.name] = value[tuple(slice(extent) for extent in part.used or part.shape)]
    result["head.bias"] = result["head.bias"][: trained.automaton.num_states]
    return result


def _write(
    folder: Path, trained: TrainedStates, config: RunConfig, tuned: FineTuned, way: str, seconds: float
) -> ProvableRun:
    weights = {}
    for part in trained.network.layout.parameters:
        weights[part.name] = torch.zeros(1, *part.shape)
        value = tuned.weights[part.name]
        weights[part.name][0][tuple(slice(extent) for extent in value.shape)] = value
    proved = TrainedStates(trained.network, weights, trained.task, 0)
    scores = _accuracy(proved)
    why = proof_summary(tuned.boxes, tuned.verdict, trained.automaton)
    built = ProvableRun(folder, way, tuned, seconds, scores["accuracy"], why)
    entry = {"status": "proved" if tuned.verdict.proved else "not proved", **scores}
    folder.mkdir(parents=True, exist_ok=True)
    for name in (NAME, BEFORE):
        (folder / name).unlink(missing_ok=True)
    atomic.write_json(folder / CONFIG, config.to_dict())
    write_weights(folder, weights)
    if tuned.verdict.proved:
        proof = Proof("all", tuned.boxes, tuned.verdict)
        save_certificate(certificate_of(folder, proved, trained.automaton, proof), folder / NAME)
    about = built.to_json()
    del about["folder"]
    result = {"run": config.run_id, "replicate": trained.replicate, "replicates": [entry], "finished": True}
    atomic.write_json(folder / RESULT, {**result, "provable": about})
    return built

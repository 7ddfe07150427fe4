"""From a finished run to a provable one: the violation of the proof is the loss.

Ordinary trained cells keep old states by gates that are 1 in float32: nothing contracts, and no boxes close.
Here the weights, and the centre and radius of each box, are trained jointly until one step from any box ends
inside its follower. Gates that keep the old state are penalised, so that memory must be refreshed and errors
shrink. This needs the whole transition table: it is training with the automaton, not discovery of it. The
result is a run directory with fine-tuned weights and their certificate.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base import atomic
from krohn.check.arithmetic.real import Array
from krohn.check.recurrent.boxes import CELLS, MAX_BOXES, Boxes
from krohn.check.verdict import Verdict
from krohn.errors import Unsupported
from krohn.lab import random_streams
from krohn.lab.provable.box_loss import IMAGES, FineTuned, Goal, Weights, cell_of, memory_gate, worst_leads
from krohn.lab.provable.code_training import code_of, learn_code
from krohn.lab.provable.exact import habitual, kind_of, legal, uniform
from krohn.lab.provable.trained import EARLIER_NAME, NAME, BoxProof, certificate_of, save_certificate
from krohn.lab.training.config import RunConfig
from krohn.lab.training.directory import CONFIG, RESULT, read_config, write_weights
from krohn.lab.training.metrics import HeldOut
from krohn.lab.training.sections import TEST_SEED
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.box_search import contexts, proof_summary, search, words_of

STEPS, RATE = 3000, 1e-2
RADIUS_H, RADIUS_MEMORY = 0.02, {"lstm": 0.2, "gru": 0.1}
CEILING = 1.0
"""Gates that keep the old state are pushed below σ(1) = 0.73."""
WARM = 0.3
"""Share of the steps in which boxes grow to their size."""
EVERY, LONG_EVERY = 50, 200
"""Steps between two searches from the boxes of the loss, and from the empty word."""


def fine_tune(
    goal: Goal,
    weights: Weights,
    *,
    steps: int = STEPS,
    seed: int = 0,
    tell: Callable[[int, float], None] = lambda step, violation: None,
) -> FineTuned:
    """Trains until a search proves the network, or for at most ``steps``.

    Boxes are initialised at the network's mean state after each context.
    """
    tuned = {name: value.detach().clone().requires_grad_(True) for name, value in weights.items()}
    centre = torch.tensor(centres(goal, weights, seed), dtype=torch.float32, requires_grad=True)
    shape = torch.zeros_like(centre, requires_grad=True)
    everything = [*tuned.values(), centre, shape]
    optimiser = torch.optim.Adam(everything, lr=RATE, betas=(0.9, 0.98))
    loss_of = TuningLoss(goal)
    last: tuple[Boxes, Verdict] | None = None
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, step / 20) * max(0.05, min(1.0, 1.6 * (1 - (step - 1) / steps)))
        radius = min(1.0, step / (WARM * steps)) * radius_of(goal.kind, shape, weights["weight_hh"].shape[0])
        loss, violation = loss_of(tuned, centre, radius)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(everything, 1.0)
        optimiser.step()
        if step % EVERY == 0 or step == steps:
            tell(step, violation)
            last = proof_of(goal, tuned, centre, radius, from_nothing=step % LONG_EVERY == 0 or step == steps)
            if last[1].certified:
                break
    assert last is not None
    return FineTuned({name: value.detach() for name, value in tuned.items()}, step, *last)


class TuningLoss:
    """Penalties: images that leave their boxes, wrong answers on boxes, gates that only keep."""

    def __init__(self, goal: Goal) -> None:
        source, letter = np.nonzero(goal.contexts.follower >= 0)
        self._kind = goal.kind
        self._source, self._letter = torch.tensor(source), torch.tensor(letter)
        self._target = torch.tensor(goal.contexts.follower[source, letter])
        self._answer = torch.tensor(goal.contexts.state[1:])
        self._empty = (torch.arange(len(goal.contexts.state)) == 0)[:, None]

    def __call__(self, weights: Weights, centre: Tensor, radius: Tensor) -> tuple[Tensor, float]:
        """The loss of weights and boxes, and the largest violation of a box."""
        low, high = centre - radius, centre + radius
        first, last = (side.masked_fill(self._empty, 0.0) for side in (low, high))
        image = IMAGES[self._kind](weights, first, last, self._source, self._letter)
        goal_radius = radius[self._target]
        slack = 0.03 * goal_radius + 1e-4
        out = (low[self._target] + slack - image[0]).relu() + (image[1] - high[self._target] + slack).relu()
        # Relative violation: small boxes count as much as wide ones.
        out = out * (RADIUS_MEMORY[self._kind] / 2 / goal_radius.detach()).clamp(0.5, 20.0)
        worst = worst_leads(weights, low[1:], high[1:], self._answer)
        gate = memory_gate(self._kind, weights, centre[self._source], self._letter)
        loss = out.pow(2).sum(1).mean() + 0.3 * out.sum(1).mean() + (gate - CEILING).relu().pow(2).mean()
        return loss + functional.cross_entropy(worst, self._answer), float(out.detach().max())


def radius_of(kind: str, shape: Tensor, hidden: int) -> Tensor:
    """Radii trained within bounds: otherwise the scale would shrink instead of the violation."""
    memory = RADIUS_MEMORY[kind] * torch.exp(0.7 * torch.tanh(shape[:, -hidden:]))
    if kind == "gru":
        return memory
    shown = RADIUS_H * torch.exp((4 * shape[:, :hidden]).clamp(-0.9, 2.4))
    return torch.cat((shown, memory), 1)


def centres(goal: Goal, weights: Weights, seed: int) -> Array:
    """The network's mean state after each context, over uniform and repetitive words."""
    cell = cell_of(goal, weights)
    words = np.concatenate([make(goal.automaton, 64, seed)[:128] for make in (uniform, habitual)])
    words = legal(goal.automaton, words, goal.words.allowed, seed)
    total, count = np.zeros((len(goal.contexts.state), cell.size)), np.zeros(len(goal.contexts.state))
    point, key = np.zeros((len(words), cell.size)), np.zeros(len(words), dtype=np.int64)
    for column in words.T:
        for letter in np.unique(column):
            rows = column == letter
            low, high = cell.image(point[rows], point[rows], int(letter))
            point[rows] = (low + high) / 2
        key = goal.contexts.follower[key, column]
        np.add.at(total, key, point)
        np.add.at(count, key, 1)
    return np.asarray(total / np.maximum(count, 1)[:, None])


def proof_of(
    goal: Goal, weights: Weights, centre: Tensor, radius: Tensor, *, from_nothing: bool
) -> tuple[Boxes, Verdict]:
    """Boxes searched from these, with the checker's verdict; fallback: a search from no boxes."""
    cell = cell_of(goal, weights)
    middle, half = (value.detach().double().numpy() for value in (centre, radius))
    result = search(cell, goal.words, goal.contexts, (middle - half, middle + half), rounds=60)
    if not result[1].certified and from_nothing:
        return search(cell, goal.words, goal.contexts)
    return result


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
            "proved": result.certified,
            "way": self.way,
            "folder": str(self.folder),
            "steps": self.tuned.steps,
            "boxes": len(self.tuned.boxes.state),
            "margin": result.margin,
            "widest": self.tuned.boxes.widest,
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
    trained, config = read_run(directory), read_config(directory)
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
    if fits and (tuned is None or not tuned.verdict.certified):
        tuned, way = learn_code(goal, _fresh(trained, seed), code, seed=seed, tell=tell), "code"
    if tuned is None:
        raise Unsupported(f"to prove this automaton the network needs --hidden {code.shape[1]} or more")
    return _write(directory / FOLDER, trained, config, tuned, way, perf_counter() - began)


def _accuracy(trained: TrainedNetwork) -> dict[str, Any]:
    """Scores on the test set."""
    words = HeldOut(trained.task, seed=TEST_SEED, count=TEST_WORDS)
    return words.judge(trained.network, trained.weights).of(0)


def _fresh(trained: TrainedNetwork, seed: int) -> dict[str, torch.Tensor]:
    """Initial weights, as at the start of a run."""
    layout = trained.network.layout
    flat = layout.initial(random_streams.replicate_keys(seed, 1))
    return _used(replace(trained, weights=layout.views(flat)))


def _used(trained: TrainedNetwork) -> dict[str, torch.Tensor]:
    """The weights without their padding."""
    result = {}
    for part in trained.network.layout.parameters:
        value = trained.weights[part.name][0]
        result[part.name] = value[tuple(slice(extent) for extent in part.used or part.shape)]
    result["head.bias"] = result["head.bias"][: trained.automaton.num_states]
    return result


def _write(
    folder: Path, trained: TrainedNetwork, config: RunConfig, tuned: FineTuned, way: str, seconds: float
) -> ProvableRun:
    weights = {}
    for part in trained.network.layout.parameters:
        weights[part.name] = torch.zeros(1, *part.shape)
        value = tuned.weights[part.name]
        weights[part.name][0][tuple(slice(extent) for extent in value.shape)] = value
    proved = TrainedNetwork(trained.network, weights, trained.task, 0)
    scores = _accuracy(proved)
    why = proof_summary(tuned.boxes, tuned.verdict, trained.automaton)
    built = ProvableRun(folder, way, tuned, seconds, scores["accuracy"], why)
    entry = {"status": "proved" if tuned.verdict.certified else "not proved", **scores}
    folder.mkdir(parents=True, exist_ok=True)
    for name in (NAME, EARLIER_NAME):
        (folder / name).unlink(missing_ok=True)
    atomic.write_json(folder / CONFIG, config.to_dict())
    write_weights(folder, weights)
    if tuned.verdict.certified:
        proof = BoxProof("all", tuned.boxes, tuned.verdict)
        save_certificate(certificate_of(folder, proved, trained.automaton, proof), folder / NAME)
    about = built.to_json()
    del about["folder"]
    result = {"run": config.run_id, "replicate": trained.replicate, "replicates": [entry], "finished": True}
    atomic.write_json(folder / RESULT, {**result, "provable": about})
    return built

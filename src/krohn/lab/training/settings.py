"""The settings of a run as ``krohn train`` takes them: one table, from which all else is derived."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krohn.lab.training.sections import SECTIONS

# Sections that are off unless the setting of that name is given.
OPTIONAL = ("curriculum", "halving", "teach")


@dataclass(frozen=True)
class TrainSetting:
    """One option: the field of a run's configuration that it sets.

    Type and default are those of the field, unless it belongs to the model or to the run itself: reading
    these would load torch.

    Attributes:
        flag: as typed.
        place: section and field, or the field of the run itself.
        text: one line.
        typed: the type of the value, where the field is not read.
    """

    flag: str
    place: str
    text: str
    typed: Any = None

    @property
    def name(self) -> str:
        """The parameter that click passes."""
        return self.flag.removeprefix("--").replace("-", "_")

    @property
    def field(self) -> dataclasses.Field[Any] | None:
        """The field of a section; ``None`` for the model's, the run's own, and a whole section."""
        section, _, name = self.place.partition(".")
        fields = dataclasses.fields(SECTIONS[section]) if section in SECTIONS else ()
        return next((field for field in fields if field.name == name), None)

    @property
    def help(self) -> str:
        """The help line, with the default unless that is off."""
        default = None if self.field is None else self.field.default
        if default in (None, False) or self.name in OPTIONAL:
            return self.text
        shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
        return f"{self.text}  [default: {shown}]"


SETTINGS = (
    TrainSetting("--length", "task.length", "Letters per sequence."),
    TrainSetting("--target", "task.target", "What is predicted."),
    TrainSetting("--reveal", "task.reveal", "Probability that a label is shown."),
    TrainSetting("--scratchpad", "task.scratchpad", "Interleave inputs and states."),
    TrainSetting("--bos", "task.bos", "Put a beginning-of-sequence token before the first letter."),
    TrainSetting(
        "--distribution",
        "task.distribution",
        "Distribution of inputs: docs/training-options.md of the repository.",
    ),
    TrainSetting(
        "--model",
        "model.kind",
        "gpt, lstm, gru, deltaproduct, diagonal, looped or another kind.  [default: gpt]",
        str,
    ),
    TrainSetting("--layers", "model.layers", "gpt: blocks.  [default: 4]", int),
    TrainSetting("--dim", "model.dim", "gpt: width.  [default: 512]", int),
    TrainSetting("--heads", "model.heads", "gpt: attention heads.  [default: 8]", int),
    TrainSetting("--mlp", "model.mlp", "gpt: hidden width.  [default: 512]", int),
    TrainSetting(
        "--positions",
        "model.positions",
        "gpt: sinusoidal, linear, none, shifted or learned.  [default: sinusoidal]",
        str,
    ),
    TrainSetting("--context", "model.context", "gpt: number of learned positions.  [default: 512]", int),
    TrainSetting("--recency", "model.recency", "gpt: recency bias, as in ALiBi."),
    TrainSetting("--dropout", "model.dropout", "gpt: dropout rate.  [default: 0.0]", float),
    TrainSetting(
        "--attention-dropout",
        "model.attention_dropout",
        "gpt: rate on the attention weights.  [default: 0.0]",
        float,
    ),
    TrainSetting(
        "--embedding-std",
        "model.embedding_std",
        "gpt: standard deviation of the first token embeddings.  [default: 1.0]",
        float,
    ),
    TrainSetting("--embedding", "model.embedding", "lstm, gru: embedding width.  [default: 64]", int),
    TrainSetting("--hidden", "model.hidden", "lstm, gru: state width.  [default: 128]", int),
    TrainSetting(
        "--optimizer", "optimizer.method", "muon orthogonalises the updates of gpt's block matrices."
    ),
    TrainSetting("--lr", "optimizer.lr", "Learning rate; repeat for a grid over replicates."),
    TrainSetting("--weight-decay", "optimizer.weight_decay", "Weight decay, decoupled."),
    TrainSetting("--betas", "optimizer.betas", "Decay of the two moments."),
    TrainSetting("--eps", "optimizer.eps", "Added to the root of the second moment."),
    TrainSetting("--warmup", "optimizer.warmup", "Steps of linear warm-up."),
    TrainSetting("--schedule", "optimizer.schedule", "How the learning rate falls."),
    TrainSetting("--floor", "optimizer.floor", "cosine, plateau: least fraction of the rate."),
    TrainSetting("--patience", "optimizer.patience", "plateau: evaluations before a cut."),
    TrainSetting("--factor", "optimizer.factor", "plateau: factor of the rate at a cut."),
    TrainSetting("--ema", "optimizer.ema", "Decay of the averaged weights."),
    TrainSetting("--clip", "optimizer.clip", "Largest gradient norm, or none."),
    TrainSetting("--batch", "optimizer.batch", "Sequences per replicate and step."),
    TrainSetting(
        "--curriculum",
        "curriculum",
        "Take the loss over a window that grows as the network solves more of the word.",
    ),
    TrainSetting("--curriculum-start", "curriculum.start", "Letters in the first window."),
    TrainSetting("--curriculum-growth", "curriculum.growth", "Window length per solved letter."),
    TrainSetting(
        "--curriculum-solved", "curriculum.solved", "Accuracy from which a letter counts as solved."
    ),
    TrainSetting(
        "--halving",
        "halving.every",
        "Steps after which the worse half of the replicates is given up, repeatedly.",
    ),
    TrainSetting("--halving-least", "halving.least", "Replicates that are never given up."),
    TrainSetting(
        "--teach",
        "teach.hints",
        "gpt: doubling (after block l the product of the last 2^l letters), doubling:2,4,8, cascade or none.",
    ),
    TrainSetting("--teach-until", "teach.until", "When hints end; they are kept by default."),
    TrainSetting("--replicates", "replicates", "Networks trained side by side.  [default: 1]", int),
    TrainSetting("--steps", "steps", "Optimiser steps of each replicate.  [default: 10000]", int),
    TrainSetting("--eval-every", "evaluation.every", "Steps between evaluations."),
    TrainSetting("--eval-sequences", "evaluation.sequences", "Size of the validation set."),
    TrainSetting("--eval-seed", "evaluation.seed", "Seed of the validation set."),
    TrainSetting(
        "--stop-at", "evaluation.stop_at", "Token accuracy at which a replicate is frozen as solved."
    ),
    TrainSetting("--precision", "precision", "bf16, fp32, fp64; auto: bf16 on a GPU.  [default: auto]", str),
    TrainSetting("--seed", "seed", "Seed of weights and data.  [default: 0]", int),
)


def written_down(spec: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The run as plain values, as in a ``config.json``; omitted settings take their defaults.

    ``given`` are settings by name, whole sections such as ``evaluation={"every": 100}``, and all else is an
    option of the architecture.
    """
    places = {setting.name: setting.place for setting in SETTINGS}
    plain: dict[str, Any] = {"task": {"spec": spec}, "model": {"kind": "gpt"}}
    for name, value in given.items():
        section, _, field = places.get(name, name).partition(".")
        if name in SECTIONS and isinstance(value, Mapping):
            plain.setdefault(name, {}).update(value)
        elif field:
            plain.setdefault(section, {})[field] = None if value == "none" and section != "model" else value
        elif name in OPTIONAL:
            plain.setdefault(name, {})
        elif name in places:
            plain[name] = value
        else:
            plain["model"][name] = value
    # Not 0, which is refused.
    off = [name for name in OPTIONAL if given.get(name) in (None, "none") or given.get(name) is False]
    return {name: value for name, value in plain.items() if name not in off}


def without_effect(given: Mapping[str, Any]) -> list[str]:
    """An error for every given option without effect, because its feature is off."""
    schedule = given.get("schedule", "constant")
    positions = given.get("positions", "sinusoidal") if given.get("model", "gpt") == "gpt" else None
    halving, steps = given.get("halving"), given.get("steps", 10_000)
    never = halving is not None and halving >= steps and "stop_at" not in given
    reasons = {
        "--floor needs --schedule cosine or plateau": "floor" in given and schedule == "constant",
        "--patience needs --schedule plateau": "patience" in given and schedule != "plateau",
        "--factor needs --schedule plateau": "factor" in given and schedule != "plateau",
        "--context needs --positions learned": "context" in given and positions not in (None, "learned"),
        "position_scale needs positions": "position_scale" in given and positions == "none",
        "--halving must come before the last step, or --stop-at be given": never,
    }
    for setting in SETTINGS:
        section = setting.place.partition(".")[0]
        orphan = setting.name in given and section in OPTIONAL and given.get(section) in (None, "none")
        reasons[f"{setting.flag} needs --{section}"] = orphan and setting.name != section
    return [reason for reason, holds in reasons.items() if holds]

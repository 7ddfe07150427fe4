"""The settings of a run as options of ``krohn train``: one table, from which everything else follows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def number_or_none(text: str) -> float | str:
    """A number, or the word none, which stays a word until the setting is written down."""
    try:
        return text if text == "none" else float(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is neither a number nor none") from error


@dataclass(frozen=True)
class Setting:
    """One option: the field of a run's configuration that it sets.

    Attributes:
        flag: as typed.
        place: section and field, or the field of the run itself.
        help: one line.
        type: of the value; ``None`` for a switch.
        many: the option may be repeated.
        values: how many values follow it.
    """

    flag: str
    place: str
    help: str
    type: Any = None
    many: bool = False
    values: int = 1

    @property
    def name(self) -> str:
        """The parameter that click passes."""
        return self.flag.removeprefix("--").replace("-", "_")

    def option(self) -> Callable[[F], F]:
        """The click option; a value that was not typed is ``None``, so that it can be told apart."""
        if self.type is None:
            return click.option(self.flag, self.name, is_flag=True, default=None, help=self.help)
        return click.option(
            *((self.flag, "-T") if self.flag == "--length" else (self.flag,)),
            self.name,
            type=self.type,
            multiple=self.many,
            nargs=self.values,
            metavar="FLOAT|none" if self.type is number_or_none else None,
            help=self.help,
        )


SETTINGS = (
    Setting("--length", "task.length", "Letters per sequence.  [default: 100]", int),
    Setting(
        "--target",
        "task.target",
        "What is predicted.  [default: state]",
        click.Choice(["state", "observation"]),
    ),
    Setting("--reveal", "task.reveal", "Probability that a label is shown.  [default: 1.0]", float),
    Setting("--scratchpad", "task.scratchpad", "Interleave inputs and states."),
    Setting("--bos", "task.bos", "Put a token for the beginning before the first letter."),
    Setting(
        "--distribution",
        "task.distribution",
        "Distribution of the inputs; see docs/training.md.  [default: auto]",
        str,
    ),
    Setting(
        "--model",
        "model.kind",
        "gpt, lstm, gru, deltaproduct, diagonal or another kind.  [default: gpt]",
        str,
    ),
    Setting("--layers", "model.layers", "gpt: blocks.  [default: 4]", int),
    Setting("--dim", "model.dim", "gpt: width.  [default: 512]", int),
    Setting("--heads", "model.heads", "gpt: attention heads.  [default: 8]", int),
    Setting("--mlp", "model.mlp", "gpt: hidden width.  [default: 512]", int),
    Setting(
        "--positions",
        "model.positions",
        "gpt: sinusoidal, linear, none, shifted or learned.  [default: sinusoidal]",
        str,
    ),
    Setting("--context", "model.context", "gpt: number of learned positions.  [default: 512]", int),
    Setting("--recency", "model.recency", "gpt: recency bias, as in ALiBi."),
    Setting("--dropout", "model.dropout", "gpt: dropout rate.  [default: 0.0]", float),
    Setting(
        "--attention-dropout",
        "model.attention_dropout",
        "gpt: rate on the attention weights.  [default: 0.0]",
        float,
    ),
    Setting(
        "--embedding-std",
        "model.embedding_std",
        "gpt: standard deviation of the first token embeddings.  [default: 1.0]",
        float,
    ),
    Setting("--embedding", "model.embedding", "lstm, gru: embedding width.  [default: 64]", int),
    Setting("--hidden", "model.hidden", "lstm, gru: state width.  [default: 128]", int),
    Setting(
        "--optimizer",
        "optimizer.method",
        "adamw or muon; muon orthogonalises the updates of gpt's block matrices.  [default: adamw]",
        str,
    ),
    Setting(
        "--lr",
        "optimizer.lr",
        "Learning rate; repeat for a grid over replicates.  [default: 0.0003]",
        float,
        many=True,
    ),
    Setting("--weight-decay", "optimizer.weight_decay", "Weight decay, decoupled.  [default: 0.0001]", float),
    Setting("--betas", "optimizer.betas", "Decay of the two moments.  [default: 0.9 0.98]", float, values=2),
    Setting("--eps", "optimizer.eps", "Added to the root of the second moment.  [default: 1e-08]", float),
    Setting("--warmup", "optimizer.warmup", "Steps of linear warm-up.  [default: 300]", int),
    Setting("--schedule", "optimizer.schedule", "constant, cosine or plateau.  [default: constant]", str),
    Setting(
        "--floor", "optimizer.floor", "cosine, plateau: least fraction of the rate.  [default: 0.01]", float
    ),
    Setting("--patience", "optimizer.patience", "plateau: evaluations before a cut.  [default: 10]", int),
    Setting("--factor", "optimizer.factor", "plateau: what a cut leaves of the rate.  [default: 0.5]", float),
    Setting("--ema", "optimizer.ema", "Decay of the averaged weights.  [default: 0.9]", float),
    Setting("--clip", "optimizer.clip", "Largest gradient norm, or none.  [default: 1.0]", number_or_none),
    Setting("--batch", "optimizer.batch", "Sequences per replicate and step.  [default: 16]", int),
    Setting(
        "--curriculum",
        "curriculum",
        "Take the loss over a window that grows as the network solves more of the word.",
    ),
    Setting("--curriculum-start", "curriculum.start", "Letters in the first window.  [default: 8]", int),
    Setting(
        "--curriculum-growth",
        "curriculum.growth",
        "Window for each solved letter.  [default: 1.5]",
        float,
    ),
    Setting(
        "--curriculum-solved",
        "curriculum.solved",
        "Accuracy from which a letter counts as solved.  [default: 0.95]",
        float,
    ),
    Setting(
        "--halving",
        "halving.every",
        "Steps after which the worse half of the replicates is given up, repeatedly.",
        int,
    ),
    Setting("--halving-least", "halving.least", "Replicates that are never given up.  [default: 1]", int),
    Setting("--replicates", "replicates", "Networks trained side by side.  [default: 1]", int),
    Setting("--steps", "steps", "Optimiser steps of each replicate.  [default: 10000]", int),
    Setting("--eval-every", "evaluation.every", "Steps between evaluations.  [default: 500]", int),
    Setting("--eval-sequences", "evaluation.sequences", "Held-out sequences.  [default: 2048]", int),
    Setting(
        "--eval-seed", "evaluation.seed", "Seed of the held-out sequences.  [default: 1099511627776]", int
    ),
    Setting(
        "--stop-at", "evaluation.stop_at", "Token accuracy at which a replicate is frozen as solved.", float
    ),
    Setting("--precision", "precision", "bf16, fp32, fp64; auto: bf16 on a GPU.  [default: auto]", str),
    Setting("--seed", "seed", "Seed of weights and data.  [default: 0]", int),
)

# Sections that are off unless this place is typed.
PARENTS = {"curriculum": "curriculum", "halving": "halving.every"}


def setting_options(command: F) -> F:
    """Adds every setting to a command."""
    for setting in reversed(SETTINGS):
        command = setting.option()(command)
    return command


def typed_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Place -> value of the settings that were typed."""
    given = {setting.place: options[setting.name] for setting in SETTINGS}
    return {place: value for place, value in given.items() if value is not None and value != ()}


def written_down(spec: str, typed: dict[str, Any], model: dict[str, Any]) -> dict[str, Any]:
    """The run as plain values, as in a ``config.json``; what was not typed is left to the defaults."""
    plain: dict[str, Any] = {"task": {"spec": spec}, "model": {"kind": "gpt"}}
    for place, value in typed.items():
        section, _, field = place.partition(".")
        if section in PARENTS and PARENTS[section] not in typed:
            continue  # refused by `without_effect`
        if field:
            plain.setdefault(section, {})[field] = None if value == "none" and field == "clip" else value
        elif section in PARENTS:
            plain.setdefault(section, {})
        else:
            plain[place] = value
    plain["model"] |= model
    return plain


def without_effect(typed: dict[str, Any], model: dict[str, Any]) -> list[str]:
    """A reason for every option that was typed but would change nothing, because its feature is off."""
    schedule = typed.get("optimizer.schedule", "constant")
    shape = {name.removeprefix("model."): value for name, value in typed.items() if name.startswith("model.")}
    shape |= model
    positions = shape.get("positions", "sinusoidal") if shape.get("kind", "gpt") == "gpt" else None
    halving, steps = typed.get("halving.every"), typed.get("steps", 10_000)
    never = halving is not None and halving >= steps and "evaluation.stop_at" not in typed
    reasons = {
        "--floor needs --schedule cosine or plateau": "optimizer.floor" in typed and schedule == "constant",
        "--patience needs --schedule plateau": "optimizer.patience" in typed and schedule != "plateau",
        "--factor needs --schedule plateau": "optimizer.factor" in typed and schedule != "plateau",
        "--context needs --positions learned": "context" in shape and positions not in (None, "learned"),
        "position_scale needs positions": "position_scale" in shape and positions == "none",
        "--halving must come before the last step, or --stop-at be given": never,
    }
    for setting in SETTINGS:
        section = setting.place.partition(".")[0]
        orphan = setting.place in typed and PARENTS.get(section, setting.place) not in typed
        reasons[f"{setting.flag} needs --{section}"] = orphan
    return [reason for reason, holds in reasons.items() if holds]

"""The paper's settings (Appendix B.3), and their reductions for the smaller scales."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from krohn.base.typed import annotations
from krohn.lab.experiments.experiment import Label, PlannedRun
from krohn.lab.experiments.names import Scale
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.training.config import RunConfig
from krohn.lab.training.settings import written_down

# The 19 semiautomata of the paper, easiest to learn first as far as the text tells: memory, then abelian
# groups, then the rest by size, the non-solvable ones last.
TASKS = (
    *("Grid4", "Grid9", "Dyck4,2"),
    *("C2", "C3", "C4", "C5", "C6", "C7", "C8", "C2xC2", "C2xC2xC2"),
    *("D6", "D8", "Q8", "A4", "S4", "A5", "S5"),
)
GPT, LSTM, LOOPED = "GPT", "LSTM", "looped"

# Where each scale departs from the paper, or where the paper gives no value and one had to be chosen.
DEPARTURES = {
    Scale.SMOKE: "tiny networks, a few steps: proves that everything runs, says nothing about learning",
    Scale.SMALL: (
        "bf16; fewer sequences; gradients clipped at 1; learning rate constant, for GPT after 300 steps of "
        "warm-up and with betas (.9, .98); token embeddings start at 1, not 0.02; no dropout on attention "
        "unless stated; linear positions are one column; Dyck has its 32 reachable states as classes"
    ),
    Scale.PAPER: (
        "bf16; token embeddings start at 1, not 0.02; linear positions are one column; not in the text and "
        "chosen here: betas (.9, .999), 300 steps of warm-up for GPT, plateau "
        "schedule with patience 20, which replicate has which learning rate, sequences of each task"
    ),
}
SOLVED_STOP = "solved replicates stop"

T = TypeVar("T")
Settings = dict[str, Any]
"""Settings by name, as ``krohn train`` has them; a value may differ between scales."""


def by_scale(smoke: T, small: T, paper: T) -> dict[Scale, T]:
    """A setting that differs between scales: a row of the tables in ``recipes``."""
    return {Scale.SMOKE: smoke, Scale.SMALL: small, Scale.PAPER: paper}


# Sizes, optimiser and evaluations where a recipe says nothing: as in the paper, narrow networks and few steps
# at scale smoke. The paper names learning rates, weight decay, batch, EMA and a scheduler with a patience.
# Where it gives no value, or at scale small, settings were measured to learn in few steps: a constant rate,
# that of GPT after a warm-up of 300 steps with betas (.9, .98).
ALIKE: Settings = {
    "ema": 0.9,
    "schedule": by_scale("constant", "constant", "plateau"),
    "patience": by_scale(10, 10, 20),
    "clip": by_scale(1.0, 1.0, None),
    "eval_sequences": by_scale(32, 2048, 2048),
    "evaluations": by_scale(2, 50, 200),
    "stop_at": None,
}
DEFAULTS: dict[str, Settings] = {
    GPT: ALIKE
    | {
        "dim": by_scale(16, 512, 512),
        "heads": by_scale(2, 8, 8),
        "mlp": by_scale(16, 512, 512),
        "lr": by_scale((3e-3, 1e-3), (3e-5, 1e-4, 3e-4), (3e-5, 1e-4, 3e-4)),
        "weight_decay": 1e-4,
        "betas": by_scale((0.9, 0.98), (0.9, 0.98), (0.9, 0.999)),
        "warmup": by_scale(5, 300, 300),
        "batch": by_scale(8, 16, 16),
    },
    LSTM: ALIKE
    | {
        "embedding": by_scale(8, 64, 64),
        "hidden": by_scale(16, 128, 128),
        "lr": by_scale((3e-3, 1e-3), (1e-3, 3e-3), (1e-3, 3e-3)),
        "weight_decay": 1e-9,
        "betas": (0.9, 0.999),
        "warmup": by_scale(5, 0, 0),
        "batch": by_scale(8, 64, 64),
    },
    LOOPED: ALIKE
    | {
        "dim": by_scale(16, 128, 128),
        "heads": by_scale(2, 4, 4),
        "mlp": by_scale(16, 256, 256),
        "noise": 1.0,
        "lr": by_scale((3e-3, 1e-3), (1e-3,), (1e-3,)),
        "weight_decay": 1e-3,
        "betas": (0.9, 0.98),
        "schedule": "cosine",
        "warmup": by_scale(5, 100, 100),
        "batch": by_scale(8, 128, 128),
        "eval_sequences": by_scale(32, 256, 256),
    },
}


def plan_run(scale: Scale, label: Label, **settings: Any) -> PlannedRun:
    """One cell of an experiment, from settings as ``krohn train`` has them, in one table.

    Values that ``by_scale`` gave are looked up. ``sequences`` are those that each replicate reads,
    ``evaluations`` how many there are during training. ``measured``: evaluations at the end.
    """
    model = settings.pop("model", GPT)
    table = DEFAULTS[model] | settings | {"model": model.lower()}
    given = {name: value[scale] if isinstance(value, dict) else value for name, value in table.items()}
    if model == LSTM:  # what a recipe says of layers and positions is about GPT
        given = {name: value for name, value in given.items() if name not in annotations(GptConfig)}
    steps = max(1, given.pop("sequences") // given["batch"])
    given |= {"steps": steps, "eval_every": max(1, steps // given.pop("evaluations"))}
    measured = given.pop("measured", ())
    config = RunConfig.from_dict(written_down(given.pop("spec"), given))
    return PlannedRun(config=config, label=label, evaluations=measured)


# Parts of a label that are settings by another name.
_SETTING = {"task": "spec", "depth": "layers"}
Axis = Sequence[Any] | Mapping[Any, Settings]


def plan_product(
    scale: Scale,
    axes: Mapping[str | tuple[str, ...], Axis],
    settings: Settings,
    exceptions: Mapping[tuple[Any, ...], Settings] | None = None,
) -> list[PlannedRun]:
    """A run for every combination of the values along the axes, the last axis varying fastest.

    An axis is one part of the labels, or several that vary together. Beside each of its values stand the
    settings that it brings; values that stand alone are settings themselves. ``exceptions``: settings of
    single cells, by the values of their labels, the task first.
    """
    runs = []
    for chosen in product(*(_along(*axis) for axis in axes.items())):
        label: dict[str, Any] = {"task": None}
        own = dict(settings)
        for part, brought in chosen:
            label, own = label | part, own | brought
        own |= (exceptions or {}).get(tuple(label.values()), {})
        runs.append(plan_run(scale, label, **own))
    return runs


def _along(part: str | tuple[str, ...], values: Axis) -> Iterator[tuple[dict[str, Any], Settings]]:
    """Of each value its part of the label, and the settings that it brings."""
    for value in values:
        label = {part: value} if isinstance(part, str) else dict(zip(part, value, strict=True))
        named = {_SETTING.get(name, name): each for name, each in label.items()}
        yield label, values[value] if isinstance(values, Mapping) else named

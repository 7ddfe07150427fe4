"""Can it, and did it learn? Recurrent networks on automata for which ``krohn analyze`` decides "can"."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from krohn.lab.cards.harness import reach
from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import run
from krohn.lab.experiments.summary import mean_series, series_at, summary
from krohn.lab.figures.charts import Line, Panel, line_chart
from krohn.lab.figures.style import Figure
from krohn.lab.interpret.evaluation import AccuracyByLength
from krohn.lab.models.network import ModelConfig, model_config
from krohn.lab.tasks.task_config import TaskConfig
from krohn.recurrent.capability import capability


@dataclass(frozen=True)
class Case:
    """An automaton and a small network of a family for which ``krohn analyze`` has a row.

    Attributes:
        task: the automaton.
        model: the network, in words.
        family: the row.
        kind: the architecture in the registry.
        options: its options beyond the sizes of the scale.
        effort: training words, as a multiple of the scale's.
        trained: length of the training words at scale ``paper``, where a published run has another.
        tested: the greatest test length there.
        drawn: the distribution of the letters.
        waiting: a second distribution, without the letters that refresh a memory.
        sizes: of the network at scale ``paper``, where a published run has others.
        batch: words in a step there.
        replicates: of the network there.
    """

    task: str
    model: str
    family: str
    kind: str
    options: dict[str, Any]
    effort: int = 1
    trained: int | None = None
    tested: int | None = None
    drawn: str = "auto"
    waiting: str | None = None
    sizes: dict[str, Any] = field(default_factory=dict)
    batch: int = 64
    replicates: int = 10

    def answer(self) -> tuple[bool | None, str]:
        """Whether it can, and if not why, from the automaton's algebra."""
        steps = self.options.get("householders", 1)
        return capability(self.task, self.family, self.options.get("layers", 1), steps)


def _diagonal(task: str, gate: str, layers: int = 1, **more: Any) -> Case:
    named = {"unit": "diagonal [0, 1]", "signed": "diagonal [-1, 1]", "complex": "diagonal complex"}[gate]
    options: dict[str, Any] = {"gate": gate} if layers == 1 else {"gate": gate, "layers": layers}
    if task in ("D8", "S4") or "trained" in more:
        options |= {"conv": 2}
    return Case(
        task, named + (f", {layers} layers" if layers > 1 else ""), named, "diagonal", options, **more
    )


def _delta(task: str, steps: int, beta_max: int = 2, layers: int = 1, **more: Any) -> Case:
    family = "DeltaProduct" if beta_max == 2 else "DeltaNet [0, 1]"
    options: dict[str, Any] = {"householders": steps} | ({} if beta_max == 2 else {"beta_max": 1})
    if layers > 1:
        options |= {"layers": layers, "conv": 2}
    words = f"DeltaProduct, {steps} step{'s' if steps > 1 else ''}" + (", β ≤ 1" if beta_max == 1 else "")
    return Case(
        task, words + (f", {layers} layers" if layers > 1 else ""), family, "deltaproduct", options, **more
    )


_ONCE: dict[str, Any] = {"drawn": "weights:9,9,1,1", "waiting": "weights:1,1,0,0", "effort": 3}
_PARITY: dict[str, Any] = {"trained": 40, "tested": 256}
# Siems et al. train heads of 32 numbers on batches of 2,048 words, 100 epochs of 48 steps.
_S5: dict[str, Any] = {"sizes": {"dim": 128, "mlp": 256}, "batch": 128, "replicates": 4}
_S5_HEADS = {"heads": 8, "key_dim": 16, "value_dim": 16}
CASES = (
    _diagonal("C2", "unit"),
    _diagonal("C2", "signed"),
    _diagonal("C3", "signed"),
    _diagonal("C3", "complex"),
    _delta("D6", 1),
    _delta("D6", 2),
    _delta("D6", 2, beta_max=1),
    # Published: the four runs on S3 in DeltaProduct's README, all six elements as letters.
    *(_delta("S3:all", steps, beta_max) for steps in (1, 2) for beta_max in (1, 2)),
    # Published: parity on words of up to 40 letters, tested to 256, two layers (Grazzi et al. 2025).
    *(_diagonal("C2", gate, 2, **_PARITY) for gate in ("unit", "signed")),
    *(_delta("C2", 1, beta_max, 2, **_PARITY) for beta_max in (1, 2)),
    # Published: S5, all 120 elements as letters, in one layer (Siems et al. 2025).
    _diagonal("S5:all", "unit", **_S5 | {"sizes": _S5["sizes"] | {"channels": 256}}),
    *(_delta("S5:all", steps, **_S5 | {"sizes": _S5["sizes"] | _S5_HEADS}) for steps in (1, 4)),
    *(_delta("S5:adjacent", steps, effort=3) for steps in (1, 2)),
    *(_diagonal("D8", "signed", layers, effort=3) for layers in (1, 2)),
    *(_diagonal("S4", "complex", layers, effort=3) for layers in (2, 3)),
    *(_delta("WriteOnce2", 2, layers=layers, **_ONCE) for layers in (1, 2)),
    Case("S5:adjacent", "GRU", "GRU", "gru", {}, effort=3),
    Case("S5:adjacent", "LSTM", "LSTM", "lstm", {}, effort=3),
)
LENGTH = {Scale.SMOKE: 6, Scale.SMALL: 20, Scale.PAPER: 128}
SEQUENCES = {Scale.SMOKE: 8 * 6, Scale.SMALL: 12_800, Scale.PAPER: 320_000}
REPLICATES = {Scale.SMOKE: 2, Scale.SMALL: 10}
WIDTH = {Scale.SMOKE: 8, Scale.SMALL: 16, Scale.PAPER: 64}
RATES: dict[Scale, dict[str, Any]] = {
    Scale.SMOKE: {},
    Scale.SMALL: {"lr": (3e-3, 1e-2), "warmup": 20, "batch": 32},
    Scale.PAPER: {
        **{"lr": (1e-3, 3e-3), "warmup": 100, "schedule": "cosine"},
        **{"betas": (0.9, 0.98), "clip": 1.0},
    },
}


def plan(scale: Scale) -> list[PlannedRun]:
    """A run for each case, tested up to four times the trained length or the published length."""
    return [_planned(scale, case) for case in CASES]


def _planned(scale: Scale, case: Case) -> PlannedRun:
    published = case.trained is not None and scale is Scale.PAPER
    length = case.trained if case.trained and published else LENGTH[scale]
    effort = {Scale.SMOKE: 1, Scale.SMALL: case.effort, Scale.PAPER: case.batch // 64}[scale]
    config = run(
        scale,
        TaskConfig(spec=case.task, length=length, distribution=case.drawn),
        _network(scale, case),
        sequences=SEQUENCES[scale] * effort,
        replicates=REPLICATES.get(scale, case.replicates),
        evaluations=2 if scale is Scale.SMOKE else 8,
        **RATES[scale] | ({"batch": case.batch} if scale is Scale.PAPER else {}),
    )
    if scale is Scale.PAPER:
        config = replace(config, precision="fp32")
    tested = case.tested if case.tested and published else 4 * length
    judged = AccuracyByLength(
        lengths=tuple(tested * part // 8 for part in range(1, 9)),
        sequences=16 if scale is Scale.SMOKE else 128,
    )
    evaluations = [judged]
    if case.waiting is not None:
        evaluations.append(replace(judged, distribution=case.waiting, name="waiting"))
    label = {"task": case.task, "model": case.model}
    return PlannedRun(config=config, label=label, evaluations=tuple(evaluations))


def _network(scale: Scale, case: Case) -> ModelConfig:
    width = WIDTH[scale]
    if case.kind in ("gru", "lstm"):
        return model_config(case.kind, embedding=width, hidden=2 * width)
    if case.kind == "diagonal":
        mixer = {"channels": width}
    else:
        mixer = {"heads": 4, "key_dim": 16, "value_dim": 16} if scale is Scale.PAPER else _SMALL_HEADS
    published = case.sizes if scale is Scale.PAPER else {}
    return model_config(case.kind, **{"dim": width, "mlp": 2 * width} | mixer | published, **case.options)


_SMALL_HEADS = {"heads": 2, "key_dim": 8, "value_dim": 8}


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """Can, did (solved of R, best, median, n* per seed), why not."""
    rows = []
    for case in CASES:
        for cell in cells:
            if (cell.label["task"], cell.label["model"]) == (case.task, case.model):
                places, series = series_at(cell, "length")
                can, why = case.answer()
                did = {
                    f"n{share}": [reach(places, seed, share / 100) for seed in series] for share in (95, 99)
                }
                if case.waiting is not None:
                    places, series = series_at(cell, "waiting")
                    did["n95_waiting"] = [reach(places, seed, 0.95) for seed in series]
                rows.append({**cell.label, "can": can, **summary(cell), **did, "why_not": why})
    return rows


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """Mean accuracy by length, a panel for each automaton, and one for words without refreshing letters."""
    panels = []
    for task in dict.fromkeys(case.task for case in CASES):
        for evaluation, title in (("length", task), ("waiting", f"{task}, words without clears")):
            own = [cell for cell in cells if cell.label["task"] == task]
            panels += _panel(title, own, evaluation)
    return {"expressivity": line_chart(panels, note=caption)} if panels else {}


def _panel(title: str, cells: Sequence[ResultCell], evaluation: str) -> list[Panel]:
    """One panel, or none if no cell has the evaluation."""
    lines = []
    for cell in cells:
        places, means, errors = mean_series(cell, evaluation)
        if places:
            lines.append(Line(name=cell.label["model"], x=places, y=means, error=errors))
    if not lines:
        return []
    trained = int(cells[0].records[0].config["task"]["length"])
    y_axis = "mean accuracy, standard error"
    guides = [(trained, "trained")]
    return [Panel(title=title, x_axis="length of the word", y_axis=y_axis, lines=lines, guides=guides)]


EXPERIMENT = Experiment(
    name="expressivity",
    title="Can it, and did it learn?",
    claim="not in the paper; predictions in results/expressivity.md",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: "small widths, few steps: sized for a CPU, in float32",
        Scale.PAPER: "float32, width 64, AdamW with a cosine to zero, gradients clipped at 1",
    },
)

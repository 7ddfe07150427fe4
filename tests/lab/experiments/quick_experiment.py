"""An experiment of four runs of a second or less, for tests of the sweep and of the cluster."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.summary import summary
from krohn.lab.interpret.evaluation import AccuracyAlong
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import EvaluationConfig, OptimizerConfig, RunConfig

MODEL = GptConfig(layers=1, dim=16, heads=2, mlp=16)


def quick_run(task: str, depth: int, *, steps: int = 6, every: int = 2, seed: int = 0) -> PlannedRun:
    config = RunConfig(
        task=TaskConfig(spec=task, length=6),
        model=MODEL,
        optimizer=OptimizerConfig(batch=4, warmup=2),
        evaluation=EvaluationConfig(every=every, sequences=16),
        replicates=2,
        steps=steps,
        seed=seed + depth,
    )
    evaluations = (AccuracyAlong(name="length", at=(3, 6), sequences=8),)
    return PlannedRun(config=config, label={"task": task, "depth": depth}, evaluations=evaluations)


def plan(scale: Scale) -> list[PlannedRun]:
    return [quick_run(task, depth) for depth in (1, 2) for task in ("C2", "Grid4")]


def table(cells: Sequence[ResultCell]) -> list[Row]:
    return [{**cell.label, **summary(cell)} for cell in cells]


QUICK = Experiment(
    name="quick", title="quick", claim="", plan=plan, table=table, draw=lambda cells, caption: {}
)

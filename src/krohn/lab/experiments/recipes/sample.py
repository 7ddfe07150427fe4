"""Small random automata: how many layers training needs, beside how many they compile to.

The automata are the first of the atlas's sample (4 states, 2 letters, seed 1); `results/tables/atlas.json`
has their compiled depths and lower bounds. Predictions are in `results/learned-depth.md`.
"""

from collections.abc import Sequence
from functools import cache

from krohn.automata.small import sampled_automata
from krohn.lab.experiments.experiment import Experiment, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth
from krohn.lab.experiments.settings import SOLVED_STOP, run
from krohn.lab.experiments.summary import SOLVED, marks_of, note_on, summary
from krohn.lab.figures.charts import HeatMap, heat_map
from krohn.lab.figures.style import Figure
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.tasks.task_config import TaskConfig
from krohn.lab.training.config import HalvingConfig

STATES, LETTERS, DRAWN, SEED = 4, 2, 40, 1
FITTED = 24  # training set: the first automata; fits to them predicted the others before those were run
COUNT = {Scale.SMOKE: 2, Scale.SMALL: DRAWN, Scale.PAPER: DRAWN}
DEPTHS = {Scale.SMOKE: (1, 2), Scale.SMALL: (1, 2, 3, 4), Scale.PAPER: tuple(range(1, 9))}
LENGTH = {Scale.SMOKE: 8, Scale.SMALL: 40, Scale.PAPER: 100}
WIDTH = {Scale.SMOKE: 16, Scale.SMALL: 128, Scale.PAPER: 512}
STEPS = {Scale.SMOKE: 8, Scale.SMALL: 8000, Scale.PAPER: 80_000}
RATES = {Scale.SMOKE: (3e-3,), Scale.SMALL: (3e-4, 6e-4, 1e-3), Scale.PAPER: (1e-4, 2e-4, 3e-4, 4e-4)}


@cache
def specs() -> tuple[str, ...]:
    """The whole sample, each automaton by its table."""
    drawn = sampled_automata(STATES, LETTERS, DRAWN, SEED)
    return tuple("table:" + ".".join("".join(map(str, row)) for row in one.table.tolist()) for one in drawn)


def plan(scale: Scale) -> list[PlannedRun]:
    """Shallow networks first; deeper ones are needed only where these fail."""
    return [planned(scale, spec, layers) for layers in DEPTHS[scale] for spec in specs()[: COUNT[scale]]]


def planned(scale: Scale, spec: str, layers: int) -> PlannedRun:
    """The depth map's AdamW recipe, scaled down: only the automaton and the depth differ between cells."""
    steps, width = STEPS[scale], WIDTH[scale]
    config = run(
        scale,
        TaskConfig(spec=spec, length=LENGTH[scale]),
        GptConfig(layers=layers, dim=width, heads=2 if scale is Scale.SMOKE else width // 32, mlp=width),
        sequences=steps * depth.BATCH[scale],
        replicates=depth.REPLICATES[scale],
        stop_at=0.995,
        evaluations=None if scale is Scale.SMOKE else 32,
        lr=RATES[scale],
        batch=depth.BATCH[scale],
        schedule="cosine",
        halving=HalvingConfig(every=max(1, steps // 4), least=min(2, depth.REPLICATES[scale])),
    )
    return PlannedRun(config=config, label={"task": spec, "depth": layers})


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row for each automaton and depth."""
    rows = [{**cell.label, **summary(cell), "paper": "not asked"} for cell in cells]
    for row in rows:
        row["solved"] = row["max_accuracy"] >= SOLVED
    return sorted(rows, key=lambda row: (specs().index(row["task"]), row["depth"]))


def draw(cells: Sequence[ResultCell], caption: str) -> dict[str, Figure]:
    """The best replicate of each cell; rows end where a network solves the automaton."""
    rows = table(cells)
    shown = HeatMap(
        title="best replicate, % of letters",
        rows=list(dict.fromkeys(row["task"].removeprefix("table:") for row in rows)),
        columns=[str(layers) for layers in sorted({row["depth"] for row in rows})],
        values={(row["task"].removeprefix("table:"), str(row["depth"])): row["max_accuracy"] for row in rows},
        marks={
            (row["task"].removeprefix("table:"), str(row["depth"])): marks_of(row).replace("†", "")
            for row in rows
        },
        row_axis="automaton, a row of its table for each state",
        column_axis="layers",
        note=note_on(caption, rows),
        by_mistakes=True,
    )
    return {"sample": heat_map(shown)} if rows else {}


EXPERIMENT = Experiment(
    name="sample",
    title="Random automata by number of layers",
    claim="not in the paper; predictions in results/learned-depth.md",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "the map's recipe for AdamW made small: width 128, T = 40, 8,000 steps of batch 64, learning "
            f"rates 3e-4, 6e-4 and 1e-3 for two replicates each, by halves to two; {SOLVED_STOP} at 99.5%"
        ),
        Scale.PAPER: f"{SOLVED_STOP} at 99.5%",
    },
)

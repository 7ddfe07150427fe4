"""What stabilises training: dropout, weight averaging, a plateau scheduler (Appendix B.1.1)."""

from collections.abc import Sequence

from krohn.lab.experiments.experiment import Experiment, Figures, PlannedRun, ResultCell, Row
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.settings import Settings, by_scale, plan_product
from krohn.lab.experiments.summary import marks_of, mean_and_error, note_on, table_by
from krohn.lab.figures.charts import Bar, bar_chart

TASKS = ("D8", "Q8", "Dyck4,2", "Grid9")
EMA = (0.85, 0.9, 0.95)
# Each setting is changed alone; dropout 0 and EMA .9 are one and the same run. The paper's values of the
# patience are not in the text; these span two powers of four.
FACTORS: dict[tuple[str, float | str], Settings] = {
    **{("dropout", rate): {"dropout": rate} for rate in (0.0, 0.1, 0.2, 0.3)},
    **{("EMA", decay): {"ema": decay} for decay in (0.0, *EMA)},
    **{("patience", steps): {"schedule": "plateau", "patience": steps} for steps in (2, 8, 32)},
}
# The paper's dropout is GPT-2's, on attention weights too, and its runs are long: a million words here.
# Embeddings start at 0.02 in the library it used, at 1 here.
LONG = "long training"
LONG_FACTORS: dict[tuple[str, str], Settings] = {
    (LONG, "none"): {},
    (LONG, "residual .1"): {"dropout": 0.1},
    (LONG, "residual and attention .1"): {"dropout": 0.1, "attention_dropout": 0.1},
    (LONG, "embedding std .02"): {"embedding_std": 0.02},
}
LONG_TASKS = ("D8", "Q8")
# The value at which each factor is off.
OFF: dict[str, float | str] = {"dropout": 0.0, "EMA": 0.0, "patience": 32, LONG: "none"}
SETTINGS: Settings = {
    "length": by_scale(8, 40, 100),
    "layers": by_scale(1, 4, 8),
    "sequences": by_scale(8 * 8, 80_000, 1_000_000),
    "replicates": by_scale(2, 10, 20),
}
LONG_SETTINGS = SETTINGS | {"sequences": by_scale(8 * 8, 1_000_000, 5_000_000)}
SMALL_AND_LONG = {"replicates": 6, "lr": (2e-4, 3e-4, 4e-4), "batch": 64, "schedule": "cosine"}


def plan(scale: Scale) -> list[PlannedRun]:
    """The factors one by one on four tasks, then dropout in long training on two."""
    long = LONG_SETTINGS | (SMALL_AND_LONG if scale is Scale.SMALL else {})
    short = plan_product(scale, {"task": TASKS, ("factor", "value"): FACTORS}, SETTINGS)
    return short + plan_product(scale, {"task": LONG_TASKS, ("factor", "value"): LONG_FACTORS}, long)


CLAIMS = {
    "dropout": ".1 helps D8 and Q8, hurts Dyck and Grid",
    "EMA": "helps; .85–.95 alike",
    "patience": "more can help",
    LONG: "dropout .1 helps D8 and Q8",
}
VALUES = [*sorted({value for _, value in FACTORS}), *(value for _, value in LONG_FACTORS)]
ORDER = {"factor": None, "task": TASKS, "value": VALUES}


def table(cells: Sequence[ResultCell]) -> list[Row]:
    """One row for each task and setting, with its gain over the cell in which the factor is off."""
    by_label = {tuple(cell.label.values()): cell for cell in cells}

    def gain(cell: ResultCell) -> Row:
        """Mean gain with its error, and how many replicates gain."""
        task, factor, _ = cell.label.values()
        without = by_label.get((task, factor, OFF[factor]))
        if without is None or without is cell:
            return {}
        result = gains(cell, without)
        mean, error = mean_and_error(result)
        better = f"{sum(one > 0 for one in result)} of {len(result)}"
        return {"paired": f"{mean:+.2f} ± {error:.2f}", "better": better}

    return table_by(ORDER, columns=gain, paper=lambda label: CLAIMS[label["factor"]])(cells)


def gains(cell: ResultCell, without: ResultCell) -> list[float]:
    """Differences in points from the cell in which the factor is off, replicate by replicate.

    Replicates with the same index start from the same weights and read the same words, so that paired
    differences are more precise than differences of means.
    """
    off = {record.replicate: record.accuracy for record in without.records}
    return [100 * (record.accuracy - off[record.replicate]) for record in cell.records]


def draw(cells: Sequence[ResultCell], scale: Scale) -> Figures:
    """Mean accuracy with standard error in long training.

    The effects of the other factors are too small for bars: the table has the paired differences.
    """
    long = [cell for cell in cells if cell.label["factor"] == LONG]
    if not long:
        return {}
    bars = [
        Bar(row["task"], row["value"], row["mean_accuracy"], row["standard_error"], mark=marks_of(row))
        for row in table(long)
    ]
    note = note_on(long, scale)
    chart = bar_chart(bars, title="Long training", y_axis="mean accuracy, standard error", note=note)
    return {"stability-long-training": chart}


EXPERIMENT: Experiment = Experiment(
    name="stability",
    title="Dropout, EMA and patience",
    claim="dropout .1 helps the groups and hurts Dyck and Grid; EMA helps, whatever its decay",
    plan=plan,
    table=table,
    draw=draw,
    departures={
        Scale.SMALL: (
            "4 layers, T = 40, 10 replicates; a plateau schedule in the rows of patience alone; long "
            "training: 6 replicates, batch 64, learning rates 2, 3 and 4e-4 on a cosine schedule"
        ),
        Scale.PAPER: "8 layers, 20 replicates, the values of patience",
    },
)

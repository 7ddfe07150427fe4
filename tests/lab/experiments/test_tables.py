"""Each experiment's table and figure from records with known numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from krohn.lab.experiments.all_experiments import EXPERIMENTS
from krohn.lab.experiments.experiment import ResultCell
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes.curves import largest_drop
from krohn.lab.experiments.recipes.generalization import GPT, LSTM
from krohn.lab.figures.style import save
from krohn.lab.interpret.packed_shares import pack_shares
from lab.experiments.made_up_records import record


def cell(
    accuracies: Sequence[float], *, statuses: Sequence[str] = (), halving: bool = False, **label: Any
) -> ResultCell:
    """One replicate for each accuracy; its curve rises to it and falls by a tenth."""
    config: dict[str, Any] = {"task": {"length": 40}, "optimizer": {"lr": [1e-4, 3e-4], "batch": 16}}
    config |= {"halving": {"every": 10}} if halving else {}
    records = tuple(
        record(
            replicate=index,
            config=config,
            status=statuses[index] if statuses else "done",
            sequences=1000 * (index + 1),
            metrics={
                "accuracy": value,
                "test": {"accuracy": value, "sequence_accuracy": value / 2},
                "curve": {"step": [1, 2], "accuracy": [value, value - 0.1]},
            },
        )
        for index, value in enumerate(accuracies)
    )
    return ResultCell(label=label, records=records)


def measured(entry: ResultCell, evaluation: str, at: list[float], rows: Sequence[list[float]]) -> ResultCell:
    records = tuple(
        record(
            replicate=one.replicate,
            config=one.config,
            metrics={**one.metrics, "evaluations": {evaluation: {"at": at, "token": row}}},
        )
        for one, row in zip(entry.records, rows, strict=True)
    )
    return ResultCell(label=entry.label, records=records)


def words_in(figure: Figure, folder: Path) -> str:
    svg, png = save(figure, folder / "figure")
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    return svg.read_text()


def test_depth_says_what_was_solved_by_the_best_and_draws_how_many_solved_it(tmp_path: Path) -> None:
    experiment = EXPERIMENTS["depth"]
    cells = [
        cell([0.4, 0.991, 0.5], task="C2", depth=2, sheet="Muon"),
        cell([0.2, 0.98], task="S5", depth=1, sheet="Muon"),
        cell([0.3, 0.4], halving=True, task="S5", depth=1, sheet="whole words"),
        cell([0.999, 0.3], task="D8", depth=8),
    ]
    first, second, third, own = experiment.table(cells)
    assert (first["task"], first["solved"], first["median_accuracy"]) == ("C2", True, 0.5)
    assert (second["task"], second["solved"], second["median_accuracy"]) == ("S5", False, 0.59)
    assert (third["sheet"], third["solved"]) == ("whole words", False)
    assert (own["sheet"], own["solved"]) == ("settings of its own", True)
    (largest,) = experiment.draw(cells, Scale.SMALL)["depth"].axes
    best = {text.get_text() for text in largest.texts}
    assert best == {"99.1", "98.0", "40.0†", "·"}  # a dot where nothing was tried
    middle, share = experiment.draw(cells, Scale.SMALL)["depth-median"].axes
    assert {text.get_text() for text in middle.texts} == {"50.0", "59.0", "·"}, "no median of given up ones"
    assert {text.get_text() for text in share.texts} == {"1/3", "0/2", "·"}


def test_curves_tell_the_largest_drop_of_any_replicate() -> None:
    assert largest_drop([0.2, 0.9, 0.5, 0.8, 0.7]) == pytest.approx(0.4)
    assert largest_drop([0.1, 0.2, 0.3]) == 0
    (row,) = EXPERIMENTS["curves"].table([cell([0.5, 0.9], task="C2", depth=4)])
    assert row["largest_drop"] == pytest.approx(0.1)


def test_indirect_sets_the_paper_s_number_beside_ours() -> None:
    cells = [cell([0.9], task="S5 first", model="GPT"), cell([0.9], task="S5 first", model="LSTM")]
    assert [(row["model"], row["paper"]) for row in EXPERIMENTS["indirect"].table(cells)] == [
        ("GPT", 0.996),
        ("LSTM", 1.0),
    ]


def test_ood_tells_the_worst_mean_and_where_it_is() -> None:
    cells = measured(
        cell([0.9, 0.9], task="C2", model=GPT),
        "probability",
        [0.05, 0.5, 0.95],
        [[0.8, 1, 0.7], [0.4, 1, 0.6]],
    )
    (row,) = EXPERIMENTS["ood"].table([cells])
    assert (row["worst_by_probability"], row["at_probability"]) == (0.6, 0.05)
    assert row["paper"] == "fails away from 0.5"


def test_ood_tells_what_the_replicates_that_solve_the_task_do_at_few_ones_and_at_many() -> None:
    cells = measured(
        cell([0.995, 0.5], task="C2", model=GPT), "ones", [0, 2, 40], [[1, 0.8, 0.6], [0.5, 0.5, 0.5]]
    )
    (row,) = EXPERIMENTS["ood"].table([cells])
    assert (row["solved_at_2"], row["solved_at_40"]) == (0.8, 0.6)
    (row,) = EXPERIMENTS["ood"].table([cell([0.5], task="C2", model=GPT)])
    assert "solved_at_2" not in row


def test_paired_differences_are_those_of_the_test_words() -> None:
    off = cell([0.5, 0.6], task="D8", factor="EMA", value=0.0)
    on = cell([0.6, 0.8], task="D8", factor="EMA", value=0.9)
    shifted = [
        record(
            replicate=one.replicate,
            config=one.config,
            metrics={**one.metrics, "test": {"accuracy": 0.1, "sequence_accuracy": 0.0}},
        )
        for one in off.records
    ]
    tested = ResultCell(label=off.label, records=tuple(shifted))
    pairs = [row["paired"] for row in EXPERIMENTS["stability"].table([tested, on]) if "paired" in row]
    assert pairs == ["+60.00 ± 10.00"]


def test_length_tells_mean_and_best_at_once_twice_and_the_greatest_length() -> None:
    cells = measured(
        cell([0.9, 0.9], task="C2", model=LSTM), "length", [40, 80, 128], [[1, 0.8, 0.6], [0.5, 0.4, 0.2]]
    )
    (row,) = EXPERIMENTS["length"].table([cells])
    means = [row[f"mean_at_{place}"] for place in (40, 80, 128)]
    assert means == pytest.approx([0.75, 0.6, 0.4])
    assert [row[f"max_at_{place}"] for place in (40, 80, 128)] == [1, 0.8, 0.6]


def test_positions_tell_the_mean_at_both_lengths_with_its_standard_error() -> None:
    cells = measured(
        cell([0.9, 0.9], task="Grid9", positions="linear"), "length", [40, 80], [[1, 0.8], [0.8, 0.4]]
    )
    (row,) = EXPERIMENTS["positions"].table([cells])
    assert (row["mean_at_T"], row["mean_at_2T"]) == pytest.approx((0.9, 0.6))
    assert (row["error_at_T"], row["error_at_2T"]) == pytest.approx((0.1, 0.2))


def test_incomplete_draws_the_chosen_replicate(tmp_path: Path) -> None:
    result = [cell([0.5, 0.9], task="C2", model="GPT", reveal=share) for share in (1.0, 0.1)]
    figure = EXPERIMENTS["incomplete"].draw(result, Scale.SMALL)["incomplete"]
    assert list(figure.axes[0].lines[0].get_ydata()) == pytest.approx([0.9, 0.9])


def test_attention_counts_the_heads_of_each_kind() -> None:
    # Layer, head, scores as uniform, left and right detector, attention before the last boundary.
    heads = [[0, 0, 0.99, 0.0, 0.0, 0.5], [3, 1, 0.1, 0.9, 0.0, 0.1], [3, 2, 0.1, 0.2, 0.0, 0.1]]
    result = cell([0.999], task="Grid9")
    (one,) = result.records
    stored = record(
        config=one.config, metrics={**one.metrics, "evaluations": {"attention": {"heads": heads}}}
    )
    (row,) = EXPERIMENTS["attention"].table([ResultCell(label=result.label, records=(stored,))])
    assert (row["uniform"], row["left"]) == ("1.1", "4.2")
    assert (row["uniform_heads"], row["left_heads"], row["right_heads"]) == (1, 1, 0)


def test_attention_frames_the_heads_that_are_of_a_kind_and_no_others() -> None:
    """The best left detector of a network that has none is drawn, but not framed as one."""
    heads = [[0, 0, 0.99, 0.0, 0.0, 0.5], [1, 0, 0.1, 0.2, 0.9, 0.1]]
    even = pack_shares(np.tril(np.ones((1, 3, 3))) / 3)
    maps = [{"layer": layer, "head": 0, "weights": even} for layer in (0, 1)]
    stored = {"heads": heads, "maps": maps, "states": [[0, 1, 2]], "last_state": 2, "words": 8}
    scored = record(
        config={"task": {"length": 3}, "optimizer": {"lr": [1e-3]}},
        metrics={"accuracy": 1.0, "evaluations": {"attention": stored}},
    )
    figures = EXPERIMENTS["attention"].draw(
        [ResultCell(label={"task": "Grid9"}, records=(scored,))], Scale.SMALL
    )
    thick = [axes.spines["left"].get_linewidth() > 2 for axes in figures["attention-best"].axes]
    assert thick == [True, False, True]
    assert [axes.get_title() for axes in figures["attention-layer"].axes[:1]] == ["layer 2, head 1"]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("depth", {"task": "S5", "depth": 8, "sheet": "Muon"}),
        ("indirect", {"task": "C4 zero", "model": "GPT"}),
        ("curves", {"task": "S5", "depth": 8}),
        ("stability", {"task": "D8", "factor": "long training", "value": "none"}),
        ("incomplete", {"task": "S5", "model": "GPT", "reveal": 0.1}),
    ],
)
def test_a_figure_marks_runs_that_were_cut_short_or_halved(
    tmp_path: Path, name: str, label: dict[str, Any]
) -> None:
    """A number that is not what it seems must say so wherever it is shown."""
    plain = cell([0.5, 0.6], **label)
    cut = cell([0.5, 0.6], statuses=["done", "partial"], halving=True, **label)
    # One cell makes no map.
    beside = [cell([0.5, 0.6], task="C2", depth=1, sheet="Muon")] if name == "depth" else []
    before, *_ = EXPERIMENTS[name].draw([plain, *beside], Scale.SMALL).values()
    after, *_ = EXPERIMENTS[name].draw([cut, *beside], Scale.SMALL).values()
    assert "*" not in words_in(before, tmp_path).split("</style>")[1].replace("/*", "")
    words = words_in(after, tmp_path)
    assert "*†" in words
    assert "* stopped before its last sequence" in words
    assert "† by halves" in words


def test_taught_counts_the_words_to_99_per_cent_of_those_that_get_there() -> None:
    label: dict[str, Any] = {"task": "S5", "layers": 7, "length": 100}
    taught = cell([0.995, 0.999, 0.6], hints="doubling", **label)
    taught = measured(taught, "length", [40, 80], [[0.9, 0.5], [0.9, 0.7], [0.9, 0.6]])
    late = [{**one.metrics, "curve": {"step": [1, 4], "accuracy": [0.5, 0.999]}} for one in taught.records]
    records = [
        record(replicate=index, config=one.config, metrics=late[1] if index == 1 else one.metrics)
        for index, one in enumerate(taught.records)
    ]
    none = cell([0.5, 0.6], hints="none", **label)
    rows = EXPERIMENTS["taught"].table([none, ResultCell(label=taught.label, records=tuple(records))])
    assert [(row["hints"], row["layers"], row["reach"], row["words_read"]) for row in rows] == [
        ("doubling", 7, 2, 40),  # 16 words a step: the median of steps 1 and 4
        ("none", 7, 0, None),
    ]
    assert rows[0]["accuracy_at_2T"] == pytest.approx(0.6)
    assert rows[0]["hint_accuracy"] is None, "these records have no hints"
    whole = [none, ResultCell(label=taught.label, records=tuple(records))]
    (figure,) = EXPERIMENTS["taught"].draw(whole, Scale.SMALL).values()
    assert {text.get_text() for text in figure.axes[0].texts} == {"0k, 2 of 3", "0 of 2"}

"""Every recipe at every scale gives complete configs; at scale paper they are the paper's."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.lab.experiments.all_experiments import EXPERIMENTS, experiment
from krohn.lab.experiments.experiment import PlannedRun
from krohn.lab.experiments.names import Scale
from krohn.lab.experiments.recipes import depth, generalization, incomplete, indirect
from krohn.lab.experiments.recipes.depth import solved_letters
from krohn.lab.experiments.settings import TASKS
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.tasks.batches import task_reasons
from lab.experiments.made_up_records import read_results

PAPER_S = ["depth", "curves", "stability", "attention", "indirect", "incomplete"]
PAPER_S += ["ood", "length", "positions"]
NAMES = [*PAPER_S, "taught", "lasting"]


def paper(name: str) -> list[PlannedRun]:
    return experiment(name).plan(Scale.PAPER)


def test_the_paper_s_nine_experiments_and_ours_are_there() -> None:
    assert list(EXPERIMENTS) == NAMES


@every("name", NAMES)
@every("scale", list(Scale))
def test_a_plan_is_complete_and_can_be_built(name: str, scale: Scale) -> None:
    planned = experiment(name).plan(scale)
    assert planned
    assert len({(run.config.run_id, str(run.label)) for run in planned}) == len(planned)
    assert all("task" in run.label for run in planned)
    for task in {run.config.task for run in planned}:
        assert task_reasons(task, parse_spec(task.spec)) == []
    again = experiment(name).plan(scale)
    assert [run.config.run_id for run in again] == [run.config.run_id for run in planned]


@every("name", PAPER_S)
def test_the_paper_s_networks_and_optimisers(name: str) -> None:
    for run in paper(name):
        model, optimizer = run.config.model, run.config.optimizer
        if isinstance(model, LstmConfig):
            assert (model.embedding, model.hidden) == (64, 128)
            assert (optimizer.lr, optimizer.batch, optimizer.weight_decay) == ((1e-3, 3e-3), 64, 1e-9)
        else:
            assert isinstance(model, GptConfig)
            assert (model.dim, model.heads, model.mlp) == (512, 8, 512)
            assert set(optimizer.lr) <= {3e-5, 1e-4, 3e-4}
            assert (optimizer.batch, optimizer.weight_decay) == (16, 1e-4)
            assert model.positions == run.label.get("positions", model.positions)
            if name in ("depth", "curves", "stability", "attention", "indirect", "incomplete"):
                assert model.positions == "sinusoidal"
        assert run.config.evaluation.sequences == 2048
        assert (optimizer.schedule, optimizer.betas, optimizer.clip) == ("plateau", (0.9, 0.999), None)
        if run.label.get("factor") != "EMA":
            assert optimizer.ema == 0.9
        if run.label.get("factor") != "patience":
            assert optimizer.patience == 20
        if run.label.get("factor") not in ("dropout", "long training") and isinstance(model, GptConfig):
            assert model.dropout == 0


def test_depth_is_19_tasks_by_16_depths_of_20_replicates() -> None:
    runs = paper("depth")
    assert len(TASKS) == 19
    assert {(run.label["task"], run.label["depth"]) for run in runs} == {
        (task, layers) for task in TASKS for layers in range(1, 17)
    }
    for run in runs:
        assert run.config.task.length == 100
        assert run.config.replicates == 20
        assert run.config.optimizer.lr == (3e-5, 1e-4, 3e-4)
        assert run.config.optimizer.ema == 0.9
        assert 600_000 <= run.config.steps * 16 <= 5_000_000


def test_indirect_has_the_paper_s_seven_columns() -> None:
    runs = paper("indirect")
    assert len(indirect.COLUMNS) == 7
    assert len(runs) == 14
    for run in runs:
        assert (run.config.task.length, run.config.replicates) == (40, 25)
        assert run.config.task.target == "observation"
        if isinstance(run.config.model, GptConfig):
            assert run.config.model.layers == (16 if "S5" in run.config.task.spec else 8)
    (s5,) = {run.config.task.spec for run in runs if "S5" in run.config.task.spec}
    assert parse_spec(s5).num_letters == 5
    assert {column["spec"]: indirect.PAPER[name] for name, column in indirect.COLUMNS.items()} == {
        "Dyck4,8@top": 1.0,
        "Grid9@boundary": 1.0,
        "S5:paper,5@first": 0.996,
        "C4@zero": 0.999,
        "D8@location": 1.0,
        "abab@accept": 1.0,
    }
    distributions = {
        run.label["task"]: run.config.task.distribution for run in runs if "abab" in run.label["task"]
    }
    assert distributions == {"abab (1) accept": "periodic:01:1.0", "abab (2) accept": "periodic:01:0.5"}


def test_incomplete_covers_both_tasks_and_both_models_at_length_100() -> None:
    runs = paper("incomplete")
    assert {(run.label["task"], run.label["model"]) for run in runs} == {
        (task, model) for task in ("C2", "S5") for model in ("GPT", "LSTM")
    }
    assert {run.config.task.length for run in runs} == {100}
    assert {run.config.replicates for run in runs} == {25}
    assert all(run.config.task.reveal == run.label["reveal"] for run in runs)
    shares = sorted({run.config.task.reveal for run in runs}, reverse=True)
    assert shares[0] == 1
    assert {before / after for before, after in pairwise(shares)} == {2}  # log spacing


def test_generalisation_is_trained_at_40_and_tested_as_in_the_paper() -> None:
    (gpt,) = [run for run in paper("ood") if run.label["model"] == generalization.GPT]
    length, probability, ones = gpt.evaluations
    assert length.at == tuple(range(8, 129, 8))  # type: ignore[attr-defined]
    shares = probability.at  # type: ignore[attr-defined]
    assert shares == pytest.approx([0.05 * step for step in range(1, 20)])
    assert max(ones.at) == gpt.config.task.length == 40  # type: ignore[attr-defined]
    assert isinstance(gpt.config.model, GptConfig)
    assert gpt.config.model.layers == 8


def test_the_variants_are_what_they_are_called() -> None:
    runs = {run.label["model"]: run.config for run in paper("length") if run.label["task"] == "C2"}
    assert set(runs) == set(generalization.LENGTHENED) - {generalization.DEEP}  # all have 8 layers at paper
    models = {name: config.model for name, config in runs.items() if name != generalization.LSTM}
    positions = {name: model.positions for name, model in models.items() if isinstance(model, GptConfig)}
    assert positions[generalization.SHIFTED] == "shifted"
    assert positions[generalization.NO_POSITIONS] == positions[generalization.RECENCY] == "none"
    assert positions[generalization.GPT] == positions[generalization.SCRATCHPAD] == "sinusoidal"
    assert {name for name, config in runs.items() if config.task.scratchpad} == {
        generalization.SCRATCHPAD,
        generalization.RECENCY,
    }
    recency = {name for name, model in models.items() if isinstance(model, GptConfig) and model.recency}
    assert recency == {generalization.RECENCY}


def test_out_of_distribution_and_length_share_their_c2_networks() -> None:
    lengths = {run.config.run_id for run in paper("length")}
    coins = {run.label["model"]: run.config for run in paper("ood")}
    control, gpt = coins.pop(generalization.GPT_BOS), coins[generalization.GPT]
    assert {config.run_id for config in coins.values()} <= lengths
    assert control == replace(gpt, task=replace(gpt.task, bos=True))


def test_stability_changes_one_thing_at_a_time() -> None:
    runs = paper("stability")
    values = {}
    for run in runs:
        values.setdefault(run.label["factor"], set()).add(run.label["value"])
    assert values["dropout"] == {0, 0.1, 0.2, 0.3}
    assert {0.85, 0.9, 0.95} <= values["EMA"]
    plain = {run.config.run_id for run in runs if (run.label["factor"], run.label["value"]) == ("dropout", 0)}
    averaged = {
        run.config.run_id for run in runs if (run.label["factor"], run.label["value"]) == ("EMA", 0.9)
    }
    assert plain == averaged
    for run in runs:
        value, model, optimizer = run.label["value"], run.config.model, run.config.optimizer
        assert isinstance(model, GptConfig)
        changed = {"dropout": model.dropout, "EMA": optimizer.ema, "patience": optimizer.patience}
        assert changed.get(run.label["factor"], value) == value
    for run in experiment("stability").plan(Scale.SMALL):
        schedules = {"patience": "plateau", "long training": "cosine"}
        assert run.config.optimizer.schedule == schedules.get(run.label["factor"], "constant")
    thinned = [run for run in runs if run.label["value"] == "residual and attention .1"]
    assert {run.label["task"] for run in thinned} == {"D8", "Q8"}
    assert all(run.config.model.attention_dropout == 0.1 for run in thinned)  # type: ignore[attr-defined]


def test_in_a_row_of_the_map_nothing_changes_but_the_depth() -> None:
    runs = experiment("depth").plan(Scale.SMALL)
    assert len(runs) == 3 * 8 * 19 + 19 + 4 + 2 * 7 * 4 + 2 * 3 + 2 + 4 + 2 + 2 * 7 + 4
    sheets = dict.fromkeys(("Muon", "25 letters, Muon", "50 letters, Muon", "whole words"), False)
    for sheet, window in (*sheets.items(), ("curriculum", True)):
        cells = [run for run in runs if run.label["sheet"] == sheet]
        rest = {
            str(
                replace(
                    run.config,
                    task=replace(run.config.task, spec="C2"),
                    model=replace(run.config.model, layers=1),  # type: ignore[call-arg]
                    replicates=6,  # three where fewer layers pass
                )
            )
            for run in cells
        }
        assert len(rest) == 1
        assert all((run.config.curriculum is not None) == window for run in cells)
        assert all(run.config.model.layers == run.label["depth"] for run in cells)  # type: ignore[attr-defined]
    assert solved_letters([1.0, 0.995, 0.98, 1.0]) == 2
    assert solved_letters([1.0, 1.0]) == 2


def test_a5_by_twelve_labels_changes_the_labels_alone() -> None:
    runs = {(run.label["task"], run.label["depth"], run.label["sheet"]): run.config for run in small("depth")}
    for ours, sheet in ((depth.FEWER_LABELS, "Muon"), (depth.FEWER_LABELS_ADAMW, "whole words")):
        own = {layers: config for (_, layers, name), config in runs.items() if name == ours}
        assert own
        for layers, config in own.items():
            task = replace(config.task, spec="A5", target="state")
            assert replace(config, task=task) == runs["A5", layers, sheet]


def test_a_network_beside_another_on_few_labels_reads_as_many_words() -> None:
    runs = {(run.label["task"], run.label["model"], run.label["reveal"]): run for run in small("incomplete")}
    for lstm, gpt in ((incomplete.LSTM_LONGER, incomplete.GPT), (incomplete.LSTM_100, incomplete.MUON)):
        pairs = [(runs["S5", lstm, share].config, runs["S5", gpt, share].config) for share in (1.0, 0.1)]
        for one, other in pairs:
            assert one.steps * one.optimizer.batch == other.steps * other.optimizer.batch
            assert one.task == other.task


def test_attention_and_curves_and_positions_have_the_paper_s_sizes() -> None:
    (attention,) = paper("attention")
    assert (attention.config.task.spec, attention.config.task.length) == ("Grid9", 128)
    assert isinstance(attention.config.model, GptConfig)
    assert attention.config.model.layers == 4
    assert {(run.label["task"], run.config.replicates) for run in paper("curves")} == {("C2", 10), ("S5", 10)}
    for run in paper("positions"):
        assert run.config.task.length == 40
        (evaluation,) = run.evaluations
        assert evaluation.at == (40, 80)  # type: ignore[attr-defined]


def test_only_the_hard_columns_of_indirect_leave_whole_words_at_small() -> None:
    halved = {
        (run.label["task"], run.label["model"])
        for run in indirect.plan(Scale.SMALL)
        if run.config.curriculum is not None and run.config.halving is not None
    }
    assert halved == {("D8 location", "GPT")}
    assert all(run.config.halving is None for run in paper("indirect"))


def test_the_sheets_that_change_one_thing_of_muon_s_recipe_change_nothing_else() -> None:
    runs = {(run.label["task"], run.label["depth"], run.label["sheet"]): run.config for run in small("depth")}
    for (task, layers, sheet), config in runs.items():
        if sheet == depth.SWAPPED:
            other = runs[task, layers, depth.MUON]
            optimizer = replace(config.optimizer, method="muon", lr=other.optimizer.lr)
            assert replace(config, optimizer=optimizer, replicates=other.replicates) == other
            for replicate in {0, 1, 4, 5} & set(range(config.replicates)):
                assert config.learning_rates[replicate] == other.learning_rates[replicate]
        if sheet == depth.LETTERS:
            other = runs["D6", layers, depth.MUON]
            renamed = replace(config, task=replace(config.task, spec="D6"), replicates=other.replicates)
            assert renamed == other
    for task, layers in (("C2", 7), ("S5", 8)):
        shares = {
            run.label["reveal"]: run.config
            for run in small("incomplete")
            if (run.label["task"], run.label["model"]) == (task, incomplete.MUON)
        }
        whole = runs[task, layers, depth.MUON]
        assert shares[1.0].run_id == whole.run_id
        assert all(
            replace(config, task=replace(config.task, reveal=1.0), replicates=6) == whole
            for config in shares.values()
        )
    (column,) = [run.config for run in small("indirect") if run.label == {"task": "S5 first", "model": "GPT"}]
    assert (column.optimizer, column.steps) == (whole.optimizer, whole.steps)


def test_d6_by_other_letters_is_d6() -> None:
    orders = {spec: sorted(orders_of(parse_spec(spec))) for spec in ("D6", *depth.LETTERS_TASKS)}
    assert orders == {"D6": [2, 3], "S3": [2, 2, 2, 3, 3], "S3:adjacent": [2, 2]}


def orders_of(automaton: Semiautomaton) -> list[int]:
    """The order of each letter, a permutation of six states; two do not commute, so they make D6."""
    columns = [automaton.table[:, letter] for letter in range(automaton.num_letters)]
    first, last = columns[0], columns[-1]
    assert automaton.num_states == 6
    assert (first[last] != last[first]).any()
    result = []
    for column in columns:
        power, order = column, 1
        while (power != np.arange(6)).any():
            power, order = column[power], order + 1
        result.append(order)
    return result


def small(name: str) -> list[PlannedRun]:
    return experiment(name).plan(Scale.SMALL)


def test_the_recipe_by_muon_drops_no_replicate_and_is_the_same_for_every_cell() -> None:
    cells = [run for run in depth.plan(Scale.SMALL) if run.label["sheet"] == depth.MUON]
    assert len(cells) == 9 * 19 + 4
    for run in cells:
        config, optimizer = run.config, run.config.optimizer
        assert (optimizer.method, optimizer.lr, optimizer.betas) == ("muon", (8e-4, 1.2e-3), (0.95, 0.98))
        assert (optimizer.batch, optimizer.schedule, config.steps) == (64, "cosine", 16_000)
        assert (config.halving, config.curriculum) == (None, None)
        assert config.replicates == (
            3 if depth.passing_depth(run.label["task"]) < run.label["depth"] != 7 else 6
        )
        assert config.evaluation.stop_at == 0.999
        assert config.seed not in range(901, 907), "those seeds chose the recipe"
        assert isinstance(config.model, GptConfig)
        assert config.model.embedding_std == 0.3


def test_runs_that_are_published_are_planned_under_the_same_ids() -> None:
    planned = {run.config.run_id: run.label for run in depth.plan(Scale.SMALL)}
    assert planned["be9ea03f97a6e36e"] == {"task": "D6", "depth": 8, "sheet": "Muon"}
    assert planned["af8e7de99e197e30"] == {"task": "S5", "depth": 8, "sheet": "Muon"}
    _, members = read_results(Path(__file__).parents[3] / "results" / "depth-small.jsonl")
    others = [dict(member.label) for member in members if planned.get(member.run_id) != member.label]
    assert others == [{"task": "D8", "depth": 8, "words": "whole"}], "from before there was one recipe"


@every("name", NAMES)
@every("scale", [Scale.SMALL, Scale.PAPER])
def test_replicates_that_stop_when_solved_are_named_as_a_departure(name: str, scale: Scale) -> None:
    stops = any(run.config.evaluation.stop_at is not None for run in experiment(name).plan(scale))
    assert ("solved replicates stop" in experiment(name).departures.get(scale, "")) == stops


def test_the_paper_scale_has_no_curriculum() -> None:
    assert all(
        run.config.curriculum is None and run.config.halving is None for run in depth.plan(Scale.PAPER)
    )

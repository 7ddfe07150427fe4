import dataclasses

import pytest

from krohn.errors import InvalidInput, UnknownName, Unsupported
from krohn.models.registry import registered
from krohn.training.config import EvaluationConfig, OptimizerConfig, RunConfig, TaskConfig, model_config
from training.small_runs import small_run


def test_a_run_survives_json_with_lists_turned_back_into_tuples() -> None:
    run = small_run(optimizer=OptimizerConfig(lr=(1e-3, 3e-4), clip=None), model=model_config("lstm"))
    back = RunConfig.from_json(run.to_json())
    assert back == run
    assert back.optimizer.lr == (1e-3, 3e-4)


def test_the_run_id_names_the_whole_configuration() -> None:
    run = small_run()
    assert run.run_id == small_run().run_id
    changes = [
        {"seed": 1},
        {"steps": 31},
        {"evaluation": EvaluationConfig(every=11)},
        {"model": model_config("lstm")},
    ]
    assert len({run.run_id, *(dataclasses.replace(run, **change).run_id for change in changes)}) == 5


def test_learning_rates_go_round_the_replicates() -> None:
    run = small_run(replicates=5, optimizer=OptimizerConfig(lr=(1.0, 2.0)))
    assert run.learning_rates == (1.0, 2.0, 1.0, 2.0, 1.0)


def test_all_reasons_against_a_run_are_given_at_once() -> None:
    with pytest.raises(
        Unsupported, match=r"length.*divisible.*lr must.*warmup.*stop_at.*replicates.*precision"
    ):
        RunConfig(
            task=TaskConfig(spec="C2", length=0),
            model=model_config("gpt", dim=10, heads=4),
            optimizer=OptimizerConfig(lr=(), warmup=-1),
            evaluation=EvaluationConfig(stop_at=1.5),
            replicates=0,
            precision="fp8",  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("{}", "documented keys"),
        ('{"task": {"spec": "C2"}, "colour": 1}', "colour"),
        ('{"task": {"spec": "C2", "size": 1}}', "size"),
    ],
)
def test_a_malformed_configuration_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RunConfig.from_json(text)


def test_an_unknown_model_or_option_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match=f"must be one of {', '.join(registered())}; got 'mamba'"):
        model_config("mamba")
    with pytest.raises(InvalidInput, match="options of lstm must be among embedding, hidden; got heads"):
        model_config("lstm", heads=4)


def test_equal_settings_are_one_run_however_they_are_written() -> None:
    written = OptimizerConfig(lr=[1e-3, 1], clip=1, weight_decay=0)  # type: ignore[arg-type]
    plain = OptimizerConfig(lr=(1e-3, 1.0), clip=1.0, weight_decay=0.0)
    assert small_run(optimizer=written).run_id == small_run(optimizer=plain).run_id
    assert OptimizerConfig(lr=1e-3).lr == (1e-3,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "setting", [{"lr": (float("inf"),)}, {"clip": float("inf")}, {"weight_decay": float("nan")}]
)
def test_numbers_that_are_not_finite_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(Unsupported, match="every number must be finite"):
        small_run(optimizer=OptimizerConfig(**setting))  # type: ignore[arg-type]

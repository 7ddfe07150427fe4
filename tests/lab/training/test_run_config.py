import contextlib
import dataclasses
import json
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every import every
from krohn.errors import InvalidInput, KrohnError, UnknownName, Unsupported
from krohn.lab.models.registry import kinds
from krohn.lab.training.config import (
    CurriculumConfig,
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    RunConfig,
    TaskConfig,
    model_config,
)
from lab.training.small_runs import small_run


def test_a_run_survives_json_with_lists_turned_back_into_tuples() -> None:
    optimizer = OptimizerConfig(lr=(1e-3, 3e-4), clip=None)
    run = small_run(optimizer=optimizer, model=model_config("lstm"), replicates=2)
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
        Unsupported, match=r"precision.*length.*lr must.*warmup.*stop_at.*divisible.*replicates"
    ):
        RunConfig(
            task=TaskConfig(spec="C2", length=0),
            model=model_config("gpt", dim=10, heads=4),
            optimizer=OptimizerConfig(lr=(), warmup=-1),
            evaluation=EvaluationConfig(stop_at=1.5),
            replicates=0,
            precision="fp8",  # type: ignore[arg-type]
        )


@every(
    ("text", "message"),
    [
        ("{", "must be JSON"),
        ("{}", "must have a task"),
        ("[1]", r"an object of named settings; got \[1\]"),
        ('{"task": {}}', "task must have a spec"),
        ('{"task": {"spec": "C2"}, "model": {}}', "model.kind must be the name of an architecture"),
        ('{"task": {"spec": "C2"}, "steps": ' + "9" * 5000 + "}", "must be JSON"),
        ("[" * 100_000, "nested this deeply"),
        ('{"task": {"spec": "C2"}, "colour": 1}', "colour"),
        ('{"task": {"spec": "C2", "size": 1}}', "size"),
    ],
)
def test_a_malformed_configuration_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RunConfig.from_json(text)


def test_an_unknown_model_or_option_is_refused_by_name() -> None:
    for error, says, kind in (
        (UnknownName, f"must be one of {', '.join(kinds())}; got 'mamba'", "mamba"),
        (InvalidInput, "embedding, hidden; got heads", "lstm"),
    ):
        with pytest.raises(error, match=says):
            model_config(kind, heads=4)


def test_equal_settings_are_one_run_however_they_are_written() -> None:
    written = OptimizerConfig(lr=[1e-3, 1], clip=1, weight_decay=0)  # type: ignore[arg-type]
    plain = OptimizerConfig(lr=(1e-3, 1.0), clip=1.0, weight_decay=0.0)
    ours, same = small_run(optimizer=written, replicates=2), small_run(optimizer=plain, replicates=2)
    assert ours.run_id == same.run_id
    whole = small_run(task=TaskConfig(spec="C2", reveal=1), model=model_config("gpt", dropout=0))
    assert whole.run_id == small_run(task=TaskConfig(spec="C2"), model=model_config("gpt")).run_id
    assert OptimizerConfig(lr=1e-3).lr == (1e-3,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("says", "settings"),
    [
        (r"optimizer\.lr must be .*a finite number", {"optimizer": OptimizerConfig(lr=(inf,))}),
        (r"optimizer\.clip must be .*a finite number", {"optimizer": OptimizerConfig(clip=inf)}),
        (r"optimizer\.weight_decay must be .*a finite", {"optimizer": OptimizerConfig(weight_decay=nan)}),
        ("got 2 rates and 1 replicates", {"optimizer": OptimizerConfig(lr=(1e-3, 3e-3))}),
        (
            r"model\.layers must be at most 65,536; got 1000000000",
            {"model": model_config("gpt", layers=10**9)},
        ),
    ],
)
def test_numbers_that_no_run_can_have_are_refused(says: str, settings: dict[str, Any]) -> None:
    """Before anything is listed: no machine holds the largest."""
    with pytest.raises(Unsupported, match=says):
        small_run(**settings)


def test_these_runs_have_these_names() -> None:
    assert RunConfig(task=TaskConfig(spec="Grid4")).run_id == "4ac81918782f460d"
    assert (
        RunConfig(task=TaskConfig(spec="D6", scratchpad=True), model=model_config("lstm")).run_id
        == "54f9807e93c5b6eb"
    )


def complete() -> dict[str, Any]:
    """A run with every key there is."""
    run = small_run(replicates=2, curriculum=CurriculumConfig(), halving=HalvingConfig())
    return json.loads(run.to_json())  # type: ignore[no-any-return]


WRONG = (
    "text",
    "5",
    "",
    4.5,
    -1.5,
    True,
    None,
    [],
    [1],
    [[]],
    {},
    {"a": {}},
    float("nan"),
    float("inf"),
    10**30,
    -1,
)
FIELDS = [
    (section, name)
    for section, part in complete().items()
    for name in ([None] if not isinstance(part, dict) else [None, *part])
]


@every(("section", "name"), FIELDS)
def test_a_wrong_type_in_any_field_is_refused_in_one_line_that_names_it(
    section: str, name: str | None
) -> None:
    for wrong in WRONG:
        plain = complete()
        if name is None:
            plain[section] = wrong
        else:
            plain[section][name] = wrong
        run, reason = attempt(plain)
        if run is None:
            assert "\n" not in reason
            assert ("model" if name == "kind" else name or section) in reason
            assert len(reason) < 400
            continue
        # What is taken must be of the right kind, and itself again after a round.
        after = run.to_dict().get(section)
        after = after[name] if name is not None and after is not None else after
        assert same_kind(after, complete()[section] if name is None else complete()[section][name])
        assert RunConfig.from_json(run.to_json()) == run


def attempt(plain: dict[str, Any]) -> tuple[RunConfig | None, str]:
    try:
        return RunConfig.from_dict(plain), ""
    except KrohnError as error:
        return None, str(error)


def same_kind(after: Any, before: Any) -> bool:
    if after is None:  # an optional one that was switched off
        return True
    if isinstance(before, list):
        return isinstance(after, tuple)
    return type(after) is type(before) or (before is None and isinstance(after, float))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*complete(), "spec", "kind", "lr"]), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
@settings(deadline=None)
def test_no_json_raises_anything_but_our_error(plain: Any) -> None:
    for text in (plain, {"task": {"spec": "C2"}, "whatever": plain}, {**complete(), "model": plain}):
        with contextlib.suppress(KrohnError):
            RunConfig.from_json(json.dumps(text))


def test_misfits_are_named_with_their_place_and_others_are_judged_all_the_same() -> None:
    plain = complete()
    plain["steps"], plain["optimizer"]["lr"], plain["task"]["length"] = 4.5, [1, "x"], 0
    with pytest.raises(
        Unsupported,
        match=r"^optimizer\.lr must be a list, each a number; got \[1, 'x'\]; "
        r"steps must be a whole number; got 4\.5; length must be at least 1; got 0$",
    ):
        RunConfig.from_dict(plain)

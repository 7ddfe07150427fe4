"""Every option of `krohn train`: documented, with the default it names, and never ignored in silence."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from every import every
from krohn.cli import train
from krohn.cli.app import run
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.training import typed_run
from krohn.lab.training.config import (
    CurriculumConfig,
    EvaluationConfig,
    HalvingConfig,
    OptimizerConfig,
    RunConfig,
    TaskConfig,
    TeachConfig,
)
from krohn.lab.training.settings import SETTINGS, TrainSetting

PAGE = (Path(__file__).parents[3] / "docs" / "training-options.md").read_text(encoding="utf-8")
OPTIONS = [option for parameter in train.command.params for option in parameter.opts if option[:2] == "--"]

# Flag -> words to type with it, what it must make of its place, and what else must be typed for it to matter.
TYPED: dict[str, tuple[str, Any, str]] = {
    "--length": ("7", 7, ""),
    "--target": ("observation", "observation", ""),
    "--reveal": ("0.5", 0.5, ""),
    "--scratchpad": ("", True, ""),
    "--bos": ("", True, ""),
    "--distribution": ("uniform", "uniform", ""),
    "--model": ("lstm", "lstm", ""),
    "--layers": ("3", 3, ""),
    "--dim": ("64", 64, ""),
    "--heads": ("4", 4, ""),
    "--mlp": ("32", 32, ""),
    "--positions": ("none", "none", ""),
    "--context": ("200", 200, "--positions learned"),
    "--recency": ("", True, ""),
    "--dropout": ("0.25", 0.25, ""),
    "--attention-dropout": ("0.25", 0.25, ""),
    "--embedding-std": ("0.5", 0.5, ""),
    "--embedding": ("5", 5, "--model lstm"),
    "--hidden": ("6", 6, "--model lstm"),
    "--optimizer": ("muon", "muon", ""),
    "--lr": ("0.125", (0.125,), ""),
    "--weight-decay": ("0.5", 0.5, ""),
    "--betas": ("0.5 0.75", (0.5, 0.75), ""),
    "--eps": ("0.5", 0.5, ""),
    "--warmup": ("7", 7, ""),
    "--schedule": ("cosine", "cosine", ""),
    "--floor": ("0.5", 0.5, "--schedule cosine"),
    "--patience": ("3", 3, "--schedule plateau"),
    "--factor": ("0.25", 0.25, "--schedule plateau"),
    "--ema": ("0.5", 0.5, ""),
    "--clip": ("none", None, ""),
    "--batch": ("3", 3, ""),
    "--curriculum": ("", CurriculumConfig(), ""),
    "--curriculum-start": ("3", 3, "--curriculum"),
    "--curriculum-growth": ("2", 2.0, "--curriculum"),
    "--curriculum-solved": ("0.5", 0.5, "--curriculum"),
    "--halving": ("20", 20, "--replicates 4"),
    "--halving-least": ("2", 2, "--halving 20 --replicates 4"),
    "--teach": ("doubling:2,4", "doubling:2,4", ""),
    "--teach-until": ("solved", "solved", "--teach doubling:2,4"),
    "--replicates": ("3", 3, ""),
    "--steps": ("70", 70, ""),
    "--eval-every": ("7", 7, ""),
    "--eval-sequences": ("9", 9, ""),
    "--eval-seed": ("11", 11, ""),
    "--stop-at": ("0.5", 0.5, ""),
    "--precision": ("fp32", "fp32", ""),
    "--seed": ("5", 5, ""),
}
# What else there is, and what it needs.
AROUND = {
    "--config": "a file", "--option": "NAME=VALUE", "--device": "", "--out": "", "--json": "",
    "--checkpoint-seconds": "--out", "--provable": "--out", "--each": "", "--together": "--each",
    "--match": "", "--outputs": "", "--textbook": "",
}  # fmt: skip
SPEC = "Grid9@boundary"  # has an observation map


def run_of(words: str) -> RunConfig:
    context = train.command.make_context("train", [SPEC, *words.split()])
    return typed_run.run_of(context.params["spec"], context.params)


def at(config: RunConfig, place: str) -> Any:
    value: Any = config
    for name in place.split("."):
        value = getattr(value, name)
    return value


def test_every_option_is_in_one_of_the_tables_below() -> None:
    assert sorted(OPTIONS) == sorted([*TYPED, *AROUND])


@every("option", OPTIONS)
def test_every_option_is_described_in_the_documentation(option: str) -> None:
    row = re.search(rf"^\| [^|]*`{option}(?![\w-])[^|]*\| .+ \|$", PAGE, flags=re.MULTILINE)
    assert row, f"docs/training-options.md must say in a table what {option} does"


@every("setting", SETTINGS)
def test_an_option_sets_its_field_when_what_it_belongs_to_is_on(setting: TrainSetting) -> None:
    words, value, parents = TYPED[setting.flag]
    config = run_of(f"{parents} {setting.flag} {words}")
    assert at(config, setting.place) == value
    if setting.flag not in ("--halving", "--curriculum", "--teach"):
        assert at(run_of(parents), setting.place) != value, (
            "the test must type something else than the default"
        )


@every(
    ("flag", "parent"),
    [(flag, parents.split(" ")[0]) for flag, (_, _, parents) in TYPED.items() if parents],
)
def test_an_option_is_refused_when_what_it_belongs_to_is_off(
    flag: str, parent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", SPEC, flag, *TYPED[flag][0].split()]) == 2
    line = capsys.readouterr().err
    assert line.startswith("error: ")
    assert line.count("\n") == 1
    name = flag.removeprefix("--")
    # Options of another architecture are refused as unknown to this one.
    assert (
        f"{flag} needs {parent}" in line
        or f"got {name}" in line
        or f"{name} needs at least 2 {parent[2:]}" in line
    )


@every(
    ("words", "reason"),
    [
        ("--schedule cosine --patience 3", "--patience needs --schedule plateau"),
        ("--schedule constant --floor 0.5", "--floor needs --schedule cosine or plateau"),
        ("--positions none --option position_scale=2", "position_scale needs positions"),
        ("--option context=9", "--context needs --positions learned"),
        ("--model lstm --recency", "options of lstm must be among embedding, hidden; got recency"),
        ("--model lstm --option heads=2", "options of lstm must be among embedding, hidden; got heads"),
        ("--hidden 5", "got hidden"),
        ("--replicates 2 --halving 0", "halving needs every and least of at least 1; got 0 and 1"),
        ("--teach none --teach-until 5", "--teach-until needs --teach"),
        ("--lr 1e-3 --lr 1e-4", "every learning rate needs a replicate; got 2 rates and 1 replicates"),
        ("--replicates 2 --halving 50 --steps 50", "--halving must come before the last step"),
        ("--checkpoint-seconds 5", "--checkpoint-seconds needs a directory: give --out"),
    ],
)
def test_what_would_change_nothing_is_refused_in_one_line(
    words: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", SPEC, *words.split()]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def test_all_of_them_are_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "--lr 1 --lr 2 --patience 3 --context 4 --curriculum-start 3 --halving-least 2 --checkpoint-seconds 1"
    )
    assert run(["train", SPEC, *words.split()]) == 2
    line = capsys.readouterr().err
    for flag in (
        "learning rate",
        "--patience",
        "--context",
        "--curriculum-start",
        "--halving-least",
        "--out",
    ):
        assert flag in line
    assert line.count("\n") == 1


@every("setting", SETTINGS)
def test_the_default_in_the_help_is_the_default(setting: TrainSetting) -> None:
    section, _, field = setting.place.partition(".")
    if not field:
        owners: list[Any] = [RunConfig]
        field = section
    else:
        owners = {
            "task": [TaskConfig], "model": [GptConfig, LstmConfig], "optimizer": [OptimizerConfig],
            "evaluation": [EvaluationConfig], "curriculum": [CurriculumConfig], "halving": [HalvingConfig],
            "teach": [TeachConfig],
        }[section]  # fmt: skip
    if setting.place == "model.kind":
        default: Any = RunConfig(task=TaskConfig(spec="C2")).model.kind
    else:
        (default,) = [
            item.default for owner in owners for item in dataclasses.fields(owner) if item.name == field
        ]
    named = re.findall(r"\[default: (.*)\]$", setting.help)
    if (
        default is None or default is False or setting.place in ("halving.every", "teach.hints")
    ):  # nothing happens unless it is typed
        assert named == []
    else:
        values = default if isinstance(default, tuple) else (default,)
        assert named == [" ".join(str(value) for value in values)]


def test_without_options_a_run_is_the_default_run() -> None:
    assert run_of("") == RunConfig(task=TaskConfig(spec=SPEC))


def test_a_recipe_of_the_paper_can_be_typed() -> None:
    words = (
        "--schedule plateau --patience 20 --betas 0.9 0.999 --clip none --replicates 3 --lr 3e-5 --lr 1e-4"
    )
    optimizer = run_of(words).optimizer
    wanted = OptimizerConfig(schedule="plateau", patience=20, betas=(0.9, 0.999), clip=None, lr=(3e-5, 1e-4))
    assert optimizer == wanted

"""Architectures from elsewhere: registered from Python, or named by an installed package."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from every import every
from krohn.cli.app import run
from krohn.errors import InvalidInput, UnknownName
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.models.registry import ARCHITECTURES, architecture, kinds, model_config, register

SECTION = (Path(__file__).parents[3] / "docs" / "own-architecture.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (matches,) = re.findall(rf"^```{language}\n(.*?)^```", SECTION, flags=re.MULTILINE | re.DOTALL)
    return str(matches)


@dataclass(frozen=True, kw_only=True)
class WideConfig(LstmConfig):
    kind: ClassVar[str] = "wide-lstm"
    gate: float | None = None
    sizes: tuple[int, ...] = (1, 2)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    ARCHITECTURES.forget()


def install(folder: Path, entry: str, module: str, source: str) -> None:
    """A package as pip leaves it: a module, and metadata that names the entry point."""
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[krohn.architectures]\n{entry}\n")


def install_documented(folder: Path) -> None:
    (entry,) = re.findall(r'\[project.entry-points."krohn.architectures"\]\n(.*)\n', block("toml"))
    install(folder, entry.replace('"', ""), "my_rnn", block("python"))


def krohn(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    sources = filter(None, [os.environ.get("PYTHONPATH")])  # of a run without an installation
    return subprocess.run(
        [sys.executable, "-m", "krohn", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sources])},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_a_registered_architecture_is_known_by_name_and_its_options_are_its_fields() -> None:
    assert register(WideConfig) is WideConfig
    assert "wide-lstm" in kinds()
    assert architecture("wide-lstm") is WideConfig
    assert model_config("wide-lstm", hidden=5) == WideConfig(hidden=5)
    register(WideConfig)  # once more is no harm
    with pytest.raises(InvalidInput, match="embedding, gate, hidden, sizes"):
        model_config("wide-lstm", heads=2)


def test_a_name_that_is_taken_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Impostor(LstmConfig):
        kind: ClassVar[str] = "gpt"

    with pytest.raises(InvalidInput, match="'gpt' is taken"):
        register(Impostor)
    with pytest.raises(
        UnknownName, match=r"must be one of [a-z, ]*gru, looped, lstm[a-z, ]*; got 'wide-lstm'"
    ):
        architecture("wide-lstm")


def test_an_invalid_architecture_is_refused() -> None:
    class Plain:
        kind = "plain"

    with pytest.raises(InvalidInput, match="kind is 'plain'"):
        register(Plain)  # type: ignore[type-var, arg-type]


TRAIN = ["train", "C2", "--length", "3", "--steps", "2", "--eval-sequences", "4", "--device", "cpu", "--json"]


def test_options_on_the_command_line_are_read_by_the_type_of_the_field(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    register(WideConfig)
    typed = ["--option", "hidden=4", "--option", "gate=0.5", "--option", "sizes=3,4,5", "--embedding", "3"]
    assert run([*TRAIN, "--model", "wide-lstm", *typed, "--out", str(tmp_path / "run")]) == 0
    plain = json.loads((tmp_path / "run" / "config.json").read_text())
    wanted = {"kind": "wide-lstm", "embedding": 3, "hidden": 4, "gate": 0.5, "sizes": [3, 4, 5]}
    assert plain["model"] == wanted
    capsys.readouterr()


@every(
    ("typed", "reason"),
    [
        (["hidden"], "--option must be NAME=VALUE; got 'hidden'"),
        (["width=3"], "options of wide-lstm must be among embedding, gate, hidden, sizes; got width"),
        (["hidden=3.5"], "--option hidden must be a whole number; got '3.5'"),
        (["hidden=" + "9" * 30], "--option hidden must be a whole number below 2^63"),
        (["gate=high"], "--option gate must be a number or none; got 'high'"),
        (["gate=nan"], "--option gate must be a finite number or none; got 'nan'"),
        (["sizes=1,x"], "--option sizes must be a list, each a whole number; got '1,x'"),
        (["hidden=3", "hidden=4"], "hidden must be given once"),
        (["hidden=0"], "hidden must be at least 1; got 0"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    typed: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    register(WideConfig)
    options = [word for text in typed for word in ("--option", text)]
    assert run([*TRAIN, "--model", "wide-lstm", *options]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def test_options_of_our_own_architectures_have_both_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TRAIN, "--dim", "8", "--option", "dim=16"]) == 2
    assert "dim must be given once" in capsys.readouterr().err
    small = ["--option", "layers=1", "--option", "dim=8", "--option", "heads=2", "--option", "mlp=8"]
    extra = ["--option", "recency=true", "--option", "embedding_std=0.5", "--option", "positions=none"]
    assert run([*TRAIN, *small, *extra]) == 0
    assert run([*TRAIN, *small, "--option", "recency=yes"]) == 2
    assert "--option recency must be true or false; got 'yes'" in capsys.readouterr().err


def test_the_documented_file_trains_from_the_command_line_once_it_is_installed(tmp_path: Path) -> None:
    install_documented(tmp_path)
    command = block("sh").split()
    done = krohn(tmp_path, *command[1:], "--device", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    (entry_found,) = json.loads(done.stdout)["replicates"]
    assert entry_found["accuracy"] > 0.9


def test_a_package_that_does_not_load_is_one_line_and_only_if_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "broken = broken_net:Config", "broken_net", "raise RuntimeError('no luck')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    ARCHITECTURES.forget()  # as a new process would: what is installed is looked up again
    assert run([*TRAIN, "--model", "broken"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: an architecture 'broken' must load from broken_net:Config")
    assert "no luck" in error
    assert error.count("\n") == 1
    small = ["--layers", "1", "--dim", "8", "--heads", "2", "--mlp", "8"]
    assert run([*TRAIN, *small]) == 0
    capsys.readouterr()
    assert run([*TRAIN, "--model", "mamba"]) == 2
    unknown = capsys.readouterr().err
    assert re.search("a model must be one of broken, [a-z, ]*gru, looped, lstm[a-z, ]*; got 'mamba'", unknown)


def test_options_of_an_installed_architecture_are_its_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_documented(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    ARCHITECTURES.forget()
    assert run(["train", "Grid4", "--model", "rnn", "--option", "depth=2"]) == 2
    assert "options of rnn must be among width; got depth" in capsys.readouterr().err

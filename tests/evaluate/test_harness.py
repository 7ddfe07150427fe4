"""The harness for other people's layers: the documented one learns, what is wrong is refused in one line."""

import json
import re
from pathlib import Path

import pytest
import torch
from torch import nn

from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.evaluate.harness import Effort, reach, state_tracking

PAGE = (Path(__file__).parents[2] / "docs" / "can-my-layer.md").read_text(encoding="utf-8")
QUICK = Effort(length=8, steps=2, seeds=1, dim=4, judged=4)


class Peeks(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.map(x) + x.mean(1, keepdim=True)


class Widens(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x], -1)


class Fails(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no\nluck")


def explodes(width: int) -> nn.Module:
    raise ValueError("bad width")


def test_the_documented_layer_learns_parity(tmp_path, monkeypatch, capsys) -> None:
    (source,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "my_layer.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = [
        "--family",
        "diagonal [-1, 1]",
        "--length",
        "8",
        "--steps",
        "150",
        "--seeds",
        "1",
        "--lr",
        "1e-2",
    ]
    assert (
        run(["bench", "--module", "my_layer:Signed", "--task", "C2", "--out", "figure.svg", "--json", *words])
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["tasks"]
    assert row["can"] is True
    assert row["best"] > 0.9
    assert len(row["accuracies"][0]) == len(row["lengths"]) == 8
    assert row["lengths"][-1] == 32
    assert (tmp_path / "figure.svg").is_file()


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (Peeks, "must be causal; its answers before letter 2 change"),
        (Widens, r"must map \(4, 8, 4\) to the same shape; got \(4, 8, 8\)"),
        (Fails, "it raised RuntimeError: no$"),
        (explodes, "the factory must return a module; it raised ValueError: bad width"),
        (lambda width: 3, "must return a torch.nn.Module; got int"),
        (lambda: 3, "takes one argument .* got 0"),
        (lambda width: nn.Identity(), None),
        (lambda letters, states: nn.Embedding(letters, states + 1), r"must return logits \(4, 8, 2\)"),
    ],
)
def test_what_is_no_causal_module_is_refused(factory, reason) -> None:
    if reason is None:
        assert state_tracking(factory, ["C2"], effort=QUICK).rows[0]["can"] is None
        return
    with pytest.raises(InvalidInput, match=reason):
        state_tracking(factory, ["C2"], effort=QUICK)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--module", "nothing"], "--module must be PKG:FACTORY"),
        (["--module", "no_such_package:make"], "must load; ModuleNotFoundError"),
        (["--module", "torch.nn:NoSuch"], "there is no NoSuch"),
        (["--module", "torch.nn:Identity", "--family", "magic"], "family must be one of: diagonal [0, 1]"),
        (["--module", "torch.nn:Embedding", "--lr", "-1"], "lr must be above 0"),
    ],
)
def test_bad_input_is_one_line(words, reason, capsys) -> None:
    assert run(["bench", "--task", "C2", *words]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def test_the_reach_ends_at_the_first_length_below_the_share() -> None:
    assert reach([4, 8, 12], [1.0, 0.96, 0.99], 0.95) == 12
    assert reach([4, 8, 12], [1.0, 0.9, 0.99], 0.95) == 4
    assert reach([4], [0.5], 0.95) == 0


@pytest.mark.parametrize(("layers", "steps", "can"), [(1, 1, False), (1, 2, True)])
def test_the_verdict_is_about_the_layers_and_steps_of_the_module(layers: int, steps: int, can: bool) -> None:
    factory = lambda letters, states: nn.Embedding(letters, states)  # noqa: E731
    found = state_tracking(factory, ["D6"], family="deltaproduct", layers=layers, steps=steps, effort=QUICK)
    assert found.rows[0]["can"] is can
    assert bool(found.rows[0]["reason"]) is not can

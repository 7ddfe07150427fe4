"""Layers that are not causal or do not load are refused in one line; foreign files are kept."""

import json
import sys
from types import ModuleType
from typing import ClassVar

import pytest
import torch
from torch import nn

import krohn
from krohn.cli.app import run
from krohn.errors import InvalidInput

QUICK = {"seeds": 1, "length": 4, "steps": 2, "width": 4}
TYPED = ["--seeds", "1", "-T", "4", "--steps", "2", "--width", "4"]


class Peeks(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.map(x) + x.mean(1, keepdim=True)


class Widens(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x], -1)


class Noisy(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.map(x) + torch.randn_like(x)


class Fails(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no\nluck")


class Refuses(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise RuntimeError("not on this chip")


class NoBackward(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Refuses.apply(self.map(x))


class Leaves(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise SystemExit(0)


class Detached(Peeks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.map(x).detach()


class Bounded(Peeks):
    """Takes words of 20 letters at most, and says so."""

    card: ClassVar = {"longest": 20}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[1] <= 20
        return self.map(x)


def explodes(width: int) -> nn.Module:
    raise ValueError("bad width")


class Stock(nn.Module):
    """Like a layer of flash-linear-attention: keyword arguments, a tuple of which the first is the output."""

    def __init__(self, hidden_size: int, scale: float = 1.0) -> None:
        super().__init__()
        self.map, self.scale = nn.Linear(hidden_size, hidden_size), scale

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        return self.scale * self.map(x), None


class Picky(Stock):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, None]:
        raise ValueError("0 active drivers ([]). There should only be one.\nmore")


class NeedsMore(Stock):
    def __init__(self, hidden_size: int, heads: int) -> None:
        raise ImportError("mamba_ssm is needed")


def library(monkeypatch: pytest.MonkeyPatch, **classes: object) -> None:
    module = ModuleType("fla.layers")
    vars(module).update(classes)
    monkeypatch.setitem(sys.modules, "fla", ModuleType("fla"))
    monkeypatch.setitem(sys.modules, "fla.layers", module)


def test_a_layer_of_the_library_is_run_by_its_name(monkeypatch, capsys) -> None:
    library(monkeypatch, Stock=Stock)
    assert run(["card", "fla:Stock,scale=0.5", "--tasks", "C2", "--json", *TYPED]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rows"][0]["can"], report["rows"][0]["seeds"]) == ("open", 1)
    assert report["remark"].startswith("flash-linear-attention's own layer and kernels")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("fla:NoSuch", "there is no 'NoSuch'"),
        ("fla:Picky", "it raised ValueError: 0 active drivers ([]). There should only be one."),
        ("fla:NeedsMore,heads=2", "it raised ImportError: mamba_ssm is needed"),
        ("fla:Stock,scale=much", "must be NAME=NUMBER; got 'scale=much'"),
        ("fla:Stock,size=3", "unexpected keyword argument 'size'"),
    ],
)
def test_a_layer_of_the_library_that_refuses_gets_one_line(name, reason, monkeypatch, capsys) -> None:
    library(monkeypatch, Stock=Stock, Picky=Picky, NeedsMore=NeedsMore)
    assert run(["card", name, "--tasks", "C2", *TYPED]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def test_without_the_library_the_line_says_what_to_install(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "fla", None)
    monkeypatch.delitem(sys.modules, "fla.layers", raising=False)
    assert run(["card", "fla:GatedDeltaNet", "--tasks", "C2", *TYPED]) == 2
    line = capsys.readouterr().err
    assert "pip install flash-linear-attention" in line
    assert line.count("\n") == 1


def test_a_library_that_does_not_load_gets_one_line(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "fla").mkdir()
    (tmp_path / "fla" / "__init__.py").write_text("")
    (tmp_path / "fla" / "layers.py").write_text("raise RuntimeError('no driver\\nmore')")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("fla", "fla.layers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert run(["card", "fla:GatedDeltaNet", "--tasks", "C2", *TYPED]) == 2
    line = capsys.readouterr().err
    assert "fla.layers must load; it raised RuntimeError: no driver" in line
    assert line.count("\n") == 1
    for name in ("fla", "fla.layers"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (Peeks, "must be causal; its answers before letter 2 change"),
        (Noisy, "is not deterministic in eval mode"),
        (Widens, r"must map \(4, 4, 4\) to the same shape; got \(4, 4, 8\)"),
        (Fails, "it raised RuntimeError: no$"),
        (Leaves, "it raised SystemExit: 0$"),
        (Detached, "gradients must reach the layer's parameters, and none does"),
        (NoBackward, "must have a backward pass; it raised RuntimeError: not on this chip"),
        (explodes, "the factory must return a module; it raised ValueError: bad width"),
        (lambda width: 3, "must return a torch.nn.Module; got int"),
        (lambda: 3, "takes one argument .* got 0"),
        (lambda letters, states: nn.Embedding(letters, states + 1), r"must return logits \(4, 4, 2\)"),
    ],
)
def test_modules_that_are_not_causal_are_refused(factory, reason) -> None:
    with pytest.raises(InvalidInput, match=reason):
        krohn.card(factory, ["C2"], **QUICK)


def test_a_layer_for_short_words_is_read_no_further() -> None:
    assert krohn.card(Bounded, ["C2"], **QUICK, tell=lambda line: None).rows[0]["seeds"] == 1
    with pytest.raises(InvalidInput, match="must reach 4T = 24 letters; those of Bounded end at 20: take a"):
        krohn.card(Bounded, ["C2"], **QUICK | {"length": 6})


def test_a_stranger_whose_layer_looks_ahead_gets_one_line(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "peeking.py").write_text(
        "from torch import nn\n\nclass Peeks(nn.Linear):\n    def __init__(self, width):\n"
        "        super().__init__(width, width)\n\n    def forward(self, x):\n"
        "        return super().forward(x.flip(1))\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run(["card", "peeking:Peeks", "--tasks", "C2", "--out", "card", *TYPED]) == 2
    line = capsys.readouterr().err
    assert "must be causal" in line
    assert line.count("\n") == 1
    assert not (tmp_path / "card").exists()


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        ({"famly": "GRU"}, "must be a dictionary with family, layers, steps, longest, remark; got famly"),
        ({"layers": 0}, "layers in the card of .* must be a whole number above 0; got 0"),
        ({"family": 3}, "family in the card of .* must be a text; got 3"),
        ({"family": "magic"}, r"family must be one of: diagonal \[0, 1\]"),
        ("GRU", "must be a dictionary .* got str"),
    ],
)
def test_what_a_factory_says_of_itself_is_checked(card, reason) -> None:
    def factory(letters: int, states: int) -> nn.Module:
        return nn.Embedding(letters, states)

    factory.card = card
    with pytest.raises(InvalidInput, match=reason):
        krohn.card(factory, ["C2"], **QUICK)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nothing"], "a layer must be one of deltaproduct, diagonal, gpt"),
        (["no_such_package:make"], "must load; ModuleNotFoundError"),
        (["torch.nn:NoSuch"], "there is no NoSuch"),
        (["lstm,hidden=none"], "hidden of lstm must be a whole number; got 'none'"),
        (["lstm,depth=3"], "must be NAME=VALUE with a NAME among embedding, hidden; got 'depth=3'"),
        (["lstm,hidden=0"], "hidden must be at least 1"),
        (["lstm", "--tasks", "zebra"], "zebra"),
        (["lstm", "--tasks", ","], "at least one automaton"),
        (["lstm", "--device", "toaster"], "the device must be there"),
        (["lstm", "--minutes", "0"], "minutes"),
    ],
)
def test_bad_input_is_one_line(words, reason, capsys) -> None:
    assert run(["card", *words]) == 2
    line = capsys.readouterr().err
    assert reason in line
    assert line.count("\n") == 1


def test_a_file_of_somebody_else_is_kept(tmp_path, capsys) -> None:
    (tmp_path / "card.json").write_text('{"mine": 1}')
    assert run(["card", "lstm", *TYPED, "--tasks", "C2", "--out", str(tmp_path)]) == 2
    assert "krohn did not write it" in capsys.readouterr().err
    assert (tmp_path / "card.json").read_text() == '{"mine": 1}'


def test_a_card_needs_a_folder(tmp_path, capsys) -> None:
    (tmp_path / "mine.py").write_text("mine")
    assert run(["card", "lstm", *TYPED, "--tasks", "C2", "--out", str(tmp_path / "mine.py")]) == 2
    line = capsys.readouterr().err
    assert "written to a folder" in line
    assert line.count("\n") == 1
    assert (tmp_path / "mine.py").read_text() == "mine"

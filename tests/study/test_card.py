"""The card of a layer: one file of a stranger gets one, and what is wrong is refused in one line."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import ClassVar
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import krohn
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.cli.card import task_names
from krohn.errors import InvalidInput
from krohn.models.registry import kinds
from krohn.recurrent.verdicts import verdicts
from krohn.study.card import Card, conflict, estimate, theorem
from krohn.study.harness import Effort, made, trained
from krohn.study.layers import find_layer

PAGE = (Path(__file__).parents[2] / "docs" / "can-my-layer.md").read_text(encoding="utf-8")
ASSUMES = "finitely many vectors are reached"
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
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"][0]["can"], found["rows"][0]["seeds"]) == ("open", 1)
    assert found["remark"] == "flash-linear-attention's own layer and kernels"


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


def test_networks_without_positions_fall_under_the_theorem_about_them() -> None:
    """Fixed precision, no positions: a flip-flop that may idle is beyond it, and known at logarithmic."""
    flipflop = parse_spec("FlipFlop")
    without, with_ = (find_layer(name, 32) for name in ("gpt,positions=none", "gpt"))
    assert theorem(flipflop, without)["can"] == "no"
    assert "no positions" in theorem(flipflop, without)["assumes"]
    assert theorem(flipflop, with_)["can"] != "no"
    assert "2505.23623" in theorem(flipflop, without)["source"]


def test_a_stranger_adds_a_layer_by_one_file(tmp_path, monkeypatch, capsys) -> None:
    (source,) = re.findall(r"^```python\n(\"\"\"my_layer.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "my_layer.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["--seeds", "1", "-T", "8", "--steps", "150", "--tasks", "C2,C3", "--out", "card", "--json"]
    assert run(["card", "my_layer:Signed", *words]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    two, three = found["rows"]
    assert (two["task"], two["can"], two["seeds"]) == ("C2", "yes", 1)
    assert two["learned"]["T"] == 1
    assert two["holds"][0]["letters"] >= 8
    assert (three["can"], three["learned"]["4T"], three["holds"]) == ("no", 0, [None])
    assert "C3" in three["reason"]
    assert json.loads((tmp_path / "card" / "card.json").read_text()) == found
    assert "2 networks of 150 steps: about" in shown.err
    assert "C2, seed 0: " in shown.err
    page = (tmp_path / "card" / "card.html").read_text()
    assert "<td>C3</td><td>no</td><td>0 of 1</td>" in page
    badge = ElementTree.parse(tmp_path / "card" / "badge.svg").getroot()
    texts = [part.text for part in badge.iter() if part.tag.endswith("}text")]
    assert texts[0] == "state tracking"
    assert texts[1].startswith(f"{int(two['learned']['4T'])} of 2")


@pytest.mark.parametrize(
    ("factory", "reason"),
    [
        (Peeks, "must be causal; its answers before letter 2 change"),
        (Noisy, "must answer the same words alike in eval mode"),
        (Widens, r"must map \(4, 4, 4\) to the same shape; got \(4, 4, 8\)"),
        (Fails, "it raised RuntimeError: no$"),
        (NoBackward, "must have a backward pass; it raised RuntimeError: not on this chip"),
        (explodes, "the factory must return a module; it raised ValueError: bad width"),
        (lambda width: 3, "must return a torch.nn.Module; got int"),
        (lambda: 3, "takes one argument .* got 0"),
        (lambda letters, states: nn.Embedding(letters, states + 1), r"must return logits \(4, 4, 2\)"),
    ],
)
def test_what_is_no_causal_module_is_refused(factory, reason) -> None:
    with pytest.raises(InvalidInput, match=reason):
        krohn.card(factory, ["C2"], **QUICK)


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


class Mislabelled(nn.Module):
    """A GRU that calls itself a diagonal recurrence: the theorem is against it, and it learns."""

    card: ClassVar = {"family": "diagonal [0, 1]", "longest": 300}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.GRU(width, width, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.cell(x)[0]


def test_a_conflict_is_marked_and_explained_on_the_card() -> None:
    found = krohn.card(Mislabelled, ["C2"], seeds=1, length=8, steps=250, width=16)
    (row,) = found.rows
    assert (row["can"], row["learned"]["4T"]) == ("no", 1)
    assert row["conflict"]
    assert "no !" in found.text()
    assert f"C2: conflict: {row['conflict']}." in found.text()


def test_a_card_can_be_continued_seed_by_seed() -> None:
    whole = krohn.card("gru", ["C2"], **QUICK | {"seeds": 2})
    second = krohn.card("gru", ["C2"], **QUICK, first_seed=1)
    assert second.rows[0]["accuracy"]["4T"] == whole.rows[0]["accuracy"]["4T"][1:]
    with pytest.raises(InvalidInput, match="first_seed must be 0 or more; got -1"):
        krohn.card("gru", ["C2"], **QUICK, first_seed=-1)


def test_the_proved_length_is_on_the_card_and_below_the_first_wrong_letter(monkeypatch) -> None:
    monkeypatch.setattr("krohn.study.layers.LONGEST", 300)
    found = krohn.card("gru", ["C2"], seeds=1, length=8, steps=250, width=16)
    (held,) = found.rows[0]["holds"]
    assert 4 <= held["certified"] <= held["letters"]
    assert f"{held['letters']} (proved {held['certified']})" in found.text()


def test_progress_is_reported_within_a_network(monkeypatch) -> None:
    monkeypatch.setattr("krohn.study.card.SILENCE", -1.0)
    lines: list[str] = []
    krohn.card("gru", ["C2"], **QUICK, tell=lines.append)
    assert [line[10:] for line in lines[1:3]] == ["C2, seed 0: step 0 of 2", "C2, seed 0: step 1 of 2"]


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


def test_the_old_name_says_so(capsys, monkeypatch) -> None:
    monkeypatch.setattr("krohn.study.card.card", lambda *_, **__: Card("a:b", (), {"length": 4}))
    assert run(["bench", "--module", "a:b", "--task", "C2", "--json"]) == 0
    shown = capsys.readouterr()
    assert "krohn bench is now krohn card LAYER" in shown.err
    assert json.loads(shown.out)["layer"] == "a:b"


def test_the_same_seeds_give_the_same_numbers_and_leave_other_randomness_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two = (krohn.card("gru", ["C2", "FlipFlop"], **QUICK | {"seeds": 2}) for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    for row in (*one.rows, *two.rows):
        row.pop("seconds")
    assert one.rows == two.rows
    accuracies = one.rows[0]["accuracy"]["T"]
    assert accuracies[0] != accuracies[1]
    assert repr(one) == "<Card of gru, seeds that pass at 4T: C2 0 of 2, FlipFlop 0 of 2>"


def _row(can: str, shares: list[float], ends: list[int | None]) -> dict:
    """Of networks that have those shares at 4T; one without an end fails at T."""
    holds = [{"first_wrong": end, "tested": 100_000, "letters": (end or 100_001) - 1} for end in ends]
    holds += [None] * (len(shares) - len(ends))
    learned = {"T": len(ends), "4T": sum(share >= 0.99 for share in shares)}
    accuracy = {"T": [], "4T": shares}
    return {"can": can, "assumes": ASSUMES, "learned": learned, "holds": holds, "accuracy": accuracy}


def test_a_conflict_of_theorem_and_training_is_explained() -> None:
    assert conflict(_row("yes", [1.0, 1.0], [None])) == ""
    assert conflict(_row("no", [0.5], [])) == ""
    short = conflict(_row("no", [1.0, 0.99, 0.5], [700, 90, None]))
    assert "too short for the theorem" in short
    assert "letter 90 to 700" in short
    far = conflict(_row("no", [1.0, 1.0], [700, None]))
    assert "no wrong letter in 100,000" in far
    assert ASSUMES in far
    easy = conflict(_row("no", [0.995, 0.5], []))
    assert easy.endswith(
        "every network that passes there fails at T, so the longer words are the easier ones here"
    )


@pytest.mark.parametrize(
    ("layer", "task", "can"),
    [
        ("diagonal,gate=unit", "C2", "no"),
        ("diagonal,gate=signed", "C2", "yes"),
        ("diagonal,gate=signed", "C3", "no"),
        ("diagonal,gate=complex,layers=2", "S3", "yes"),
        ("deltaproduct,householders=1", "S5:adjacent", "yes"),
        ("deltaproduct,householders=1", "C3", "no"),
        ("deltaproduct,householders=1,beta_max=1", "C2", "no"),
        ("deltaproduct,householders=2,beta_max=1", "C2", "open"),
        ("rankone,rate_max=1", "C2", "open"),
        ("lstm", "A5", "yes"),
        ("gpt,positions=none", "C2", "no"),
        ("gpt", "C2", "open"),
        ("gpt", "A5", "no"),
    ],
)
def test_the_verdict_is_about_the_layer_with_its_options(layer: str, task: str, can: str) -> None:
    found = theorem(parse_spec(task), find_layer(layer, 8))
    assert found["can"] == can
    assert found["reason"]
    assert bool(found["assumes"]) is (find_layer(layer, 8).family is not None)


def test_every_architecture_of_ours_has_a_card_and_its_family_is_a_row() -> None:
    automaton = parse_spec("C2")
    names = {row.name for row in verdicts(automaton, krohn.analyze(automaton))}
    for kind in kinds():
        assert find_layer(kind, 8).family in names, kind


def test_time_is_estimated_before_the_start_and_limited() -> None:
    effort = Effort(length=4, steps=50, seeds=2, width=4)
    few = estimate(find_layer("diagonal", 4), [parse_spec("C2")], effort, "cpu")
    assert few > 0
    found = krohn.card("diagonal", ["C2", "C3"], **QUICK | {"steps": 10**6}, minutes=0.005)
    assert found.stopped == "the time limit of 0.005 minutes was reached"
    assert [row["seeds"] for row in found.rows] == [0, 0]
    assert "not run" in found.text()


@pytest.mark.parametrize(("optimizer", "even"), [("adamw", False), ("muon", True)])
def test_muon_moves_a_matrix_alike_in_all_directions(optimizer: str, even: bool) -> None:
    """After one step the change of a matrix has nearly equal singular values, with Muon alone."""
    effort, automaton = Effort(length=8, steps=1, width=8, optimizer=optimizer), parse_spec("S3")
    factory = find_layer("gru", 8).factory
    after = trained(factory, automaton, effort, 0, "cpu").module
    with torch.random.fork_rng():
        torch.manual_seed(0)
        before = made(factory, automaton, effort)
    change = (after.weight_hh - before.weight_hh).detach()
    sizes = torch.linalg.svdvals(change)
    assert bool(change.any())
    assert bool(sizes[-1] > 0.3 * sizes[0]) is even


def test_names_of_tasks_may_hold_commas() -> None:
    assert task_names("C2,Dyck4,2, S5:adjacent") == ["C2", "Dyck4,2", "S5:adjacent"]

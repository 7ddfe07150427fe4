"""The card of a layer: third-party layers from one file, expressivity, learning, and time."""

import json
import re
from itertools import permutations, product
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec, split_specs
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.lab.cards import card as card_module
from krohn.lab.cards import card_files, task_results, time_estimate
from krohn.lab.cards.harness import Effort, Trained, make_module, train_module
from krohn.lab.cards.layers import find_layer
from krohn.lab.cards.task_results import conflict, theorem
from krohn.lab.cards.time_estimate import estimate
from krohn.lab.models.registry import kinds
from krohn.recurrent.verdicts import verdicts

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "can-my-layer.md").read_text(encoding="utf-8")
CARDS = ROOT / "results" / "cards" / "cards.jsonl"
ASSUMES = "finitely many vectors are reached"
QUICK = {"seeds": 1, "length": 4, "steps": 2, "width": 4}


def test_networks_without_positions_fall_under_the_theorem_about_them() -> None:
    """Fixed precision, no positions: a flip-flop that may idle is beyond it, and known at logarithmic."""
    flipflop = parse_spec("FlipFlop")
    without, with_ = (find_layer(name, 32) for name in ("gpt,positions=none", "gpt"))
    assert theorem(flipflop, without)["can"] == "no"
    assert "no positions" in theorem(flipflop, without)["assumes"]
    assert theorem(flipflop, with_)["can"] != "no"
    assert "2505.23623" in theorem(flipflop, without)["source"]


def test_keys_that_are_nowhere_negative_fall_under_no_theorem() -> None:
    """Three swaps of three points, a reflection each: some two of the keys, whatever their signs, have a
    negative product, and those of ReLU never do. SiLU has both signs.
    """
    ways = torch.tensor([[1.0, -1, 0], [0, 1, -1], [1, 0, -1]])
    for signs in product((1, -1), repeat=3):
        keys = torch.tensor(signs)[:, None] * ways
        assert (keys @ keys.T).min() < 0
    points = list(permutations(range(3)))
    table = [
        [points.index(tuple({i: j, j: i}.get(x, x) for x in state)) for i, j in ((0, 1), (1, 2), (0, 2))]
        for state in points
    ]
    swaps = Semiautomaton.from_letters([list(column) for column in zip(*table, strict=True)])
    for activation, can in (("none", "yes"), ("silu", "yes"), ("relu", "open")):
        layer = find_layer(f"deltaproduct,householders=1,key_activation={activation}", 32)
        assert theorem(swaps, layer)["can"] == can


def test_a_stranger_adds_a_layer_by_one_file(tmp_path, monkeypatch, capsys) -> None:
    (source,) = re.findall(r"^```python\n(\"\"\"my_layer.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "my_layer.py").write_text(source, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    words = ["--seeds", "1", "-T", "8", "--steps", "150", "--tasks", "C2,C3", "--out", "card", "--json"]
    assert run(["card", "my_layer:Signed", *words]) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    two, three = report["rows"]
    assert (two["task"], two["can"], two["seeds"]) == ("C2", "yes", 1)
    assert two["learned"]["T"] == 1
    assert two["holds"][0]["letters"] >= 8
    assert (three["can"], three["learned"]["4T"], three["holds"]) == ("no", 0, [None])
    assert "C3" in three["reason"]
    assert json.loads((tmp_path / "card" / "card.json").read_text()) == report
    assert "2 networks of 150 steps: about" in shown.err
    assert "C2, seed 0: " in shown.err
    page = (tmp_path / "card" / "card.html").read_text()
    assert "<td>C3</td><td>cannot (theorem)</td><td>no</td><td>0 of 1</td>" in page
    assert three["control"] is None  # a theorem needs none
    (curve,) = three["by_position"]
    assert len(curve["right"]) == 32
    assert sum(curve["right"]) / 32 == pytest.approx(three["accuracy"]["4T"][0], abs=1e-5)
    assert f"C3: the seed that is 99% right longest, by position: {curve['text']}." in page
    assert '<p class="lead">my_layer:Signed: C2 (1 and ' in page
    assert "C3 (0 and 0 of 1): cannot (theorem). In brackets: seeds with 99% of the letters right" in page
    assert {row["layer"] for row in report["beside"]} >= {"LSTM", "GRU"}
    assert "(this card has length 8, steps 150, lr 0.01)" in page  # the reference layers stay, and say how
    assert len(two["curves"][0]) == 25
    assert two["curves"][0][0][0] == 0
    badge = ElementTree.parse(tmp_path / "card" / "badge.svg").getroot()
    texts = [part.text for part in badge.iter() if part.tag.endswith("}text")]
    assert texts[0] == "state tracking"
    assert texts[1].startswith(f"{int(two['verdict'] == 'learned')} of 2")


class Mislabelled(nn.Module):
    """A GRU that calls itself a diagonal recurrence: the theorem is against it, and it learns."""

    card: ClassVar = {"family": "diagonal [0, 1]", "longest": 300}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = nn.GRU(width, width, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.cell(x)[0]


def test_a_conflict_is_marked_and_explained_on_the_card() -> None:
    card = krohn.card(Mislabelled, ["C2"], seeds=1, length=8, steps=250, width=16)
    (row,) = card.rows
    assert (row["can"], row["learned"]["4T"]) == ("no", 1)
    assert row["conflict"]
    assert "no !" in card.text()
    assert f"C2: conflict: {row['conflict']}." in card.text()


class Bursts(nn.Module):
    """Finite until it has been trained for ten steps."""

    card: ClassVar = {"longest": 16}

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map, self.steps = nn.Linear(width, width), 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += self.training
        return self.map(x) * (float("nan") if self.steps > 10 else 1.0)


def test_a_training_that_diverges_is_named() -> None:
    lines: list[str] = []
    card = krohn.card(Bursts, ["C2"], **QUICK | {"steps": 30}, tell=lines.append)
    assert card.rows[0]["diverged"] == [10]
    assert "diverged: the loss of step 10 is not finite" in lines[-2]  # then the control
    assert "C2: 1 of 1 seeds diverged: the loss was not finite." in card.text()
    assert "diverged" not in krohn.card(Bursts, ["C2"], **QUICK).text()


def test_a_card_can_be_continued_seed_by_seed() -> None:
    whole = krohn.card("gru", ["C2"], **QUICK | {"seeds": 2})
    second = krohn.card("gru", ["C2"], **QUICK, first_seed=1)
    assert second.rows[0]["accuracy"]["4T"] == whole.rows[0]["accuracy"]["4T"][1:]
    with pytest.raises(InvalidInput, match="first_seed must be 0 or more; got -1"):
        krohn.card("gru", ["C2"], **QUICK, first_seed=-1)


def test_a_card_says_where_passing_means_little() -> None:
    """The published cell of LSTM on Dyck4,2: all seeds pass, and are wrong in the fourth letter of a word."""
    rows = [json.loads(line) for line in CARDS.read_text(encoding="utf-8").splitlines()]
    (row,) = (
        row for row in rows if (row["layer"], row["task"], row["optimizer"]) == ("lstm", "Dyck4,2", "adamw")
    )
    assert row["learned"]["T"] == row["seeds"] == len(row["holds"])
    shown = card_files.notes({"rows": [row], "settings": {"length": 16}, "remark": "", "stopped": ""})
    firsts = [held["first_wrong"] for held in row["holds"]]
    assert max(firsts) <= 16
    expected = (
        f"Dyck4,2: {len(firsts)} of the {row['seeds']} seeds that pass at T are wrong within T letters of "
    )
    assert [note for note in shown if note.startswith(expected) and f"letter {min(firsts)} of" in note]


def test_progress_is_reported_within_a_network(monkeypatch) -> None:
    monkeypatch.setattr("krohn.lab.cards.task_results.SILENCE", -1.0)
    lines: list[str] = []
    krohn.card("gru", ["C2"], **QUICK, tell=lines.append)
    assert [line[10:] for line in lines[1:3]] == ["C2, seed 0: step 0 of 2", "C2, seed 0: step 1 of 2"]


def test_the_same_seeds_give_the_same_numbers_and_leave_other_randomness_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one, two = (krohn.card("gru", ["C2", "FlipFlop"], **QUICK | {"seeds": 2}) for _ in range(2))
    assert torch.equal(torch.rand(3), expected)
    for row in (*one.rows, *two.rows):
        row.pop("seconds")
        row["control"].pop("seconds")
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
    result = theorem(parse_spec(task), find_layer(layer, 8))
    assert result["can"] == can
    assert result["reason"]
    assert bool(result["assumes"]) is (find_layer(layer, 8).family is not None)


def test_every_architecture_of_ours_has_a_card_and_its_family_is_a_row() -> None:
    automaton = parse_spec("C2")
    names = {row.name for row in verdicts(automaton, krohn.analyze(automaton))}
    for kind in kinds():
        assert find_layer(kind, 8).family in names, kind


def test_time_is_estimated_before_the_start_and_limited() -> None:
    effort = Effort(length=4, steps=50, seeds=2, width=4)
    few = estimate(find_layer("diagonal", 4), [parse_spec("C2")], effort, "cpu")
    assert few > 0
    card = krohn.card("diagonal", ["C2", "C3"], **QUICK | {"steps": 10**6}, minutes=0.005)
    assert card.stopped == "the time limit of 0.005 minutes was reached; not run: C2, C3"
    assert [row["seeds"] for row in card.rows] == [0, 0]
    assert "not run" in card.text()


@pytest.mark.parametrize("power", [1, 2])
def test_an_interruption_is_not_taken_for_the_square_of_attention(power: int, monkeypatch) -> None:
    """On a made-up clock: a pass takes a microsecond a letter, or pair of them, and one a minute more."""
    effort, calls, plain = Effort(length=4, steps=1, seeds=1, width=4), [], time_estimate.logits_of
    layer, now = find_layer("diagonal", 4), [0.0]

    def interrupted(module, words, states):
        calls.append(words.shape[1])
        now[0] += 1e-6 * words.shape[1] ** power + 60 * (calls.count(1024) == 1)
        return plain(module, words, states)

    monkeypatch.setattr(time_estimate, "logits_of", interrupted)
    monkeypatch.setattr(time_estimate, "time", SimpleNamespace(monotonic=lambda: now[0]))
    seconds = estimate(layer, [parse_spec("C2")], effort, "cpu")
    assert calls.count(1024) == 3
    assert seconds == pytest.approx(1e-6 * layer.longest**power * 8 / 7)


@pytest.mark.parametrize(("optimizer", "even"), [("adamw", False), ("muon", True)])
def test_muon_moves_a_matrix_equally_in_all_directions(optimizer: str, even: bool) -> None:
    """After one step the change of a matrix has nearly equal singular values, with Muon alone."""
    effort, automaton = Effort(length=8, steps=1, width=8, optimizer=optimizer), parse_spec("S3")
    factory = find_layer("gru", 8).factory
    after = train_module(factory, automaton, effort, 0, "cpu").module
    with torch.random.fork_rng():
        torch.manual_seed(0)
        before = make_module(factory, automaton, effort)
    change = (after.weight_hh - before.weight_hh).detach()
    sizes = torch.linalg.svdvals(change)
    assert bool(change.any())
    assert bool(sizes[-1] > 0.3 * sizes[0]) is even


def test_names_of_tasks_may_hold_commas() -> None:
    assert split_specs("C2,Dyck4,2, S5:adjacent") == ["C2", "Dyck4,2", "S5:adjacent"]


class Recurrence(nn.Module):
    """A GRU, and ways to spoil it."""

    card: ClassVar = {"longest": 64}

    def __init__(self, width: int, how: str) -> None:
        super().__init__()
        self.how, self.cell = how, nn.GRU(width, width, batch_first=how != "time first")
        self.again = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.cell(x)[0]
        if self.how == "batch norm":
            out = out - out.mean(dim=0, keepdim=True)
        if self.how == "other batches":
            out = out + len(x)
        if self.how == "from the end":
            out = out + x.shape[1]
        if self.how == "half":
            out = out.bfloat16()
        if self.how == "each call":
            self.again += 1
            out = out + self.again
        return out.detach() if self.how == "detached" else out


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ("time first", ", self.how, self.cell = how, nn.GRU(width, width, batch_first=how"),
        ("batch norm", "the other words of its batch; these do: put the batch first"),
        ("other batches", "the other words of its batch"),
        ("from the end", "the number of letters that follow, as in a padded batch; these do: do not"),
        ("half", "a layer must return float32 on cpu, as it was given; got bfloat16 on cpu: end with .to(x)"),
        ("each call", "the module is not deterministic in eval mode"),
        ("detached", "gradients must reach the layer's parameters, and none does"),
    ],
)  # fmt: skip
def test_a_layer_that_mixes_words_is_refused_before_training(how: str, line: str) -> None:
    """The commonest mistake, nn.GRU(d, d) with the time first, got the verdict "0 of 1"."""
    with pytest.raises(InvalidInput, match=re.escape(line)):
        krohn.card(lambda width: Recurrence(width, how), ["C2"], **QUICK)
    assert krohn.card(lambda width: Recurrence(width, ""), ["C2"], **QUICK | {"length": 8}).rows


def test_two_files_of_one_name_are_two_layers(tmp_path) -> None:
    """A module once imported under the file's name stood in for every later file of that name."""
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        (folder / "mine.py").write_text(f"def layer(width):\n    return {value}\n")
        assert find_layer(f"{folder / 'mine.py'}:layer", 8).factory(8) == value


def test_a_layer_in_a_file_and_the_known_layers_beside_it(tmp_path, monkeypatch, capsys) -> None:
    """With the defaults of the table, which are those of the card; only training is left out."""
    (tmp_path / "my_rnn.py").write_text(
        "from torch import nn\n\n\nclass X(nn.Module):\n"
        "    def __init__(self, width):\n        super().__init__()\n"
        "        self.cell = nn.GRU(width, width, batch_first=True)\n\n"
        "    def forward(self, x):\n        return self.cell(x)[0]\n"
    )
    monkeypatch.chdir(tmp_path)
    nothing = Trained(nn.Identity(), 0.5, 0.5, None, None, 1.0, 10)
    monkeypatch.setattr(task_results, "train_module", lambda *given: nothing)
    monkeypatch.setattr(card_module, "estimate", lambda *given: 1.0)
    assert run(["card", "my_rnn.py:X", "--tasks", "C2,S3", "--seeds", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {row["layer"] for row in report["beside"]} >= {"LSTM", "GRU", "Mamba-2"}
    assert len({row["layer"] for row in report["beside"]}) == 5
    assert {row["task"] for row in report["beside"]} == {"C2", "S3"}
    assert 'card = {"family": "diagonal complex"}' in report["remark"]
    page = card_files.html(report)
    assert page.index("control failed too: no verdict") < page.index("<table>")
    assert "<details" in page
    assert "Mamba-2" in page


def test_the_stored_rows_are_those_of_the_table() -> None:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("card_known", ROOT / "tools" / "card_known.py")
    assert spec is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    assert json.loads(module.KNOWN.read_text()) == module.known(CARDS.read_text().splitlines())

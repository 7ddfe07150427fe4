"""Four verdicts and *not run*, on networks whose accuracy is made up; time is shared among automata."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

import krohn
from every import every
from krohn.automata.zoo import parse_spec
from krohn.cli.app import run
from krohn.errors import InvalidInput
from krohn.lab.cards import card as card_module
from krohn.lab.cards import card_files, task_results
from krohn.lab.cards.harness import PRESETS, Effort, Trained, TrainingOutOfTime
from krohn.lab.cards.layers import find_layer
from krohn.lab.cards.task_results import CONTROLS, control_layer, theorem

Shares = tuple[float, float]
GOOD, HABIT, BAD = (1.0, 0.995), (1.0, 0.5), (0.3, 0.2)


def mine(width: int) -> nn.Module:
    return nn.GRU(width, width, batch_first=True)


def cannot(width: int) -> nn.Module:
    return mine(width)


cannot.card = {"family": "diagonal [0, 1]"}  # type: ignore[attr-defined]


def trained(
    monkeypatch: pytest.MonkeyPatch, own: Callable[[str, int], Shares], control: Shares, ends: int = 10**6
) -> list[tuple[str, str, int]]:
    """Training is made up; what was trained, and time that ends after so many networks."""
    log: list[tuple[str, str, int]] = []

    def train(factory: Any, automaton: Any, effort: Effort, seed: int, *given: Any) -> Trained:
        if len(log) == ends:
            given[-1].__self__.over = True
            raise TrainingOutOfTime
        whose = "own" if factory in (mine, cannot) else "control"
        log.append((whose, automaton.name, seed))
        right = own(automaton.name, seed) if whose == "own" else control
        return Trained(nn.Identity(), *right, None, None, 1.0, 10)

    wrong = task_results.FirstWrong(20, "random letters", 100)
    monkeypatch.setattr(task_results, "train_module", train)
    monkeypatch.setattr(task_results, "first_wrong", lambda *given: wrong)
    monkeypatch.setattr(card_module, "estimate", lambda *given: 1.0)
    return log


@pytest.mark.parametrize(
    ("layer", "own", "control", "wanted"),
    [
        (mine, GOOD, BAD, "learned"),
        (mine, BAD, GOOD, "did not learn while the control did"),
        (mine, BAD, BAD, "control failed too: no verdict"),
        (mine, HABIT, GOOD, "did not learn while the control did"),  # right at T alone is not learned
        (mine, BAD, HABIT, "control failed too: no verdict"),  # nor is it for the control
        (cannot, BAD, GOOD, "cannot (theorem)"),
        (cannot, HABIT, GOOD, "cannot (theorem)"),
        (cannot, GOOD, GOOD, "learned"),  # a conflict, and marked as one
    ],
)
def test_the_verdict(
    layer: Any, own: Shares, control: Shares, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = trained(monkeypatch, lambda name, seed: own, control)
    card = krohn.card(layer, ["S3"], seeds=2)
    (row,) = card.rows
    assert row["verdict"] == wanted
    assert (row["can"], row["seeds"]) == ("no" if layer is cannot else "open", 2)
    needed = layer is mine and own is not GOOD
    assert [one for one in log if one[0] == "control"] == [("control", "S3", 0)] * needed
    assert (row["control"] is not None) == needed
    if needed:
        assert row["control"]["accuracy"] == {"T": control[0], "4T": control[1]}
        assert f"has {100 * control[0]:.2f}% of the letters right at T" in card.text()
        assert f"the layer at best {100 * own[0]:.2f}%" in card.text()
    assert bool(row["conflict"]) == (layer is cannot and own is GOOD)
    assert f"S3 ({'2 and' if own is not BAD else '0 and'}" in card.text()


def test_a_layer_that_can_and_fails_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    mine.card = {"family": "LSTM"}  # type: ignore[attr-defined]
    try:
        trained(monkeypatch, lambda name, seed: BAD, GOOD)
        assert (
            krohn.card(mine, ["S3"], seeds=1).rows[0]["verdict"] == "can, did not learn while the control did"
        )
    finally:
        del mine.card  # type: ignore[attr-defined]


def test_the_majority_of_seeds_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    log = trained(monkeypatch, lambda name, seed: GOOD if seed else BAD, GOOD)
    assert krohn.card(mine, ["S3"], seeds=3).rows[0]["verdict"] == "learned"
    assert log[1] == ("control", "S3", 0)  # right beside the seed that failed
    assert krohn.card(mine, ["S3"], seeds=2).rows[0]["verdict"] == "did not learn while the control did"


def test_half_of_the_seeds_is_no_majority_and_needs_a_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed that fails comes last: when one of one has passed, no control is due yet."""
    log = trained(monkeypatch, lambda name, seed: BAD if seed else GOOD, GOOD)
    assert krohn.card(mine, ["S3"], seeds=2).rows[0]["verdict"] == "did not learn while the control did"
    assert log[-1] == ("control", "S3", 0)


@pytest.mark.parametrize("ends", [0, 1, 2, 3, 4])
def test_what_never_ran_has_no_verdict(ends: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every automaton gets a network before any gets a second; a limit leaves out the last ones."""
    log = trained(monkeypatch, lambda name, seed: GOOD, GOOD, ends)
    card = krohn.card(mine, ["C2", "S3", "A5"], seeds=2, minutes=4, out=tmp_path / "card")
    assert log == [("own", "C2", 0), ("own", "S3", 0), ("own", "A5", 0), ("own", "C2", 1)][:ends]
    names = ["C2", "S3", "A5"]
    wanted = [*["learned"] * min(ends, 3), *["not run"] * (3 - min(ends, 3))]
    assert [row["verdict"] for row in card.rows] == wanted
    idle = ", ".join(names[ends:])
    assert (f"not run: {idle}" in card.stopped) == bool(idle)
    assert card.stopped.startswith("the time limit of 4 minutes was reached; ")
    assert ("fewer seeds than asked: " in card.stopped) == bool(ends)
    badge = ElementTree.parse(tmp_path / "card" / "badge.svg").getroot()
    shown = [part.text for part in badge.iter() if part.tag.endswith("}text")][1]
    run_ = names[:ends]
    text = f"{len(run_)} of {len(run_)} ({' '.join(run_)})" if run_ else "not run"
    assert shown == text + (f", {len(names) - len(run_)} not run" if 0 < len(run_) < 3 else "")
    assert json.loads((tmp_path / "card" / "card.json").read_text())["rows"] == list(card.rows)


def test_a_control_that_was_not_trained_gives_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    trained(monkeypatch, lambda name, seed: BAD, GOOD, ends=1)
    card = krohn.card(mine, ["S3"], seeds=1, minutes=1)
    assert card.rows[0]["verdict"] == "control not run: no verdict"
    assert "no control: S3" in card.stopped


def test_a_card_that_is_under_way_does_not_speak_of_a_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[str] = []
    trained(monkeypatch, lambda name, seed: GOOD, GOOD)
    monkeypatch.setattr(card_files, "save", lambda data, folder: seen.append(data["stopped"]))
    krohn.card(mine, ["C2", "S3"], seeds=1, minutes=9, out=tmp_path / "card")
    assert seen[0] == "not finished; not run: S3"
    assert seen[-1] == ""


@every("spec", card_module.TASKS)
def test_the_control_can_by_theorem_and_is_another_layer(spec: str) -> None:
    automaton = parse_spec(spec)
    for name in ("gpt", *CONTROLS):
        control = control_layer(find_layer(name, 8), automaton, 8)
        assert control.name != name
        assert theorem(automaton, control)["can"] == "yes"
    linear = control_layer(find_layer("gpt", 8), parse_spec("S3"), 8)
    assert linear.name == "deltaproduct,householders=2"


def test_presets_and_what_replaces_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Effort] = []

    def train(factory: Any, automaton: Any, effort: Effort, *given: Any) -> Trained:
        asked.append(effort)
        return Trained(nn.Identity(), *BAD, None, None, 1.0, 10)

    monkeypatch.setattr(task_results, "train_module", train)
    monkeypatch.setattr(card_module, "estimate", lambda *given: 1.0)
    assert run(["card", "gru", "--tasks", "C2", "--seeds", "1", "--json"]) == 0
    assert run(["card", "gru", "--tasks", "C2", "--seeds", "1", "--lr", "0.5", "--batch", "3", "--json"]) == 0
    krohn.card("gru", "C2", preset="papers", seeds=1)
    quick, changed, papers = asked[0], asked[2], asked[4]
    assert {name: getattr(quick, name) for name in PRESETS["quick"]} == PRESETS["quick"]
    assert (changed.lr, changed.batch, changed.steps) == (0.5, 3, quick.steps)
    assert (papers.length, papers.steps * papers.batch, papers.width) == (128, 1_999_872, 128)
    with pytest.raises(InvalidInput, match="a preset must be one of quick, papers; got 'none'"):
        krohn.card("gru", "C2", preset="none")
    with pytest.raises(InvalidInput, match="lr must be above 0"):
        krohn.card("gru", "C2", lr=-1.0)


@pytest.mark.slow
def test_the_control_learns_s3_by_the_default_preset() -> None:
    """What the verdict rests on: a linear layer that can, trained as the card trains, at T and at 4T."""
    before = torch.get_num_threads()
    card = krohn.card(CONTROLS[0], "S3", seeds=1)
    assert card.rows[0]["verdict"] == "learned"
    assert torch.get_num_threads() == before

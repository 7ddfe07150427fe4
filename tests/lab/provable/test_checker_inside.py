"""Parts of a proof by boxes against their definitions: margins, images, refusals, files."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch

from cascade.random_automata import random_automaton
from every import every
from krohn.check.certificate import read_certificate
from krohn.check.ground import Refused, Verdict
from krohn.check.recurrent.boxes import Boxes, boxes_from, build_gated, check
from krohn.check.rules import read_net
from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.provable import box_search
from krohn.lab.provable.box_search import contexts, outwards, search
from krohn.lab.provable.trained import (
    NAME,
    BoxProof,
    claim_boxes,
    provable,
    prove,
    save_certificate,
    witness_of,
)
from krohn.lab.training.trained_network import read_run
from krohn.proving.verification import verify
from krohn.proving.witness.search import checkable_table
from lab.provable.small_cells import (
    KINDS,
    always_zero,
    cell,
    quiet_proof,
    random_tensors,
    showing_states,
    step,
    zeros,
)

NETWORKS = Path(__file__).parents[3] / "results" / "networks"


def random_boxes(size: int, seed: int, count: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sides = np.sort(rng.uniform(-1, 1, (2, count, size)), axis=0)
    return sides[0], sides[1]


@pytest.mark.parametrize("kind", KINDS)
def test_margins_are_the_least_lead_in_any_corner(kind: str) -> None:
    tensors = random_tensors(kind, 3, 1.0, 2, states=4)
    result = cell(kind, tensors)
    low, high = random_boxes(result.size, 0)
    state = np.array([0, 1, 2, 3, 0, 1])
    outcome = result.margins(low, high, state)
    for row, answer in enumerate(state.tolist()):
        leads = []
        for corner in product(*zip(low[row, :3], high[row, :3], strict=True)):
            logits = np.array(corner) @ tensors["head.weight"].astype(float) + tensors["head.bias"]
            leads.append(logits - logits[answer])
        others = np.delete(np.max(leads, axis=0), answer)  # how far each other answer may lead
        assert -others.max() - 1e-4 < outcome[row] < -others.max()


@pytest.mark.parametrize("kind", KINDS)
def test_images_hold_what_the_cell_computes_of_every_point(kind: str) -> None:
    tensors = random_tensors(kind, 4, 0.7, 3)
    actual = cell(kind, tensors)
    low, high = random_boxes(actual.size, 1)
    for row, (box, read) in enumerate(((0, 1), (3, 0), (5, 0), (2, 1))):
        wanted = actual.image(low[[box]], high[[box]], read)
        inside = np.random.default_rng(row).uniform(low[box], high[box], (200, actual.size))
        got = step(kind, tensors, read, inside)
        assert (got > wanted[0]).all()
        assert (got < wanted[1]).all()


def test_sums_in_any_order_stay_inside() -> None:
    """Large weights that cancel: float32 sums differ visibly between orders, and all lie in the image."""
    hidden, rng = 12, np.random.default_rng(0)
    tensors = random_tensors("lstm", hidden, 1.0, 6)
    tensors["weight_hh"] *= np.float32(200)
    point = rng.uniform(-1, 1, 2 * hidden).astype(np.float32)
    tensors["bias"] -= point[:hidden] @ tensors["weight_hh"]  # gates near zero, where they are steep
    low, high = cell("lstm", tensors).image(point[None].astype(float), point[None].astype(float), 1)
    result = set()
    for _ in range(40):
        order = rng.permutation(hidden + 4)
        terms = np.concatenate([
            point[:hidden, None] * tensors["weight_hh"],
            tensors["wte"][1][:, None] * tensors["weight_ih"],
            tensors["bias"][None],
        ])[order]  # fmt: skip
        sums = np.zeros(4 * hidden, np.float32)
        for row in terms:
            sums = sums + row
        i, f, g, o = (part.numpy() for part in torch.tensor(sums).chunk(4))
        i, f, o = (torch.sigmoid(torch.tensor(gate)).numpy() for gate in (i, f, o))
        c = f * point[hidden:] + i * np.tanh(g)
        got = np.concatenate([o * np.tanh(c), c])
        result.add(got.tobytes())
        assert (got >= low[0]).all()
        assert (got <= high[0]).all()
    assert len(result) > 10
    exact = step("lstm", tensors, 1, point[None].astype(float))[0]
    assert np.abs(got - exact).max() > 1e-6  # beyond what is granted to the activations alone


@every(
    ("change", "says"),
    [
        ({}, ""),
        ({"low": np.ones((1, 3))}, "4 sides each"),
        ({"state": np.array([0, 0])}, "4 sides each"),
        ({"follower": np.array([[0]])}, "a follower for each of 2 letters"),
        ({"high": np.array([[1, 1, np.inf, 1]])}, "moderate size"),
        ({"low": np.array([[-1, np.nan, -1, -1]])}, "moderate size"),
        ({"low": np.array([[-1, -1, 2, -1]])}, "no box may be empty"),
        ({"state": np.array([2])}, "states of the automaton, box 0 to its start"),
        ({"state": np.array([1])}, "states of the automaton, box 0 to its start"),
        ({"state": np.array([-1])}, "states of the automaton, box 0 to its start"),
        ({"follower": np.array([[0, 1]])}, "every letter must have a follower"),
        ({"follower": np.array([[-1, 0]])}, "every letter must have a follower"),
        ({"low": np.full((1, 4), 0.1)}, "box 0 must hold the state before the first letter"),
        ({"high": np.full((1, 4), -0.1)}, "box 0 must hold the state before the first letter"),
        (
            {"low": np.zeros((1, 4)), "high": np.full((1, 4), 0.1)},
            "letter 0 must map box 0 into box 0; coordinate 0",
        ),
    ],
)
def test_every_malformed_certificate_gets_an_error_that_says_what_must_hold(
    change: dict[str, np.ndarray], says: str
) -> None:
    parts, boxes, claim = quiet_proof()
    verdict = check(parts, replace(boxes, **change), claim)
    assert says in verdict.reason
    assert verdict.certified == (not says)


def test_a_proof_says_how_much_was_looked_at() -> None:
    parts, boxes, claim = quiet_proof()
    verdict = check(parts, boxes, claim)
    assert (boxes.steps, boxes.widest) == (2, 2.0)
    assert 1 - 1e-5 < verdict.margin <= 1
    wrong = showing_states(1 - claim.table)  # every letter changes the state
    assert "the state that the automaton moves to" in check(parts, boxes, wrong).reason


def test_the_read_out_is_asked_on_every_box_that_a_letter_leads_to() -> None:
    parts, boxes, claim = quiet_proof()
    two = Boxes(
        np.array([0, 0]), np.array([[1, 1], [1, 1]]), *(np.repeat(b, 2, 0) for b in (boxes.low, boxes.high))
    )
    assert check(parts, two, claim).certified
    parts.weights["head.weight"][0] = (-2.0, 2.0)  # h = 1 in the corner now answers 1
    verdict = check(parts, two, claim)
    assert (verdict.at, verdict.certified) == ((1, -1), False)  # box 0 is never asked: no letter leads there


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("bias", None, "lstm needs the tensors"),
        ("bias", np.zeros(7, np.float32), "bias does not"),
        ("wte", np.zeros((2, 4), np.float32), "weight_ih does not"),
        ("weight_hh", np.zeros((2, 6), np.float32), "weight_hh does not"),
        ("head.weight", np.zeros((2, 2)), "head.weight must be finite float32"),
        ("head.bias", np.array([np.nan, 0], np.float32), "head.bias must be finite float32"),
    ],
)
def test_weights_that_are_no_cell_are_refused(name: str, value: np.ndarray | None, says: str) -> None:
    tensors = {part: one for part, one in zeros("lstm", 2).items() if part != name or value is not None}
    if value is not None:
        tensors[name] = value
    with pytest.raises(InvalidInput, match=says):
        build_gated("lstm", tensors, 2, 2)


def test_rows_and_columns_beyond_letters_and_states_are_padding() -> None:
    tensors = random_tensors("gru", 2, 1.0, 0, letters=4, states=8)
    with pytest.raises(InvalidFile, match="padding of wte must be 0"):
        build_gated("gru", tensors, 3, 5)
    tensors["wte"][3:], tensors["head.weight"][:, 5:], tensors["head.bias"][5:] = 0, 0, 0
    result = build_gated("gru", tensors, 3, 5)
    assert (result.num_letters, result.num_states) == (3, 5)
    one_letter = cell("gru", {**tensors, "wte": tensors["wte"][:1]})
    assert "the automaton's letters" in check(one_letter, *quiet_proof()[1:]).reason


def test_a_read_out_that_can_overflow_proves_nothing() -> None:
    parts, boxes, claim = quiet_proof()
    parts.weights["head.weight"][:, 0] = 2.0**127
    assert "overflow" in check(parts, boxes, claim).reason
    parts, boxes, claim = quiet_proof()
    parts.weights["weight_hh"][:, 0] = 2.0**127
    assert "overflow" in check(parts, boxes, claim).reason


@every("seed", range(5))
def test_contexts_are_what_words_lead_to(seed: int) -> None:
    automaton = random_automaton(seed, largest=4)
    result = contexts(checkable_table(automaton))
    assert result is not None
    keys: dict[int, tuple[int, int]] = {0: (automaton.start, -1)}
    for length in range(1, 6):
        for word in product(range(automaton.num_letters), repeat=length):
            state, box = automaton.start, 0
            for letter in word:
                state, box = automaton.step(state, letter), int(result.follower[box, letter])
            assert keys.setdefault(box, (state, word[-1])) == (state, word[-1])
            assert (result.state[box], result.last[box]) == (state, word[-1])
    assert len(set(list(keys.values())[1:])) == len(keys) - 1


def test_too_many_contexts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = random_automaton(0)
    needed = len(contexts(checkable_table(automaton)).state)  # type: ignore[union-attr]
    for most, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(box_search, "MAX_BOXES", most)
        assert (contexts(checkable_table(automaton)) is not None) == fits


@pytest.mark.parametrize("sides", [np.float16, np.float32])
def test_outwards_is_the_nearest_short_float_outside(sides: type[np.float16]) -> None:
    low, high = random_boxes(8, 3)
    low[0, 0], high[0, 0] = -0.5, 0.5  # short already
    down, up = outwards(low, high, sides)
    assert (down <= low).all()
    assert (up >= high).all()
    assert (np.nextafter(down.astype(sides), sides(np.inf)) > low).all()
    assert (np.nextafter(up.astype(sides), sides(-np.inf)) < high).all()
    assert (down[0, 0], up[0, 0]) == (-0.5, 0.5)


@pytest.mark.parametrize("sides", ["f2", "f4", "f8"])
def test_boxes_are_read_as_they_were_written(sides: str) -> None:
    _, boxes, _ = quiet_proof()
    witness = json.loads(json.dumps(witness_of(boxes, sides)))
    again = boxes_from(witness)
    for name in ("state", "follower", "low", "high"):
        assert np.array_equal(getattr(again, name), getattr(boxes, name))
        assert getattr(again, name).dtype == getattr(boxes, name).dtype
    third = replace(boxes, low=boxes.low / 3)
    if sides == "f8":
        assert np.array_equal(boxes_from(witness_of(third, sides)).low, third.low)
    else:
        with pytest.raises(Refused, match="does not hold the sides"):
            witness_of(third, sides)  # a third is no short float


@every(
    ("change", "says"),
    [
        ({"state": []}, "at most 4096, each with a state"),
        ({"state": [0.0]}, "at most 4096, each with a state"),
        ({"state": [True]}, "at most 4096, each with a state"),
        ({"follower": [[0, 0], [0, 0]]}, "at most 4096, each with a state"),
        ({"follower": [[0, 2**70]]}, "at most 4096, each with a state"),
        ({"sides": "f1"}, "sides must be f2, f4 or f8"),
        ({"width": True}, "sides must be f2, f4 or f8"),
        ({"width": 3}, "3 sides each"),
        ({"low": "AAA?"}, "4 sides each, in base64"),
        ({"high": 7}, "base64 text"),
        ({"more": 1}, "boxes must have"),
    ],
)
def test_an_invalid_witness_is_named(change: dict[str, object], says: str) -> None:
    _, boxes, _ = quiet_proof()
    with pytest.raises(InvalidFile, match=says):
        boxes_from({**witness_of(boxes), **change})


def test_a_certificate_is_used_only_if_it_is_about_the_network(tmp_path: Path) -> None:
    folder = NETWORKS / "grid4-lstm-proved"
    trained, net = read_run(folder), read_net(folder)
    assert provable(trained)
    assert not provable(read_run(NETWORKS / "c2-gpt"))
    stored = boxes_from(read_certificate(folder / NAME).witness)
    spoiled = replace(stored, low=stored.low - 20.0)
    for name in ("config.json", "weights.safetensors", "result.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    save_certificate(claim_boxes(net, trained.automaton, spoiled, "f8"), tmp_path / NAME)
    report = verify(folder, certificate=tmp_path / NAME)
    assert not report.certified
    assert "letter" in report.reason
    again = prove(trained, trained.automaton, near=tmp_path)  # the file is no proof: boxes are searched
    assert again.verdict.certified
    assert not np.array_equal(again.boxes.low, spoiled.low)
    near = prove(trained, trained.automaton, near=folder)
    assert np.array_equal(near.boxes.low, stored.low)


def test_the_json_of_a_failed_proof() -> None:
    _, boxes, _ = quiet_proof()
    report = BoxProof(boxes, Verdict(False, 0.0, "no")).to_json()
    assert (report["proved"], report["failure"], report["boxes"]) == (False, "no", 1)


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_of_a_search_hold_every_run(kind: str) -> None:
    """Small weights contract: the search ends with a proof, and runs of the definition stay inside."""
    tensors = random_tensors(kind, 3, 0.3, 8)
    tensors["head.bias"][0] += np.float32(3.0)
    claim = always_zero()
    result = contexts(claim)
    assert result is not None
    boxes, verdict = search(cell(kind, tensors), claim, result)
    assert verdict.certified
    rng = np.random.default_rng(0)
    state, box = np.zeros((1, boxes.low.shape[1])), 0
    for letter in rng.integers(2, size=60).tolist():
        state, box = step(kind, tensors, letter, state), int(boxes.follower[box, letter])
        assert (state >= boxes.low[box]).all()
        assert (state <= boxes.high[box]).all()

"""The parts of a proof by boxes: margins, images, refusals, files, closures, each against its definition."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from cascade.random_automata import random_automaton
from krohn.errors import InvalidFile, InvalidInput
from krohn.evaluate.trained_states import trained_states
from krohn.trained import box_search, proving
from krohn.trained.box_certificate import NAME, BoxCertificate, digest, load_certificate
from krohn.trained.box_check import Boxes, BoxVerdict, check, margins
from krohn.trained.box_loss import IMAGES, memory_gate, worst_leads
from krohn.trained.box_search import Claim, _outwards, all_words, contexts, search
from krohn.trained.proving import Proof, provable, prove, recheck
from krohn.trained.rounded import _roundings, close
from trained.small_cells import KINDS, always_zero, cell, quiet_proof, random_tensors, step, zeros

NETWORKS = Path(__file__).parents[2] / "results" / "networks"


def random_boxes(size: int, seed: int, count: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sides = np.sort(rng.uniform(-1, 1, (2, count, size)), axis=0)
    return sides[0], sides[1]


@pytest.mark.parametrize("kind", KINDS)
def test_margins_are_the_least_lead_in_any_corner(kind: str) -> None:
    tensors = random_tensors(kind, 3, 1.0, 2, states=4)
    made = cell(kind, tensors)
    low, high = random_boxes(made.size, 0)
    state = np.array([0, 1, 2, 3, 0, 1])
    found = margins(made, low, high, state)
    torched = worst_leads(
        {name: torch.tensor(value).double() for name, value in tensors.items()},
        *(torch.tensor(side) for side in (low, high)),
        torch.tensor(state),
    )
    for row, answer in enumerate(state.tolist()):
        leads = []
        for corner in product(*zip(low[row, :3], high[row, :3], strict=True)):
            logits = np.array(corner) @ tensors["head.weight"].astype(float) + tensors["head.bias"]
            leads.append(logits - logits[answer])
        others = np.delete(np.max(leads, axis=0), answer)  # how far each other answer may lead
        assert -others.max() - 1e-4 < found[row] < -others.max()
        assert np.allclose(np.delete(torched[row].numpy(), answer), others)
        assert torched[row, answer] == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_sees_the_images_that_the_checker_sees(kind: str) -> None:
    tensors = random_tensors(kind, 4, 0.7, 3)
    made = cell(kind, tensors)
    low, high = random_boxes(made.size, 1)
    weights = {name: torch.tensor(value).double() for name, value in tensors.items()}
    source, letter = torch.tensor([0, 3, 5, 2]), torch.tensor([1, 0, 0, 1])
    image = IMAGES[kind](weights, *(torch.tensor(side) for side in (low, high)), source, letter)
    for row, (box, read) in enumerate(zip(source.tolist(), letter.tolist(), strict=True)):
        wanted = made.image(low[[box]], high[[box]], read)
        for ours, theirs in zip(image, wanted, strict=True):
            assert np.allclose(ours[row].numpy(), theirs[0], atol=1e-5)
        inside = np.random.default_rng(row).uniform(low[box], high[box], (200, made.size))
        got = step(kind, tensors, read, inside)
        assert (got > wanted[0]).all()
        assert (got < wanted[1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_gate_that_is_held_down_is_the_one_that_keeps_the_old_state(kind: str) -> None:
    """If it is far above zero the state stays, whatever the other gates do."""
    tensors = random_tensors(kind, 3, 0.5, 4)
    centre = torch.tensor(np.random.default_rng(5).uniform(-1, 1, (8, 6 if kind == "lstm" else 3)))
    letter = torch.arange(8) % 2
    weights = {name: torch.tensor(value).double() for name, value in tensors.items()}
    gate = memory_gate(kind, weights, centre, letter).numpy()
    state = centre.numpy()
    for row in range(8):
        before = step(kind, tensors, int(letter[row]), state[[row]])[0]
        opened = {name: value.copy() for name, value in tensors.items()}
        opened["bias" if kind == "lstm" else "bias_hh"][3:6] += (60 - gate[row]).astype(np.float32)
        after = step(kind, opened, int(letter[row]), state[[row]])[0]
        if kind == "gru":
            assert np.allclose(after, state[row], atol=1e-6)
        else:  # c' = σ(f)·c + the rest
            share = 1 / (1 + np.exp(-gate[row]))
            assert np.allclose(after[3:] - before[3:], (1 - share) * state[row, 3:], atol=1e-6)


def test_sums_in_any_order_stay_inside() -> None:
    """Large weights that cancel: float32 sums differ visibly between orders, and all lie in the image."""
    hidden, rng = 12, np.random.default_rng(0)
    tensors = random_tensors("lstm", hidden, 1.0, 6)
    tensors["weight_hh"] *= np.float32(200)
    point = rng.uniform(-1, 1, 2 * hidden).astype(np.float32)
    tensors["bias"] -= point[:hidden] @ tensors["weight_hh"]  # gates near zero, where they are steep
    low, high = cell("lstm", tensors).image(point[None].astype(float), point[None].astype(float), 1)
    found = set()
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
        found.add(got.tobytes())
        assert (got >= low[0]).all()
        assert (got <= high[0]).all()
    assert len(found) > 10
    exact = step("lstm", tensors, 1, point[None].astype(float))[0]
    assert np.abs(got - exact).max() > 1e-6  # beyond what is granted to the activations alone


@pytest.mark.parametrize(
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
        ({"follower": np.array([[0, 1]])}, "every allowed letter must have a follower"),
        ({"follower": np.array([[-1, 0]])}, "every allowed letter must have a follower"),
        ({"low": np.full((1, 4), 0.1)}, "box 0 must hold the state before the first letter"),
        ({"high": np.full((1, 4), -0.1)}, "box 0 must hold the state before the first letter"),
        (
            {"low": np.zeros((1, 4)), "high": np.zeros((1, 4))},
            "letter 0 must map box 0 into box 0; coordinate 0",
        ),
    ],
)
def test_every_malformed_certificate_is_told_what_must_hold(change: dict[str, np.ndarray], says: str) -> None:
    made, boxes, claim = quiet_proof()
    found = check(made, replace(boxes, **change), claim.table, claim.start, claim.allowed)
    assert says in found.failure
    assert found.proved == (not says)


def test_a_proof_says_how_much_was_looked_at() -> None:
    made, boxes, claim = quiet_proof()
    found = check(made, boxes, claim.table, claim.start, claim.allowed)
    assert (found.steps, found.widest) == (2, 2.0)
    assert 1 - 1e-5 < found.margin < 1
    wrong = Claim(1 - claim.table, 0, claim.allowed)  # every letter changes the state
    assert (
        "the state that the automaton moves to" in check(made, boxes, wrong.table, 0, wrong.allowed).failure
    )
    forbidden = check(made, boxes, claim.table, 0, np.zeros((2, 2), dtype=bool))
    assert forbidden.steps == 0


def test_the_read_out_is_asked_on_every_box_that_a_letter_leads_to() -> None:
    made, boxes, claim = quiet_proof()
    two = Boxes(
        np.array([0, 0]), np.array([[1, 1], [1, 1]]), *(np.repeat(b, 2, 0) for b in (boxes.low, boxes.high))
    )
    assert check(made, two, claim.table, 0, claim.allowed).proved
    made.head[0] = (-2.0, 2.0)  # h = 1 in the corner now answers 1
    found = check(made, two, claim.table, 0, claim.allowed)
    assert (found.at, found.proved) == ((1, -1), False)  # box 0 is never asked: no letter leads there


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("bias", None, "must have the weights"),
        ("bias", np.zeros(7, np.float32), r"bias must have shape \(8,\)"),
        ("wte", np.zeros((1, 3), np.float32), r"wte must have shape \(2, 3\)"),
        ("weight_hh", np.zeros((2, 6), np.float32), "weight_hh must have shape"),
        ("head.weight", np.zeros((2, 2)), "float32 numbers of moderate size"),
        ("head.bias", np.array([np.nan, 0], np.float32), "float32 numbers of moderate size"),
        ("head.bias", np.array([2.0**41, 0], np.float32), "float32 numbers of moderate size"),
    ],
)
def test_weights_that_are_no_cell_are_refused(name: str, value: np.ndarray | None, says: str) -> None:
    tensors = {part: one for part, one in zeros("lstm", 2).items() if part != name or value is not None}
    if value is not None:
        tensors[name] = value
    from krohn.trained.box_check import LstmCell

    with pytest.raises(InvalidInput, match=says):
        LstmCell(tensors, 2, 2)


@pytest.mark.parametrize("letters", [1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_contexts_are_what_words_lead_to(seed: int, letters: int) -> None:
    automaton = random_automaton(seed, largest=4)
    rng = np.random.default_rng(seed)
    allowed = rng.random(automaton.table.shape) < 0.8
    claim = Claim(automaton.table.astype(np.int64), automaton.start, allowed)
    found = contexts(claim, letters)
    assert found is not None
    keys: dict[int, tuple[int, tuple[int, ...]]] = {0: (automaton.start, ())}
    for length in range(1, 6):
        for word in product(range(automaton.num_letters), repeat=length):
            state, box, legal = automaton.start, 0, True
            for letter in word:
                legal = legal and bool(allowed[state, letter])
                if legal:
                    state, box = automaton.step(state, letter), int(found.follower[box, letter])
            if legal:
                assert keys.setdefault(box, (state, word[-letters:])) == (state, word[-letters:])
                assert (found.state[box], found.last[box]) == (state, word[-1])
    assert len(set(list(keys.values())[1:])) == len(keys) - 1
    assert ((found.follower >= 0) == allowed[found.state]).all()


def test_too_many_contexts_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = random_automaton(0)
    needed = len(contexts(all_words(automaton)).state)  # type: ignore[union-attr]
    for most, fits in ((needed, True), (needed - 1, False)):
        monkeypatch.setattr(box_search, "MAX_BOXES", most)
        assert (contexts(all_words(automaton)) is not None) == fits


@pytest.mark.parametrize("sides", [np.float16, np.float32])
def test_outwards_is_the_nearest_short_float_outside(sides: type[np.float16]) -> None:
    low, high = random_boxes(8, 3)
    low[0, 0], high[0, 0] = -0.5, 0.5  # short already
    down, up = _outwards(low, high, sides)
    assert (down <= low).all()
    assert (up >= high).all()
    assert (np.nextafter(down.astype(sides), sides(np.inf)) > low).all()
    assert (np.nextafter(up.astype(sides), sides(-np.inf)) < high).all()
    assert (down[0, 0], up[0, 0]) == (-0.5, 0.5)


def test_a_certificate_is_read_as_it_was_written(tmp_path: Path) -> None:
    _, boxes, _ = quiet_proof()
    made = BoxCertificate(boxes, "lstm", "automaton", "weights", "training", np.float16)
    made.save(tmp_path / "a")
    made.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    again = load_certificate(tmp_path / "a")
    assert (again.kind, again.automaton, again.weights, again.words) == (
        "lstm", "automaton", "weights", "training"
    )  # fmt: skip
    for name in ("state", "follower", "low", "high"):
        assert np.array_equal(getattr(again.boxes, name), getattr(boxes, name))
    assert again.sides is np.float16
    third = replace(made, boxes=replace(boxes, low=boxes.low / 3))
    with pytest.raises(AssertionError):
        third.save(tmp_path / "c")  # a third is no short float


@pytest.mark.parametrize("change", [{"krohn": "2"}, {"words": "some"}, {"words": None}])
def test_a_file_of_another_version_or_about_other_words_is_refused(
    change: dict[str, str | None], tmp_path: Path
) -> None:
    _, boxes, _ = quiet_proof()
    tensors = {name: getattr(boxes, name) for name in ("state", "follower", "low", "high")}
    about = {"krohn": "1", "kind": "lstm", "automaton": "a", "weights": "w", "words": "all", **change}
    given = {name: value for name, value in about.items() if value is not None}
    (tmp_path / "file").write_bytes(save(tensors, given))
    with pytest.raises(InvalidFile, match="certificate of boxes, version 1"):
        load_certificate(tmp_path / "file")


def test_a_digest_is_of_names_shapes_and_numbers() -> None:
    one = {"a": np.arange(6, dtype=np.float32), "b": np.ones(2, np.float32)}
    same = dict(reversed(one.items()))
    assert digest(one) == digest(same)
    others = [
        {**one, "a": one["a"].reshape(2, 3)},
        {**one, "a": one["a"] + np.float32(1e-6)},
        {"c": one["a"], "b": one["b"]},
        {"a": one["a"]},
    ]
    assert len({digest(other) for other in others} | {digest(one)}) == 5


def test_a_certificate_is_used_only_for_the_words_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = trained_states(NETWORKS / "grid4-lstm-proved")
    assert provable(trained)
    assert not provable(trained_states(NETWORKS / "c2-gpt"))
    kept = load_certificate(NETWORKS / "grid4-lstm-proved" / NAME)
    spoiled = replace(kept.boxes, low=kept.boxes.low - 20.0)
    replace(kept, boxes=spoiled).save(tmp_path / NAME)
    found = recheck(trained, trained.automaton, tmp_path / NAME)
    assert not found.verdict.proved
    assert found.to_json()["failure"] == found.failure != ""
    assert "letter" in found.failure
    again = prove(trained, trained.automaton, "all", near=tmp_path)  # no proof: boxes are searched
    assert again.verdict.proved
    assert not np.array_equal(again.boxes.low, spoiled.low)
    near = prove(trained, trained.automaton, "all", near=NETWORKS / "grid4-lstm-proved")
    assert np.array_equal(near.boxes.low, kept.boxes.low)  # read from the file, so bit by bit
    # What a search finds may differ in its last digits between machines: only that it is a proof, and not the
    # one in the file, is asked.
    replace(kept, words="training").save(tmp_path / NAME)
    searched = []
    monkeypatch.setattr(proving, "search", lambda *given: searched.append(given) or search(*given))
    other = prove(trained, trained.automaton, "all", near=tmp_path)
    assert len(searched) == 1  # the file is a proof, but about other words
    assert other.words == "all"
    assert other.verdict.proved
    prove(trained, trained.automaton, "all", near=NETWORKS / "grid4-lstm-proved")
    assert len(searched) == 1  # this one is about all words


def test_json_of_a_proof_that_is_none() -> None:
    _, boxes, _ = quiet_proof()
    said = Proof("all", boxes, BoxVerdict("no")).to_json()
    assert (said["proved"], said["failure"], said["rounded"], said["boxes"]) == (False, "no", None, 1)


def rounded_answer(kind: str, tensors: dict[str, np.ndarray], word: tuple[int, ...], bits: int) -> int:
    state = np.zeros((1, cell(kind, tensors).size))
    for letter in word:
        state = np.rint(step(kind, tensors, letter, state) * 2**bits) / 2**bits
    hidden = len(tensors["weight_hh"])
    return int((state[0, :hidden] @ tensors["head.weight"] + tensors["head.bias"]).argmax())


@pytest.mark.parametrize("kind", KINDS)
def test_closures_decide_as_words_one_by_one_do(kind: str) -> None:
    """A wrong word is wrong, and no shorter one is; where none is found there is none up to five letters."""
    proved = refuted = 0
    for seed in range(12):
        tensors = random_tensors(kind, 2, 1.5, seed)
        tensors["head.bias"][0] += np.float32(1.0)
        found = close(cell(kind, tensors), always_zero(), 2, most=200)
        if found.reason:
            assert found.reason == "more than 200 states are reached"
            continue
        longest = 5 if found.wrong is None else len(found.wrong) - 1
        for length in range(1, longest + 1):
            for word in product(range(2), repeat=length):
                assert rounded_answer(kind, tensors, word, 2) == 0
        if found.wrong is not None:
            assert rounded_answer(kind, tensors, found.wrong, 2) == 1
        proved, refuted = proved + found.proved, refuted + (found.wrong is not None)
    assert proved > 1 < refuted


def test_all_roundings_between_two_neighbours_are_followed() -> None:
    down, up = np.array([0, 3, -1]), np.array([1, 3, 0])
    found = {tuple(point.tolist()) for point in _roundings(down, up)}
    assert found == {(0, 3, -1), (1, 3, -1), (0, 3, 0), (1, 3, 0)}


def test_a_state_that_rounding_leaves_open_is_not_followed() -> None:
    """Huge weights that cancel: the gate may be anything, so the next state lies between far grid points."""
    tensors = zeros("lstm", 1)
    tensors["head.bias"][0] = 5.0
    tensors["wte"][0, 0] = tensors["wte"][1, 1] = 1.0
    i, f, g, o = range(4)
    tensors["weight_ih"][0, [i, f, g, o]] = (50.0, -50.0, 50.0, 50.0)  # letter 0 writes 1
    tensors["weight_ih"][1, [i, f, o]] = (-50.0, 2.0**32, 50.0)  # letter 1 keeps it, or not
    tensors["bias"][f] = -(2.0**32)
    found = close(cell("lstm", tensors), always_zero(), 4)
    assert not found.proved
    assert "between" in found.reason


def test_limits_of_a_closure_are_told() -> None:
    tensors = random_tensors("lstm", 2, 1.5, 0)
    tensors["head.bias"][0] += np.float32(50.0)
    made = cell("lstm", tensors)
    assert close(made, always_zero(), 6, most=3).reason == "more than 3 states are reached"
    assert close(made, always_zero(), 2).proved


@pytest.mark.parametrize("kind", KINDS)
def test_boxes_of_a_search_hold_every_run(kind: str) -> None:
    """Small weights contract: the search ends with a proof, and runs of the definition stay inside."""
    tensors = random_tensors(kind, 3, 0.3, 8)
    tensors["head.bias"][0] += np.float32(3.0)
    claim = always_zero()
    found = contexts(claim)
    assert found is not None
    boxes, verdict = search(cell(kind, tensors), claim, found)
    assert verdict.proved
    rng = np.random.default_rng(0)
    state, box = np.zeros((1, boxes.low.shape[1])), 0
    for letter in rng.integers(2, size=60).tolist():
        state, box = step(kind, tensors, letter, state), int(boxes.follower[box, letter])
        assert (state >= boxes.low[box]).all()
        assert (state <= boxes.high[box]).all()

"""Boxes prove what they say: against the cells of torch, broken certificates and broken networks."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.arithmetic.format import BEND, FORMATS
from krohn.check.certificate import read_certificate
from krohn.check.files.reader import Automaton
from krohn.check.ground import Refused, Verdict
from krohn.check.recurrent.boxes import Boxes, boxes_from, check
from krohn.check.rules import check_certificate, read_net
from krohn.cli.app import run
from krohn.functions import simulate
from krohn.lab.provable.box_search import SHORT, contexts, proof_summary, search, shorten
from krohn.lab.provable.exact import habitual, uniform
from krohn.lab.provable.trained import NAME, BoxProof, cell_of, certificate_of, tensors_of
from krohn.lab.training.trained_network import TrainedNetwork, read_run
from krohn.proving.witness.search import checkable_table
from lab.provable.small_cells import cell as made_cell
from lab.provable.small_cells import showing_states
from recurrent.judge import gated_logits, right

KEPT = Path(__file__).parents[3] / "results" / "networks" / "grid4-lstm-proved"


@pytest.fixture(scope="module")
def stored() -> tuple[TrainedNetwork, Boxes, Automaton]:
    trained = read_run(KEPT)
    return (
        trained,
        boxes_from(read_certificate(KEPT / NAME).witness),
        checkable_table(trained.automaton),
    )


def proved(cell: object, boxes: Boxes, claim: Automaton) -> bool:
    return check(cell, boxes, claim).certified  # type: ignore[arg-type]


def random_cell(kind: str, hidden: int, scale: float, seed: int) -> tuple[dict[str, np.ndarray], object]:
    rng, gates = np.random.default_rng(seed), {"lstm": 4, "gru": 3}[kind]
    sizes = {"wte": (2, 3), "weight_ih": (3, gates * hidden), "weight_hh": (hidden, gates * hidden)}
    sizes |= {"head.weight": (hidden, 2), "head.bias": (2,)}
    sizes |= dict.fromkeys(["bias"] if kind == "lstm" else ["bias_ih", "bias_hh"], (gates * hidden,))
    tensors = {name: rng.normal(0, scale, size).astype(np.float32) for name, size in sizes.items()}
    return tensors, made_cell(kind, tensors)


def torch_step(kind: str, w: dict[str, np.ndarray], letter: int, points: np.ndarray) -> np.ndarray:
    """One step of torch's own cell in float32."""
    t = {name: torch.tensor(value) for name, value in w.items()}
    hidden = len(w["weight_hh"])
    cell = (torch.nn.LSTMCell if kind == "lstm" else torch.nn.GRUCell)(3, hidden)
    with torch.no_grad():
        cell.weight_ih.copy_(t["weight_ih"].T)
        cell.weight_hh.copy_(t["weight_hh"].T)
        cell.bias_ih.copy_(t["bias"] if kind == "lstm" else t["bias_ih"])
        cell.bias_hh.copy_(torch.zeros(4 * hidden) if kind == "lstm" else t["bias_hh"])
        read = t["wte"][letter].expand(len(points), -1)
        state = torch.tensor(points)
        if kind == "lstm":
            return torch.cat(cell(read, (state[:, :hidden], state[:, hidden:])), 1).numpy()
        return cell(read, state).numpy()


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_images_hold_what_torch_computes(kind: str, scale: float) -> None:
    rng, hidden = np.random.default_rng(5), 6
    tensors, cell = random_cell(kind, hidden, scale, 1)
    for width in (0.0, 1e-6, 0.5):
        middle = rng.uniform(-1, 1, (20, cell.size)).astype(np.float32)
        points = middle + rng.uniform(-width, width, (50, 20, cell.size)).astype(np.float32)
        low, high = points.min(0).astype(float), points.max(0).astype(float)
        for letter in (0, 1):
            image = cell.image(low, high, letter)
            got = np.stack([torch_step(kind, tensors, letter, sheet) for sheet in points])
            assert (got >= image[0]).all()
            assert (got <= image[1]).all()
            if width == 0.0:  # a point: the enclosure is that of rounding alone
                assert (image[1] - image[0]).max() < 1e-4
                assert not (got >= image[0] + 1e-4).all()


def test_library_functions_keep_the_assumed_accuracy() -> None:
    x = np.random.default_rng(0).uniform(-20, 20, 300_000).astype(np.float32)
    exact = {"tanh": np.tanh(x.astype(float)), "sigmoid": 1 / (1 + np.exp(-x.astype(float)))}
    for name, value in exact.items():
        assert (
            np.abs(getattr(torch, name)(torch.tensor(x)).numpy() - value).max()
            < BEND * FORMATS["float32"].inner.unit / 2
        )


@every("file", sorted(KEPT.parent.glob(f"*-proved/{NAME}")))
def test_kept_certificates_are_checked_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(file.parent), "--recheck", str(file), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["certified"] is payload["every_length"] is True


def test_a_proof_is_found_and_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["verify", str(KEPT), "--effort", "0.01", "--out", str(tmp_path / "b"), "--json"]) == 0
    payload = json.loads(capsys.readouterr().out)
    assert payload["every_length"] is True
    assert payload["exact"]["wrong"] == 0
    assert run(["verify", str(KEPT), "--recheck", str(tmp_path / "b")]) == 0


@pytest.mark.parametrize("name", ["f2", "f4"])
def test_boxes_in_short_floats_hold_the_boxes_and_are_a_proof(
    name: str, stored: tuple[TrainedNetwork, Boxes, Automaton]
) -> None:
    trained, boxes, claim = stored
    cell = cell_of(trained)
    short, sides = shorten(cell, boxes, name), SHORT[name]
    assert (short.low <= boxes.low).all()
    assert (short.high >= boxes.high).all()
    assert (short.low == short.low.astype(sides)).all()
    assert (short.high == short.high.astype(sides)).all()
    assert proved(cell, short, claim)
    inwards = np.nextafter(short.low.astype(sides), sides(np.inf)).astype(float)
    assert not proved(cell, Boxes(short.state, short.follower, inwards, short.high), claim)


def test_a_written_certificate_has_the_shortest_floats_that_prove(
    stored: tuple[TrainedNetwork, Boxes, Automaton],
) -> None:
    trained, boxes, _ = stored
    result = certificate_of(KEPT, trained, trained.automaton, BoxProof(boxes, Verdict(True, 1.0, "")))
    assert result.witness["sides"] == "f2"
    assert check_certificate(read_net(KEPT), result).certified
    assert (result.claim.up_to, result.claim.words, result.claim.order) == (None, "all", "any")
    assert set(result.claim.assumptions) == {"rounding", "sum", "saturation", "sigmoid", "tanh"}


def test_real_runs_stay_inside_the_boxes(stored: tuple[TrainedNetwork, Boxes, Automaton]) -> None:
    trained, boxes, _ = stored
    words, w = habitual(trained.automaton, 200), {n: torch.tensor(v) for n, v in tensors_of(trained).items()}
    key = np.zeros(len(words), dtype=np.int64)
    h = c = torch.zeros(len(words), len(w["weight_hh"]))
    for column in words.T:
        i, f, g, o = (w["wte"][column] @ w["weight_ih"] + w["bias"] + h @ w["weight_hh"]).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        key = boxes.follower[key, column]
        state = torch.cat((h, c), 1).numpy()
        assert ((state >= boxes.low[key]) & (state <= boxes.high[key])).all()


def test_broken_certificates_are_refused(stored: tuple[TrainedNetwork, Boxes, Automaton]) -> None:
    trained, boxes, claim = stored
    cell, b = cell_of(trained), boxes
    assert proved(cell, b, claim)
    nan, empty, small, away = (b.low.copy() for _ in range(4))
    nan[3, 0], empty[2, 1], away[0, 0] = np.nan, b.high[2, 1] + 1, 1e-3
    small[1] = b.high[1]
    swapped = b.follower.copy()
    swapped[2, 0] = (swapped[2, 0] + 1) % len(b.state)
    broken = [Boxes(b.state, b.follower, low, b.high) for low in (nan, empty, small, away)]
    broken += [
        Boxes(b.state, swapped, b.low, b.high),
        Boxes(b.state, np.full_like(b.follower, -1), b.low, b.high),
        Boxes((b.state + 1) % 4, b.follower, b.low, b.high),
        Boxes(b.state, b.follower, b.low - 50, b.high + 50),
        Boxes(b.state, b.follower, b.low[:, 1:], b.high[:, 1:]),
        Boxes(b.state[:0], b.follower[:0], b.low[:0], b.high[:0]),
        Boxes(b.state, b.follower, np.full_like(b.low, -np.inf), b.high),
    ]
    for number, certificate in enumerate(broken):
        assert not proved(cell, certificate, claim), number
    other = showing_states(claim.table[:, ::-1].copy(), claim.start)
    assert not proved(cell, b, other)


def test_mutants_are_never_proved_and_wrong(stored: tuple[TrainedNetwork, Boxes, Automaton]) -> None:
    trained, boxes, claim = stored
    rng, original = np.random.default_rng(3), tensors_of(trained)
    result = contexts(claim)
    assert result is not None
    words = np.concatenate([uniform(trained.automaton, 60)[:200], habitual(trained.automaton, 60)])
    wanted = np.asarray(simulate(trained.automaton, words))
    outcomes = set()
    for number in range(18):
        tensors = {name: value.copy() for name, value in original.items()}
        name = sorted(tensors)[number % len(tensors)]
        sizes = trained.weights[name][0].shape
        if name == "wte":
            sizes = (trained.automaton.num_letters, sizes[1])
        elif name.startswith("head"):  # padding must be 0
            sizes = (*sizes[:-1], trained.automaton.num_states)
        place = tuple(rng.integers(0, size) for size in sizes)
        tensors[name][place] += np.float32(rng.normal(0, [1.0, 30.0, 300.0][number % 3]))
        weights = {part: torch.tensor(value)[None] for part, value in tensors.items()}
        mutant = TrainedNetwork(trained.network, weights, trained.task, 0)
        cell = cell_of(mutant)
        certified = proved(cell, boxes, claim) or search(cell, claim, result, rounds=60)[1].certified
        right = bool((mutant.forward(words) == wanted).all())
        assert right or not certified
        outcomes.add((certified, right))
    assert (True, True) in outcomes
    assert (False, False) in outcomes


def test_a_memory_that_never_fades_is_not_proved() -> None:
    """A cell that only adds up: every word moves it further, and no box can hold it."""
    tensors, _ = random_cell("lstm", 4, 0.1, 0)
    tensors["bias"][4:8] = 60.0  # forget gates are 1
    claim = showing_states(np.array([[0, 0], [1, 1]]))
    result = contexts(claim)
    assert result is not None
    tensors["head.bias"][0] = 5.0  # right on short words: the state never changes
    boxes, verdict = search(made_cell("lstm", tensors), claim, result)
    assert not verdict.certified
    automaton = Semiautomaton(((0, 1), (0, 1)), state_names=("left", "right"), letter_names=("x", "y"))
    assert proof_summary(boxes, verdict, automaton).endswith(
        "(state left after letter x; letter x must lead to state left)"
    )


def test_a_certificate_of_other_weights_proves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad").write_bytes(b"nothing")
    for file, says in ((tmp_path / "bad", "bad"), (tmp_path / "none", "none")):
        assert run(["verify", str(KEPT), "--recheck", str(file)]) == 2
        assert says in capsys.readouterr().err
    old = tmp_path / "old.json"
    old.write_text('{"krohn": 1, "boxes": []}')
    assert run(["verify", str(KEPT), "--recheck", str(old)]) == 2
    assert "renew it: krohn verify NETWORK --out CERTIFICATE" in capsys.readouterr().err
    other = KEPT.parent / "grid4-lstm-broken"
    for folder in (other, KEPT.parent / "c2-gpt"):
        assert run(["verify", str(folder), "--recheck", str(KEPT / NAME)]) == 1
        assert capsys.readouterr().out.startswith("not certified: ")


def large_read_out(w: dict[str, np.ndarray]) -> None:
    """Logits beyond the largest number."""
    w["head.weight"] *= np.float32(2.0**125)


def no_number_in_a_silent_unit(w: dict[str, np.ndarray]) -> None:
    """A unit that nobody reads is no number: its gates overflow to both sides."""
    hidden = len(w["weight_hh"])
    w["weight_hh"][0], w["head.weight"][0] = 0.0, 0.0
    columns = np.arange(4) * hidden
    w["weight_ih"][:, columns] = 3e38 * np.sign(w["weight_ih"][:, columns])
    w["wte"] *= np.float32(2.0)


def unread_letter_sum(w: dict[str, np.ndarray]) -> None:
    """The gates of a unit that nobody reads: large numbers that cancel for one letter, and not for sums."""
    hidden = len(w["weight_hh"])
    w["weight_hh"][1], w["head.weight"][1] = 0.0, 0.0
    w["bias"][np.arange(4) * hidden + 1] = np.float32(3e38)
    w["weight_hh"][:, np.arange(4) * hidden + 1] = np.float32(-3e38)
    w["weight_ih"][:, np.arange(4) * hidden + 1] = np.float32(3e38)


@pytest.mark.parametrize("spoil", [large_read_out, no_number_in_a_silent_unit, unread_letter_sum])
def test_boxes_need_every_number_to_be_finite(
    spoil: Callable[[dict[str, np.ndarray]], None], stored: tuple[TrainedNetwork, Boxes, Automaton]
) -> None:
    """torch's own cell answers wrongly, or with no number; neither the old boxes nor new ones prove it."""
    trained, boxes, claim = stored
    tensors = {name: value.copy() for name, value in tensors_of(trained).items()}
    states, letters = claim.table.shape
    tensors["wte"], tensors["head.bias"] = tensors["wte"][:letters], tensors["head.bias"][:states]
    tensors["head.weight"] = np.ascontiguousarray(tensors["head.weight"][:, :states])
    word = habitual(trained.automaton, 40)[0].tolist()
    assert right(gated_logits("lstm", tensors, word), trained.automaton, word)
    spoil(tensors)
    assert not right(gated_logits("lstm", tensors, word), trained.automaton, word)
    result = contexts(claim)
    assert result is not None
    with np.errstate(all="ignore"):
        cell = made_cell("lstm", tensors)
        with suppress(Refused):
            assert not check(cell, boxes, claim).certified
        assert not search(cell, claim, result, rounds=40)[1].certified

"""Cells letter by letter against their definitions and torch; settled sums against all orders of adding."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput
from krohn.recurrent.balls import Ball, DiagonalBalls, TooWide, _bfloat16
from krohn.recurrent.cells import Cell, Gru, Lstm, Sums, grain_of, sigmoid
from krohn.recurrent.closure import _fits, _lead
from krohn.recurrent.linear_cells import DeltaStack, DiagonalStack
from krohn.recurrent.rankone_witness import RankOneStack
from krohn.recurrent.witness_files import CELLS
from krohn.recurrent.witnesses import WITNESSES, diagonal
from recurrent.naive_stacks import DIM, HEADS, STATES, naive_logits, random_stack

KINDS = ["deltaproduct", "rankone", "unit", "signed", "complex"]
WORD = [0, 1, 1, 0, 1, 0, 0]


def answers(cell: Cell, word: list[int]) -> np.ndarray:
    states, found = np.zeros((1, cell.size), np.float32), []
    for letter in word:
        states, logits = cell.answer(states, letter)
        found.append(logits[0])
    return np.array(found)


@pytest.mark.parametrize(("conv", "mlp"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stack_is_what_its_definition_says(kind: str, conv: int, mlp: bool) -> None:
    cell = random_stack(kind, conv=conv, mlp=mlp)
    assert np.allclose(answers(cell, WORD), naive_logits(cell, WORD), atol=2e-5)
    assert not cell.sums.settled


@pytest.mark.parametrize("only_read_out", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_stage_after_stage_is_the_whole(kind: str, only_read_out: bool) -> None:
    """Also where a channel is looked at by no later block, but by the read-out."""
    cell = random_stack(kind, seed=1)
    for name, value in cell.tensors.items():
        if only_read_out and name.startswith("h.1.") and len(value) == 2 * DIM:
            value[[2, DIM + 2]] = 0
    stages = cell.stages()
    carried = [np.zeros((1, stage.size), np.float32) for stage in stages]
    found = []
    for letter in WORD:
        handed = cell.letters()[[letter]]
        for number, stage in enumerate(stages):
            carried[number], handed = stage.step(handed.copy(), carried[number])
        found.append(handed[0])
    assert len(stages) == 2
    assert np.allclose(np.array(found), answers(cell, WORD), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_looked_back_at_is_carried(kind: str) -> None:
    """One channel of the letter before is looked at, by one mixer alone: one number beside the memories."""
    cell = random_stack(kind, seed=2)
    for name, value in cell.tensors.items():
        if name.startswith("h.") and value.ndim == 2 and len(value) == 2 * DIM:
            value[DIM:] = 0
    same = type(cell).of(cell.tensors, cell.options)
    assert same.size == same.layers * same.memory  # type: ignore[attr-defined]
    first = next(
        name for name in cell.tensors if name.startswith("h.1.mix.") and cell.tensors[name].ndim == 2
    )
    cell.tensors[first][DIM + 1] = 0.5
    one = type(cell).of(cell.tensors, cell.options)
    assert one.size == same.size + 1
    assert np.allclose(answers(one, WORD), naive_logits(one, WORD), atol=2e-5)
    assert not np.allclose(answers(one, WORD), answers(same, WORD[:1] * len(WORD)))


def random_cell(kind: type[Lstm] | type[Gru], hidden: int = 4) -> Cell:
    rng, gates = np.random.default_rng(3), 4 if kind is Lstm else 3
    shapes: dict[str, tuple[int, ...]] = {
        "wte": (2, 3),
        "weight_ih": (3, gates * hidden),
        "weight_hh": (hidden, gates * hidden),
        "head.weight": (hidden, STATES),
        "head.bias": (STATES,),
    }
    shapes |= dict.fromkeys(["bias"] if kind is Lstm else ["bias_ih", "bias_hh"], (gates * hidden,))
    return kind({name: rng.normal(0, 0.8, shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.mark.parametrize("kind", [Lstm, Gru])
def test_gated_cells_are_those_of_torch(kind: type[Lstm] | type[Gru]) -> None:
    cell = random_cell(kind)
    t = {name: torch.tensor(value) for name, value in cell.tensors.items()}
    own = (torch.nn.LSTMCell if kind is Lstm else torch.nn.GRUCell)(3, 4)
    with torch.no_grad():
        own.weight_ih.copy_(t["weight_ih"].T)
        own.weight_hh.copy_(t["weight_hh"].T)
        own.bias_ih.copy_(t["bias"] if kind is Lstm else t["bias_ih"])
        own.bias_hh.copy_(torch.zeros(16) if kind is Lstm else t["bias_hh"])
        h, c = torch.zeros(1, 4), torch.zeros(1, 4)
        found = []
        for letter in WORD:
            if kind is Lstm:
                h, c = own(t["wte"][[letter]], (h, c))
            else:
                h = own(t["wte"][[letter]], h)
            found.append((h @ t["head.weight"] + t["head.bias"])[0].numpy())
    assert np.allclose(answers(cell, WORD), np.array(found), atol=1e-5)
    (stage,) = cell.stages()
    both, logits = stage.step(np.array([[0.0], [1.0]], np.float32), np.zeros((2, cell.size), np.float32))
    for letter in (0, 1):
        after, wanted = cell.answer(np.zeros((1, cell.size), np.float32), letter)
        assert np.array_equal(both[letter], after[0])
        assert np.array_equal(logits[letter], wanted[0])


@pytest.mark.parametrize("kind", [*CELLS])
def test_options_are_those_of_the_tensors(kind: str) -> None:
    cell = WITNESSES[kind](parse_spec("FlipFlop"))
    again = CELLS[kind].of(cell.tensors, cell.options)
    assert again.options == cell.options
    assert again.num_parameters == sum(value.size for value in cell.tensors.values())
    assert (again.num_letters, again.num_states) == (3, 2)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: DiagonalStack.of({}, {"gate": "soft"}),
            "gate must be one of unit, signed, complex; got 'soft'",
        ),
        (lambda: RankOneStack.of({}, {"heads": True}), "heads must be a number from 1 to 1,024; got 'True'"),
        (lambda: RankOneStack.of({}, {"heads": 0}), "from 1 to 1,024; got '0'"),
        (lambda: DeltaStack({}), "deltaproduct needs the tensors"),
    ],
)
def test_options_that_are_none_are_refused(make: object, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_that_do_not_fit_are_named(kind: str) -> None:
    cell = random_stack(kind)
    for name, value in cell.tensors.items():
        if name in ("wte", "head.bias"):
            continue
        wider = np.concatenate([value, value[..., :1]], axis=-1)
        with pytest.raises(InvalidInput, match=r"must fit together|finite float32"):
            replace(cell, tensors={**cell.tensors, name: wider})
        for wrong in (value.astype(np.float64), value[None], np.full_like(value, np.inf)):
            with pytest.raises(InvalidInput, match=f"{name} must be finite float32 with {value.ndim} axes"):
                replace(cell, tensors={**cell.tensors, name: wrong})
    assert HEADS == 2


def exact(x: np.ndarray, w: np.ndarray) -> list[list[Fraction]]:
    return [
        [sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, column, strict=True)), Fraction(0))
         for column in w.T]
        for row in x
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_a_settled_product_is_exact_in_every_order(seed: int) -> None:
    """Multiples of one power of two that fit are the same in any order; where they do not, it says so."""
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 16))
    x = (rng.integers(-(2**bits), 2**bits, (2, 4)) * 2.0 ** int(rng.integers(-8, 8))).astype(np.float32)
    w = (rng.integers(-(2**bits), 2**bits, (4, 2)) * 2.0 ** int(rng.integers(-8, 8))).astype(np.float32)
    sums = Sums()
    found = sums.product(x, w)
    whole = exact(x, w)
    same = True
    for i, j in np.ndindex(2, 2):
        for order in permutations(range(4)):
            total = np.float32(0)
            for k in order:
                total = np.float32(total + np.float32(x[i, k] * w[k, j]))
            same &= Fraction(float(total)) == whole[i][j]
        if sums.settled:
            assert Fraction(float(found[i, j])) == whole[i][j]
    assert same or not sums.settled
    if bits <= 10:
        assert sums.settled


def test_some_products_are_settled_and_some_are_not() -> None:
    big, one = np.array([[2.0**24, 1.0]], np.float32), np.ones((2, 1), np.float32)
    for x, settled in (
        (big, False),
        (np.array([[2.0**23, 1.0]], np.float32), True),
        (np.zeros((1, 2), np.float32), True),
    ):
        sums = Sums()
        sums.product(x, one)
        assert sums.settled is settled
    coarse = Sums(bits=8)
    coarse.product(np.array([[256.0, 1.0]], np.float32), one)
    assert not coarse.settled


@pytest.mark.parametrize("name", ["times", "plus"])
def test_what_is_rounded_is_not_settled(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, y = (np.array([rng.integers(1, 2 ** rng.integers(1, 20))], np.float32) for _ in range(2))
        y = y * np.float32(2.0 ** -int(rng.integers(0, 12)))
        sums = Sums()
        found = getattr(sums, name)(x, y)
        a, b = Fraction(float(x[0])), Fraction(float(y[0]))
        whole = a * b if name == "times" else a + b
        assert sums.settled == (Fraction(float(found[0])) == whole)
        assert found.dtype == np.float32


def test_grains_are_the_largest_powers_of_two_that_divide() -> None:
    rng = np.random.default_rng(2)
    numbers = rng.integers(-1000, 1000, (40, 5)) * 2.0 ** rng.integers(-20, 20, (40, 1))
    numbers[0] = 0
    for row, found in zip(numbers, grain_of(numbers, 1), strict=True):
        parts = [Fraction(float(value)) for value in row if value]
        if not parts:
            assert found == 2.0**100
            continue
        grain = Fraction(float(found))
        assert all((part / grain).denominator == 1 for part in parts)
        assert any((part / (2 * grain)).denominator == 2 for part in parts)


def test_gates_are_settled_only_far_beyond_their_bend() -> None:
    one = np.ones((1, 1), np.float32)
    for size, settled in ((109.0, False), (111.0, True), (-111.0, True), (0.0, False)):
        sums = Sums()
        found = sums.gates([(one, np.array([[size]], np.float32))])
        assert (sums.settled, float(found[0, 0])) == (settled, size)
    cancelling = Sums()  # 2^30 − 2^30 + 200: other orders may lose the 200
    cancelling.gates([(np.array([[2.0**30, -(2.0**30), 200.0]], np.float32), np.ones((3, 1), np.float32))])
    assert not cancelling.settled


def test_saturated_gates_are_exact_and_never_warn() -> None:
    z = np.array([-1e30, -110, -5, 0, 5, 110, 1e30], np.float32)
    found = sigmoid(z)
    assert found[[0, 3, 5, 6]].tolist() == [0.0, 0.5, 1.0, 1.0]
    assert np.allclose(found, torch.sigmoid(torch.tensor(z)).numpy(), atol=1e-7)
    assert found[1] < 1e-40


def test_bfloat16_is_that_of_torch() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(size=500), [1 + 2.0**-8, 1 + 3 * 2.0**-8, 0.0, -0.0, 2.0**-130]])
    numbers = values.astype(np.float32)
    assert np.array_equal(_bfloat16(numbers), torch.tensor(numbers).bfloat16().float().numpy())
    short = _bfloat16(numbers)
    assert _fits(short, 8)
    assert not _fits(numbers, 8)
    assert _fits(numbers, 24)


def test_a_lead_is_over_every_other_logit() -> None:
    logits = np.array([[1, 3, 2], [5, 5, 0], [np.nan, 1, 0], [0, np.nan, 9], [np.inf, np.inf, 0]], np.float32)
    with np.errstate(invalid="ignore"):
        lead, got = _lead(logits, np.array([1, 0, 0, 2, 0]))
    assert (lead > 0).tolist() == [True, False, False, False, False]
    assert lead[:2].tolist() == [1.0, 0.0]
    assert got[0] == 1
    assert got[1] == 1  # a tie is not answered by the right one
    single, _ = _lead(np.zeros((2, 1), np.float32), np.zeros(2, int))
    assert (single > 0).all()


@pytest.mark.parametrize("gate", ["unit", "signed", "complex"])
def test_gates_of_balls_hold_the_gates_of_their_points(gate: str) -> None:
    rng = np.random.default_rng(4)
    balls = DiagonalBalls(random_stack(gate), "float32")  # type: ignore[arg-type]
    middle = np.concatenate([rng.normal(0, 2, (20, 4)), rng.normal(0, 300, (5, 4))])
    radius = rng.uniform(0, 0.3, middle.shape)
    found = balls.gates(Ball(middle, radius))
    for _ in range(50):
        if gate == "complex":
            parts = [np.split(side, 2, axis=1) for side in (middle, radius)]
            z = parts[0][0] + 1j * parts[0][1]
            angle = rng.uniform(0, 2 * np.pi, z.shape)
            point = z + rng.random(z.shape) * np.hypot(*parts[1]) * np.exp(1j * angle)
            value = point / np.maximum(1, np.abs(point))
        else:
            point = middle + radius * rng.uniform(-1, 1, middle.shape)
            value = np.tanh(point) if gate == "signed" else 0.5 * (1 + np.tanh(point / 2))
        assert (np.abs(value - found.middle) <= found.radius + 1e-12).all()
    beyond = np.array([[1.0, 1, 0, 0]]) if gate == "complex" else np.full((1, 4), 200.0)
    with pytest.raises(TooWide):  # on an axis, but perhaps inside the circle; saturated, but perhaps not
        balls.gates(Ball(beyond, np.array([[2.0, 0, 0, 0]])))


@pytest.mark.parametrize("gate", ["unit", "signed", "complex"])
def test_a_step_of_balls_holds_the_steps_of_their_points(gate: str) -> None:
    """Memories anywhere inside their balls, in float64 from the definition, end inside the balls after it."""
    rng = np.random.default_rng(5)
    cell = random_stack(gate, mlp=False, seed=6)
    balls = DiagonalBalls(cell, "float32")  # type: ignore[arg-type]
    window = Ball(rng.normal(size=(8, 2 * DIM)), rng.uniform(0, 1e-3, (8, 2 * DIM)))
    size = 2 if gate == "complex" else 4
    middle = rng.normal(size=(8, size)) + (1j * rng.normal(size=(8, size)) if gate == "complex" else 0)
    memory = Ball(middle, rng.uniform(0, 1e-3, (8, size)))
    after, read = balls.mix("h.0.mix.", window, memory)
    w = {name.removeprefix("h.0.mix."): value.astype(float) for name, value in cell.tensors.items()}
    for _ in range(40):
        x = window.middle + window.radius * rng.uniform(-1, 1, window.radius.shape)
        turn = np.exp(2j * np.pi * rng.random(middle.shape)) if gate == "complex" else 1.0
        held = memory.middle + memory.radius * rng.uniform(-1, 1, middle.shape) * turn
        z, write = x @ w["gate.weight"] + w["gate.bias"], x @ w["write"]
        if gate == "complex":
            z, write = z[:, :2] + 1j * z[:, 2:], write[:, :2] + 1j * write[:, 2:]
            factor = z / np.maximum(1, np.abs(z))
        else:
            factor = np.tanh(z) if gate == "signed" else 0.5 * (1 + np.tanh(z / 2))
        got = factor * held + write
        assert (np.abs(got - after.middle) <= after.radius).all()
        parts = np.hstack([got.real, got.imag]) if gate == "complex" else got
        assert (np.abs(parts - read.middle) <= read.radius).all()


def test_quarter_turns_are_exact_and_other_turns_are_not() -> None:
    balls = DiagonalBalls(diagonal(parse_spec("C4")), "float32")
    parts = np.array([[2.0, 0.0], [0.0, -2.0], [0.0, 0.0], [1.5, 1.5]])
    found = balls.gates(Ball(parts, np.zeros(parts.shape)))
    assert found.middle[:3, 0].tolist() == [1, -1j, 0]
    assert (found.radius[:, 0] == 0).tolist() == [True, True, True, False]

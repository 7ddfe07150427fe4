"""Cells letter by letter against their definitions and torch; sums against all orders of adding."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
import torch

from every import every
from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS, Format
from krohn.check.arithmetic.sums import Sums
from krohn.check.claim import ANY, LEFT
from krohn.check.ground import Real, Refused, between, point
from krohn.check.recurrent.balls import Ball, DiagonalBalls
from krohn.check.recurrent.cells import Cell, GruCell, LstmCell
from krohn.check.recurrent.closure import leads
from krohn.errors import InvalidInput
from krohn.recurrent.recurrent_network import CELLS, logits_of
from krohn.recurrent.recurrent_weights import WEIGHTS, diagonal
from recurrent.judge import gated_logits
from recurrent.naive_stacks import DIM, STATES, naive_logits, random_stack

KINDS = ["deltaproduct", "rankone", "unit", "signed", "complex"]
WORD = [0, 1, 1, 0, 1, 0, 0]
SINGLE, HALF = Sums(FORMATS["float32"]), Sums(FORMATS["bfloat16"])


def answers(cell: Cell, word: list[int]) -> np.ndarray:
    return logits_of(cell, np.array([word]))[0]


def enclosed(cell: Cell, word: list[int], sums: Sums) -> Iterator[Real]:
    """What the checker says the logits may be, letter by letter."""
    stages, rows = cell.stages(sums), cell.letters(sums)
    carried = [point(np.zeros((1, stage.size))) for stage in stages]
    for letter in word:
        handed = rows[[letter]]
        for number, stage in enumerate(stages):
            carried[number], handed = stage.step(handed, carried[number])
        yield handed


def assert_alike(actual: npt.ArrayLike, wanted: npt.ArrayLike) -> None:
    """Rounding is relative to the largest number on the way: small logits are differences of large ones."""
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=2e-5 * max(1.0, np.abs(wanted).max()))


@every(("conv", "mlp"), [(1, True), (2, True), (2, False)])
@every("kind", KINDS)
def test_a_stack_is_what_its_definition_says(kind: str, conv: int, mlp: bool) -> None:
    cell = random_stack(kind, conv=conv, mlp=mlp)
    assert_alike(answers(cell, WORD), naive_logits(cell, WORD))


@pytest.mark.parametrize("kind", ["unit", "signed", "complex"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_intervals_of_a_stack_hold_what_torch_computes(kind: str, dtype: str) -> None:
    from recurrent.judge import stack_logits

    cell = random_stack(kind)
    outputs = stack_logits(cell, WORD, dtype)
    with np.errstate(all="ignore"):
        for logits, box in zip(outputs, enclosed(cell, WORD, Sums(FORMATS[dtype])), strict=True):
            assert ((logits >= box.lo[0]) & (logits <= box.hi[0])).all()
            assert (box.hi - box.lo > 0).all()


@pytest.mark.parametrize("kind", ["deltaproduct", "rankone"])
def test_keys_of_other_lengths_are_not_proved(kind: str) -> None:
    with pytest.raises(Refused, match=r"length of a key|known to the last bit"):
        next(enclosed(random_stack(kind), WORD, SINGLE))


@every("only_read_out", [False, True])
@every("kind", KINDS)
def test_a_block_hands_the_whole_stream_on(kind: str, only_read_out: bool) -> None:
    """Also a channel that is looked at by no later block, but by the read-out."""
    cell = random_stack(kind, seed=1)
    for name, value in cell.tensors.items():
        if only_read_out and name.startswith("h.1.") and len(value) == 2 * DIM:
            value[[2, DIM + 2]] = 0
    assert_alike(answers(cell, WORD), naive_logits(cell, WORD))
    assert len(cell.stages(SINGLE)) == 2


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
    assert_alike(answers(one, WORD), naive_logits(one, WORD))


def random_cell(kind: type[LstmCell] | type[GruCell], hidden: int = 4) -> Cell:
    rng, gates = np.random.default_rng(3), 4 if kind is LstmCell else 3
    shapes: dict[str, tuple[int, ...]] = {
        "wte": (2, 3),
        "weight_ih": (3, gates * hidden),
        "weight_hh": (hidden, gates * hidden),
        "head.weight": (hidden, STATES),
        "head.bias": (STATES,),
    }
    shapes |= dict.fromkeys(["bias"] if kind is LstmCell else ["bias_ih", "bias_hh"], (gates * hidden,))
    return kind({name: rng.normal(0, 0.8, shape).astype(np.float32) for name, shape in shapes.items()})


@pytest.mark.parametrize("kind", [LstmCell, GruCell])
def test_gated_cells_are_those_of_torch(kind: type[LstmCell] | type[GruCell]) -> None:
    cell = random_cell(kind)
    assert_alike(answers(cell, WORD), gated_logits(cell.kind, dict(cell.tensors), WORD))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("kind", [LstmCell, GruCell])
def test_intervals_of_gated_cells_hold_what_torch_computes(
    kind: type[LstmCell] | type[GruCell], dtype: str
) -> None:
    cell, word = random_cell(kind), WORD[:3]  # boxes of a network that does not contract grow
    outputs = gated_logits(cell.kind, dict(cell.tensors), word, dtype)
    for logits, box in zip(outputs, enclosed(cell, word, Sums(FORMATS[dtype])), strict=True):
        assert ((logits >= box.lo[0]) & (logits <= box.hi[0])).all()


@pytest.mark.parametrize("kind", [*CELLS])
def test_options_are_those_of_the_tensors(kind: str) -> None:
    cell = WEIGHTS[kind](parse_spec("FlipFlop"))
    again = CELLS[kind].of(cell.tensors, cell.options)
    assert again.options == cell.options
    assert again.num_parameters == sum(value.size for value in cell.tensors.values())
    assert (again.num_letters, again.num_states) == (3, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_that_do_not_fit_are_named(kind: str) -> None:
    cell = random_stack(kind)
    for name, value in cell.tensors.items():
        if name in ("wte", "head.bias"):
            continue
        wider = np.concatenate([value, value[..., :1]], axis=-1)
        with pytest.raises(InvalidInput, match=r"must fit together|finite float32"):
            replace(cell, tensors={**cell.tensors, name: wider})
        for wrong in (value.astype(np.float64), value[None, None], np.full_like(value, np.inf)):
            with pytest.raises(InvalidInput, match=f"{name} must be finite float32 with one axis or two"):
                replace(cell, tensors={**cell.tensors, name: wrong})
        other = value[0] if value.ndim == 2 else value[None]
        with pytest.raises(InvalidInput, match=r"must fit together|must have two axes"):
            replace(cell, tensors={**cell.tensors, name: other})


def orders(terms: list[np.float32]) -> set[float]:
    """All results of adding float32 numbers one after the other."""
    result = set()
    for order in permutations(terms):
        total = np.float32(0)
        for term in order:
            total = np.float32(total + term)
        result.add(float(total))
    return result


@every("seed", range(40))
def test_products_hold_every_order_and_are_points_where_nothing_is_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = int(rng.integers(2, 16))
    x = (rng.integers(-(2**bits), 2**bits, (2, 4)) * 2.0 ** int(rng.integers(-8, 8))).astype(np.float32)
    w = (rng.integers(-(2**bits), 2**bits, (4, 2)) * 2.0 ** int(rng.integers(-8, 8))).astype(np.float32)
    result = SINGLE.product(point(x), w.astype(np.float64))
    left = Sums(FORMATS["float32"], LEFT).product(point(x), w.astype(np.float64))
    with np.errstate(over="ignore"):
        for i, j in np.ndindex(2, 2):
            outcome = orders([np.float32(a * b) for a, b in zip(x[i], w[:, j], strict=True)])
            assert result.lo[i, j] <= min(outcome) <= max(outcome) <= result.hi[i, j]
            total = np.float32(0)
            for a, b in zip(x[i], w[:, j], strict=True):
                total = np.float32(total + np.float32(a * b))
            assert left.lo[i, j] == left.hi[i, j] == total
            whole = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x[i], w[:, j], strict=True))
            if result.known[i, j]:
                assert outcome == {float(whole)} == {result.lo[i, j]}
    if bits <= 10:
        assert result.known.all()
    same = SINGLE.dot(point(x[:, :, None]), point(w[None]), 1)
    assert (same.known >= result.known).all()  # a product has one unit for all terms of a row
    assert (np.minimum(same.lo, result.lo) <= np.minimum(same.hi, result.hi)).all()


def test_some_products_are_points_and_some_are_not() -> None:
    one = np.ones((2, 1))
    for x, known in (([2.0**24, 1.0], False), ([2.0**23, 1.0], True), ([0.0, 0.0], True)):
        assert SINGLE.product(point([x]), one).known.all() == known
        assert SINGLE.total((point(x[:1]), point(1.0)), (point(x[1:]), point(1.0))).known.all() == known
    assert (
        HALF.product(point([[256.0, 1.0]]), one).lo[0, 0]
        <= 256
        <= HALF.product(point([[256.0, 1.0]]), one).hi[0, 0]
    )


@pytest.mark.parametrize("sums", [SINGLE, HALF, Sums(FORMATS["float32"], LEFT)])
def test_no_partial_sum_may_overflow(sums: Sums) -> None:
    """2^127 + 2^127 − 2^127 fits, and so does each term; the first two together do not."""
    terms, ones = point([[2.0**127, 2.0**127, -(2.0**127)]]), np.ones((3, 1))
    for call in (
        lambda: sums.product(terms, ones),
        lambda: sums.dot(terms, point(1.0), 1),
        lambda: sums.plus(terms, terms),
    ):
        with pytest.raises(Refused, match="overflow"):
            call()
    assert sums.product(point(terms.lo / 4), ones).known.all()


def left(operation: str, name: str) -> int:
    """How many results leave their interval, where every product, sum and difference is stored."""
    fmt, dice, gone = FORMATS[name], np.random.default_rng(3), 0
    sums = Sums(fmt)

    def store(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return fmt.outer.cast(fmt.inner.cast(values))

    def some(*shape: int) -> npt.NDArray[np.float64]:
        return store(dice.standard_normal(shape) * 2.0 ** dice.integers(-9, 3, size=shape))

    def added(*terms: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        rest = list(terms)
        while len(rest) > 1:
            one, other = (rest.pop(int(dice.integers(len(rest)))) for _ in range(2))
            rest.append(store(one + other))
        return rest[0]

    for _ in range(80):
        if operation == "dot":
            x, y = some(5, 4), some(5, 4)
            made, run = sums.dot(point(x), point(y), 0), added(*store(x * y))
        elif operation == "products":
            parts = [(some(1, 3), some(3, 4), some(4)) for _ in range(2)]
            made = sums.products(*((point(x), weight, bias) for x, weight, bias in parts))
            run = added(*(term for x, weight, bias in parts for term in (store(x @ weight), bias[None])))
        else:
            share, new, old = store(dice.uniform(size=(1, 4))), some(1, 4), some(1, 4)
            made = sums.mixed(point(share), point(new), point(old))
            run = store(store(store(1 - share) * new) + store(share * old))
            if dice.integers(2):
                run = store(new + store(share * store(old - new)))
        gone += int(((run < made.lo) | (run > made.hi)).sum())
    return gone


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("operation", ["dot", "products", "mixed"])
def test_whatever_a_half_type_stores_on_the_way_lies_in_the_interval(
    operation: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert left(operation, name) == 0
    monkeypatch.setattr(Format, "off_stores", lambda self, size, *counts: np.zeros_like(size))
    assert left(operation, name) > 0


def test_products_below_the_least_number_are_not_exact() -> None:
    small = point([[2.0**-100]])
    assert not SINGLE.product(small, np.array([[2.0**-60]])).known.all()
    assert not SINGLE.total((small, point(2.0**-60))).known.all()
    assert SINGLE.product(small, np.array([[2.0**-49]])).known.all()


@pytest.mark.parametrize("name", ["total", "plus"])
def test_what_is_rounded_is_not_a_point(name: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        x, y = (np.array([rng.integers(1, 2 ** rng.integers(1, 20))], np.float32) for _ in range(2))
        y = y * np.float32(2.0 ** -int(rng.integers(0, 12)))
        a, b = Fraction(float(x[0])), Fraction(float(y[0]))
        whole = a * b if name == "total" else a + b
        result = SINGLE.total((point(x), point(y))) if name == "total" else SINGLE.plus(point(x), point(y))
        computed = x * y if name == "total" else x + y
        assert bool(result.known[0]) == (Fraction(float(computed[0])) == whole)
        assert result.lo[0] <= computed[0] <= result.hi[0]


@pytest.mark.parametrize("name", ["sigmoid", "tanh"])
def test_library_functions_are_known_only_where_they_are_exact(name: str) -> None:
    numbers = np.array([-1e30, -110, -109, -5, 0, 5, 109, 110, 1e30])
    result = getattr(SINGLE, name)(point(numbers))
    assert result.known.tolist() == [True, True, False, False, True, False, False, True, True]
    low, middle = (0.0, 0.5) if name == "sigmoid" else (-1.0, 0.0)
    assert result.lo[[0, 1, 4, 7, 8]].tolist() == [low, low, middle, 1.0, 1.0]
    x = np.random.default_rng(0).uniform(-20, 20, 20_000).astype(np.float32)
    box, torchs = getattr(SINGLE, name)(point(x)), getattr(torch, name)(torch.tensor(x)).numpy()
    assert ((torchs >= box.lo) & (torchs <= box.hi)).all()
    assert (box.hi - box.lo).max() < 2e-6
    across = getattr(SINGLE, name)(between([-120.0, 100.0], [120.0, 120.0]))
    assert not across.known.any()


def test_a_gate_that_is_the_exponential_of_a_logarithm_is_not_exactly_a_half() -> None:
    assert not SINGLE.gate(point([0.0])).known.any()
    assert SINGLE.gate(point([-200.0, 200.0])).lo.tolist() == [0.0, 1.0]


def test_a_mixture_holds_both_ways_to_compute_it() -> None:
    rng = np.random.default_rng(0)
    share = np.concatenate([rng.random(2000), [0.0, 1.0]]).astype(np.float32)
    new, old = (rng.uniform(-2, 2, len(share)).astype(np.float32) for _ in range(2))
    box = SINGLE.mixed(point(share), point(new), point(old))
    one = np.float32(1)
    for result in ((one - share) * new + share * old, new + share * (old - new)):
        assert ((result >= box.lo) & (result <= box.hi)).all()
    assert box.lo[-2] == box.hi[-2] == new[-2]
    assert box.lo[-1] <= old[-1] <= box.hi[-1]


@pytest.mark.parametrize("order", [ANY, LEFT])
def test_turns_hold_what_torch_computes_and_quarter_turns_are_points(order: str) -> None:
    sums, rng = Sums(FORMATS["float32"], order), np.random.default_rng(0)
    z = rng.normal(0, 2, (500, 2)).astype(np.float32)
    z[:4] = [[3, 0], [0, -7], [0.5, 0], [0, 0]]
    result = torch.complex(*torch.tensor(z).T)
    size = (result.real.square() + result.imag.square()).clamp(min=1.0).sqrt()
    turned = torch.view_as_real(result / size).numpy()
    x, y = sums.disc(point(z[:, 0]), point(z[:, 1]))
    assert (x.known & y.known)[:4].all()
    if order == ANY:
        assert not (x.known & y.known)[4:].all()
        for box, value in ((x, turned[:, 0]), (y, turned[:, 1])):
            assert ((value >= box.lo) & (value <= box.hi)).all()
    assert x.lo[:4].tolist() == [1.0, 0.0, 0.5, 0.0]
    assert y.lo[:4].tolist() == [0.0, -1.0, 0.0, 0.0]


def test_a_lead_is_over_every_other_logit() -> None:
    logits = np.array([[1, 3, 2], [5, 5, 0], [np.nan, 1, 0], [0, np.nan, 9], [np.inf, np.inf, 0]], float)
    with np.errstate(invalid="ignore"):
        lead = leads(point(logits), np.array([1, 0, 0, 2, 0]))
    assert (lead > 0).tolist() == [True, False, False, False, False]
    assert lead[:2].tolist() == [1.0, 0.0]
    assert leads(between(logits[:1], logits[:1] + 0.75), np.array([1])).tolist() == [0.25]
    assert (leads(point(np.zeros((2, 1))), np.zeros(2, int)) > 0).all()


def test_gates_of_balls_hold_the_gates_of_their_points() -> None:
    rng = np.random.default_rng(4)
    balls = DiagonalBalls(random_stack("complex"), "float32")  # type: ignore[arg-type]
    middle = np.concatenate([rng.normal(0, 2, (20, 4)), rng.normal(0, 300, (5, 4))])
    radius = rng.uniform(0, 0.3, middle.shape)
    gates = balls.gates(Ball(middle, radius))
    parts = [np.split(side, 2, axis=1) for side in (middle, radius)]
    z = parts[0][0] + 1j * parts[0][1]
    for _ in range(50):
        angle = rng.uniform(0, 2 * np.pi, z.shape)
        point = z + rng.random(z.shape) * np.hypot(*parts[1]) * np.exp(1j * angle)
        value = point / np.maximum(1, np.abs(point))
        assert (np.abs(value - gates.middle) <= gates.radius + 1e-12).all()
    with pytest.raises(Refused):  # on an axis, but perhaps inside the circle
        balls.gates(Ball(np.array([[1.0, 1, 0, 0]]), np.array([[2.0, 0, 0, 0]])))


def test_a_step_of_balls_holds_the_steps_of_their_points() -> None:
    """Memories anywhere inside their balls, in float64 from the definition, end inside the balls after it."""
    rng = np.random.default_rng(5)
    cell = random_stack("complex", mlp=False, seed=6)
    balls = DiagonalBalls(cell, "float32")  # type: ignore[arg-type]
    window = Ball(rng.normal(size=(8, 2 * DIM)), rng.uniform(0, 1e-3, (8, 2 * DIM)))
    middle = rng.normal(size=(8, 2)) + 1j * rng.normal(size=(8, 2))
    memory = Ball(middle, rng.uniform(0, 1e-3, (8, 2)))
    w = {name.removeprefix("h.0.mix."): value.astype(float) for name, value in cell.tensors.items()}
    read, after = balls.mix(w, window, memory)
    for _ in range(40):
        x = window.middle + window.radius * rng.uniform(-1, 1, window.radius.shape)
        turn = np.exp(2j * np.pi * rng.random(middle.shape))
        held = memory.middle + memory.radius * rng.uniform(-1, 1, middle.shape) * turn
        z, write = (y[:, :2] + 1j * y[:, 2:] for y in (x @ w["gate.weight"] + w["gate.bias"], x @ w["write"]))
        got = z / np.maximum(1, np.abs(z)) * held + write
        assert (np.abs(got - after.middle) <= after.radius).all()
        assert (np.abs(np.hstack([got.real, got.imag]) - read.middle) <= read.radius).all()


def test_quarter_turns_are_exact_and_other_turns_are_not() -> None:
    balls = DiagonalBalls(diagonal(parse_spec("C4")), "float32")
    parts = np.array([[2.0, 0.0], [0.0, -2.0], [0.0, 0.0], [1.5, 1.5]])
    gates = balls.gates(Ball(parts, np.zeros(parts.shape)))
    assert gates.middle[:3, 0].tolist() == [1, -1j, 0]
    assert (gates.radius[:, 0] == 0).tolist() == [True, True, True, False]

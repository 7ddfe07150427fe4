"""Every lowering of an operation against its meaning, on all inputs and at the edge of its tolerance."""

from dataclasses import replace
from itertools import product
from typing import get_args

import numpy as np
import pytest

from krohn.network.forward import logits
from krohn.network.layout import Channel
from krohn.network.lowering.assembly import Style, lower
from krohn.network.lowering.heads import GADGETS
from krohn.network.lowering.staircase import ramp_width
from krohn.network.lowering.table_code import best_code
from krohn.network.operations import (
    AttentionOperation,
    Clamp,
    EndWrite,
    Facts,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PlaceSum,
    PrefixSum,
    Select,
    Table,
)
from krohn.network.program import Places, Register, Source
from krohn.network.program_file import program_from_json, program_to_json
from network.gadget_contract import HeadCase, MapCase, check_head, check_map, head_program, map_program

R = Register


def rows(*spans: range) -> tuple[tuple[int, ...], ...]:
    return tuple(product(*spans))


XOR = {(a, b, c): ((a + b + c) % 2, a * b) for a, b, c in product(range(2), range(2), range(3))}
RAGGED = {(0, 0): (5,), (0, 3): (-2,), (4, 1): (5,), (4, 3): (0,), (-1, 2): (7,)}
MAPS = [
    MapCase(
        "table of three inputs and two outputs",
        Table(("a", "b", "c"), ("x", "y"), tuple(XOR.items())),
        (R("a", 0, 1), R("b", 0, 1), R("c", 0, 2), R("x", 0, 1), R("y", 0, 1)),
        tuple(XOR),
        1 / 64,
        0.0,
    ),
    MapCase(
        "table with few reachable rows",
        Table(("a", "b"), ("x",), tuple(RAGGED.items())),
        (R("a", -1, 4), R("b", 0, 3), R("x", -2, 7)),
        tuple(RAGGED),
        1 / 64,
        0.0,
    ),
    MapCase(
        "table of one input",
        Table(("a",), ("x",), tuple(((v,), (v * v % 7,)) for v in range(12))),
        (R("a", 0, 11), R("x", 0, 6)),
        rows(range(12)),
        1 / 4,
        0.0,
    ),
    MapCase(
        "residue of a sum",
        Modulo((("a", 1), ("b", 3)), 2, 5, "x"),
        (R("a", -20, 40), R("b", 0, 2), R("x", 0, 4)),
        rows(range(-20, 41), range(3)),
        1 / 16,
        4.0,
    ),
    MapCase(
        "residue mapped by a table",
        Modulo((("a", 1),), 0, 3, "x", (2, 0, 5)),
        (R("a", -9, 17), R("x", 0, 5)),
        rows(range(-9, 18)),
        1 / 4,
        0.0,
    ),
    MapCase(
        "clamp",
        Clamp((("a", 2),), 1, -3, 4, "x"),
        (R("a", -6, 6), R("x", -3, 4)),
        rows(range(-6, 7)),
        1 / 8,
        2.0,
    ),
    MapCase(
        "linear map",
        Linear((("a", 2), ("b", -1)), 3, "x"),
        (R("a", -2, 2), R("b", 0, 3), R("x", -4, 7)),
        rows(range(-2, 3), range(4)),
        1 / 8,
        3.0,
    ),
    MapCase(
        "selection among three",
        Select(("f", "g", "h"), ("a",), ("x",)),
        (R("f", 0, 2), R("g", -1, 1), R("h", 0, 2), R("a", 0, 2), R("x", -1, 2)),
        rows(range(3), range(-1, 2), range(3), range(3)),
        1 / 8,
        1.0,
    ),
]


@pytest.mark.parametrize("saturate", [False, True], ids=["difference", "saturating"])
@pytest.mark.parametrize("narrow", [False, True], ids=["one round", "two rounds"])
@pytest.mark.parametrize("case", MAPS, ids=lambda case: case.name)
def test_a_position_wise_gadget_keeps_its_contract(case: MapCase, narrow: bool, saturate: bool) -> None:
    check_map(case, Style(narrow, saturate))


def test_a_saturating_step_is_exact_in_float32_where_a_difference_is_not() -> None:
    case = MapCase(
        "long staircase",
        Table(("a",), ("x",), tuple(((v,), (v % 7,)) for v in range(900))),
        (R("a", 0, 899), R("x", 0, 6)),
        rows(range(900)),
        1e-3,
        0.0,
    )
    words = np.arange(900)[:, None]
    errors = []
    for saturate in (False, True):
        net, layout = lower(map_program(case), 1, Style(saturate=saturate))
        seen: dict[str, np.ndarray] = {}
        shaken = replace(net, embedding=net.embedding + 1e-3)
        logits(shaken, words, np.float32, observe=lambda name, value, seen=seen: seen.update({name: value}))
        held = seen["layer.0.stream"][:, 1, layout.moments[2].index(Channel(register="x"))]
        errors.append(float(np.abs(held - words[:, 0] % 7).max()))
    assert errors[1] == 0.0 < errors[0]


FLAGGED = (Source("flag", (0, 1, 1, 0), (1,)), Source("value", (3, -2, 5, 0), (1,)))
KEYED = tuple(((k,), (k,)) for k in range(5))
HEADS = [
    HeadCase(
        "prefix sums",
        PrefixSum(("a", "b"), ("x", "y")),
        (R("a", -2, 1), R("b", 0, 3), R("x", -2, 1, "wide"), R("y", 0, 3, "wide")),
        (Source("a", (-2, 0, 1, 1), (0,)), Source("b", (0, 1, 2, 3), (0,))),
    ),
    HeadCase(
        "sums at some places",
        PlaceSum("seen", ("a",), ("x",)),
        (R("a", -2, 1), R("seen", 0, 1), R("x", -2, 1, "wide")),
        (Source("a", (-2, 0, 1, 1), (0,)),),
        places=(Places("seen", (0, 1), (0, 1, 1)),),
    ),
    HeadCase(
        "latest write",
        LatestWrite("flag", ("value",), ("x",)),
        (R("flag", 0, 1), R("value", -2, 5), R("x", -2, 5)),
        FLAGGED,
    ),
    *(
        HeadCase(
            f"{end} value and position with two flags",
            EndWrite(("flag", "odd"), end, ("value", "t"), ("x", "y")),
            (
                *(R("flag", 0, 1), R("value", -2, 5), R("x", -2, 5), R("odd", 0, 1)),
                *(R("t", 0, 1, "wide"), R("y", 0, 1, "wide")),
            ),
            FLAGGED,
            places=(Places("odd", (1,), (1, 0)), Places("t", (0,), (1,))),
        )
        for end in ("earliest", "latest")
    ),
    *(
        HeadCase(
            f"look back {distance}",
            LookBack(distance, ("value",), ("x",)),
            (R("value", -2, 5), R("x", -2, 5)),
            FLAGGED[1:],
        )
        for distance in (1, 2, 7, 64)
    ),
    *(
        HeadCase(
            f"latest match with shift {shift}",
            LatestMatch("place", "place", 5, shift, ("value",), ("x",)),
            (R("key", 0, 4), R("place", 0, 4, "circle"), R("value", -2, 5), R("x", -2, 5)),
            (Source("key", (0, 1, 2, 4), (3,)), FLAGGED[1]),
            (Table(("key",), ("place",), KEYED),),
        )
        for shift in (0, 1, -2)
    ),
    HeadCase(
        "latest match of a constant",
        LatestMatch("", "place", 5, 2, ("value",), ("x",)),
        (R("key", 0, 4), R("place", 0, 4, "circle"), R("value", -2, 5), R("x", -2, 5)),
        (Source("key", (0, 1, 2, 4), (2,)), FLAGGED[1]),
        (Table(("key",), ("place",), KEYED),),
    ),
]


@pytest.mark.parametrize("case", HEADS, ids=lambda case: case.name)
def test_an_attention_gadget_keeps_its_contract(case: HeadCase) -> None:
    short = np.array(list(product(range(4), repeat=5)))
    check_head(case, short, 5)
    check_head(case, short[::17], 40)
    check_head(case, np.random.default_rng(1).integers(0, 4, (20, 90)), 90)


def test_every_attention_operation_has_a_gadget_and_a_case_of_the_contract() -> None:
    """Who adds an operation adds a line to the registry and a case here, and inherits every test above."""
    operations = set(get_args(AttentionOperation))
    assert set(GADGETS) == operations
    assert {type(case.operation) for case in HEADS} == operations
    assert len({operation.kind for operation in operations}) == len(operations)


@pytest.mark.parametrize("case", HEADS, ids=lambda case: case.name)
def test_an_attention_operation_says_where_it_looks_and_what_it_cannot_do(case: HeadCase) -> None:
    operation = case.operation
    copied = replace(operation, sources=("other",), targets=("another",))
    assert copied.pattern == operation.pattern
    assert operation.pattern[0] == operation.kind
    program = head_program(case)
    assert program_from_json(program_to_json(program)) == program
    bare = Facts({}, dict.fromkeys(operation.reads, 2), frozenset())
    refused = list(operation.faults(bare))
    assert bool(refused) == (not isinstance(operation, LookBack))


def test_a_code_needs_no_more_steps_than_any_mixed_radix_order_and_separates_the_rows() -> None:
    given = np.array(list(product(range(2), repeat=3)))
    parity = given.sum(axis=1, keepdims=True) % 2
    code = best_code(given, parity)
    assert code.steps == 3
    table = dict(zip(code.points.tolist(), code.values[:, 0].tolist(), strict=True))
    assert [table[int(y)] for y in given @ np.array(code.coefficients)] == parity[:, 0].tolist()


@pytest.mark.parametrize("distance", [1.0, 2.0, 3.0, 5.0, 8.0, 0.3])
def test_a_ramp_leaves_a_quarter_of_the_distance_flat_on_each_side(distance: float) -> None:
    width = ramp_width(distance)
    assert distance / 4 < width <= distance / 2
    assert np.log2(width) == round(np.log2(width))

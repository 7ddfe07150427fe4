"""The intermediate form: the meaning of each operation against a loop, refusals, JSON round trip."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from krohn.errors import InvalidFile, InvalidInput
from krohn.network.operations import LatestMatch, LatestWrite, LookBack, PrefixSum, Select
from krohn.network.program import Program, Readout, Register, interpret, interpret_registers
from krohn.network.program_file import program_from_json, program_to_json
from network.hand_written_programs import (
    FLIP_FLOP,
    LAST_BUT_ONE,
    PARITY,
    look_back_program,
    match_program,
    memory_program,
    parity_program,
)

RNG = np.random.default_rng(0)
VALUES = {
    "flag": np.where(np.arange(12) == 0, 1, RNG.integers(0, 2, (30, 12))),
    "key": RNG.integers(0, 4, (30, 12)),
    "query": RNG.integers(0, 4, (30, 12)),
    "value": RNG.integers(-3, 4, (30, 12)),
}


def test_attention_operations_mean_what_a_loop_over_positions_says() -> None:
    value, flag, key, query = (VALUES[name] for name in ("value", "flag", "key", "query"))
    total = PrefixSum(("value",), ("out",)).apply(VALUES)["out"]
    written = LatestWrite("flag", ("value",), ("out",)).apply(VALUES)["out"]
    back = LookBack(3, ("value",), ("out",)).apply(VALUES)["out"]
    matched = LatestMatch("query", "key", 4, 2, ("value",), ("out",)).apply(VALUES)["out"]
    for word, t in product(range(30), range(12)):
        seen = range(t + 1)
        assert total[word, t] == sum(value[word, i] for i in seen)
        assert written[word, t] == [value[word, i] for i in seen if flag[word, i]][-1]
        assert back[word, t] == value[word, max(t - 3, 0)]
        hits = [value[word, i] for i in seen if i > 0 and (key[word, i] - query[word, t] - 2) % 4 == 0]
        assert matched[word, t] == (hits or [value[word, 0]])[-1]


def test_select_composes_transition_maps() -> None:
    f, g = RNG.integers(0, 3, (50, 3)), RNG.integers(0, 3, (50, 3))
    values = {f"f{q}": f[:, q : q + 1] for q in range(3)} | {f"g{q}": g[:, q : q + 1] for q in range(3)}
    out = Select(("f0", "f1", "f2"), ("g0", "g1", "g2"), ("h0", "h1", "h2")).apply(values)
    for word, q in product(range(50), range(3)):
        assert out[f"h{q}"][word, 0] == f[word, g[word, q]]


@pytest.mark.parametrize(
    ("program", "automaton"),
    [(parity_program(), PARITY), (memory_program(), FLIP_FLOP), (look_back_program(), LAST_BUT_ONE)],
    ids=["parity", "memory", "look back"],
)
def test_a_hand_written_program_simulates_its_automaton(program: Program, automaton: object) -> None:
    words = np.array(list(product(range(program.num_letters), repeat=6)))
    assert interpret(program, words).tolist() == [automaton.run(word) for word in words.tolist()]  # type: ignore[attr-defined]


def test_registers_are_reported_at_every_position_padding_included() -> None:
    values = interpret_registers(parity_program(), [[1, 1, 0, 1]])
    assert values["sum"].tolist() == [[0, 1, 2, 2, 3]]
    assert values["state"].tolist() == [[0, 1, 0, 0, 1]]


@pytest.mark.parametrize("make", [parity_program, memory_program, look_back_program, match_program])
def test_a_program_survives_json(make) -> None:  # type: ignore[no-untyped-def]
    program = make()
    assert program_from_json(json.loads(json.dumps(program_to_json(program)))) == program


def test_a_malformed_program_is_refused_with_every_reason() -> None:
    program = parity_program()
    registers = (Register("bit", 0, 1), Register("bit", 0, 1), Register("sum", 0, 1))
    with pytest.raises(InvalidInput) as caught:
        replace(program, registers=registers)
    for reason in ("same name", "unknown register state", "sum sum is not wide"):
        assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p.pop("sources"), "keys"),
        (lambda p: p["layers"][0]["attention"][0].update(operation="Oracle"), "must be one of PrefixSum"),
        (lambda p: p["layers"][0]["maps"][0].update(modulus=1.5), "modulus must be an integer"),
        (lambda p: p["layers"][0]["maps"][0].update(modulus="x"), "modulus must be an integer"),
        (lambda p: p["registers"][0].update(low=7), "low ≤ high"),
        (lambda p: p.update(layers={}), "layers must be a list"),
    ],
)
def test_malformed_json_is_refused_in_one_line(change, message: str) -> None:  # type: ignore[no-untyped-def]
    payload = json.loads(json.dumps(program_to_json(parity_program())))
    change(payload)
    with pytest.raises(InvalidFile, match=message):
        program_from_json(payload)


def test_a_readout_decodes_exact_codes_and_refuses_equal_ones() -> None:
    readout = Readout(("a", "b"), ((0, 0), None, (2, 1)))
    assert readout.decode(np.array([[0, 0], [2, 1]])).tolist() == [0, 2]

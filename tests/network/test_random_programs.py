"""Random programs: their meaning against plain loops, JSON round trips, and every kind of malformation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from every import every
from krohn.errors import InvalidInput
from krohn.network.operations import Linear, PrefixSum, Table
from krohn.network.program import Places, Program, ProgramLayer, Register, interpret, interpret_registers
from krohn.network.program_file import program_from_json, program_to_json
from network.random_programs import LETTERS, naive_registers, random_program

SEEDS = range(40)


@every("seed", SEEDS)
def test_a_program_means_what_its_operations_say_one_by_one(seed: int) -> None:
    program = random_program(seed)
    words = np.random.default_rng(seed).integers(LETTERS, size=(4, 7))
    result = interpret_registers(program, words)
    assert set(result) == {register.name for register in program.registers}
    for number, word in enumerate(words.tolist()):
        naive = naive_registers(program, word)
        for name, values in result.items():
            assert values[number].tolist() == [here[name] for here in naive]
    keys = [[here["key"] for here in naive_registers(program, word)] for word in words.tolist()]
    assert interpret(program, words).tolist() == [row[program.num_padding :] for row in keys]


@every("seed", SEEDS[:10])
def test_what_stands_at_the_beginning_does_not_depend_on_the_word(seed: int) -> None:
    program = random_program(seed)
    for word in ([], [0, 1, 2], [2, 2]):
        here = naive_registers(program, word)[0]
        assert program.at_bos == {name: here[name] for name in program.at_bos}
    assert set(program.at_bos) == set(program.register)


@every("seed", SEEDS)
def test_a_program_survives_json(seed: int) -> None:
    program = random_program(seed)
    text = json.dumps(program_to_json(program))
    assert program_from_json(json.loads(text)) == program
    assert json.dumps(program_to_json(program_from_json(json.loads(text)))) == text


def first_map(program: Program) -> Program:
    """A program of one layer with one map, and a register for it."""
    layer = ProgramLayer((), (Linear((("zero", 1),), 0, "x"),))
    return replace(program, layers=(layer,), registers=(*used(program), Register("x", 0, 2)))


def used(program: Program) -> tuple[Register, ...]:
    return tuple(register for register in program.registers if register.name[0] not in "rx")


@every(
    ("change", "says"),
    [
        (lambda p: replace(p, registers=(*p.registers, Register("ghost", 0, 1))), "nothing writes ghost"),
        (lambda p: replace(p, registers=p.registers[:-1]), "layer 1 writes unknown register x"),
        (lambda p: replace(p, layers=p.layers * 2), "layer 2 writes x a second time"),
        (lambda p: replace(p, layers=()), "nothing writes x"),
        (lambda p: replace(p, sources=()), "there is no source"),
        (lambda p: replace(p, sources=(replace(p.sources[0], padding=()), *p.sources[1:])), "no BOS value"),
        (lambda p: replace(p, sources=(replace(p.sources[0], letters=(0,)), *p.sources[1:])), "disagree"),
        (
            lambda p: replace(p, sources=(replace(p.sources[0], letters=(9, 0, 0)), *p.sources[1:])),
            "zero leaves its",
        ),
        (
            lambda p: replace(p, places=(Places("even", (0,), (7,)), p.places[1])),
            "places even leave their range",
        ),
        (lambda p: replace(p, places=(*p.places, p.places[0])), "a place writes even a second time"),
        (lambda p: replace(p, readout=replace(p.readout, registers=("none",))), "reads unwritten none"),
        (
            lambda p: replace(p, layers=(ProgramLayer((PrefixSum(("x",), ("x",)),), ()),)),
            "layer 1 reads x before it is written",
        ),
        (
            lambda p: replace(p, layers=(ProgramLayer((), (Table(("time",), ("x",), (((0,), (0,)),)),)),)),
            "table reads wide time",
        ),
    ],
)
def test_every_way_to_be_malformed_has_its_words(change, says: str) -> None:  # type: ignore[no-untyped-def]
    program = first_map(random_program(0))
    assert interpret(program, [[0, 1]]).shape == (1, 2)
    with pytest.raises(InvalidInput, match=says):
        change(program)


def test_a_program_that_leaves_a_range_it_states_is_refused_when_it_runs() -> None:
    program = first_map(random_program(0))
    narrow = replace(program, registers=(*used(program), Register("x", 0, 0)))
    values = program.sources[0].letters
    word = [int(np.argmax(values))]
    assert max(values) > 0
    with pytest.raises(InvalidInput, match=r"register x must lie in 0\.\.0; it reaches 0\.\."):
        interpret_registers(narrow, [word])

"""Channels are shared by contents that never live at once, and heads add what nothing else reads."""

from random import Random

import numpy as np
import pytest

from every import every
from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.compiled import CompiledNetwork
from krohn.network.layout import Channel
from krohn.network.lowering.assembly import lower
from krohn.network.lowering.channels import Lifetime, allocate
from krohn.network.lowering.head_sums import sums_of_heads
from krohn.network.operations import Clamp, Linear, PrefixSum, Select, Table
from krohn.network.program import Program, ProgramLayer, Readout, Register, Source, interpret

MOMENTS = 9


@every("seed", range(40))
def test_every_content_keeps_one_channel_from_birth_to_death_and_no_channel_is_wasted(seed: int) -> None:
    dice = Random(seed)
    lives = []
    for number in range(dice.randint(1, 12)):
        birth = dice.randrange(MOMENTS)
        lives.append(Lifetime(Channel(register=f"r{number}"), birth, dice.randrange(birth, MOMENTS)))
    held = allocate(lives, MOMENTS)
    assert len({len(row) for row in held}) == 1
    for life in lives:
        where = {
            n for row in held[life.birth : life.death + 1] for n, c in enumerate(row) if c == life.content
        }
        assert len(where) == 1
        (own,) = where
        assert all(row[own] == life.content for row in held[life.birth : life.death + 1])
    for moment, row in enumerate(held):
        alive = {life.content for life in lives if life.birth <= moment <= life.death}
        assert {content for content in row if content != Channel()} == alive
    most = max(sum(life.birth <= m <= life.death for life in lives) for m in range(MOMENTS))
    assert len(held[0]) == most
    assert held == allocate(list(lives), MOMENTS)


def two_sums(offset: int = 0, *, shown_too: bool = False, twice: bool = False) -> Program:
    """Counts a letter up and another one down, by two heads whose difference is clamped."""
    terms = (("ups", 1), ("downs", -1), *((("ups", 1),) if twice else ()))
    maps = [Linear(terms, offset, "both"), Clamp((("both", 1),), 0, -2, 2, "state")]
    registers = [Register("up", 0, 1), Register("down", 0, 1), Register("state", -2, 2)]
    registers += [Register(name, -9, 9, "wide") for name in ("ups", "downs", "both")]
    if shown_too:
        registers.append(Register("seen", 0, 1))
        maps.append(Clamp((("ups", 1),), 0, 0, 1, "seen"))
    heads = (PrefixSum(("up",), ("ups",)), PrefixSum(("down",), ("downs",)))
    sources = (Source("up", (1, 0, 0), (0,)), Source("down", (0, 1, 0), (0,)))
    codes = tuple((value,) for value in range(-2, 3))
    return Program(tuple(registers), sources, (ProgramLayer(heads, tuple(maps)),), Readout(("state",), codes))


def test_heads_add_into_one_channel_exactly_where_the_sum_is_all_that_is_read() -> None:
    added = sums_of_heads(two_sums())
    assert added.into == {"ups": ("both", 1), "downs": ("both", -1)}
    assert added.goal("downs") == ("both", -1)
    assert added.goal("up") == ("up", 1)
    for program in (two_sums(1), two_sums(shown_too=True), two_sums(twice=True)):
        assert not sums_of_heads(program).into


@pytest.mark.parametrize("program", [two_sums(), two_sums(shown_too=True), two_sums(twice=True)])
def test_sums_of_heads_are_the_same_in_one_channel_and_in_several(program: Program) -> None:
    words = np.random.default_rng(0).integers(3, size=(40, 7))
    network = compiled(program, 7, states=5, letters=3)
    assert (network.run(words) == interpret(program, words)).all()
    assert (network.run(words, np.float32) == interpret(program, words)).all()


def compiled(program: Program, length: int, *, states: int, letters: int) -> CompiledNetwork:
    """The automaton does not matter to a run; it only has as many states and letters."""
    transformer, layout = lower(program, length)
    automaton = Semiautomaton(np.zeros((states, letters), dtype=np.int32))
    return CompiledNetwork(transformer, automaton, "cascade", program, layout)


@pytest.mark.parametrize("function", [("made", "x"), ("x", "made"), ("x", "x"), ("made", "made", "x")])
def test_a_composition_may_read_what_its_own_layer_made_and_a_register_twice(
    function: tuple[str, ...],
) -> None:
    """The argument comes with the token, a value from a table of the same MLP: one layer later."""
    table = Table(
        ("x", "at"), ("made",), tuple(((x, a), ((x + 2 * a) % 3,)) for x in range(3) for a in (0, 1))
    )
    program = Program(
        (Register("x", 0, 2), Register("at", 0, 1), Register("made", 0, 2), Register("chosen", 0, 2)),
        (Source("x", (0, 1, 2, 2), (0,)), Source("at", (0, 1, 0, 1), (0,))),
        (ProgramLayer((), (table, Select(function, ("at",), ("chosen",)))),),
        Readout(("chosen",), ((0,), (1,), (2,))),
    )
    words = np.arange(4)[None, :]
    values = {"x": [0, 1, 2, 2], "made": [0, 0, 2, 1]}
    expected = [[values[function[at]][letter] for letter, at in enumerate((0, 1, 0, 1))]]
    assert compiled(program, 4, states=3, letters=4).run(words).tolist() == expected

"""The causal model of a network: registers, their parents and places, and the effects of swaps.

A program is already a causal model: each register is a variable, the operation that writes it is its
mechanism, the registers that it reads are its parents. Here a variable also has a *place*: the first moment
of the pass at which the stream holds it, and the subspace that holds it there. A *counterfactual* takes a
base word, a source word, a variable and a letter: the variable at that letter gets the value that it has in
the source, and the program continues. The network must then give the program's answers.

Some registers mean nothing alone: a permutation held point by point, with one point from another word, is
none. So the registers that one moment adds and whose swaps alone never change an answer are one variable
together.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.automata.sampling import sample
from krohn.errors import InvalidInput
from krohn.exporting.standard_blocks import StandardBlocks, standard_blocks, twinned_channels
from krohn.lab.suite.graph import Flags
from krohn.lab.suite.patching import Words
from krohn.network.compiled import CompiledNetwork
from krohn.network.meaning import meaning
from krohn.network.program import Program, interpret, interpret_registers
from krohn.network.transformer import Matrix

TRAIN, TEST = "train", "test"
PER_VARIABLE = 64
"""Counterfactuals of each variable in each split."""
TRIES = 4
"""Draws for each counterfactual requested."""
LEAST = 8
"""Fewest telling pairs of a variable that is used."""


@dataclass(frozen=True, eq=False)
class CausalVariable:
    """A register or several, the moment at which it can be swapped, and its subspace of the stream there.

    Attributes:
        name: the register's; of several the first and the last.
        registers: those that are swapped.
        moment: of the network's layout; 0 is the embedding.
        place: the same moment in the decoder, by its name in TransformerLens.
        basis: rows [dimension, d], its directions, orthonormal.
    """

    name: str
    registers: tuple[str, ...]
    moment: int
    place: str
    basis: Matrix


@dataclass(frozen=True)
class Counterfactual:
    """The expected answers if ``variable`` at ``letter`` of ``base`` has its value from ``source``.

    ``telling``: some answer differs from the base's own.
    """

    variable: str
    base: tuple[int, ...]
    source: tuple[int, ...]
    letter: int
    answers: tuple[int, ...]
    telling: bool
    split: str


def variables_of(network: CompiledNetwork, turn: Matrix) -> list[CausalVariable]:
    """The registers that depend on the word and that the stream holds at some moment, each at its first."""
    assert network.program is not None, f"the construction {network.method} keeps no program"
    result, blocks, written = dict[str, CausalVariable](), standard_blocks(network.transformer), set[str]()
    for moment, channels in enumerate(network.layout.moments):
        place, moved = _place(network, blocks, moment)
        written |= _written(network.program, moment)
        for name in dict.fromkeys(channel.register for channel in channels if channel.register):
            if name not in result and name in written:
                held = [moved.get(c, c) for c, each in enumerate(channels) if each.register == name]
                result[name] = CausalVariable(name, (name,), moment, place, turn[held])
    return list(result.values())


def join(variables: list[CausalVariable]) -> list[CausalVariable]:
    """One variable for each moment that has several: all of them together."""
    by_moment = dict[int, list[CausalVariable]]()
    for each in variables:
        by_moment.setdefault(each.moment, []).append(each)
    return [
        CausalVariable(
            f"{group[0].name} … {group[-1].name}",
            tuple(each.name for each in group),
            moment,
            group[0].place,
            np.concatenate([each.basis for each in group]),
        )
        for moment, group in by_moment.items()
        if len(group) > 1
    ]


def _written(program: Program, moment: int) -> set[str]:
    """The registers first written by the program at a moment; positions add no variable."""
    if moment == 0:
        return {source.register for source in program.sources}
    layer = program.layers[(moment - 1) // 2]
    return {name for each in (layer.maps if moment % 2 == 0 else layer.attention) for name in each.writes}


def _place(network: CompiledNetwork, blocks: StandardBlocks, moment: int) -> tuple[str, dict[int, int]]:
    """The moment by TransformerLens's name, and the channels that are elsewhere then."""
    if moment == 0:
        return "blocks.0.hook_resid_pre", {}
    layer, after = (moment - 1) // 2, moment % 2 == 0
    mine = [number for number, of in enumerate(blocks.layer_of) if of == layer]
    if after:
        return f"blocks.{mine[-1]}.hook_resid_post", {}
    twins = {channel: network.transformer.dim + place for place, channel in enumerate(blocks.twins)}
    return f"blocks.{mine[0]}.hook_resid_mid", {
        channel: twins[channel] for channel in twinned_channels(network.transformer.layers[layer])
    }


def causal_model(network: CompiledNetwork, variables: list[CausalVariable]) -> dict[str, Any]:
    """Variables with values, parents and mechanisms, as plain data; those with a place can be swapped."""
    about, places = meaning(network), {each.name: each.place for each in variables}
    parents: dict[str, list[str]] = {}
    for edge in about["edges"]:
        if edge["from"] not in parents.setdefault(edge["to"], []):
            parents[edge["to"]].append(edge["from"])
    together = [each for each in variables if len(each.registers) > 1]
    return {
        "variables": [
            {
                "name": register["name"],
                "values": [register["low"], register["high"]],
                "kind": register["kind"],
                "layer": register["layer"],
                "parents": parents.get(register["name"], [register["written_by"]]),
                "mechanism": register["text"],
                "meaning": register["meaning"],
                "place": places.get(register["name"]),
            }
            for register in about["registers"]
        ],
        "mechanisms": [*about["maps"], *(each for head in about["heads"] for each in head["operations"])],
        "output": about["readout"],
        **({"together": [_together(each) for each in together]} if together else {}),
    }


def _together(variable: CausalVariable) -> dict[str, Any]:
    return {"name": variable.name, "variables": list(variable.registers), "place": variable.place}


def swap_variable(
    program: Program, bases: Words, sources: Words, variable: CausalVariable, letters: Words
) -> tuple[Words, Flags]:
    """The program's answers [pair, letter] after a variable at one letter was taken from another word.

    With flags [pair]: whether the registers at the end encode a state everywhere. Refuses other swaps without
    a meaning: a value outside a register's range, a table without such a row.
    """
    at, rows = program.num_padding + letters, np.arange(len(bases))
    values = interpret_registers(program, sources)

    def swap(now: int, held: dict[str, Words]) -> None:
        for name in variable.registers if now == variable.moment else ():
            changed = held[name].copy()
            changed[rows, at] = values[name][rows, at]
            held[name] = changed

    codes = _codes(program, interpret_registers(program, bases, swap))
    known = np.array([code for code in program.readout.codes if code is not None])
    states = (codes[:, :, None] == known).all(axis=-1).any(axis=-1)
    return program.readout.decode(codes), states.all(axis=1)


def counterfactuals(
    network: CompiledNetwork,
    turn: Matrix,
    *,
    seed: int,
    count: int = PER_VARIABLE,
) -> tuple[list[CausalVariable], list[Counterfactual]]:
    """The variables that matter, and for each and each split pairs whose values differ, most of them telling.

    A variable with fewer than ``LEAST`` telling pairs in a split hardly changes any answer: it gets none.
    Registers without any telling pair are swapped together, moment by moment, after the others.
    """
    single = variables_of(network, turn)
    alone = _draw(network, single, 0, seed, count)
    telling = {one.variable for drawn in alone for one in drawn if one.telling}
    together = join([each for each in single if each.name not in telling])
    every = [*alone, *_draw(network, together, len(single), seed, count)]
    chosen = [_choose(drawn, count) for drawn in every]
    swapped, pairs = list[CausalVariable](), list[Counterfactual]()
    for variable, train, test in zip((*single, *together), chosen[::2], chosen[1::2], strict=True):
        if train and test:
            swapped.append(variable)
            pairs += [*train, *test]
    return swapped, pairs


def _draw(
    network: CompiledNetwork, variables: list[CausalVariable], first: int, seed: int, count: int
) -> list[list[Counterfactual]]:
    """The counterfactuals drawn for each variable and each split."""
    return [
        list(_draws(network, variable, split, (seed, number, part), count))
        for number, variable in enumerate(variables, start=first)
        for part, split in enumerate((TRAIN, TEST))
    ]


def _choose(drawn: list[Counterfactual], count: int) -> list[Counterfactual]:
    """A quarter are pairs after whose swap no answer may change, if there are any."""
    telling, unchanged = [one for one in drawn if one.telling], [one for one in drawn if not one.telling]
    if len(telling) < LEAST:
        return []
    return [*telling[: max(count - count // 4, count - len(unchanged))], *unchanged[: count // 4]]


def _draws(
    network: CompiledNetwork, variable: CausalVariable, split: str, key: tuple[int, ...], count: int
) -> Iterator[Counterfactual]:
    program, length, tries = network.program, network.length, TRIES * count
    assert program is not None
    rng = np.random.default_rng(key)
    words = sample(network.automaton, length=length, count=2 * tries, seed=int(rng.integers(2**31))).letters
    bases, sources = words[:tries].astype(np.int64), words[tries:].astype(np.int64)
    letters = rng.integers(length, size=tries)
    at = (np.arange(tries), program.num_padding + letters)
    own_values, other_values = (interpret_registers(program, side) for side in (bases, sources))
    differ = np.flatnonzero(
        np.any([own_values[name][at] != other_values[name][at] for name in variable.registers], axis=0)
    )
    own = interpret(program, bases)
    for rows, answers in _with_meaning(program, bases, sources, variable, letters, differ):
        for row, after in zip(rows.tolist(), answers, strict=True):
            pair = tuple(bases[row].tolist()), tuple(sources[row].tolist())
            telling = bool((after != own[row]).any())
            yield Counterfactual(
                variable.name, *pair, int(letters[row]), tuple(after.tolist()), telling, split
            )


def _with_meaning(
    program: Program, bases: Words, sources: Words, variable: CausalVariable, letters: Words, rows: Words
) -> Iterator[tuple[Words, Words]]:
    """Answers of the rows whose swap is meaningful: a batch with a swap that is refused is bisected."""
    if not len(rows):
        return
    try:
        answers, meant = swap_variable(program, bases[rows], sources[rows], variable, letters[rows])
        yield rows[meant], answers[meant]
    except InvalidInput:
        if len(rows) > 1:
            for half in np.array_split(rows, 2):
                yield from _with_meaning(program, bases, sources, variable, letters, half)


def _codes(program: Program, values: dict[str, Words]) -> Words:
    """The registers of the read-out [word, letter, register]."""
    stacked = np.stack([values[name] for name in program.readout.registers], axis=-1)
    return stacked[:, program.num_padding :]

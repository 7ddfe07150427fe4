"""A compiler bug planted in any gadget is caught."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from krohn.automata.semiautomaton import Semiautomaton
from krohn.network.lowering import assembly, maps
from krohn.network.lowering.heads import GADGETS
from krohn.network.operations import Clamp, LatestMatch, LatestWrite, LookBack, PrefixSum, Select
from krohn.network.transformer import Transformer
from krohn.paper import theorem1
from krohn.paper.positions import PositionCode
from krohn.paper.theorem1 import build_scan
from krohn.paper.theorem3 import build_grid
from krohn.proving.attempts import arithmetic, attempt
from proving.built_networks import compiled, lowered
from proving.mutants import Mutant, is_wrong
from proving.planting import planted as planted_in

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def wrong_and_refused(network: Transformer, automaton: Semiautomaton, length: int) -> None:
    assert is_wrong(Mutant("planted", "", network, automaton), length, "float64")
    assert attempt(network, automaton, length, arithmetic("float64"))[1] is not None


def negated_value(lower: Callable[..., Any]) -> Callable[..., Any]:
    def planted(*args: Any) -> Any:
        plan = lower(*args)
        return replace(plan, value=tuple({c: -2 * w for c, w in column.items()} for column in plan.value))

    return planted


def reversed_scores(lower: Callable[..., Any]) -> Callable[..., Any]:
    def planted(*args: Any) -> Any:
        plan = lower(*args)
        return replace(plan, query=tuple({c: -w for c, w in column.items()} for column in plan.query))

    return planted


def rolled_values(staircase: Callable[..., Any]) -> Callable[..., Any]:
    def planted(builder: Any, code: Any, points: Any, values: Any, *rest: Any) -> Any:
        return staircase(builder, code, points, np.roll(values, 1, axis=0), *rest)

    return planted


HEADS: list[tuple[str, type, Wrap]] = [
    ("parity", PrefixSum, negated_value),
    ("memory", LatestWrite, reversed_scores),
    ("look back", LookBack, reversed_scores),
    ("memory", LatestWrite, negated_value),
]


@pytest.mark.parametrize(("program", "operation", "wrap"), HEADS)
def test_a_bug_in_a_head_is_caught(program: str, operation: type, wrap: Wrap) -> None:
    real = GADGETS[operation]
    with planted_in(real, wrap(real)):
        network = lowered(program, 7)
    wrong_and_refused(network.transformer, network.automaton, 7)


def test_a_bug_in_the_latest_match_is_caught() -> None:
    real = GADGETS[LatestMatch]

    def planted(operation: Any, *args: Any) -> Any:
        return real(replace(operation, shift=operation.shift + 1), *args)

    compiled.cache_clear()
    with planted_in(real, planted):
        network = compiled("Grid4", 7, "cascade")
    compiled.cache_clear()
    wrong_and_refused(network.transformer, network.automaton, 7)


@pytest.mark.parametrize("spec", ["C5", "D6"])
def test_a_bug_in_a_staircase_is_caught(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maps, "staircase", rolled_values(maps.staircase))
    compiled.cache_clear()
    network = compiled(spec, 7, "cascade")
    compiled.cache_clear()
    wrong_and_refused(network.transformer, network.automaton, 7)


@pytest.mark.parametrize(("program", "kind"), [("clamp", Clamp), ("select", Select)])
def test_a_bug_in_a_map_is_caught(program: str, kind: type) -> None:
    real = assembly.lower_map.dispatch(kind)

    def planted(operation: Any, context: Any) -> None:
        if isinstance(operation, Clamp):
            real(replace(operation, high=operation.high - 1), context)
        else:
            real(replace(operation, function=operation.function[::-1]), context)

    assembly.lower_map.register(kind, planted)
    try:
        network = lowered(program, 7)
    finally:
        assembly.lower_map.register(kind, real)
    wrong_and_refused(network.transformer, network.automaton, 7)


def test_a_bug_in_the_read_out_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = assembly._readout

    def planted(*args: Any) -> Any:
        weights, bias = real(*args)
        return weights[:, ::-1], bias[::-1]

    monkeypatch.setattr(assembly, "_readout", planted)
    network = lowered("look back", 7)
    wrong_and_refused(network.transformer, network.automaton, 7)


def test_a_bug_in_the_scan_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    automaton = Semiautomaton.from_letters([(1, 2, 0), (0, 0, 2)])
    real = theorem1.composition_mlp

    def planted(states: int, gadget: str) -> Any:
        mlp = real(states, gadget)
        return replace(mlp, biases=(mlp.biases[0] - 0.5 * np.abs(mlp.weights[0]).max(), *mlp.biases[1:]))

    monkeypatch.setattr(theorem1, "composition_mlp", planted)
    network = build_scan(automaton, 7).transformer
    wrong_and_refused(network, automaton, 7)


def test_the_rotation_as_printed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Erratum 4: with the printed sign a head looks ahead."""
    automaton = Semiautomaton.from_letters([(1, 2, 0), (0, 0, 2)])
    real = PositionCode.key_rotation
    monkeypatch.setattr(PositionCode, "key_rotation", lambda self, distance: real(self, -distance))
    network = build_scan(automaton, 7).transformer
    wrong_and_refused(network, automaton, 7)


def test_a_bug_in_the_grid_heads_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from krohn.paper import grid_heads

    monkeypatch.setattr(grid_heads, "key_gap", lambda walls: 0.3)
    automaton = compiled("Grid4", 7, "grid").automaton
    network = build_grid(automaton, 7).transformer
    refused = attempt(network, automaton, 7, arithmetic("float64"))[1] is not None
    assert refused or not is_wrong(Mutant("planted", "", network, automaton), 7, "float64")

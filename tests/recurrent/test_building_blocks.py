"""Building blocks of weights and verdicts: codes, actions, blocks, small actions, series, rows."""

import time
from itertools import product

import numpy as np
import pytest

from algebra.named_groups import closure
from cascade.random_automata import random_automaton
from every import every
from krohn.algebra.analysis import algebra_of
from krohn.algebra.permgroup import PermutationGroup, block_images
from krohn.automata.quotients import reachable
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec, zoo
from krohn.errors import LimitExceeded
from krohn.recurrent import one_step, stack_weights
from krohn.recurrent.capability import capability
from krohn.recurrent.delta_weights import Columns, DeltaCode, in_columns, move
from krohn.recurrent.one_step import block_length, compose_actions, elementary, with_one_step
from krohn.recurrent.recurrent_weights import WEIGHTS, DiagonalCode, root_of_unity
from krohn.recurrent.small_action import small_action, swaps_and_merges
from krohn.recurrent.stack_weights import LayeredMachine, all_actions
from krohn.recurrent.verdicts import derived_steps, idempotent_pair, two_series, verdicts


def run(machine: LayeredMachine, word: list[int]) -> list[int]:
    values, states = machine.start, []
    for letter in word:
        values = machine.actions(values, letter)[1]
        states.append(machine.state(values))
    return states


AUTOMATA = [random_automaton(seed, smallest=2, largest=4) for seed in range(6)]
AUTOMATA += [parse_spec(name) for name in ("D6", "A4", "Memory3", "Grid4", "T3")]


@every("automaton", AUTOMATA)
def test_columns_follow_the_automaton_in_blocks_too(automaton: Semiautomaton) -> None:
    plain = in_columns(automaton)
    rng = np.random.default_rng(0)
    words = [rng.integers(automaton.num_letters, size=25).tolist() for _ in range(5)]
    machines = [plain, in_columns(automaton, resets_in_one_step=True)]
    if automaton.num_states <= 6:
        machines.append(with_one_step(machines[1]))
        assert all(
            len(elementary(action)) <= 1 for layer in all_actions(machines[-1].machine) for action in layer
        )
    for result in machines:
        for word in words:
            assert run(result.machine, word) == automaton.run(word)


def test_a_block_is_long_enough_for_its_own_work() -> None:
    """In D6 a letter alone may take two swaps of three points; any four letters take at most two."""
    plain = in_columns(parse_spec("D6"))
    (layer,) = all_actions(plain.machine)
    block = block_length(plain)
    for letters in product(layer, repeat=block):
        assert len(elementary(compose_actions(letters))) <= block
    assert any(
        len(elementary(compose_actions(letters))) > block // 2
        for letters in product(layer, repeat=block // 2)
    )
    swaps = in_columns(parse_spec("C2"))
    assert with_one_step(swaps) is swaps


def test_blocks_are_given_up_as_soon_as_they_do_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, asked = in_columns(parse_spec("C40")), list[object]()
    monkeypatch.setattr(one_step, "MAX_WORK", 10)
    monkeypatch.setattr(one_step, "compose_actions", lambda pair: asked.append(pair) or compose_actions(pair))
    with pytest.raises(LimitExceeded, match="choose deltaproduct"):
        block_length(plain)
    assert len(asked) <= 40


def test_too_much_work_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_step, "MAX_WORK", 3)
    with pytest.raises(LimitExceeded, match="choose deltaproduct"):
        with_one_step(in_columns(parse_spec("D6"), resets_in_one_step=True))
    monkeypatch.setattr(stack_weights, "MAX_CASES", 2)
    with pytest.raises(LimitExceeded, match="at most 2 combinations of values"):
        in_columns(parse_spec("D6")).network()
    monkeypatch.setattr(stack_weights, "MAX_PARAMETERS", 10)
    with pytest.raises(LimitExceeded, match="at most 10 parameters"):
        WEIGHTS["diagonal"](parse_spec("FlipFlop"))


@every("seed", range(10))
def test_composed_actions_do_what_they_do_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    actions = [
        ("reset", tuple(rng.integers(4, size=2).tolist()))
        if rng.random() < 0.3
        else ("move", tuple(rng.permutation(4).tolist()))
        for _ in range(3)
    ]
    for places in product(range(4), repeat=2):
        one_by_one = places
        for action in actions:
            one_by_one = move(one_by_one, action)
        assert move(places, compose_actions(actions)) == one_by_one
        for action in actions:
            step_by_step = places
            for part in elementary(action):
                step_by_step = move(step_by_step, part)
            assert step_by_step == move(places, action)


@pytest.mark.parametrize("columns", [(2,), (0, 3)])
def test_a_delta_code_reads_its_places_and_tests_one_value(columns: tuple[int, ...]) -> None:
    code = DeltaCode(4, columns)
    start = np.array(columns)
    for places in product(range(4), repeat=len(columns)):
        own = np.array(places)
        read = np.concatenate([own - start, own**2 - start**2])
        for value in product(range(4), repeat=len(columns)):
            weight, bias = code.test(value)
            result = read @ weight + bias
            assert result == 1 if value == places else result <= 0


@pytest.mark.parametrize("columns", [(2,), (0, 3)])
def test_the_steps_of_an_action_move_the_memory_to_the_code_of_the_new_places(
    columns: tuple[int, ...],
) -> None:
    """S holds the code of each column's place less that of its start; a step is S ← S + βk(v − kᵀS)."""
    code, rng = DeltaCode(4, columns), np.random.default_rng(0)
    unit = np.repeat(np.eye(4), 2, axis=1)
    own = unit[list(columns)]
    actions = [("move", tuple(rng.permutation(4).tolist())) for _ in range(8)]
    actions += [("reset", value) for value in product(range(4), repeat=len(columns))]
    for places in product(range(4), repeat=len(columns)):
        for action in actions:
            state = np.zeros((8, len(columns))) if action[0] == "reset" else (unit[list(places)] - own).T
            for beta, key, value in code._plan(action):
                assert key @ key == 1
                state = state + beta * np.outer(key, value - key @ state)
            assert np.array_equal(state.T, unit[list(move(places, action))] - own)
    assert code.count_steps(actions) == max(len(code._plan(action)) for action in actions)


@pytest.mark.parametrize(("gate", "start", "moduli"), [
    ("complex", 1, (3, 5)), ("complex", None, (4,)), ("signed", 0, (2, 2)), ("unit", 2, ()),
])  # fmt: skip
def test_a_diagonal_code_tests_one_value(gate: str, start: int | None, moduli: tuple[int, ...]) -> None:
    code = DiagonalCode(gate, start, moduli, 5)
    tiles = range(4) if start is not None else [0]
    values = [(tile, residues) for tile in tiles for residues in product(*map(range, moduli))]
    for tile, residues in values:
        read = [] if start is None else [tile - start, tile**2 - start**2]
        for residue, modulus in zip(residues, moduli, strict=True):
            turned = np.exp(2j * np.pi * residue / modulus)
            read += [turned.real, turned.imag] if gate == "complex" else [turned.real]
        assert len(read) == code.reads
        for value in values:
            weight, bias = code.test(value)
            result = np.array(read) @ weight + bias
            assert result == pytest.approx(1, abs=1e-12) if value == (tile, residues) else result <= 1e-12


@pytest.mark.parametrize("modulus", [1, 2, 3, 4, 5, 8, 12])
def test_roots_of_unity(modulus: int) -> None:
    roots = [root_of_unity(exponent, modulus) for exponent in range(modulus)]
    assert np.allclose(roots, np.exp(2j * np.pi * np.arange(modulus) / modulus), atol=1e-15)
    for exponent in range(modulus):
        if 4 * exponent % modulus == 0:
            assert root_of_unity(exponent, modulus) in (1, 1j, -1, -1j)  # exactly
        assert abs(root_of_unity(exponent + modulus, modulus) - roots[exponent]) < 1e-14


@pytest.mark.parametrize("seed", range(6))
def test_a_small_action_is_the_same_group(seed: int) -> None:
    """Products of letters are equal on the few points if and only if they are on the many."""
    rng = np.random.default_rng(seed)
    few = [tuple(rng.permutation(4).tolist()) for _ in range(2)]
    group = list(PermutationGroup(few, 4).elements())
    many = [tuple(group.index(tuple(letter[i] for i in g)) for g in group) for letter in few]  # on itself
    action = small_action(tuple(many))
    assert len(action[0]) <= len(many[0])
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for word in product(range(2), repeat=6):
        big, small = tuple(range(len(many[0]))), tuple(range(len(action[0])))
        for letter in word:
            big, small = tuple(many[letter][q] for q in big), tuple(action[letter][q] for q in small)
        assert seen.setdefault(big, small) == small
    assert len(set(seen.values())) == len(seen)


def test_a_letter_on_blocks_moves_blocks() -> None:
    assert block_images((1, 2, 3, 0), (0, 1, 0, 1)) == (1, 0)
    assert block_images((2, 3, 0, 1), (0, 1, 0, 1)) == (0, 1)


def brute_steps(generators: list[tuple[int, ...]], degree: int, *, squares: bool) -> int:
    """Steps of the series G → ⟨commutators (and squares)⟩ until nothing is left, over all elements."""
    group, steps = closure(generators), 0
    identity = tuple(range(degree))

    def times(*parts: tuple[int, ...]) -> tuple[int, ...]:
        out = identity
        for part in parts:
            out = tuple(part[i] for i in out)
        return out

    def inverse(g: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(range(degree), key=g.__getitem__))

    while len(group) > 1:
        smaller = [times(inverse(a), inverse(b), a, b) for a in group for b in group]
        smaller += [times(a, a) for a in group] if squares else []
        group, steps = closure(sorted(set(smaller))), steps + 1
    return max(1, steps)


@pytest.mark.parametrize(
    ("spec", "two"), [("D8", True), ("C4", True), ("Q8", True), ("S4", False), ("C6", False)]
)
def test_series_of_groups_against_all_their_elements(spec: str, two: bool) -> None:
    letters = [tuple(letter) for letter in parse_spec(spec).letters]
    degree = len(letters[0])
    group = PermutationGroup(letters, degree)
    assert derived_steps(group) == brute_steps(letters, degree, squares=False)
    if two:
        assert two_series(group) == brute_steps(letters, degree, squares=True)


REACHED = [one for one in map(reachable, AUTOMATA) if one.num_states > 1]
"""Verdicts count no states but those that words reach."""


@every("automaton", REACHED)
def test_rows_say_what_the_witnesses_have(automaton: Semiautomaton) -> None:
    rows = {row.name: row for row in verdicts(automaton, algebra_of(automaton))}
    stacks = {name: WEIGHTS[name](automaton) for name in ("diagonal", "deltaproduct", "rankone")}
    gates = {"unit": "diagonal [0, 1]", "signed": "diagonal [-1, 1]", "complex": "diagonal complex"}
    weakest = gates[stacks["diagonal"].gate]  # type: ignore[attr-defined]
    for name in gates.values():
        assert rows[name].can is (list(gates.values()).index(name) >= list(gates.values()).index(weakest))
    assert rows["DeltaProduct"].layers == stacks["deltaproduct"].layers  # type: ignore[attr-defined]
    assert (rows["DeltaProduct"].steps or 0) >= stacks["deltaproduct"].steps  # type: ignore[attr-defined]
    needed = max(len(swaps_and_merges(letter)) for letter in automaton.letters)
    assert stacks["rankone"].steps == max(1, needed)  # type: ignore[attr-defined]
    special = rows["DeltaProduct"].steps if rows["DeltaProduct"].layers == 1 else None
    assert rows["rank-one (RWKV-7)"].steps == min(max(1, needed), special or needed)
    if rows["diagonal complex"].can:
        assert rows["diagonal complex"].layers >= stacks["diagonal"].layers  # type: ignore[attr-defined,operator]


@every("seed", range(12))
def test_two_idempotents_with_one_image_are_found_if_there_are_any(seed: int) -> None:
    automaton = random_automaton(seed, smallest=2, largest=4)
    part = {automaton.start}
    for _ in range(4):
        part |= {automaton.step(q, a) for q in part for a in range(automaton.num_letters)}
    order = sorted(part)
    maps = {tuple(letter[q] for q in order) for letter in automaton.letters}
    while True:
        more = maps | {tuple(letter[q] for q in one) for one in maps for letter in automaton.letters}
        if more == maps:
            break
        maps = more
    idempotents = [one for one in maps if all(one[order.index(q)] == q for q in one) and len(set(one)) > 1]
    pair = idempotent_pair(automaton)
    assert (pair is not None) == (len({frozenset(one) for one in idempotents}) < len(idempotents))
    if pair is not None:
        first, second = (tuple(automaton.run(word, q)[-1] for q in order) for word in pair)
        assert first != second
        assert set(first) == set(second)
        assert first in idempotents
        assert second in idempotents


@every("family", ["diagonal [-1, 1]", "diagonal complex", "DeltaNet [0, 2]", "DeltaProduct"])
@every("spec", ["D8", "S3:all", "WriteOnce2"])
def test_more_layers_and_steps_never_do_harm(spec: str, family: str) -> None:
    rank = {False: 0, None: 1, True: 2}
    result = {(n, k): rank[capability(spec, family, n, k)[0]] for n in range(1, 6) for k in range(1, 4)}
    for (n, k), answer in result.items():
        assert all(answer <= other for (m, j), other in result.items() if m >= n and j >= k)


def test_points_of_columns_are_enough() -> None:
    for automaton in AUTOMATA:
        result = in_columns(automaton)
        assert isinstance(result, Columns)
        for layer in all_actions(result.machine):
            for kind, images in layer:
                assert max(images) < result.points
                assert kind == "reset" or sorted(images) == list(range(len(images)))


def test_what_is_searched_of_large_automata_is_bounded() -> None:
    begin = time.process_time()
    assert len(small_action(zoo("C300").letters)[0]) == 300  # blocks are tried with one of its 299 letters
    assert time.process_time() - begin < 6
    assert idempotent_pair(zoo("T3xC100")) is None
    assert idempotent_pair(zoo("T3xC10")) is not None
    with pytest.raises(LimitExceeded, match="choose deltaproduct"):
        block_length(in_columns(zoo("C500:01")))

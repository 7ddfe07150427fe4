"""Weights of witnesses read off the tensors: what units hold, what actions do to memories, what is read."""

from itertools import product

import numpy as np
import pytest

from cascade.random_automata import random_automaton
from every import every
from krohn.algebra.analysis import algebra_of
from krohn.automata.semiautomaton import Semiautomaton
from krohn.automata.zoo import parse_spec
from krohn.check.arithmetic.format import FORMATS
from krohn.check.ground import point
from krohn.recurrent import verdicts as rows_module
from krohn.recurrent.capability import capability
from krohn.recurrent.delta_weights import DeltaCode, move
from krohn.recurrent.recurrent_network import PlainSums, logits_of
from krohn.recurrent.recurrent_weights import HEADS, WEIGHTS, DiagonalCode, RankOneCode, gru, lstm, rankone
from krohn.recurrent.verdicts import verdicts

FLOATS = PlainSums(FORMATS["float32"])
AUTOMATA = [random_automaton(seed, smallest=2, largest=4) for seed in (1, 3, 5)] + [parse_spec("Dyck1,2")]


def words_of(automaton: Semiautomaton, count: int = 4, length: int = 12) -> list[list[int]]:
    return np.random.default_rng(0).integers(automaton.num_letters, size=(count, length)).tolist()


@every("make", [lstm, gru])
@every("automaton", AUTOMATA)
def test_the_unit_that_is_on_is_that_of_the_state_before_and_the_letter(
    make, automaton: Semiautomaton
) -> None:  # type: ignore[no-untyped-def]
    cell = make(automaton)
    on, off = (np.tanh(np.float32(1)), 0.0) if make is lstm else (1.0, -1.0)
    for word in words_of(automaton):
        (stage,), rows = cell.stages(FLOATS), cell.letters(FLOATS)
        states, before = point(np.zeros((1, cell.size))), automaton.start
        for letter in word:
            states, _ = stage.step(rows[[letter]], states)
            units = states.lo[0, : cell.hidden]
            wanted = np.full(automaton.num_states * automaton.num_letters, off, np.float32)
            wanted[before * automaton.num_letters + letter] = on
            assert np.array_equal(units[:-1], wanted)
            assert units[-1] == on  # a word has begun
            before = automaton.step(before, letter)


def delta_step(
    tensors: dict[str, np.ndarray], channel: int, memory: np.ndarray, shape: tuple[int, ...]
) -> tuple:  # type: ignore[type-arg]
    """One letter of the definition, for an input that is 1 on one channel; saturated gates are 0 or 1."""
    heads, steps, keys, values = shape
    key = tensors["key"][channel].reshape(heads, steps, keys)
    value = tensors["value"][channel].reshape(heads, steps, values)
    query = tensors["query"][channel].reshape(heads, keys)
    if "gate.weight" in tensors:
        memory = memory * (tensors["gate.weight"][channel] > 0)[:, None, None]
        beta = tensors["beta.weight"][channel].reshape(heads, steps)
        rates = np.repeat(np.where(beta > 0, 2.0, np.where(beta < 0, 0.0, 1.0))[..., None], keys, axis=2)
        writes = rates[..., :1]
    else:
        given = tensors["rate.weight"][channel].reshape(heads, steps, keys)
        rates = np.where(given > 0, 2.0, np.where(given < 0, 0.0, 1.0))
        writes = np.ones((heads, steps, 1))
    after = []
    for head in range(heads):
        state = memory[head]
        for step in range(steps):
            k = key[head, step]
            length = np.linalg.norm(k)
            assert length in (0.0, 1.0)
            state = state + np.outer(
                k, writes[head, step] * value[head, step] - (rates[head, step] * k) @ state
            )
        after.append(state)
    reads = np.array([query[head] @ after[head] for head in range(heads)])
    return np.array(after), reads


@pytest.mark.parametrize("columns", [(1,), (0, 2)])
def test_a_delta_mixer_moves_and_reads_places(columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    actions = [("move", tuple(rng.permutation(3).tolist())) for _ in range(3)]
    actions += [("reset", tuple(rng.integers(3, size=len(columns)).tolist())) for _ in range(2)]
    steps = DeltaCode(3, columns).count_steps(actions)
    code = DeltaCode(3, columns, steps)
    channels = [4, 0, 3, 1, 2]
    tensors = code.mixer(actions, channels, 6)
    shape = (2, steps, 6, len(columns))
    for word in rng.integers(len(actions), size=(10, 8)).tolist():
        memory, places = np.zeros((2, 6, len(columns))), columns
        for number in word:
            memory, reads = delta_step(tensors, channels[number], memory, shape)
            places = move(places, actions[number])
            first, now = np.array(columns), np.array(places)
            assert np.array_equal(reads[0], now - first)
            assert np.array_equal(reads[1], now**2 - first**2)


@pytest.mark.parametrize("automaton", AUTOMATA, ids=lambda one: one.name or "random")
def test_a_rank_one_mixer_follows_any_map(automaton: Semiautomaton) -> None:
    cell = rankone(automaton)
    code = RankOneCode(automaton.num_states, (automaton.start,), cell.steps)
    channels = list(range(automaton.num_letters))
    tensors = code.mixer(list(automaton.letters), channels, automaton.num_letters)
    shape = (HEADS, cell.steps, 2 * automaton.num_states, 1)
    for word in words_of(automaton):
        memory = np.zeros((HEADS, 2 * automaton.num_states, 1))
        for letter, state in zip(word, automaton.run(word), strict=True):
            memory, reads = delta_step(tensors, letter, memory, shape)
            assert reads[:, 0].tolist() == [state - automaton.start, state**2 - automaton.start**2]


@pytest.mark.parametrize(
    ("gate", "start", "moduli"), [("complex", 1, (3, 4)), ("signed", None, (2, 2)), ("unit", 2, ())]
)
def test_a_diagonal_mixer_turns_counters_and_writes_tiles(
    gate: str, start: int | None, moduli: tuple[int, ...]
) -> None:
    rng = np.random.default_rng(2)
    width, parts = 5, 2 if gate == "complex" else 1
    code = DiagonalCode(gate, start, moduli, width)
    residues = [tuple(int(rng.integers(m)) for m in moduli) for _ in range(4)]
    actions = [("add", r) for r in residues[:2]] + [("set", int(rng.integers(4)), r) for r in residues[2:]]
    tensors = code.mixer(actions, [0, 1, 2, 3], 4)

    def numbers(row: np.ndarray) -> np.ndarray:
        return row[:width] + 1j * row[width:] if parts == 2 else row

    def bent(z: np.ndarray) -> np.ndarray:
        if gate == "complex":
            return z / np.maximum(1, np.abs(z))
        return np.tanh(z) if gate == "signed" else 0.5 * (1 + np.tanh(z / 2))

    first = code.first().reshape(-1)
    held = numbers(first)  # the first letter writes the start: counters 1, tiles as they are
    tile, counters = start or 0, (0,) * len(moduli)
    for number in rng.integers(4, size=30).tolist():
        z = tensors["gate.weight"][number] + tensors["gate.bias"]
        held = bent(numbers(z)) * held + numbers(tensors["write"][number])
        kind, *given = actions[number]
        if kind == "set":
            tile, counters = given[0], given[1]
        else:
            counters = tuple((c + d) % m for c, d, m in zip(counters, given[0], moduli, strict=True))
        whole = np.concatenate([held.real, held.imag]) if parts == 2 else held
        read = whole @ code.out()
        wanted = [] if start is None else [tile - start, tile**2 - start**2]
        for counter, modulus in zip(counters, moduli, strict=True):
            turned = np.exp(2j * np.pi * counter / modulus)
            wanted += [turned.real, turned.imag] if parts == 2 else [turned.real]
        assert np.allclose(read, wanted, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "name"), [("deltaproduct", "T3"), ("diagonal", "Grid4"), ("deltanet", "D6")]
)
def test_logits_of_a_stack_are_one_for_the_state_and_zero_elsewhere(kind: str, name: str) -> None:
    automaton = parse_spec(name)
    cell = WEIGHTS[kind](automaton)
    for word in words_of(automaton, count=2):
        result = logits_of(cell, np.array([word]))[0]
        for logits, state in zip(result, automaton.run(word), strict=True):
            assert np.array_equal(logits, np.eye(automaton.num_states, dtype=np.float32)[state])


def test_without_a_cascade_rows_say_that_the_number_of_layers_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    automaton = parse_spec("Grid4")
    monkeypatch.setattr(rows_module, "MAX_STATES", 3)
    monkeypatch.setattr(rows_module, "MAX_ELEMENTS", 2)
    rows = {row.name: row for row in verdicts(automaton, algebra_of(automaton), transformer_layers=7)}
    assert (rows["diagonal [0, 1]"].can, rows["diagonal [0, 1]"].layers) == (True, None)
    assert (rows["DeltaProduct"].layers, rows["DeltaProduct"].steps) == (None, None)
    assert rows["Transformer, fixed depth"].layers == 7
    assert rows["LSTM"].layers == 1
    assert "9 units" in rows["LSTM"].reason
    capability.cache_clear()
    answer, why = capability(automaton, "diagonal complex", 3, 1)
    capability.cache_clear()
    assert answer is None
    assert why


@every("places", list(product(range(3), repeat=2)))
def test_a_reset_forgets_and_a_move_does_not(places: tuple[int, int]) -> None:
    assert move(places, ("reset", (2, 0))) == (2, 0)
    assert move(places, ("move", (1, 2, 0))) == tuple((place + 1) % 3 for place in places)

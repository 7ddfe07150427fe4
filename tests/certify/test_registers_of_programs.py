"""The machine that a program proof follows, against the program run on every short word."""

from itertools import product

import numpy as np
import pytest

from certify.random_programs import LETTERS, random_program
from krohn.certify import program_maps, program_proof
from krohn.certify.program_maps import Registers, map_registers
from krohn.errors import InvalidInput
from krohn.network.program import Program, interpret_registers

LENGTH = 5
WORDS = np.array(list(product(range(LETTERS), repeat=LENGTH)))


def moments(program: Program, choices: int) -> list[Registers]:
    """What is followed at the start, and after every head and map: nothing is forgotten on the way."""
    found = [program_proof._start(program, choices)]
    for layer in program.layers:
        for operation in layer.attention:
            found.append(program_proof._attend(found[-1], operation, program.mask, LENGTH))
        for change in layer.maps:
            found.append(map_registers(found[-1], change, LENGTH))
    return found


def runs(state: Registers, word: tuple[int, ...]) -> list[dict[str, list[int]]]:
    """What every register holds along the word, for each run of the machine that the word has."""
    machine = state.machine
    none = np.zeros(machine.steps.shape[2], dtype=np.int64)
    found = [(0, none, {name: list[int]() for name in state.value})]
    for letter in word:
        further = []
        for at, total, held in found:
            for choice in range(machine.choices):
                drawn = letter * machine.choices + choice
                shown, now = machine.shown[at, drawn], total + machine.steps[at, drawn]
                values = {
                    name: [*held[name], int(state.value[name][shown] + state.share[name] @ now)]
                    for name in held
                }
                further.append((int(machine.follow[at, drawn]), now, values))
        found = further
    return [held for _, _, held in found]


def true_values(program: Program) -> dict[str, np.ndarray]:
    held = interpret_registers(program, WORDS)
    return {name: values[:, program.num_padding :] for name, values in held.items()}


@pytest.fixture(autouse=True)
def _short_words_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory of a sum has states without end on longer words."""
    monkeypatch.setattr(program_maps, "UNBOUNDED", LENGTH)
    monkeypatch.setattr(program_proof, "UNBOUNDED", LENGTH)


@pytest.mark.parametrize("choices", [1, 4])
def test_every_word_has_a_run_that_holds_what_the_program_holds(choices: int) -> None:
    followed = guessed = 0
    for seed in range(40, 120):
        program = random_program(seed)
        try:
            state, truth = moments(program, choices)[-1], true_values(program)
        except InvalidInput:  # a composition whose argument is no index, or a sum that is looked up
            continue
        followed, guessed = followed + 1, guessed + (state.machine.choices > 1)
        for number in range(seed % 11, len(WORDS), 11):
            held = runs(state, tuple(WORDS[number]))
            assert {name: truth[name][number].tolist() for name in state.value} in held, f"program {seed}"
    assert followed > 40
    assert bool(guessed) == (choices > 1)

"""Length generalisation of networks that are right by construction, and of one broken at a position."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from beyond import SEED, SHIFTS, WORDS, beyond

import krohn
from krohn.automata.sampling import sample
from krohn.exporting.from_compiled import decoder_of_compiled
from krohn.lab.interpret.stages import Stages, stages_of_decoder
from krohn.lab.interpret.subject import Subject, subject_of_compiled


def scan_of(length: int) -> Subject:
    return subject_of_compiled(krohn.compile("D6", length=length, method="scan"))


def test_a_compiled_network_holds_as_far_as_it_was_compiled() -> None:
    result = beyond(scan_of(32), 8)
    assert result.first_wrong == [0] * WORDS
    assert [(part["from"], part["to"]) for part in result.beyond] == [
        (1, 8), (9, 9), (10, 10), (11, 12), (13, 16), (17, 32)
    ]  # fmt: skip
    assert all(part["right"] == 1.0 for part in result.beyond)
    assert [part["shift"] for part in result.shifts] == list(SHIFTS)


def test_a_network_without_later_positions_fails_where_they_begin() -> None:
    whole = scan_of(32)
    positions = whole.stages.positions.clone()
    positions[len(whole.stages.prompt) + 10 :] = 0.0
    result = beyond(replace(whole, stages=replace(whole.stages, positions=positions)), 8)
    assert all(letter == 0 or letter > 10 for letter in result.first_wrong)
    assert sum(letter > 10 for letter in result.first_wrong) > WORDS // 2
    assert [part["right"] for part in result.beyond[:3]] == [1.0, 1.0, 1.0]
    assert result.beyond[-1]["right"] < 0.9


def test_the_effects_of_shifted_positions_are_counted() -> None:
    """Counted again letter by letter."""
    whole = subject_of_compiled(krohn.compile("D6", length=32, method="scan"))
    shifts = beyond(whole, 8).shifts
    letters = sample(whole.automaton, length=32, count=WORDS, seed=SEED).letters[:, :8].astype(np.int64)
    for row in shifts:
        start = len(whole.stages.prompt) + row["shift"]
        rest = whole.stages.positions[start : start + 8]
        positions = torch.cat([whole.stages.positions[: len(whole.stages.prompt)], rest])
        answers = replace(whole.stages, positions=positions).run(letters).answers.tolist()
        hits = dict.fromkeys(("right", "twice", "without", "follow"), 0)
        for word, output in zip(letters.tolist(), answers, strict=True):
            for t in range(8):
                hits["right"] += output[t] == whole.automaton.run(word[: t + 1])[-1]
                hits["twice"] += output[t] == whole.automaton.run([word[0], *word[: t + 1]])[-1]
                hits["without"] += t > 0 and output[t] == whole.automaton.run(word[1 : t + 1])[-1]
                hits["follow"] += t > 0 and output[t] == whole.automaton.table[output[t - 1], word[t]]
        counts = {"right": 8, "twice": 8, "without": 7, "follow": 7}
        for name, hit in hits.items():
            assert row[name] == pytest.approx(hit / counts[name] / WORDS)


def test_a_shorter_subject_is_the_same_network() -> None:
    whole = scan_of(16)
    short = whole.until(5)
    assert short.length == 5
    words = short.draw(3, 20, 5)
    assert (short.stages.run(words).answers == whole.stages.run(words).answers).all()


def test_every_tensor_moves() -> None:
    """A device without numbers, so that one tensor left behind would be seen."""

    def devices(stages: Stages) -> set[str]:
        modules = torch.nn.ModuleList([*stages.blocks, stages.last_norm])
        own = [
            value for one in fields(stages) if isinstance(value := getattr(stages, one.name), torch.Tensor)
        ]
        return {value.device.type for value in [*own, *modules.state_dict().values()]}

    network = krohn.compile("C3", length=4)
    for stages in (
        scan_of(8).stages,
        stages_of_decoder(decoder_of_compiled(network, normalized=True), torch.float32),
    ):
        moved = stages.to("meta")
        assert devices(stages) == {"cpu"}
        assert devices(moved) == {"meta"}

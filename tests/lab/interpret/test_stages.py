"""Opened networks agree with the other passes, resume from the middle, and survive disguises."""

from pathlib import Path

import numpy as np
import pytest
import torch

import krohn
from krohn.errors import InvalidFile
from krohn.lab.interpret.stages import Past, Stages, stages_of_decoder, stages_of_transformer
from krohn.lab.interpret.understand import subject_of
from krohn.lab.suite.disguise import ROTATED, disguise
from krohn.network.gpt2.reading import read_export

KEPT = Path(__file__).parents[3] / "results" / "networks"


def words(letters: int, length: int, count: int = 40) -> np.ndarray:
    return np.random.default_rng(0).integers(letters, size=(count, length))


@pytest.mark.parametrize(
    ("spec", "options"),
    [("Grid4", {}), ("C3", {"method": "paper", "activation": "sin"}), ("D6", {}), ("S3", {"method": "scan"})],
)
def test_a_compiled_network_gives_its_states(spec: str, options: dict[str, str]) -> None:
    network = krohn.compile(spec, length=6, **options, unproved=True)
    sample = words(network.automaton.num_letters, 6)
    assert (stages_of_transformer(network.transformer).run(sample).answers == network.run(sample)).all()


def test_a_network_with_a_block_without_heads_is_run_on_from_the_middle() -> None:
    network = krohn.compile("D6", length=6, method="paper", unproved=True)
    stages = stages_of_transformer(network.transformer)
    assert any(not len(block.heads) for block in stages.blocks)
    sample, at = words(2, 6, 6), torch.arange(6) + len(stages.prompt)
    passed = stages.run(sample)
    for layer in range(len(stages.blocks) + 1):
        past = Past.of(passed, torch.arange(6), at)
        result = stages.resume(layer, passed.streams[layer][torch.arange(6), at][:, None], past)[:, 0]
        assert (result.numpy() == passed.answers[np.arange(6), np.arange(6)]).all()


def test_a_trained_run_gives_its_own_logits() -> None:
    from krohn.lab.training.trained_network import read_run

    run = KEPT / "grid9-gpt"
    sample = words(2, 40, 64)
    same = subject_of(run).stages.run(sample).answers == read_run(run).forward(sample)
    assert same.mean() > 0.999  # ties may fall otherwise


@pytest.fixture(scope="module")
def hidden() -> tuple[krohn.CompiledNetwork, Stages]:
    network = krohn.compile("D6", length=6, unproved=True)
    return network, stages_of_decoder(disguise(network, ROTATED, 0).decoder, torch.float64)


def test_a_disguise_changes_no_state(hidden: tuple[krohn.CompiledNetwork, Stages]) -> None:
    network, stages = hidden
    sample = words(2, 6)
    assert (stages.run(sample).answers == network.run(sample)).all()
    plain = stages_of_transformer(network.transformer)
    assert stages.dim > plain.dim
    assert len(stages.blocks[0].matrices[0]) > len(plain.blocks[0].heads)


def test_running_on_from_the_middle_is_the_pass_itself(hidden: tuple[krohn.CompiledNetwork, Stages]) -> None:
    stages = hidden[1]
    passed = stages.run(words(2, 6))
    rows, at = torch.arange(40), torch.arange(40) % 6
    for layer, stream in enumerate(passed.streams):
        place = at + len(stages.prompt)
        answers = stages.resume(layer, stream[rows, place][:, None], Past.of(passed, rows, place))[:, 0]
        assert (answers.numpy() == passed.answers[rows, at]).all()
        assert (stages.logits_from(layer, stream).argmax(-1).numpy() == passed.answers).all()


def test_a_whole_position_of_another_word_gives_that_words_state_if_nothing_is_attended_to_any_more(
    hidden: tuple[krohn.CompiledNetwork, Stages],
) -> None:
    stages = hidden[1]
    passed = stages.run(words(2, 6))
    rows, at = torch.arange(40), torch.full((40,), 5 + len(stages.prompt))
    other = rows.flip(0)
    last = len(stages.blocks)
    answers = stages.resume(last, passed.streams[last][other, at][:, None], Past.of(passed, rows, at))[:, 0]
    assert (answers.numpy() == passed.answers[other, 5]).all()


def test_an_export_is_read_back(tmp_path: Path) -> None:
    network = krohn.compile("C3", length=6)
    krohn.export(network, "hf", tmp_path / "hf", proof=False)
    sample = words(3, 6)
    assert (subject_of(tmp_path / "hf").stages.run(sample).answers == network.run(sample)).all()
    (tmp_path / "hf" / "config.json").write_text('{"model_type": "gpt2", "n_layer": 99}')
    with pytest.raises(InvalidFile, match="must have the field"):
        read_export(tmp_path / "hf")
    (tmp_path / "hf" / "config.json").unlink()
    with pytest.raises(InvalidFile, match="--to hf"):
        read_export(tmp_path / "hf")

"""Errata of the experiments."""

import torch
from ceilings import position_free_ceiling

from krohn.automata.zoo import parse_spec
from krohn.lab.models.registry import model_config


def test_erratum_e1_without_positions_and_a_beginning_repeated_letters_get_one_answer() -> None:
    network = model_config(
        "gpt", layers=4, dim=16, heads=2, mlp=16, positions="none", embedding_std=4.0
    ).build(3, 2)
    weights = network.layout.views(network.layout.initial(torch.tensor([11])))
    ones = torch.ones(1, 1, 12, dtype=torch.int64)
    printed = network.logits(weights, ones)[0, 0]
    assert float((printed - printed[0]).abs().max()) < 1e-5
    begun = torch.cat((torch.full((1, 1, 1), 2), ones), -1)  # letter 2 stands for the beginning
    corrected = network.logits(weights, begun)[0, 0, 1:]
    assert float((corrected - corrected[0]).abs().max()) > 10 * float((printed - printed[0]).abs().max())
    assert float(position_free_ceiling(parse_spec("C2"), 40)) < 0.992

"""The LSTM's written-out gradient against torch's own differentiation of the same network, in float64."""

import pytest
import torch

from krohn.lab import random_streams
from krohn.lab.models.architectures.lstm import Lstm, LstmConfig
from krohn.lab.models.kernels import plain


@pytest.mark.parametrize(("replicates", "length"), [(1, 1), (1, 5), (3, 6)])
def test_loss_and_gradients_are_those_of_the_cell_by_cell_network(replicates: int, length: int) -> None:
    network = Lstm(LstmConfig(embedding=5, hidden=6), 4, 3)
    flat = network.layout.initial(random_streams.replicate_keys(5, replicates)).double()
    leaves = network.layout.leaves(flat, torch.zeros_like(flat))
    tokens = torch.randint(4, (replicates, 3, length), generator=torch.Generator().manual_seed(3))
    targets, shown = tokens % 3, (tokens != 1).int()
    loss = network.loss(leaves, tokens, targets, shown)
    cells = network.logits(leaves, tokens).flatten(1, 2)
    bias = torch.zeros(replicates, 3, dtype=torch.float64)
    expected = plain.cross_entropy(cells, bias, targets.flatten(1), shown.flatten(1), 3)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    ours, torchs = (torch.autograd.grad(value.sum(), list(leaves.values())) for value in (loss, expected))
    for name, result, wanted in zip(leaves, ours, torchs, strict=True):
        torch.testing.assert_close(result, wanted, rtol=1e-9, atol=1e-12, msg=name)

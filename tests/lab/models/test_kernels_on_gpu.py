import sys
from pathlib import Path

import pytest
import torch

from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.architectures.lstm import LstmConfig
from krohn.lab.models.network import ModelConfig

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def test_every_kernel_agrees_with_the_plain_operation_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parents[3] / "benchmarks")])
    from kernel_check import check_kernels

    assert [row for row in check_kernels() if not row["ok"]] == []


CONFIGS = {
    "gpt": GptConfig(layers=2, dim=32, heads=2, mlp=32),
    "gpt, learned positions": GptConfig(layers=2, dim=32, heads=2, mlp=32, positions="learned", context=16),
    "gpt, recency": GptConfig(layers=2, dim=32, heads=2, mlp=32, positions="none", recency=True),
    "lstm": LstmConfig(embedding=16, hidden=32),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=list(CONFIGS))
def test_loss_gradient_and_reading_after_a_prefix_agree_with_the_processor(config: ModelConfig) -> None:
    network = config.build(3, 5)
    tokens = torch.randint(3, (2, 4, 12), generator=torch.Generator().manual_seed(1))
    flat = network.layout.initial(random_streams.replicate_keys(7, 2)).double()

    def run(device: str) -> list[torch.Tensor]:
        own, words = flat.to(device).requires_grad_(), tokens.to(device)
        weights = network.layout.views(own)
        loss = network.loss(weights, words, (words + 1) % 5, torch.ones_like(words))
        (gradient,) = torch.autograd.grad(loss.sum(), own)
        with torch.no_grad():
            results = [loss, gradient, network.logits(weights, words)]
            if isinstance(network, Gpt):
                decoder = network.decoder(weights, 4, 12)
                results += [decoder.step(words[..., a:b]) for a, b in ((0, 5), (5, 6), (6, 12))]
        return [result.detach().cpu() for result in results]

    for there, here in zip(run("cuda"), run("cpu"), strict=True):
        torch.testing.assert_close(there, here, rtol=1e-9, atol=1e-10)

"""Same weights, same batches: our losses and those of stock GPT-2 with torch's own AdamW and clipping."""

import torch
from stock_networks import gpt_to_stock
from torch import nn

from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.training.config import OptimizerConfig
from krohn.lab.training.learning_rates import shape
from lab.training.small_runs import run_steps, small_run, stepper_of


def test_losses_of_a_replicate_are_those_of_a_plain_loop_with_the_stock_model() -> None:
    config = small_run(replicates=2, optimizer=OptimizerConfig(lr=(3e-3, 1e-3), warmup=5, batch=8))
    ours = stepper_of(config)
    assert isinstance(config.model, GptConfig)
    weights = {name: value[1].clone() for name, value in ours.network.layout.views(ours.state.weight).items()}
    stock = gpt_to_stock(config.model, weights, vocabulary=2, classes=3, length=6)
    trained = [parameter for name, parameter in stock.named_parameters() if "wpe" not in name]
    settings = config.optimizer
    optimizer = torch.optim.AdamW(
        trained, betas=settings.betas, eps=settings.eps, weight_decay=settings.weight_decay
    )
    losses = [float(loss[1]) for loss in run_steps(ours, 0, 20)]
    expected = []
    for step in range(20):
        batch = ours.task.batch(ours._data_keys[1:], step, 8)
        logits = stock(batch.tokens[0].long())
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.targets[0].long().flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.param_groups[0]["lr"] = 1e-3 * shape(settings, step, config.steps)
        optimizer.step()
        expected.append(float(loss.detach()))
    torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=0, atol=2e-5)
    assert losses[-1] < losses[0]

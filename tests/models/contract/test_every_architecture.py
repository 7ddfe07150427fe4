"""Laws of every registered architecture: a new file in krohn.models.architectures is held to them at once."""

import math

import pytest
import torch

from krohn import counter
from krohn.models.network import ModelConfig, Network
from krohn.models.registry import model_config, registered
from krohn.training.config import RunConfig, TaskConfig

# Small sizes for speed; an architecture that is not named here is tested at its default size.
SMALL = {
    "gpt": {"layers": 2, "dim": 16, "heads": 2, "mlp": 24},
    "lstm": {"embedding": 6, "hidden": 10},
}
VOCABULARY, CLASSES, BATCH, LENGTH = 5, 3, 2, 7


def small(kind: str) -> ModelConfig:
    return model_config(kind, **SMALL.get(kind, {}))


@pytest.fixture(params=sorted(registered()))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def network(kind: str) -> Network:
    return small(kind).build(VOCABULARY, CLASSES)


def weights_of(network: Network, replicates: int, first: int = 0) -> dict[str, torch.Tensor]:
    keys = counter.replicate_keys(11, replicates, first=first)
    return network.layout.views(network.layout.initial(keys).double())


def some_tokens(replicates: int) -> torch.Tensor:
    return torch.randint(VOCABULARY, (replicates, BATCH, LENGTH), generator=torch.Generator().manual_seed(3))


def test_first_weights_of_a_replicate_do_not_depend_on_its_neighbours(network: Network) -> None:
    together, alone = weights_of(network, 3), weights_of(network, 1, first=2)
    for name, value in alone.items():
        assert torch.equal(together[name][2:], value)
    assert not torch.equal(together["wte"][0], together["wte"][1])


def test_replicates_compute_side_by_side_what_each_computes_alone(network: Network) -> None:
    weights, tokens = weights_of(network, 3), some_tokens(3)
    together = network.logits(weights, tokens)
    for row in range(3):
        part = slice(row, row + 1)
        alone = network.logits({name: value[part] for name, value in weights.items()}, tokens[part])
        torch.testing.assert_close(together[part], alone, rtol=0, atol=1e-12)


def test_a_prediction_does_not_see_later_tokens(network: Network) -> None:
    weights, tokens = weights_of(network, 1), some_tokens(1)
    changed = tokens.clone()
    changed[..., 4] = (changed[..., 4] + 1) % VOCABULARY
    before, after = network.logits(weights, tokens), network.logits(weights, changed)
    assert torch.equal(before[:, :, :4], after[:, :, :4])
    assert not torch.allclose(before[:, :, 4:], after[:, :, 4:])


def test_the_loss_is_the_mean_cross_entropy_over_shown_positions(network: Network) -> None:
    weights, tokens = weights_of(network, 2), some_tokens(2)
    generator = torch.Generator().manual_seed(5)
    targets = torch.randint(CLASSES, tokens.shape, generator=generator)
    shown = torch.randint(2, tokens.shape, generator=generator)
    found = network.loss(weights, tokens, targets, shown)
    logits = network.logits(weights, tokens).tolist()
    for row in range(2):
        losses = []
        for sequence in range(BATCH):
            for position in range(LENGTH):
                if shown[row, sequence, position]:
                    scores = logits[row][sequence][position]
                    total = math.log(sum(math.exp(score) for score in scores))
                    losses.append(total - scores[int(targets[row, sequence, position])])
        assert float(found[row]) == pytest.approx(sum(losses) / len(losses), abs=1e-12)


def test_a_loss_has_no_gradient_in_another_replicate(network: Network) -> None:
    flat = network.layout.initial(counter.replicate_keys(1, 2)).requires_grad_()
    tokens = some_tokens(2)
    loss = network.loss(network.layout.views(flat), tokens, tokens % CLASSES, torch.ones_like(tokens))
    (gradient,) = torch.autograd.grad(loss[0], flat)
    assert gradient[0].abs().max() > 0
    assert gradient[1].abs().max() == 0


def test_reading_step_by_step_gives_the_same_logits(network: Network) -> None:
    weights, tokens = weights_of(network, 2), some_tokens(2)
    decoder = network.decoder(weights, BATCH, LENGTH)
    stepwise = torch.stack([decoder.step(token[..., None]) for token in tokens.unbind(-1)], 2)
    torch.testing.assert_close(stepwise, network.logits(weights, tokens), rtol=0, atol=1e-12)


def test_several_tokens_read_in_one_step_are_as_good_as_one_by_one(network: Network) -> None:
    weights, tokens = weights_of(network, 2), some_tokens(2)
    decoder = network.decoder(weights, BATCH, LENGTH)
    wanted = network.logits(weights, tokens)
    for first, end in ((0, 1), (1, 3), (3, LENGTH)):
        torch.testing.assert_close(
            decoder.step(tokens[..., first:end]), wanted[:, :, end - 1], rtol=0, atol=1e-12
        )


def test_a_run_with_it_survives_json(kind: str) -> None:
    run = RunConfig(task=TaskConfig(spec="C2"), model=small(kind))
    assert RunConfig.from_json(run.to_json()) == run


def test_padding_of_tokens_and_classes_has_no_gradient(network: Network) -> None:
    flat = network.layout.initial(counter.replicate_keys(1, 1)).requires_grad_()
    weights = network.layout.views(flat)
    tokens = some_tokens(1)
    loss = network.loss(weights, tokens, tokens % CLASSES, torch.ones_like(tokens))
    (gradient,) = torch.autograd.grad(loss.sum(), flat)
    named = network.layout.views(gradient)
    assert named["wte"][:, VOCABULARY:].abs().max() == 0
    assert named["head.weight"][..., CLASSES:].abs().max() == 0
    assert weights["head.weight"][..., CLASSES:].abs().max() == 0

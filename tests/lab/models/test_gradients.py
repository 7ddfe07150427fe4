"""Every architecture's gradient against differences of its loss."""

import pytest
import torch
from torch import Tensor

from krohn.lab import random_streams
from krohn.lab.models.network import Network, Noise
from krohn.lab.models.registry import model_config
from lab.models.test_whole_networks import CLASSES, GPTS, STACKS, VOCABULARY, moved, tokens

GPT = {"layers": 2, "dim": 6, "heads": 2, "mlp": 5}
EVERY: list[tuple[str, dict[str, object]]] = [
    *STACKS,
    *(("gpt", {**GPT, **options}) for options in GPTS),
    ("gpt", {**GPT, "dropout": 0.3}),
    ("gpt", {**GPT, "dropout": 0.2, "attention_dropout": 0.4, "recency": True}),
    ("lstm", {"embedding": 3, "hidden": 5}),
    ("gru", {"embedding": 3, "hidden": 5}),
]
each = pytest.mark.parametrize(("kind", "options"), EVERY, ids=[kind for kind, _ in EVERY])


def network_of(kind: str, options: dict[str, object]) -> Network:
    return model_config(kind, **options).build(VOCABULARY, CLASSES)


def labels(like: Tensor) -> tuple[Tensor, Tensor]:
    """Targets, and which of them are shown: not all, and not the same in each replicate."""
    generator = torch.Generator().manual_seed(3)
    targets = torch.randint(CLASSES, like.shape, generator=generator)
    return targets, (torch.rand(like.shape, generator=generator) < 0.7).long()


def loss_at(network: Network, flat: Tensor, noise: Noise | None) -> Tensor:
    words = tokens()
    return network.loss(network.layout.views(flat), words, *labels(words), noise)


@each
@pytest.mark.parametrize("training", [False, True])
def test_the_gradient_is_the_slope_of_the_loss(kind: str, options: dict[str, object], training: bool) -> None:
    """Along random directions, by central differences in float64; the randomness of a step is held fixed."""
    network = network_of(kind, options)
    noise = Noise(random_streams.replicate_keys(5, 2)) if training else None
    weights = moved(network)
    flat = torch.zeros(2, network.layout.size, dtype=torch.float64)
    for name, view in network.layout.views(flat).items():
        view.copy_(weights[name])
    flat.requires_grad_()
    losses = loss_at(network, flat, noise)
    (gradient,) = torch.autograd.grad(losses.sum(), flat)
    generator = torch.Generator().manual_seed(7)
    step = 1e-6
    for _ in range(3):
        way = torch.randn(flat.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            ahead, behind = (loss_at(network, flat + sign * step * way, noise) for sign in (1, -1))
        slopes = (ahead - behind) / (2 * step)
        torch.testing.assert_close((gradient * way).sum(1), slopes, rtol=1e-5, atol=1e-7)


@each
def test_a_replicate_learns_from_its_own_loss_and_padding_not_at_all(
    kind: str, options: dict[str, object]
) -> None:
    network = network_of(kind, options)
    leaves = {name: value.clone().requires_grad_() for name, value in moved(network).items()}
    words = tokens()
    loss = network.loss(leaves, words, *labels(words))[0]
    used = {name: part for name, part in leaves.items() if name != "wpe"}
    gradients = dict(zip(used, torch.autograd.grad(loss, [*used.values()]), strict=True))
    for name, gradient in gradients.items():
        assert not gradient[1].any(), name
        assert gradient[0].any(), name
    assert not gradients["wte"][0, VOCABULARY:].any()
    assert not gradients["head.weight"][0, :, CLASSES:].any()
    assert not gradients["head.bias"][0, CLASSES:].any()


@each
def test_what_is_hidden_does_not_matter(kind: str, options: dict[str, object]) -> None:
    """Labels where nothing is shown, and a replicate to which nothing is shown at all."""
    network, words = network_of(kind, options), tokens()
    targets, shown = labels(words)
    weights = moved(network)
    loss = network.loss(weights, words, targets, shown)
    turned = torch.where(shown == 1, targets, (targets + 1) % CLASSES)
    torch.testing.assert_close(network.loss(weights, words, turned, shown), loss, rtol=0, atol=0)
    shown = shown.clone()
    shown[1] = 0
    alone = network.loss(weights, words, targets, shown)
    torch.testing.assert_close(alone[0], loss[0])
    assert alone[1] == 0.0
    scores = network.logits(weights, words)[0]
    chosen = scores.log_softmax(-1).gather(-1, targets[0][..., None])[..., 0]
    torch.testing.assert_close(loss[0], -(chosen * shown[0]).sum() / shown[0].sum())

"""The laws that every architecture obeys: ``broken_laws(config)`` is empty for one that can be trained.

Parameters may have any names and shapes. The training loop relies on independent replicates, causality, a
loss that is the cross-entropy of the logits, and step-by-step decoding that gives the same answers.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional

from krohn.lab import random_streams
from krohn.lab.models.network import ModelConfig, Network, Noise
from krohn.lab.models.parameters import Weights

VOCABULARY, CLASSES, BATCH, LENGTH = 5, 3, 2, 7
_TOLERANCE = 1e-12  # everything is computed in float64


def broken_laws(config: ModelConfig) -> list[str]:
    """Every law that networks of this configuration break, in words; choose small sizes."""
    reasons = config.reasons(LENGTH)
    if reasons:
        return [f"the configuration must take {LENGTH} tokens: {'; '.join(reasons)}"]
    try:
        json.dumps(dataclasses.asdict(config), allow_nan=False)
    except (TypeError, ValueError) as error:
        return [f"options must be plain values that JSON can hold: {error}"]
    network = config.build(VOCABULARY, CLASSES)
    return [reason for law in LAWS for reason in _verdict(law, network)]


def _verdict(law: Callable[[Network], Iterator[str]], network: Network) -> list[str]:
    try:
        return list(law(network))
    except Exception as error:  # third-party networks may raise anything
        return [f"{law.__name__} could not be checked: {error!r}"]


def _weights(network: Network, replicates: int, first: int = 0) -> dict[str, Tensor]:
    keys = random_streams.replicate_keys(11, replicates, first=first)
    return network.layout.views(network.layout.initial(keys).double())


def _tokens(replicates: int) -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(VOCABULARY, (replicates, BATCH, LENGTH), generator=generator)


def _far(one: Tensor, other: Tensor) -> bool:
    return one.shape != other.shape or not torch.allclose(
        one.double(), other.double(), rtol=0, atol=_TOLERANCE
    )


def _row(weights: Weights, row: int) -> dict[str, Tensor]:
    return {name: value[row : row + 1] for name, value in weights.items()}


def shapes(network: Network) -> Iterator[str]:
    """Logits [R, B, T, classes] and loss [R], finite, in the float type of the weights."""
    tokens = _tokens(2)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        weights = {name: value.to(dtype) for name, value in _weights(network, 2).items()}
        logits = network.logits(weights, tokens)
        if logits.shape != (*tokens.shape, CLASSES) or logits.dtype != dtype:
            yield f"logits must be [R, B, T, classes] in {dtype}; got {tuple(logits.shape)} in {logits.dtype}"
        loss = network.loss(weights, tokens, tokens % CLASSES, torch.ones_like(tokens))
        if loss.shape != (2,) or not bool(loss.isfinite().all()):
            yield f"the loss must be one finite number a replicate; got {loss.tolist()} in {dtype}"


def first_weights(network: Network) -> Iterator[str]:
    """A replicate's first weights depend on its key alone."""
    together, alone = _weights(network, 3), _weights(network, 1, first=2)
    for name, value in alone.items():
        if not torch.equal(together[name][2:], value):
            yield f"first weights must not depend on the neighbours; {name} does"
    if all(torch.equal(value[0], value[1]) for value in together.values()):
        yield "replicates must start from different weights"


def side_by_side(network: Network) -> Iterator[str]:
    """Replicates compute together what each computes alone, with noise and without."""
    weights, tokens = _weights(network, 3), _tokens(3)
    keys = random_streams.replicate_keys(5, 3)
    for noise in (None, Noise(keys)):
        together = network.logits(weights, tokens, noise)
        for row in range(3):
            own = None if noise is None else Noise(keys[row : row + 1])
            alone = network.logits(_row(weights, row), tokens[row : row + 1], own)
            if _far(together[row : row + 1], alone):
                how = "" if noise is None else " with noise"
                yield f"replicates must compute side by side what each computes alone; {row} differs{how}"


def causality(network: Network) -> Iterator[str]:
    """A prediction sees its token and those before it, and none after it."""
    weights, tokens = _weights(network, 1), _tokens(1)
    before = network.logits(weights, tokens)
    for place in (0, 4, LENGTH - 1):
        changed = tokens.clone()
        changed[..., place] = (changed[..., place] + 1) % VOCABULARY
        after = network.logits(weights, changed)
        if not torch.equal(before[:, :, :place], after[:, :, :place]):
            yield f"a prediction must not see later tokens; those before place {place} do"
        if not _far(before[:, :, place], after[:, :, place]):
            yield f"a prediction must see its own token; that at place {place} does not"


def cross_entropy(network: Network) -> Iterator[str]:
    """The loss is the mean cross-entropy of the logits over the positions that are shown."""
    weights, tokens = _weights(network, 2), _tokens(2)
    generator = torch.Generator().manual_seed(5)
    targets = torch.randint(CLASSES, tokens.shape, generator=generator)
    shown = torch.randint(2, tokens.shape, generator=generator)
    result = network.loss(weights, tokens, targets, shown)
    scores = network.logits(weights, tokens).flatten(0, 2)
    every = functional.cross_entropy(scores, targets.flatten(), reduction="none").view_as(shown)
    wanted = (every * shown).sum((1, 2)) / shown.sum((1, 2))
    if _far(result, wanted):
        numbers = f"got {result.tolist()}, not {wanted.tolist()}"
        yield f"the loss must be the mean cross-entropy over the shown positions; {numbers}"


def gradients(network: Network) -> Iterator[str]:
    """A replicate's loss has gradients for its own weights only, and never for the padding after ``used``."""
    flat = network.layout.initial(random_streams.replicate_keys(1, 2)).double().requires_grad_()
    weights, tokens = network.layout.views(flat), _tokens(2)
    loss = network.loss(weights, tokens, tokens % CLASSES, torch.ones_like(tokens))
    (gradient,) = torch.autograd.grad(loss[0], flat)
    if not bool(gradient[0].any()):
        yield "a loss must have a gradient in its own replicate"
    if bool(gradient[1].any()):
        yield "a loss must have no gradient in another replicate"
    named = network.layout.views(gradient)
    for parameter in network.layout.parameters:
        if parameter.used is None:
            continue
        padding = torch.ones(parameter.shape, dtype=torch.bool)
        padding[tuple(slice(extent) for extent in parameter.used)] = False
        if bool(
            (weights[parameter.name][:, padding] != 0).any() | (named[parameter.name][:, padding] != 0).any()
        ):
            yield f"padding must be zero and have no gradient; that of {parameter.name} is not or has one"


def step_by_step(network: Network) -> Iterator[str]:
    """Reading a few tokens at a time gives the logits of reading all at once."""
    weights, tokens = _weights(network, 2), _tokens(2)
    wanted = network.logits(weights, tokens)
    for ends in (range(1, LENGTH + 1), (1, 3, LENGTH)):
        decoder, begin = network.decoder(weights, BATCH, LENGTH), 0
        for end in ends:
            if _far(decoder.step(tokens[..., begin:end]), wanted[:, :, end - 1]):
                yield f"reading in steps to {list(ends)} must give the same logits; at {end} it does not"
                break
            begin = end


LAWS: tuple[Callable[[Network], Iterator[str]], ...] = (
    shapes,
    first_weights,
    side_by_side,
    causality,
    cross_entropy,
    gradients,
    step_by_step,
)

"""The contract on networks that break it, one law at a time."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from every import every
from krohn.lab.models.kernels.plain import one_hot
from krohn.lab.models.network import ModelConfig, Network, Noise, StackedDecoder
from krohn.lab.models.parameters import Parameter, ParameterLayout, Weights
from lab.models.laws import broken_laws


class Sums(Network):
    """Sums a vector per letter: the simplest causal network."""

    def __init__(self, vocabulary: int, classes: int) -> None:
        self.classes = classes
        self.layout = ParameterLayout.of([Parameter("steps", (vocabulary, classes), "normal", 1.0)])

    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        table = weights["steps"]
        return (one_hot(tokens, table.shape[1], table.dtype) @ table).view(*tokens.shape, -1).cumsum(2)


class LooksAhead(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        return super().logits(weights, tokens, noise).flip(2)


class Blind(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        return super().logits(weights, tokens * 0, noise)


class Mixes(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        outputs = super().logits(weights, tokens, noise)
        return outputs + outputs.mean(0)


class NoisyTogether(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        outputs = super().logits(weights, tokens, noise)
        return outputs if noise is None else outputs + noise.keys[0].double().tanh() * len(noise.keys)


class SumsTheLoss(Sums):
    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return super().loss(weights, tokens, targets, shown, noise) * shown.sum((1, 2))


class Narrow(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        return super().logits(weights, tokens, noise).float()


class Forgets(Sums):
    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        network = self

        class Forgetful(StackedDecoder):
            def step(self, tokens: Tensor) -> Tensor:
                return network.logits(weights, tokens)[:, :, -1]

        return Forgetful()


class Constant(Sums):
    def __init__(self, vocabulary: int, classes: int) -> None:
        super().__init__(vocabulary, classes)
        self.layout = ParameterLayout.of([Parameter("steps", (vocabulary, classes), "constant", 1.0)])


class Padded(Sums):
    def __init__(self, vocabulary: int, classes: int) -> None:
        super().__init__(vocabulary, classes)
        parameter = Parameter("steps", (vocabulary, classes), "normal", 1.0, used=(vocabulary, classes - 1))
        self.layout = ParameterLayout.of([parameter])


class Raises(Sums):
    def decoder(self, weights: Weights, batch: int, length: int) -> StackedDecoder:
        raise RuntimeError("no decoder here")


class Infinite(Sums):
    def logits(self, weights: Weights, tokens: Tensor, noise: Noise | None = None) -> Tensor:
        return super().logits(weights, tokens, noise) * torch.inf


class CountsAll(Sums):
    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return super().loss(weights, tokens, targets, torch.ones_like(shown), noise)


class Deaf(Sums):
    def loss(
        self, weights: Weights, tokens: Tensor, targets: Tensor, shown: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return super().loss(weights, tokens, targets, shown, noise) * 0


def config_of(network: Callable[[int, int], Network], option: Any = 1) -> ModelConfig:
    @dataclass(frozen=True, kw_only=True)
    class Config(ModelConfig):
        kind: ClassVar[str] = "sums"
        option: Any = 1

        def reasons(self, length: int) -> list[str]:
            return ["option must not be 0"] if self.option == 0 else []

        def build(self, vocabulary: int, classes: int) -> Network:
            return network(vocabulary, classes)

    return Config(option=option)


def test_layout_and_logits_are_enough() -> None:
    assert broken_laws(config_of(Sums)) == []


@every(
    ("network", "sentence"),
    [
        (LooksAhead, "must not see later tokens"),
        (Blind, "must see its own token"),
        (Mixes, "side by side what each computes alone; 0 differs"),
        (Mixes, "no gradient in another replicate"),
        (NoisyTogether, "0 differs with noise"),
        (SumsTheLoss, "must be the mean cross-entropy"),
        (Narrow, r"logits must be \[R, B, T, classes\] in torch.float64"),
        (Forgets, r"in steps to \[1, 3, 7\] must give the same logits; at 3"),
        (Constant, "must start from different weights"),
        (Raises, r"step_by_step could not be checked: RuntimeError\('no decoder here'\)"),
        (Padded, "that of steps is not or has one"),
        (Infinite, "the loss must be one finite number a replicate"),
        (CountsAll, "over the shown positions"),
        (Deaf, "a loss must have a gradient in its own replicate"),
    ],
)
def test_the_broken_law_of_a_network_is_named(network: Callable[[int, int], Network], sentence: str) -> None:
    assert any(re.search(sentence, broken) for broken in broken_laws(config_of(network)))


def test_first_weights_that_depend_on_neighbours_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ParameterLayout.initial
    monkeypatch.setattr(ParameterLayout, "initial", lambda self, keys: before(self, keys) * len(keys))
    assert "first weights must not depend on the neighbours; steps does" in broken_laws(config_of(Sums))


def test_options_must_fit_into_json_and_take_the_length() -> None:
    assert broken_laws(config_of(Sums, option=0)) == [
        "the configuration must take 7 tokens: option must not be 0"
    ]
    (sentence,) = broken_laws(config_of(Sums, option=torch.ones(1)))
    assert "options must be plain values" in sentence

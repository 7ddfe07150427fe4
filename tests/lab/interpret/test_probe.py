"""A probe reads what is linearly there, and nothing that is not."""

import torch

from krohn.lab.interpret.probe import LinearProbe


def words(count: int = 60, length: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(0, 5, (count, length), generator=generator)
    noise = torch.randn(count, length, 16, generator=generator)
    return labels, noise


def test_a_label_written_into_the_activations_is_read_back() -> None:
    labels, noise = words()
    directions = torch.randn(5, 16, generator=torch.Generator().manual_seed(4))
    result = LinearProbe(directions[labels] * 5 + 0.05 * noise + 100).judge(labels)
    assert result.accuracy == 1
    assert result.baseline < 0.3


def test_noise_teaches_nothing() -> None:
    labels, noise = words()
    result = LinearProbe(noise).judge(labels)
    assert result.accuracy < 0.3
    assert abs(result.accuracy - result.baseline) < 0.1


def test_an_exclusive_or_is_not_linear() -> None:
    _, noise = words()
    bits = (noise[..., :2] > 0).long()
    result = LinearProbe(torch.cat([bits, noise[..., 2:]], dim=-1)).judge(bits[..., 0] ^ bits[..., 1])
    assert result.accuracy < 0.6


def test_a_constant_label_is_no_gain() -> None:
    labels, noise = words()
    result = LinearProbe(noise).judge(torch.zeros_like(labels))
    assert (result.accuracy, result.baseline) == (1, 1)

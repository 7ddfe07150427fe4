"""Where dropout acts, and the initialisation of a block: details a short training run would not show."""

import pytest
import torch

from krohn.lab import random_streams
from krohn.lab.models.architectures.gpt import Gpt, GptConfig
from krohn.lab.models.kernels import plain
from krohn.lab.models.network import Noise

LAYERS, REPLICATES = 3, 2


def network(**options: float) -> Gpt:
    return Gpt(GptConfig(layers=LAYERS, dim=16, heads=2, mlp=24, **options), 4, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("training", [False, True])
def test_embeddings_and_every_branch_are_dropped_by_a_mask_of_their_own(
    training: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks: list[torch.Tensor] = []
    mask = plain.Dropout.mask

    def spy(self: plain.Dropout, like: torch.Tensor) -> torch.Tensor:
        masks.append(mask(self, like))
        return masks[-1]

    monkeypatch.setattr(plain.Dropout, "mask", spy)
    gpt = network(dropout=0.5)
    flat = gpt.layout.initial(random_streams.replicate_keys(1, REPLICATES))
    weights = gpt.layout.leaves(flat, torch.zeros_like(flat)) if training else gpt.layout.views(flat)
    tokens = torch.zeros(REPLICATES, 2, 5, dtype=torch.int64)
    gpt.loss(weights, tokens, tokens, tokens + 1, Noise(random_streams.replicate_keys(2, REPLICATES)))
    rows = [tuple(row.flatten().tolist()) for result in masks for row in result]
    assert len(masks) == 1 + 2 * LAYERS  # the embeddings, each attention, each MLP
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("branch", ["attn", "mlp"])
def test_the_output_of_attention_and_of_the_mlp_is_dropped(branch: str) -> None:
    """With all else silent a branch is its bias, and what is added to the stream is 0 or bias/(1 − rate)."""
    gpt = network(dropout=0.5)
    noise = Noise(random_streams.replicate_keys(2, 1))
    flat = gpt.layout.initial(random_streams.replicate_keys(1, 1)).double()
    weights = gpt.layout.views(flat)
    for name, value in weights.items():
        if name.startswith(("wte", "h.")) and "ln" not in name:
            value.zero_()
    tokens = torch.zeros(1, 2, 5, dtype=torch.int64)
    before = gpt.logits(weights, tokens, noise)
    weights[f"h.0.{branch}.c_proj.bias"].copy_(torch.linspace(1.0, 2.0, 16))
    with_noise, without = gpt.logits(weights, tokens, noise), gpt.logits(weights, tokens)
    assert not torch.allclose(before, with_noise)
    assert not torch.allclose(with_noise[:, 0, 0], with_noise[:, 1, 0])  # alike but for the mask
    torch.testing.assert_close(without[:, 0, 0], without[:, 1, 0])


def test_embeddings_are_dropped_at_the_stated_rate() -> None:
    gpt = network(dropout=0.25, position_scale=0.0)
    weights = gpt.layout.views(gpt.layout.initial(random_streams.replicate_keys(1, 1)))
    tokens = torch.zeros(1, 40, 20, dtype=torch.int64)
    survivors = gpt.embed(weights, tokens, Noise(random_streams.replicate_keys(2, 1)))
    ratio = survivors / gpt.embed(weights, tokens)
    assert float((ratio == 0).double().mean()) == pytest.approx(0.25, abs=0.02)
    torch.testing.assert_close(ratio[ratio != 0].mean(), torch.tensor(4 / 3))


def test_projections_back_to_the_stream_begin_smaller_by_the_root_of_twice_the_depth() -> None:
    layout = Gpt(GptConfig(layers=8, dim=64, heads=2, mlp=64), 4, 3).layout
    weights = layout.views(layout.initial(random_streams.replicate_keys(1, 1)))
    for layer in range(8):
        for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"):
            expected = 0.02 / 4.0 if name.endswith("c_proj") else 0.02
            actual = float(weights[f"h.{layer}.{name}.weight"].std())
            assert actual == pytest.approx(expected, rel=0.1), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_masks_are_the_draws_of_the_counter_on_either_side_of_the_threshold(dtype: torch.dtype) -> None:
    keys = random_streams.replicate_keys(6, 3)
    draws = random_streams.mix(random_streams.derive(keys[:, None], torch.arange(40_000))) >> 40 & 0xFFFFFF
    for rate in (0.0, 0.1, 0.5, 0.9, 1.0 - 2.0**-24):
        result = random_streams.dropout_factors(keys, 40_000, rate, dtype)
        survivors = result != 0
        assert torch.equal(survivors, draws >= round(rate * 2**24))
        assert float(survivors.double().mean()) == pytest.approx(1.0 - rate, abs=0.02)
        assert result.dtype == dtype
        torch.testing.assert_close(result[survivors], torch.full_like(result[survivors], 1.0 / (1.0 - rate)))
    alone = random_streams.dropout_factors(keys[1:2], 100, 0.5, dtype)
    assert torch.equal(alone, random_streams.dropout_factors(keys, 40_000, 0.5, dtype)[1:2, :100])


def test_the_keys_of_sites_are_derived_alike_one_by_one_and_together() -> None:
    noise = Noise(random_streams.replicate_keys(6, 3))
    for index in (0, 1, 63, 64, 1_000_003):
        assert torch.equal(noise.site(index), random_streams.derive(noise.keys, index))

"""Random numbers by key: SplitMix64 itself, the same numbers on every device, uniform where they must be."""

import math
from typing import Any

import pytest
import torch

from krohn.lab import random_streams as streams

MASK = (1 << 64) - 1


def splitmix(value: int) -> int:
    """The finaliser in Python's unbounded integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def test_mixing_is_splitmix64() -> None:
    values = [0, 1, 2, 12345678901234567890 & MASK, MASK, 1 << 63]
    signed = [value - (1 << 64) if value >> 63 else value for value in values]
    result = streams.mix(torch.tensor(signed))
    assert [value & MASK for value in result.tolist()] == [splitmix(value) for value in values]


def test_an_integer_and_a_tensor_counter_give_the_same_key() -> None:
    key = streams.replicate_keys(3, 4)
    for value in (0, 1, 2**40, -2):
        assert torch.equal(streams.derive(key, value), streams.derive(key, torch.tensor(value)))


def test_integers_are_uniform_and_within_bounds() -> None:
    draws = streams.integers(streams.derive(torch.tensor(7), torch.arange(60_000)), 6)
    counts = torch.bincount(draws, minlength=6)
    assert len(counts) == 6
    assert (counts - 10_000).abs().max() < 400  # four standard deviations


def test_normal_numbers_have_mean_zero_and_variance_one() -> None:
    draws = streams.normal(streams.derive(torch.tensor(7), torch.arange(100_000)))
    assert abs(float(draws.mean())) < 0.015
    assert abs(float(draws.var()) - 1.0) < 0.02
    assert torch.isfinite(draws).all()


def test_uniform_numbers_are_never_zero_or_one() -> None:
    draws = streams.uniform(streams.derive(torch.tensor(1), torch.arange(100_000)))
    assert 0.0 < float(draws.min()) < float(draws.max()) < 1.0


class Elsewhere(torch.Tensor):
    """A tensor that says it is not on the CPU, so that the arithmetic for other devices runs here."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda")


def elsewhere(keys: torch.Tensor) -> torch.Tensor:
    return keys.as_subclass(Elsewhere)  # type: ignore[no-any-return, attr-defined]


def plain(keys: torch.Tensor) -> list[Any]:
    return keys.as_subclass(torch.Tensor).tolist()  # type: ignore[no-any-return, attr-defined]


KEYS = torch.tensor([0, 1, -1, 2**63 - 1, -(2**63), 0x123456789ABCDEF, -987654321])


def test_other_devices_draw_the_same_numbers() -> None:
    assert plain(streams.mix(elsewhere(KEYS))) == streams.mix(KEYS).tolist()
    assert plain(streams.integers(elsewhere(KEYS), 1000)) == streams.integers(KEYS, 1000).tolist()
    assert plain(streams.derive(elsewhere(KEYS), 5, 2**40)) == streams.derive(KEYS, 5, 2**40).tolist()


def draw(key: int, index: int) -> int:
    """The draw that dropout compares: the upper 24 bits of the scrambled key of a place."""
    return splitmix(splitmix((key + (index + 1) * 0x9E3779B97F4A7C15) & MASK)) >> 40


@pytest.mark.parametrize("rate", [0.0, 0.25, 0.9])
def test_thinning_drops_where_the_draw_is_below_the_rate(
    rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = streams.dropout_factors(KEYS, 40, rate, torch.float64)
    limit = round(rate * 2**24)
    wanted = [[(draw(key, i) >= limit) / (1 - rate) for i in range(40)] for key in KEYS.tolist()]
    assert factors.tolist() == wanted
    range_here = torch.arange
    monkeypatch.setattr(torch, "arange", lambda count, device: range_here(count))
    there = streams.dropout_factors(elsewhere(KEYS), 40, rate, torch.float64)
    assert plain(there) == wanted


def test_thinning_goes_on_past_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are an implementation's business: the numbers do not show where one ends."""
    count = streams._BLOCK + 7
    factors = streams.dropout_factors(KEYS[:2], count, 0.5, torch.float32)
    for row, key in enumerate(KEYS[:2].tolist()):
        for index in (0, count - 8, count - 7, count - 1):
            assert factors[row, index] == 2 * (draw(key, index) >= 2**23)
    assert streams.dropout_factors(KEYS, 9, 0.5, torch.bfloat16).dtype == torch.bfloat16


def test_everything_is_dropped_but_one_in_2_to_the_24_at_most() -> None:
    """A rate just below 1 must not divide by zero nor keep nothing for certain."""
    factors = streams.dropout_factors(KEYS, 3, math.nextafter(1, 0), torch.float64)
    assert torch.isfinite(factors).all()


def test_a_replicate_has_its_key_whatever_runs_beside_it() -> None:
    together = streams.replicate_keys(12, 5)
    assert [streams.replicate_keys(12, 1, first=r).item() for r in range(5)] == together.tolist()
    assert together.tolist() == [streams.derive(torch.tensor(12), r).item() for r in range(5)]
    assert len({*together.tolist(), *streams.replicate_keys(13, 5).tolist()}) == 10


def test_a_normal_number_is_box_and_mullers_of_two_uniform_ones() -> None:
    keys = streams.derive(torch.tensor(3), torch.arange(50))
    for key, result in zip(keys, streams.normal(keys).tolist(), strict=True):
        first, second = (float(streams.uniform(k, torch.float64)) for k in (key, streams.derive(key, 0)))
        wanted = math.sqrt(-2 * math.log(first)) * math.cos(2 * math.pi * second)
        assert result == pytest.approx(wanted, abs=1e-4)


def test_a_draw_that_equals_the_rate_is_kept_on_every_device(monkeypatch: pytest.MonkeyPatch) -> None:
    key = 12345
    rate = draw(key, 3) / 2**24
    range_here = torch.arange
    monkeypatch.setattr(torch, "arange", lambda count, device: range_here(count))
    for keys in (torch.tensor([key]), elsewhere(torch.tensor([key]))):
        assert plain(streams.dropout_factors(keys, 4, rate, torch.float64))[0][3] == 1 / (1 - rate)


def test_uniform_and_bounded_numbers_are_the_upper_bits_of_the_scrambled_key() -> None:
    for key in KEYS.tolist():
        bits = splitmix(key & MASK)
        assert float(streams.uniform(torch.tensor(key), torch.float64)) == ((bits >> 40) + 0.5) / 2**24
        for bound in (1, 7, 2**31):
            assert int(streams.integers(torch.tensor(key), bound)) == (bits >> 32) * bound >> 32

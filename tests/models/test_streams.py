import torch

from krohn import streams

MASK = (1 << 64) - 1


def splitmix(value: int) -> int:
    """The finaliser in Python's unbounded integers."""
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & MASK
    return value ^ (value >> 31)


def test_mixing_is_splitmix64() -> None:
    values = [0, 1, 2, 12345678901234567890 & MASK, MASK, 1 << 63]
    signed = [value - (1 << 64) if value >> 63 else value for value in values]
    found = streams.mix(torch.tensor(signed))
    assert [value & MASK for value in found.tolist()] == [splitmix(value) for value in values]


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

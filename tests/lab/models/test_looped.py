"""The looped block against plain loops, in blocks of letters, letter by letter, and as a trained run."""

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.lab import random_streams
from krohn.lab.models.architectures import looped
from krohn.lab.models.architectures.looped import Looped, LoopedConfig, LoopedDecoder, loops_of
from krohn.lab.models.network import Noise
from krohn.lab.provable.exact_looped import exact_looped
from lab.models.naive_networks import naive_looped
from lab.models.test_whole_networks import moved, one_of

VOCABULARY, CLASSES = 3, 4
CONFIGS = [
    LoopedConfig(dim=8, heads=2, mlp=6),
    LoopedConfig(dim=6, heads=1, mlp=5, norm=False, blocks=2),
    LoopedConfig(dim=6, heads=3, mlp=5, codes=7),
]


def network_of(config: LoopedConfig) -> Looped:
    return config.build(VOCABULARY, CLASSES)


def tokens_of(length: int, words: int = 2) -> torch.Tensor:
    return torch.randint(VOCABULARY, (2, words, length), generator=torch.Generator().manual_seed(length))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("length", [1, 2, 3, 8, 13])
def test_it_is_the_network_in_plain_loops(config: LoopedConfig, length: int) -> None:
    network = network_of(config)
    weights, tokens = moved(network), tokens_of(length)
    whole = network.logits(weights, tokens)
    for replicate in range(2):
        own = one_of(network, weights, replicate)
        for word, got in zip(tokens[replicate].tolist(), whole[replicate], strict=True):
            assert np.allclose(naive_looped(config, own, word), got.numpy(), atol=1e-9)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_a_word_in_blocks_of_letters_gives_the_same(
    config: LoopedConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, tokens = network_of(config), tokens_of(29)
    weights = moved(network)
    whole = network.logits(weights, tokens)
    for rows in (4, 12, 40):
        monkeypatch.setattr(looped, "ROWS", rows)
        with torch.no_grad():
            assert torch.allclose(network.logits(weights, tokens), whole, atol=1e-9)


def test_loops_complete_every_prefix() -> None:
    assert [loops_of(length) for length in (1, 2, 3, 4, 5, 64, 65)] == [1, 1, 2, 2, 3, 6, 7]


def test_letter_by_letter_it_keeps_one_code_for_each_binary_one() -> None:
    network, weights = exact_looped(parse_spec("S3"))
    tokens = torch.randint(
        parse_spec("S3").num_letters, (1, 3, 45), generator=torch.Generator().manual_seed(0)
    )
    whole = network.logits(weights, tokens)
    decoder, kept = LoopedDecoder(network, weights), []
    for place in range(45):
        assert torch.equal(
            decoder.step(tokens[..., place : place + 1]).argmax(-1), whole[:, :, place].argmax(-1)
        )
        kept.append(len(decoder._windows))
    assert kept == [count.bit_count() for count in range(1, 46)]


def test_codes_are_the_only_values_of_the_stream() -> None:
    network = network_of(CONFIGS[2])
    weights = moved(network)
    for x in network.streams(weights, tokens_of(9)):
        near = torch.cdist(x.flatten(1, 2), weights["codes"][:, :7]).amin(-1)
        assert near.max() < 1e-9


def test_supervision_reads_prefixes_that_a_loop_completes() -> None:
    tokens = tokens_of(8)
    shown = torch.ones_like(tokens)
    losses = {}
    for supervise in ("loops", "end", "last"):
        network = LoopedConfig(dim=8, heads=2, mlp=6, supervise=supervise).build(VOCABULARY, CLASSES)  # type: ignore[arg-type]
        weights = moved(network)
        losses[supervise] = network.loss(weights, tokens, tokens, shown)
    streams = network.streams(weights, tokens)

    def asked(x: torch.Tensor, part: slice) -> torch.Tensor:
        chance = network.read(weights, x[:, :, part]).log_softmax(-1)
        return -chance.gather(-1, tokens[:, :, part, None]).mean((1, 2, 3))

    assert torch.allclose(losses["last"], asked(streams[-1], slice(7, 8)))
    assert torch.allclose(losses["end"], asked(streams[-1], slice(0, 8)))
    parts = [asked(x, slice(0, 2 ** (loop + 1))) for loop, x in enumerate(streams)]
    assert torch.allclose(losses["loops"], torch.stack(parts).mean(0))


def test_noise_is_drawn_for_each_word_and_comes_from_the_key_alone() -> None:
    network, tokens = network_of(CONFIGS[0]), tokens_of(8)
    weights = moved(network)
    clean = network.streams(weights, tokens)[0]
    first, again, other = (
        network.streams(weights, tokens, Noise(random_streams.replicate_keys(seed, 2)))[0]
        for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    sizes = (first - clean).square().mean((2, 3))
    assert len(sizes.flatten().unique()) == 4

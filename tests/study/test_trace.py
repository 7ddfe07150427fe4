"""The plain pass computes what the network computes, and shows how."""

import numpy as np
import pytest
import torch

from every import every
from krohn.errors import InvalidInput, Unsupported
from krohn.models.architectures.gpt import GptConfig
from krohn.study.attention import (
    AttentionHeads,
    pack_shares,
    score_from_row,
    telling_words,
    trace,
    unpack_shares,
)
from krohn.tasks.task_config import TaskConfig
from study.made_networks import LSTM, untrained

GRID = TaskConfig(spec="Grid4", length=12)


@every("positions", ["sinusoidal", "linear", "none", "learned"])
@every("recency", [False, True])
def test_the_traced_logits_are_the_networks_own(positions: str, recency: bool) -> None:
    model = GptConfig(layers=2, dim=16, heads=2, mlp=24, positions=positions, recency=recency)
    trained = untrained(GRID, model)
    words = trained.task_with().held_out(1, 3)[0][0]
    found = trace(trained, words)
    tokens = words.int().expand(2, 3, 12).contiguous()
    torch.testing.assert_close(
        found.logits, trained.network.logits(trained.weights, tokens), rtol=1e-4, atol=1e-4
    )
    assert found.residual.shape == (2, 3, 3, 12, 16)


def test_attention_is_causal_and_sums_to_one() -> None:
    trained = untrained(GRID)
    words = trained.task_with().held_out(1, 3)[0][0]
    attention = trace(trained, words).attention
    assert attention.shape == (2, 2, 2, 3, 12, 12)
    assert attention.triu(1).abs().max() == 0
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 2, 2, 3, 12))
    assert attention.std() > 0


def test_a_network_without_attention_cannot_be_traced() -> None:
    with pytest.raises(Unsupported, match="only in a gpt; got Lstm"):
        trace(untrained(GRID, LSTM), torch.zeros(1, 12, dtype=torch.long))


def test_every_head_is_scored_and_the_maps_of_one_replicate_are_kept() -> None:
    trained = untrained(GRID, replicates=3)
    results = AttentionHeads(length=16, words=6, drawn=2).measure(trained)
    assert [[score_from_row(row).head for row in result["heads"]] for result in results] == [[0, 1, 0, 1]] * 3
    (kept,) = [index for index, result in enumerate(results) if "maps" in result]
    words, batch = trained.task_with(length=16).held_out(2**42, 6)
    states = batch.targets[0].numpy()
    chosen = telling_words(states, 3, 2)
    attention = trace(trained, words[0]).attention
    for shown in results[kept]["maps"]:
        real = attention[kept, shown["layer"], shown["head"], chosen].numpy()
        assert np.abs(unpack_shares(shown["weights"]) - real).max() <= 1 / 510 + 1e-6
    assert {(shown["layer"], shown["head"]) for shown in results[kept]["maps"]} >= {(1, 0), (1, 1)}
    assert results[kept]["last_state"] == 3
    assert results[kept]["states"] == states[chosen].tolist()
    assert results[kept]["words"] == 6


def test_packing_refuses_what_is_no_share() -> None:
    with pytest.raises(InvalidInput, match=r"must lie in \[0, 1\]; got 0.0 to 2.0"):
        pack_shares(np.array([0.0, 2.0]))

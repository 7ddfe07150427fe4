"""The attention of a replicate, and the scores and maps that are kept of it."""

import numpy as np
import torch
from stock_networks import gpt_to_stock

from every import every
from krohn.lab.interpret.attention import AttentionHeads, attention_of, score_from_row, telling_words
from krohn.lab.interpret.packed_shares import unpack_shares
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.tasks.task_config import TaskConfig
from lab.interpret.made_networks import untrained

GRID = TaskConfig(spec="Grid4", length=12)


@every("positions", ["sinusoidal", "linear", "none", "learned"])
def test_attention_is_that_of_the_stock_model(positions: str) -> None:
    """Judged by ``transformers``, which computes it from the same weights under other names."""
    model = GptConfig(layers=2, dim=16, heads=2, mlp=24, positions=positions)
    trained = untrained(GRID, model)
    words = trained.task_with().held_out(1, 3)[0][0]
    for replicate in range(2):
        actual = attention_of(trained, replicate, words)
        single = {name: value[replicate] for name, value in trained.weights.items()}
        stock = gpt_to_stock(model, single, vocabulary=2, classes=4, length=12).eval()
        stock.transformer.set_attn_implementation("eager")
        with torch.no_grad():
            judged = stock.transformer(input_ids=words, output_attentions=True).attentions
        wanted = torch.stack(judged).transpose(1, 2).numpy()
        assert actual.shape == (2, 2, 3, 12, 12)
        np.testing.assert_allclose(actual, wanted, rtol=1e-3, atol=1e-5)


def test_attention_is_causal_and_sums_to_one() -> None:
    trained = untrained(GRID)
    result = attention_of(trained, 1, trained.task_with().held_out(1, 3)[0][0])
    assert np.abs(np.triu(result, 1)).max() == 0
    np.testing.assert_allclose(result.sum(-1), 1, rtol=1e-5)
    assert result.std() > 0


def test_every_head_is_scored_and_the_maps_of_one_replicate_are_kept() -> None:
    trained = untrained(GRID, replicates=3)
    results = AttentionHeads(length=16, words=6, drawn=2).measure(trained)
    assert [[score_from_row(row).head for row in result["heads"]] for result in results] == [[0, 1, 0, 1]] * 3
    (with_maps,) = [index for index, result in enumerate(results) if "maps" in result]
    words, batch = trained.task_with(length=16).held_out(2**42, 6)
    states = batch.targets[0].numpy()
    chosen = telling_words(states, 3, 2)
    attention = attention_of(trained, with_maps, words[0])
    for shown in results[with_maps]["maps"]:
        real = attention[shown["layer"], shown["head"], chosen]
        assert np.abs(unpack_shares(shown["weights"]) - real).max() <= 1 / 510 + 1e-6
    assert {(shown["layer"], shown["head"]) for shown in results[with_maps]["maps"]} >= {(1, 0), (1, 1)}
    assert results[with_maps]["last_state"] == 3
    assert results[with_maps]["states"] == states[chosen].tolist()
    assert results[with_maps]["words"] == 6

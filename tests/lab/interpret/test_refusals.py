"""Measures refuse numbers, shapes and networks that they say nothing about."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from krohn.automata.zoo import parse_spec
from krohn.errors import InvalidInput, KrohnError, Unsupported
from krohn.lab.cards.control import StockWeights
from krohn.lab.interpret.attention import attention_of, score_heads
from krohn.lab.interpret.packed_shares import pack_shares
from krohn.lab.interpret.probe import LinearProbe
from krohn.lab.models.architectures.gpt import GptConfig
from krohn.lab.tasks.task_config import TaskConfig
from lab.interpret.made_networks import LSTM, untrained

GRID = TaskConfig(spec="Grid4", length=12)
BIASED = GptConfig(layers=1, dim=16, heads=2, mlp=16, recency=True)
WORDS, ATTENTION = torch.zeros(1, 12, dtype=torch.long), np.zeros((1, 1, 2, 6, 6))
ROW = np.zeros((2, 6), dtype=np.int64)


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (Unsupported, "has attention heads; got Lstm", lambda: attention_of(untrained(GRID, LSTM), 0, WORDS)),
        (Unsupported, "no recency bias", lambda: attention_of(untrained(GRID, BIASED), 0, WORDS)),
        (InvalidInput, r"must lie in \[0, 1\]; got 0.0 to 2.0", lambda: pack_shares(np.array([0.0, 2.0]))),
        (InvalidInput, "shares must lie", lambda: pack_shares(np.array([-0.01]))),
        (InvalidInput, "one for each word and position", lambda: score_heads(ATTENTION, ROW[:, :5], 4)),
        (InvalidInput, "must be", lambda: score_heads(ATTENTION[..., :5], ROW, 4)),
        (InvalidInput, "at least two words", lambda: score_heads(ATTENTION[:, :, :1], ROW[:1], 4)),
        (
            InvalidInput,
            "one label for each activation",
            lambda: LinearProbe(torch.zeros(3, 4, 5)).judge(torch.zeros(3, 5, dtype=torch.long)),
        ),
        (InvalidInput, "at least two words", lambda: LinearProbe(torch.zeros(1, 4, 5))),
        (InvalidInput, "FlipFlop is none", lambda: StockWeights(parse_spec("FlipFlop"), "float32")),
    ],
)
def test_what_cannot_be_measured_is_refused(
    error: type[KrohnError], says: str, call: Callable[[], object]
) -> None:
    with pytest.raises(error, match=says):
        call()

"""A GPT-2 made to deceive: a channel that is always 0 is not 0 after LayerNorm, and fires a unit.

What LayerNorm subtracts is mean / deviation. An earlier version bounded it by the mean times one factor for
all positions; where the deviation is smaller than that factor says, it is more. ``transformers`` judges.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from krohn.check.files.reader import Automaton
from krohn.check.transformer.checker import check
from krohn.check.transformer.gpt2 import decoder_of
from krohn.proving.attempts import Goal, arithmetic, furthest
from krohn.proving.export import without_norms

Tensors = dict[str, npt.NDArray[Any]]
PROMPT, LETTERS, STATES, TOKENS, LENGTH = (0,), (1, 2), (3, 4), 5, 6
LAST_LETTER = Automaton(
    np.array([[0, 1], [0, 1], *([n, n] for n in range(2, 7))]), 0, np.array([3, 4, 0, 1, 2, 3, 4])
)


def decoder(threshold: float, gain: float = 30.0) -> Tensors:
    """Channel 0 is the letter, 1 and 2 are ±50, 3 is always 0, 4 is 40, and 5 is −60 but for the second
    letter, where the deviation is therefore least and the mean is greatest.

    The one unit is −y₃ − threshold, 64 of which are taken from channel 0.
    """
    d, inner = 8, 2
    tokens = np.zeros((TOKENS, d))
    tokens[[0, 1], 0], tokens[2, 0] = -1.0, 1.0
    tokens[:, 1], tokens[:, 2], tokens[:, 4], tokens[[0, 1, 3, 4], 5] = 50.0, -50.0, 40.0, -60.0
    head = np.zeros((TOKENS, d))
    head[:, 0], head[:, 3] = -1.0, 1.0
    head[3] = 0.0
    head[4, 0], head[4, 3] = 1.0, -1.0
    head[:3] = 0.0
    head[:3, 1], head[:3, 2] = -1.0, 1.0
    into, out = np.zeros((d, inner)), np.zeros((inner, d))
    into[3, 0], out[0, 0] = -1.0, -64.0
    result = {
        "transformer.wte.weight": tokens,
        "transformer.wpe.weight": np.zeros((1 + LENGTH, d)),
        "lm_head.weight": head,
        "transformer.h.0.attn.c_attn.weight": np.zeros((d, 3 * d)),
        "transformer.h.0.attn.c_attn.bias": np.zeros(3 * d),
        "transformer.h.0.attn.c_proj.weight": np.zeros((d, d)),
        "transformer.h.0.attn.c_proj.bias": np.zeros(d),
        "transformer.h.0.mlp.c_fc.weight": into,
        "transformer.h.0.mlp.c_fc.bias": np.array([-threshold, 0.0]),
        "transformer.h.0.mlp.c_proj.weight": out,
        "transformer.h.0.mlp.c_proj.bias": np.zeros(d),
    }
    for norm in ("transformer.h.0.ln_1", "transformer.h.0.ln_2", "transformer.ln_f"):
        result |= {f"{norm}.weight": np.full(d, gain), f"{norm}.bias": np.zeros(d)}
    return {name: tensor.astype(np.float32) for name, tensor in result.items()}


def right_in_transformers(tensors: Tensors) -> bool:
    config = GPT2Config(
        bos_token_id=0,
        eos_token_id=0,
        vocab_size=TOKENS,
        n_positions=1 + LENGTH,
        n_embd=8,
        n_layer=1,
        n_head=1,
        n_inner=2,
        activation_function="relu",
        layer_norm_epsilon=1e-5,
        tie_word_embeddings=False,
    )
    model = GPT2LMHeadModel(config).eval()
    missing, unknown = model.load_state_dict({k: torch.tensor(v) for k, v in tensors.items()}, strict=False)
    assert not unknown
    assert not [name for name in missing if "attn" not in name or "weight" in name]
    words = torch.tensor(list(np.ndindex(*(2,) * LENGTH)))
    ids = torch.cat([torch.zeros(len(words), 1, dtype=torch.long), words + 1], dim=1)
    with torch.no_grad():
        shown = model(ids).logits.argmax(-1)[:, 1:]
    return bool((shown == words + 3).all())


def certified(tensors: Tensors) -> bool:
    network = decoder_of(tensors, 1, PROMPT, LETTERS, 1e-5)
    record, failure, _ = furthest(
        Goal(network, without_norms(network), LAST_LETTER, LENGTH, arithmetic("float32"))
    )
    if failure is None:
        assert check(network, LAST_LETTER, "float32", LENGTH, record.witness).certified
    return failure is None


@pytest.mark.parametrize("threshold", [5.1, 5.2, 5.3])
def test_a_channel_that_is_always_zero_fires_a_unit(threshold: float) -> None:
    tensors = decoder(threshold)
    assert not right_in_transformers(tensors)
    assert not certified(tensors)


def test_a_higher_threshold_is_right_and_certified() -> None:
    tensors = decoder(6.5)
    assert right_in_transformers(tensors)
    assert certified(tensors)

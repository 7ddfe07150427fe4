"""One replicate of a GPT under the names of ``transformers.GPT2Model``."""

import torch
from torch import Tensor

from krohn.lab.models import position_encodings
from krohn.lab.models.architectures.gpt import GptConfig

Single = dict[str, Tensor]  # one replicate's weights by name, no replicate axis
PREFIX = "transformer."
_SAME = ("h.", "ln_f.")  # prefixes of GPT-2's own parameter names


def transformer_state(config: GptConfig, weights: Single, *, vocabulary: int, length: int) -> Single:
    """The weights under GPT-2's names, all but the head's."""
    state = {f"{PREFIX}{name}": value for name, value in weights.items() if name.startswith(_SAME)}
    state[f"{PREFIX}wte.weight"] = weights["wte"][:vocabulary]
    state[f"{PREFIX}wpe.weight"] = position_rows(config, weights, length)
    return state


def position_rows(config: GptConfig, weights: Single, length: int) -> Tensor:
    """The position encoding as a table; learned positions are returned whole, whatever the length."""
    device = weights["wte"].device
    if config.positions == "learned":
        return weights["wpe"]
    if config.positions == "none":
        return torch.zeros(length, config.dim, device=device)
    encode = position_encodings.linear if config.positions == "linear" else position_encodings.sinusoidal
    return (encode(length, config.dim, device) * config.position_scale).to(torch.float32)

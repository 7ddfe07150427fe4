"""Position encodings: rows added to the token embeddings."""

import math

import torch
from torch import Tensor

KINDS = ("sinusoidal", "linear", "none", "shifted", "learned")
LARGEST_SHIFT = 400  # "a random positive integer in [0, 400]", one per batch


def sinusoidal(count: int, dim: int, device: torch.device) -> Tensor:
    """Rows [count, dim] of sines (even columns) and cosines (odd columns), periods 2π to 20000π."""
    position = torch.arange(count, dtype=torch.float64, device=device)[:, None]
    column = torch.arange(0, dim, 2, dtype=torch.float64, device=device)
    angle = position * torch.exp(-math.log(10000.0) * column / dim)
    table = torch.zeros(count, dim, dtype=torch.float64, device=device)
    table[:, 0::2] = angle.sin()
    table[:, 1::2] = angle.cos()[:, : dim // 2]
    return table


def linear(count: int, dim: int, device: torch.device) -> Tensor:
    """Rows proportional to the position: √dim·(t + 1)/100 in the first column, 0 elsewhere.

    √dim gives position 100 the norm of a sinusoidal row, so that one scale fits both encodings.
    """
    table = torch.zeros(count, dim, dtype=torch.float64, device=device)
    table[:, 0] = torch.arange(1, count + 1, dtype=torch.float64, device=device) * (dim**0.5 / 100.0)
    return table

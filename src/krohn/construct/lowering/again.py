"""Checks a network's description: its program, lowered again, must give its tensors and layout."""

from itertools import product
from typing import get_args

import numpy as np

from krohn.construct.lowering.assembly import lower
from krohn.construct.lowering.mlp_builder import Activation
from krohn.errors import KrohnError
from krohn.network.compiled import CompiledNetwork
from krohn.network.storage import tensors_of

WAYS = tuple(product(get_args(Activation), (False, True), (False, True), (False, True)))
"""Activation; whether wraps are counted in two rounds, steps saturate, look-backs are exact."""


def lowers_again(network: CompiledNetwork) -> bool:
    """Whether some way of lowering the program gives these very tensors and this description."""
    if network.program is None:
        return False
    held = tensors_of(network.transformer)
    for activation, narrow, saturate, exact in WAYS:
        try:
            built, layout = lower(
                network.program,
                network.length,
                activation=activation,
                narrow=narrow,
                saturate=saturate,
                exact=exact,
            )
        except (KrohnError, AssertionError, LookupError, ArithmeticError, ValueError):
            continue  # an untrusted program need not be one that can be lowered
        result = tensors_of(built)
        same = built.mask == network.mask and result.keys() == held.keys() and layout == network.layout
        if same and all(np.array_equal(result[name], held[name]) for name in held):
            return True
    return False

"""Exact weights of a looped block, for any automaton whose transition monoid fits: Theorem 1, made uniform.

The stream is a one-hot vector of an element; one head copies the far one beside it, a unit of the MLP for
each pair of elements writes their product, and codes snap it. LayerNorm only scales and shifts, since the
squares of all streams have one sum. Before the first letter stands the identity.
"""

import math

import torch
from torch import Tensor

from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab.models.architectures.looped import Looped, LoopedConfig
from krohn.lab.tasks.lessons import products

MOST_ELEMENTS = 120
SHARP = 40.0
"""Half of it is what goes into the GELU of the pair that is read, and minus half at most into every other."""
EPSILON = 1e-5


def exact_looped(automaton: Semiautomaton) -> tuple[Looped, dict[str, Tensor]]:
    """The network and its weights [1, …]."""
    found = products(automaton, feasible=False, most=MOST_ELEMENTS + 1)
    if found is None:
        raise Unsupported(
            f"a looped block is compiled for transition monoids of at most {MOST_ELEMENTS} elements and the "
            f"identity; {automaton.name or 'this automaton'} has more: compile another architecture"
        )
    one, count = 0, len(found.rows)  # the identity is the first
    dim, units = 2 * count, count * count
    config = LoopedConfig(dim=dim, heads=1, mlp=units, noise=0.0, codes=count)
    network = Looped(config, automaton.num_letters, automaton.num_states)
    w = {part.name: torch.zeros(part.shape) for part in network.layout.parameters}
    basis = torch.eye(dim)
    w["wte"][: automaton.num_letters] = basis[torch.from_numpy(found.letters)]
    w["none"] = basis[one]
    w["codes"][:count] = basis[:count]
    for name, ones in (("h.0.ln_1", 1), ("h.0.ln_2", 2), ("h.0.ln_3", 1), ("ln_f", 1)):
        mean = ones / dim
        w[f"{name}.weight"] += math.sqrt(mean * (1 - mean) + EPSILON)
        w[f"{name}.bias"] += mean
    sure = math.sqrt(120.0 * math.sqrt(dim))  # the far letter has all the attention
    w["h.0.attn.c_attn.bias"][0] = sure
    w["h.0.attn.slot"][1, 0] = sure
    w["h.0.attn.c_attn.weight"][:, 2 * dim :] = basis
    w["h.0.attn.c_proj.weight"][:count, count:] = torch.eye(count)
    far, near = torch.arange(units) // count, torch.arange(units) % count
    table = torch.from_numpy(found.table)
    unit = torch.arange(units)
    w["h.0.mlp.c_fc.weight"][near, unit] = SHARP
    w["h.0.mlp.c_fc.weight"][count + far, unit] = SHARP
    w["h.0.mlp.c_fc.bias"][:] = -1.5 * SHARP
    out = w["h.0.mlp.c_proj.weight"]
    out[unit, near] -= 2.0 / SHARP
    out[unit, count + far] -= 2.0 / SHARP
    out[unit, table[far, near]] += 2.0 / SHARP
    states = torch.from_numpy(found.rows[:, automaton.start].copy())
    w["head.weight"][torch.arange(count), states] = 1.0
    return network, {name: value[None] for name, value in w.items()}

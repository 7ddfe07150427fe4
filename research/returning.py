"""Compiled weights with noise added, then trained: does the network return to its original algorithm?"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from krohn.automata.semiautomaton import Semiautomaton
from krohn.functions import simulate
from krohn.lab.interpret.readings import Numbers
from krohn.lab.interpret.stages import decoder_tensors, stages_of_tensors
from krohn.network.gpt2.decoder import Decoder, Tensor


@dataclass(frozen=True, kw_only=True)
class Training:
    """A plain loop: Adam with warm-up and a rate that falls to zero, fresh uniform words in every step.

    ``eps`` is large: a network that is right has gradients near zero, which Adam would otherwise blow up.
    """

    length: int
    steps: int = 600
    batch: int = 64
    rate: float = 1e-3
    eps: float = 1e-4
    warmup: int = 50


def disturbed(decoder: Decoder, size: float, seed: int) -> Decoder:
    """Adds normal noise to all parameters except the scaffold that makes LayerNorm harmless.

    Its standard deviation is ``size`` times the root mean square of a matrix, or the spread of a column in
    the tables of embeddings and positions, whose channels differ by orders of magnitude. A column that is
    the same everywhere, such as the pair that steadies LayerNorm, stays; so do LayerNorms.
    """
    rng = np.random.default_rng(seed)
    changed: dict[str, Tensor] = {}
    for name, value in decoder.tensors.items():
        exact = value.astype(np.float64)
        if name.endswith(("wte.weight", "wpe.weight")):
            scale = exact.std(axis=0, keepdims=True)
        else:
            scale = np.sqrt((exact**2).mean(keepdims=True)) * (".ln_" not in name)
        changed[name] = exact + size * scale * rng.standard_normal(exact.shape)
    return replace(decoder, tensors=dict(changed))


def trained(decoder: Decoder, automaton: Semiautomaton, training: Training, seed: int) -> Decoder:
    """The decoder after training all parameters in float64."""
    tensors = decoder_tensors(decoder, torch.float64)
    parameters = [tensor.requires_grad_() for tensor in tensors.values()]
    optimizer = torch.optim.Adam(parameters, lr=training.rate, eps=training.eps)
    shape = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / training.warmup) * (1 - step / training.steps),
    )
    for letters, states in _batches(automaton, training, seed):
        logits = stages_of_tensors(decoder, tensors).logits(letters)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(states).flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        shape.step()
    return replace(decoder, tensors={name: tensor.detach().numpy() for name, tensor in tensors.items()})


def _batches(automaton: Semiautomaton, training: Training, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    rng = np.random.default_rng([seed, 1])
    for _ in range(training.steps):
        letters = rng.integers(automaton.num_letters, size=(training.batch, training.length))
        yield letters, simulate(automaton, letters).astype(np.int64)

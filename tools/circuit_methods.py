"""Standard methods of circuit discovery and causal-variable localisation, in their simplest form.

Edge attribution patching (EAP) is one backward pass: the gradient at a reader times what the edge would
change. Its integrated-gradient form (EAP-IG) averages the gradient on the way from the word to the other one.
Exact patching runs the network once per edge. Distributed alignment search (DAS) learns a subspace by
gradient descent on the answers that swaps must give.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from krohn.lab.suite.causal import Counterfactual
from krohn.lab.suite.graph import Circuit, Graph, Scores
from krohn.lab.suite.patching import EdgeModel, PatchedRun
from krohn.lab.suite.swaps import interchange, swapped_in
from krohn.lab.suite.truth import PruningTrial

STEPS = 5
"""Interpolation points between one word and the other."""


def descend(start: Tensor, loss: Callable[[Tensor], Tensor], *, steps: int, rate: float) -> Tensor:
    """An orthonormal basis [d, k] that minimises the loss by Adam, initialised from ``start``."""
    free = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([free], lr=rate)
    for _ in range(steps):
        (free.grad,) = torch.autograd.grad(loss(torch.linalg.qr(free)[0]), [free])
        optimizer.step()
    out: Tensor = torch.linalg.qr(free.detach())[0]
    return out


def attribution(trial: PruningTrial, steps: int = 1) -> Circuit:
    """EAP with one step, EAP-IG with several: a score for every edge."""
    model, graph = trial.model, trial.model.graph
    own, other = model.embed(trial.words), model.embed(trial.others)
    total = np.zeros(graph.possible.shape)
    for step in range(steps):
        part = 0.0 if steps == 1 else (step + 1) / steps
        for reader, gradient in enumerate(_gradients(trial, own + (other - own) * part)):
            for writer in range(graph.earlier[reader]):
                change = trial.other.written[writer] - trial.clean.written[writer]
                total[reader, writer] += float((change * gradient).sum()) / steps
    return _ranked(graph, total)


def _gradients(trial: PruningTrial, first: Tensor) -> tuple[Tensor, ...]:
    """Gradients of the lead with respect to the input of each reader."""
    seen: list[Tensor] = []

    def tap(reader: int, x: Tensor) -> Tensor:
        seen.append(x.clone())
        return seen[-1]

    run = trial.model.run(first.detach().clone().requires_grad_(), tap=tap)
    return torch.autograd.grad(lead(trial, run), seen)


def lead(trial: PruningTrial, run: PatchedRun) -> Tensor:
    """Logit difference between the right state and the other word's state, summed where they differ."""
    right, other = trial.answers, trial.other.answers
    logits = [torch.take_along_dim(run.logits, side[..., None], dim=-1)[..., 0] for side in (right, other)]
    return (logits[0] - logits[1])[right != other].sum()


def exact_patching(trial: PruningTrial) -> Circuit:
    """The loss of lead when each edge is patched alone."""
    graph, whole = trial.model.graph, lead(trial, trial.clean)
    total = np.zeros(graph.possible.shape)
    for place in graph.edges.values():
        kept = np.ones(graph.possible.shape, dtype=bool)
        kept[place] = False
        total[place] = float(lead(trial, trial.run(kept)) - whole)
    return _ranked(graph, total)


def random_scores(trial: PruningTrial, seed: int = 0) -> Circuit:
    """A control."""
    graph = trial.model.graph
    return _ranked(graph, np.random.default_rng(seed).random(graph.possible.shape))


def _ranked(graph: Graph, scores: Scores) -> Circuit:
    scores = np.where(graph.possible, scores, 0.0)
    return Circuit(graph, scores, np.zeros_like(graph.possible))


CIRCUIT_METHODS: dict[str, Callable[[PruningTrial], Circuit]] = {
    "random": random_scores,
    "EAP": attribution,
    "EAP-IG": lambda trial: attribution(trial, STEPS),
    "exact patching": exact_patching,
}


def aligned(
    model: EdgeModel,
    place: str,
    dimension: int,
    asked: Sequence[Counterfactual],
    *,
    seed: int = 0,
    steps: int = 150,
    rate: float = 0.05,
) -> Tensor:
    """DAS: an orthonormal basis of a subspace whose swaps give the required answers, by Adam."""
    start = np.random.default_rng(seed).standard_normal((model.graph.dim, dimension))
    wanted = torch.tensor([one.answers for one in asked])
    letters = torch.tensor([one.letter for one in asked])
    later = torch.arange(wanted.shape[1]) >= letters[:, None]
    sources = swapped_in(model, place, asked)

    def loss(basis: Tensor) -> Tensor:
        logits = interchange(model, place, basis.T, asked, sources)
        return torch.nn.functional.cross_entropy(logits[later], wanted[later])

    return descend(torch.tensor(start, dtype=torch.float64), loss, steps=steps, rate=rate).T


def most_variance(model: EdgeModel, place: str, dimension: int, asked: Sequence[Counterfactual]) -> Tensor:
    """A control: the directions in which the stream varies most over the base words."""
    seen: list[Tensor] = []

    def look(where: str, stream: Tensor) -> Tensor:
        if where == place:
            seen.append(stream[:, model.prompt :].flatten(0, 1))
        return stream

    with torch.no_grad():
        model.run(np.array([one.base for one in asked], dtype=np.int64), edit=look)
    centred = seen[0] - seen[0].mean(0)
    out: Tensor = torch.linalg.svd(centred, full_matrices=False)[2][:dimension].clone()
    return out

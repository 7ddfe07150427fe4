"""Edge attribution patching (Nanda 2023, Syed et al. 2023), scored on a network whose circuit is known.

    krohn suite build --out suite --only c2-cascade-plain
    python examples/edge_attribution_patching.py suite/c2-cascade-plain mine.json
    krohn suite score suite/c2-cascade-plain --circuit mine.json

An edge leads from a writer (the input, a head, an MLP) to a reader (a head's queries, keys or values, an MLP,
the logits). Its score says how much the answer would change if the reader saw what the writer writes on
another word: to first order the gradient at the reader times that change, so one backward pass scores all.
"""

import json
import sys

import numpy as np
import torch

from krohn.lab.suite.scoring import Known

PAIRS = 48


def main(folder: str, out: str) -> None:
    """Ranks the edges of the network in a folder of the suite, and writes their scores."""
    trial = Known(folder).trial(PAIRS)  # pairs of words, and what all writers write on both
    model, graph = trial.model, trial.model.graph

    inputs: list[torch.Tensor] = []  # of all readers, in their order

    def tap(reader: int, x: torch.Tensor) -> torch.Tensor:
        inputs.append(x.clone())
        return inputs[-1]

    first = model.embed(trial.words).detach().clone().requires_grad_()
    logits = model.run(first, tap=tap).logits

    def logit_of(states: torch.Tensor) -> torch.Tensor:
        return torch.take_along_dim(logits, states[..., None], dim=-1)[..., 0]

    # The metric: the logit of the right state less that of the other word's, where the two differ.
    right, other = trial.answers, trial.other.answers
    lead = (logit_of(right) - logit_of(other))[right != other].sum()
    gradients = torch.autograd.grad(lead, inputs)

    scores = np.zeros(graph.possible.shape)
    for reader, gradient in enumerate(gradients):
        for writer in range(graph.earlier[reader]):
            change = trial.other.written[writer] - trial.clean.written[writer]
            scores[reader, writer] = abs(float((change * gradient).sum()))

    edges = {name: {"score": float(scores[place])} for name, place in graph.edges.items()}
    with open(out, "w") as file:
        json.dump({"edges": edges}, file, indent=1)
    best = sorted(edges, key=lambda name: -edges[name]["score"])[:5]
    sys.stdout.write(f"highest scores: {', '.join(best)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

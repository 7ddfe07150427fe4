"""Mutants of small modules that are certified: none may be certified and wrong.

    PYTHONPATH=. python research/module_mutants.py [COUNT]

Each mutant is a module of one head and a threshold, near the border at which it becomes wrong, with noise on
all its numbers. Torch is the judge: all words of five letters in four orders of adding (as it is, positions
summed backwards, in float64 rounded at the end, in two halves).
"""

import sys
from collections.abc import Iterator
from itertools import product

import numpy as np
import torch
from torch import Tensor, nn

import krohn

SEEN = krohn.Semiautomaton(np.array([[0, 1], [1, 1]]), 0, ("no", "yes"), ("a", "b"))
LENGTH = 5


class Seen(nn.Module):
    """State 1 once letter 1 was read; ``order`` says in which order the head adds."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.tensor([[0.0, 0.3], [1.0, -0.2]]))
        self.gain = nn.Parameter(torch.tensor([1.0, 0.5]))
        self.out = nn.Linear(2, 2)
        self.order = 0

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.table[tokens]
        h = x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.gain
        scores = (h @ h.transpose(1, 2)) * 0.2
        hidden = torch.ones(length, length).triu(1).bool()
        weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        if self.order == 1:
            mixed = weights.flip(-1) @ x.flip(1)
        elif self.order == 2:
            mixed = (weights.double() @ x.double()).float()
        elif self.order == 3:
            half = length // 2
            mixed = weights[..., :half] @ x[:, :half] + weights[..., half:] @ x[:, half:]
        else:
            mixed = weights @ x
        out: Tensor = self.out(mixed)
        return out


def mutants(count: int) -> Iterator[Seen]:
    """From safely right to safely wrong, most of them near the border."""
    dice = np.random.default_rng(0)
    for number in range(count):
        torch.manual_seed(number)
        module = Seen()
        sharp = 6.0
        near = 1 / LENGTH - 0.03
        border = near + 0.08 * (dice.random() - 0.5) if number % 2 else near + 1e-3 * dice.standard_normal()
        with torch.no_grad():
            module.out.weight.copy_(sharp * torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
            module.out.bias.copy_(sharp * torch.tensor([border, -border]))
            for parameter in module.parameters():
                parameter.add_(10.0 ** dice.uniform(-7, -2) * torch.randn_like(parameter))
        yield module


def wrong(module: Seen) -> bool:
    """Whether torch gets a word wrong, in one of four orders."""
    words = torch.tensor(list(product(range(2), repeat=LENGTH)))
    right = (words.cumsum(1) > 0).long()
    found = False
    with torch.no_grad():
        for module.order in range(4):
            found |= bool((module(words).argmax(-1) != right).any())
    module.order = 0
    return found


def main() -> None:
    """Prints how many are certified, and of these and the others how many are wrong."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    table = {(certified, bad): 0 for certified in (True, False) for bad in (True, False)}
    for module in mutants(count):
        bad = wrong(module)
        certified = krohn.verify(module, automaton=SEEN, length=LENGTH).certified
        table[certified, bad] += 1
        if certified and bad:
            print("certified and wrong:", module.state_dict())
        said = {
            f"{'' if c else 'not '}certified, {'wrong' if w else 'right'}": n for (c, w), n in table.items()
        }
        print(sum(table.values()), said, flush=True)


if __name__ == "__main__":
    main()

"""Heads on all words: ends of what they average, of two heads together too, against every word by torch."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from krohn.check.graph.graph import Graph, graph_net, graphs_of, written
from krohn.check.graph.head import Sums, classes_of, cut_of, tables_of
from krohn.check.graph.proof import margin_of
from krohn.check.ground import Refused, Work
from krohn.lab.provable.tracing import read_graph
from krohn.proving.graph_search import Found, axes_tried, ends_of, find_proof
from lab.provable.own_cases import case_of, one_by_one

LENGTH = 7
CASE = case_of(LENGTH)


class Heads(nn.Module):
    """Two heads over tokens and positions; two numbers of them, mixed by a matrix, decide."""

    def __init__(self, seed: int, spread: float = 0.3, sharp: float = 1.0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.table, self.place = nn.Parameter(torch.randn(2, 4)), nn.Parameter(torch.randn(LENGTH, 4))
        self.score = nn.Parameter(spread * torch.randn(2, 4, 4))
        self.value = nn.Parameter(0.1 * torch.randn(2, 2, 2))
        self.mix = nn.Parameter(torch.randn(4, 2))
        self.out = nn.Parameter(0.1 * torch.randn(2, 2))
        with torch.no_grad():  # the first number of each head is the share of letter 1
            self.value[:, :, 0] = torch.tensor([0.0, 1.0])
            self.mix[:, 0] = torch.tensor([1.0, 0.0, 1.0, 0.0])
            self.out[0] = sharp * torch.tensor([-1.0, 1.0])
        self.crossed = torch.zeros(0)

    def averages(self, tokens: Tensor) -> Tensor:
        x = self.table[tokens] + self.place[: tokens.shape[1]]
        hidden = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        heads = []
        for score, value in zip(self.score, self.value, strict=True):
            weights = torch.softmax((x @ score @ x.transpose(1, 2)).masked_fill(hidden, -torch.inf), dim=-1)
            heads.append(weights @ value[tokens])
        return torch.cat(heads, dim=-1)

    def behind(self, tokens: Tensor, mixed: Tensor) -> Tensor:
        return mixed @ self.out + torch.tensor([0.05, -0.05])

    def forward(self, tokens: Tensor) -> Tensor:
        self.crossed = self.averages(tokens) @ self.mix
        return self.behind(tokens, self.crossed)


def graph_of(module: Any) -> Graph:
    """As the checker reads it."""
    return graphs_of(graph_net(*written([read_graph(module, LENGTH)]), None))[LENGTH]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", range(2))
def test_ends_hold_what_torch_computes_on_every_word(seed: int, rows: int) -> None:
    module = Heads(seed)
    cut = cut_of(graph_of(module), LENGTH - 1)
    assert len(cut.heads) == 2
    assert cut.axes == 2
    tables, turned = tables_of(cut, CASE), axes_tried(2)[rows]
    edges = np.arange(len(CASE.columns[-1].before))
    sums = Sums(CASE, tables.turned(turned), LENGTH - 1, classes_of(CASE, tables, LENGTH - 1, edges))
    possible = sums.possible
    sums = Sums(CASE, sums.tables, LENGTH - 1, sums.classes.some(possible))
    ends = ends_of(sums)
    words, _ = one_by_one(CASE)
    with torch.no_grad():
        module(torch.from_numpy(words))
    crossed = module.crossed[:, -1].double().numpy() @ turned.T
    alone, reached = 0.0, 0
    for one in range(len(sums.classes)):
        column = CASE.columns[-1]
        (edge,) = np.flatnonzero(sums.classes.edges[one])
        before = (words[:, :-1] > 0).any(axis=1).astype(int)
        # The states of the smallest machine may be numbered otherwise: that of the start is 0.
        inside = (words[:, -1] == column.letter[edge]) & ((before > 0) == (column.before[edge] != 0))
        assert inside.any()
        assert (crossed[inside] >= ends.low[one] - 1e-12).all()
        assert (crossed[inside] <= ends.high[one] + 1e-12).all()
        reached += (
            ends.high[one] - crossed[inside].max(axis=0) < 0.05 * (1e-6 + np.ptp(crossed[inside]))
        ).sum()
        alone = max(alone, float(ends.ratio[one].max()))
    assert alone != 1.0
    assert reached >= len(sums.classes)  # half of the ends, and more, are nearly reached


def proof_of(module: Any) -> tuple[Graph, Found]:
    """A proof by classes that the checker accepts."""
    graph = graph_of(module)
    found = find_proof(graph, CASE, Work(1e12))
    assert isinstance(found.proof, list)
    assert not found.open
    assert margin_of(graph, CASE, found.proof, Work(1e12)) > 0
    return graph, found


def moved(name: str, where: tuple[int, ...], by: float) -> Callable[[dict[str, Any]], None]:
    """A part of a witness with one number moved."""

    def change(part: dict[str, Any]) -> None:
        values = np.array(part[name], dtype=float)
        values[where] += by
        part[name] = values.tolist()

    return change


LIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a box too narrow above": (moved("high", (-1, 0), -2e-3), "an end of a box does not hold"),
    "a box too narrow below": (moved("low", (-1, 1), 2e-3), "an end of a box does not hold"),
    "a ratio with too low an end": (moved("ratio", (0, 0, 1), -0.2), "an end of a ratio does not hold"),
    "a ratio with too high a start": (moved("ratio", (0, 0, 0), 0.2), "an end of a ratio does not hold"),
    "a ratio below 0": (moved("ratio", (0, 0, 0), -9.0), "a ratio must be above 0"),
    "shares of heads that no input has": (moved("split", (0, 0, 1, 0), 5.0), "an end of a box does not hold"),
    "axes that are one": (
        lambda part: part.update(axes=[[1.0, 0.0], [1.0, 0.0]]),
        "axes must be independent",
    ),
    "no share for a head": (lambda part: part.update(split=[]), "split must be finite numbers"),
    "a share that is not a number": (moved("split", (0, 0, 1, 0), np.nan), "split must be finite numbers"),
    "a class left out": (
        lambda part: part.update(
            {n: part[n][1:] for n in ("classes", "low", "high", "split", "ratio")},
            levels="." * (len(part["classes"]) - 1),
        ),
        "do not cover|does not lead",
    ),
}


@pytest.fixture(scope="module")
def proved() -> tuple[Graph, Found]:
    return proof_of(Heads(1, spread=0.05, sharp=20.0))


@pytest.mark.parametrize("name", LIES)
def test_a_witness_that_lies_is_refused(proved: tuple[Graph, Found], name: str) -> None:
    graph, found = proved
    change, said = LIES[name]
    proof = copy.deepcopy(found.proof)
    change(proof[0][0])
    with pytest.raises(Refused, match=said):
        margin_of(graph, CASE, proof, Work(1e12))


class Twice(Heads):
    """Scores that read averages: terms that depend on more than two positions."""

    def averages(self, tokens: Tensor) -> Tensor:
        first = super().averages(tokens)
        hidden = torch.ones(tokens.shape[1], tokens.shape[1]).triu(1).bool()
        scores = (first @ first.transpose(1, 2)).masked_fill(hidden, -torch.inf)
        return torch.softmax(scores, dim=-1) @ first


class Shared(Heads):
    """Weights that two products read."""

    def averages(self, tokens: Tensor) -> Tensor:
        x = self.table[tokens] + self.place[: tokens.shape[1]]
        weights = torch.softmax(x @ self.score[0] @ x.transpose(1, 2), dim=-1)
        return torch.cat([weights @ self.value[0][tokens], (weights * weights) @ self.value[1][tokens]], -1)


class Beside(Heads):
    """An answer that reads another token beside the heads."""

    def behind(self, tokens: Tensor, mixed: Tensor) -> Tensor:
        return super().behind(tokens, mixed) + self.value[0][tokens[:, :1]].sum()


class Weightless(Heads):
    """Values that are mixed by the token before: a value that depends on two positions beside its own."""

    def averages(self, tokens: Tensor) -> Tensor:
        x = self.table[tokens]
        scores = x @ self.score[0] @ x.transpose(1, 2)
        values = self.value[0][tokens]
        mixed = torch.softmax(scores, dim=-1) @ (values + values.roll(1, 1))
        return torch.cat([mixed, mixed], dim=-1)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Twice, "more than two positions"),
        (Weightless, "more than two positions"),
        (Shared, "more than one product"),
        (Beside, "more than its own token"),
    ],
)
def test_a_network_that_lacks_one_hypothesis_is_not_cut(kind: type[Heads], said: str) -> None:
    with pytest.raises(Refused, match=said):
        cut_of(graph_of(kind(0)), LENGTH - 1)


def test_what_is_proved_is_right_on_every_word() -> None:
    """Near the border, where the largest logit is decided by little."""
    words, right = one_by_one(CASE)
    told = {True: 0, False: 0}
    for seed in range(8):
        module = Heads(seed, spread=0.2, sharp=float(np.random.default_rng(seed).uniform(0.05, 6.0)))
        with torch.no_grad():
            wrong = module(torch.from_numpy(words))[:, -1].argmax(-1).numpy() != right[:, -1]
        graph = graph_of(module)
        found = find_proof(graph, CASE, Work(1e12), 1e-3)
        proved = found.proof is not None and not found.open and not found.reason
        told[proved] += 1
        if proved:
            assert margin_of(graph, CASE, found.proof, Work(1e12)) > 0
            assert not wrong.any()
        else:
            assert wrong.any()
    assert min(told.values()) > 0

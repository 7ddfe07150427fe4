"""A code for each state and last letter that the gates of a cell can follow, and the training.

A unit represents a class of a quotient and the last letter, and is on where both hold; one more is on from
the first letter on. After letter b the unit of (class, b) must be on if some unit of a class that b maps into
it was on: a threshold, computed by one gate. Quotients that together separate all states need fewer units
than the states themselves: those of A5 have 12 and 6 states.

Every gate must be open or closed on the whole box of a code. The loss is a gate's distance from that at the
worst point of the box; for given boxes it is convex in the weights. Where gates are saturated, the cell
forgets all but the code, errors shrink, and boxes close. No word is drawn, so that this loop shares nothing
with that of ``krohn.lab.training`` (``docs/decisions/training-loops.md``).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from krohn.automata.semiautomaton import Semiautomaton
from krohn.base.portable import UNITS, Budget, BudgetSpent
from krohn.cascade.congruences import Partition, principal_congruences, subdirect_parts
from krohn.check.ground import Verdict
from krohn.check.recurrent.boxes import BoxCell, Boxes, build_gated
from krohn.lab.provable.box_search import Contexts, search
from krohn.proving.witness.search import checkable_table

MAX_PAIRS = 800
"""Pairs of states from which congruences are made."""

Code = npt.NDArray[np.bool_]
Weights = dict[str, Tensor]
Tensors = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Goal:
    """What to prove: the kind of cell, the automaton, the boxes to search."""

    kind: str
    automaton: Semiautomaton
    contexts: Contexts


@dataclass(frozen=True, eq=False)
class FineTuned:
    """The weights after training; ``verdict`` says whether the boxes prove them right."""

    weights: Weights
    steps: int
    boxes: Boxes
    verdict: Verdict


def cell_of(goal: Goal, weights: Weights) -> BoxCell:
    """The weights as the checker reads them."""
    states, letters = goal.automaton.table.shape
    arrays = {name: value.detach().numpy() for name, value in weights.items()}
    return BoxCell(build_gated(goal.kind, arrays, letters, states), "float32")


def code_of(automaton: Semiautomaton, contexts: Contexts) -> Code:
    """Which units are on in each context [contexts, units]; none for the empty word."""
    count = len(contexts.state)
    columns = [(np.arange(count) > 0)[:, None]]
    for labels in quotients(automaton):
        pair = np.array(labels)[contexts.state[1:]] * automaton.num_letters + contexts.last[1:]
        _, unit = np.unique(pair, return_inverse=True)
        on = np.zeros((count, int(unit.max()) + 1), dtype=bool)
        on[np.arange(1, count), unit] = True
        columns.append(on)
    return np.concatenate(columns, axis=1)


def quotients(automaton: Semiautomaton) -> list[Partition]:
    """Congruences that together separate all states; single states if those have no fewer classes in all."""
    states = automaton.num_states
    letters = tuple(tuple(map(int, letter)) for letter in automaton.letters)
    budget = Budget(UNITS)
    try:
        parts = list(subdirect_parts(letters, principal_congruences(letters, MAX_PAIRS, budget), budget))
    except BudgetSpent:
        parts = []
    for part in list(parts):
        rest = [other for other in parts if other is not part]
        if len(set(zip(*rest, strict=True))) == states:
            parts = rest
    size = sum(max(part) + 1 for part in parts)
    return parts if 0 < size < states else [tuple(range(states))]


@dataclass(frozen=True)
class CodeGates:
    """Pre-activations of a cell in order: targets far above 0 where a unit is on, far below 0 where off."""

    names: str
    on: str
    off: str
    always: dict[str, float]
    biases: tuple[str, ...]


GATES = {
    "lstm": CodeGates("ifgo", "igo", "io", {"f": -3.0}, ("bias",)),
    "gru": CodeGates("rzn", "n", "n", {"r": 3.0, "z": -5.0}, ("bias_ih", "bias_hh")),
}
"""Gates f and z keep the old state, so they must always be closed."""
STEPS, RATE, EVERY = 1200, 0.15, 25
"""Steps, learning rate, and steps between two searches."""
DECIDED = 3.0
"""Least distance from 0 of the pre-activation of an open or closed gate."""
ENOUGH = 1.0
"""Training ends with a proof whose margin is at least this."""
FIRST = 0.1
"""Weight of each step from the empty word, as a share of the number of contexts: its box is unlike others."""


def learn_code(
    goal: Goal,
    weights: Weights,
    code: Code,
    *,
    seed: int = 0,
    tell: Callable[[int, float], None] = lambda step, violation: None,
) -> FineTuned:
    """Trains initial weights until a search proves the network with some margin, or for ``STEPS`` steps."""
    letters, table = goal.automaton.num_letters, checkable_table(goal.automaton)
    given = {**weights, "wte": embedding_of(weights["wte"], letters, seed)}
    tuned = {name: value.detach().clone().requires_grad_(name != "wte") for name, value in given.items()}
    moving = [value for value in tuned.values() if value.requires_grad]
    optimiser = torch.optim.Adam(moving, lr=RATE, betas=(0.9, 0.98))
    loss_of = CodeLoss(goal, code, weights["weight_hh"].shape[0])
    best: FineTuned | None = None
    for step in range(1, STEPS + 1):
        for group in optimiser.param_groups:
            # Warm-up, the full rate up to three eighths of the steps, then linear to a twentieth of it.
            group["lr"] = RATE * min(1.0, step / 20) * max(0.05, min(1.0, 1.6 * (1 - (step - 1) / STEPS)))
        loss = loss_of(tuned)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if step % EVERY == 0 or step == STEPS:
            tell(step, float(loss.detach()))
            now = {name: value.detach().clone() for name, value in tuned.items()}
            result = FineTuned(now, step, *search(cell_of(goal, now), table, goal.contexts))
            # A later network is better unless it lost a proof that an earlier one had.
            if best is None or result.verdict.certified or not best.verdict.certified:
                best = result
            if result.verdict.certified and result.verdict.margin >= ENOUGH:
                break
    assert best is not None
    return best


class CodeLoss:
    """Distance of the gates from saturation on the boxes of the code, and worst-case cross-entropy there."""

    def __init__(self, goal: Goal, code: Code, hidden: int) -> None:
        source, letter = np.nonzero(goal.contexts.follower >= 0)
        target = goal.contexts.follower[source, letter]
        self._gates, self._source, self._letter = GATES[goal.kind], torch.tensor(source), torch.tensor(letter)
        self._answer = torch.tensor(goal.contexts.state[1:])
        on = np.zeros((len(code), hidden), dtype=bool)
        on[:, : code.shape[1]] = code
        self._middle, self._half = code_boxes(goal.kind, torch.tensor(on))
        rows = np.where(source == 0, max(1.0, FIRST * len(code)), 1.0)[:, None]
        shares = (rows * on[target], rows * ~on[target], rows * np.ones((1, hidden)))
        self._on, self._off, self._all = (
            torch.tensor(share / share.sum(), dtype=torch.float32) for share in shares
        )

    def __call__(self, weights: Tensors) -> Tensor:
        """The loss of these weights."""
        recurrent, gates = weights["weight_hh"], self._gates
        letters = weights["wte"] @ weights["weight_ih"] + sum(weights[name] for name in gates.biases)
        middle = (self._middle @ recurrent)[self._source] + letters[self._letter]
        half = (self._half @ recurrent.abs())[self._source]
        sums = dict(
            zip(
                gates.names,
                zip(*(part.chunk(len(gates.names), 1) for part in (middle, half)), strict=True),
                strict=True,
            )
        )
        short = [(self._on * shortfall(sums[name], DECIDED)).sum() for name in gates.on]
        short += [(self._off * shortfall(sums[name], -DECIDED)).sum() for name in gates.off]
        short += [(self._all * shortfall(sums[name], wanted)).sum() for name, wanted in gates.always.items()]
        return torch.stack(short).sum() + self._read_out(weights)

    def _read_out(self, weights: Tensors) -> Tensor:
        """Worst-case cross-entropy: the right logit at its lower bound, all others at their upper bounds."""
        head, bias, answer = weights["head.weight"], weights["head.bias"], self._answer[:, None]
        logits, half = self._middle[1:] @ head + bias, self._half[1:] @ head.abs()
        worst = (logits + half).scatter(1, answer, (logits - half).gather(1, answer))
        return functional.cross_entropy(worst, self._answer)


def code_boxes(kind: str, on: Tensor) -> tuple[Tensor, Tensor]:
    """Centres and radii of h for saturated gates; the empty word is all zeros."""
    # With every gate at least DECIDED from 0, h = σ(o)·tanh(c) lies between σ(3)·tanh(σ(3)·tanh 3) = 0.70
    # and tanh 1 = 0.76 where a unit is on; a GRU holds tanh(n), from tanh 3 = 0.995 on.
    if kind == "lstm":
        middle, half = torch.where(on, 0.72, 0.0), torch.where(on, 0.06, 0.01)
    else:
        middle, half = torch.where(on, 0.98, -0.98), torch.full(on.shape, 0.015)
    middle[0], half[0] = 0.0, 0.0
    return middle, half


def shortfall(gate: tuple[Tensor, Tensor], wanted: float) -> Tensor:
    """Distance of a gate from its target at the worst point, plus its square."""
    middle, half = gate
    short = (wanted - middle + half if wanted > 0 else middle - wanted + half).relu()
    return short + short.pow(2)


def embedding_of(first: Tensor, letters: int, seed: int) -> Tensor:
    """One-hot letters if there are enough units, random signs otherwise; not trained."""
    size = first.shape[1]
    result = torch.zeros_like(first)
    if size >= letters:
        result[:letters, :letters] = torch.eye(letters)
    else:
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(letters, size))
        result[:letters] = torch.tensor(signs, dtype=first.dtype)
    return result

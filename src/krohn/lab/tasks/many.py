"""One task for many automata side by side: each replicate has an automaton, words and states of its own.

The automata are one disjoint union: states are numbered through, a replicate starts in its own part, and the
table, the choices of letters and the classes are looked up as for one automaton. Letters and classes are
padded to the largest number of each. A class that an automaton does not have gets a bias of −10,000, so that
its probability is exactly 0, and so is every gradient that comes from it.
"""

from collections.abc import Sequence
from copy import copy

import torch
from torch import Tensor

from krohn.automata.distributions import Distribution, feasible_letters, parse_distribution
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import Unsupported
from krohn.lab.tasks.batches import Task, choice_table, task_reasons
from krohn.lab.tasks.task_config import TaskConfig

Learned = Semiautomaton | tuple[Semiautomaton, ...]
"""What a run learns: one automaton, or one for each replicate."""
NEVER = -1e4


class ManyTask(Task):
    """The task of several automata; ``automata[r]`` is learned by replicate r."""

    def __init__(self, config: TaskConfig, automata: tuple[Semiautomaton, ...], device: torch.device) -> None:
        wrong = many_reasons(config, automata)
        if wrong:
            raise Unsupported("; ".join(wrong))
        self.config, self.automata, self.device = config, automata, device
        self.distribution, choices = _letters_of(config, automata)
        self.num_letters = max(automaton.num_letters for automaton in automata)
        self.vocabulary = self.num_letters + config.bos
        observed = config.target == "observation"
        sizes = [automaton.num_observations if observed else automaton.num_states for automaton in automata]
        self.classes = max(sizes)
        self._own = torch.tensor(sizes, device=device)
        first, table, labels = 0, [], []
        starts = []
        for automaton in automata:
            starts.append(first + automaton.start)
            for row in automaton.table.tolist():
                table += [first + target for target in row] + [first] * (self.num_letters - len(row))
            labels += list(automaton.observe or ()) if observed else list(range(automaton.num_states))
            first += automaton.num_states
        self._table = torch.tensor(table, device=device)
        self._labels = torch.tensor(labels, device=device)
        allowed = torch.zeros(first, self.num_letters, dtype=torch.bool)
        for place, row in enumerate(choices):
            allowed[place, : len(row)] = torch.tensor(row)
        self._choices, self._num_choices = choice_table(allowed.to(device))
        self._starts = torch.tensor(starts, device=device)[:, None]
        self._counts = torch.tensor([one.num_letters for one in automata], device=device)[:, None, None]
        self._start, self._letters = self._starts, self._counts
        self._held_out_rows = len(automata)

    def of(self, replicates: Sequence[int]) -> "ManyTask":
        """See ``Task.of``."""
        part, rows = copy(self), list(replicates)
        part.automata = tuple(self.automata[row] for row in rows)
        part._own, part._starts, part._counts = self._own[rows], self._starts[rows], self._counts[rows]
        part._start, part._letters = part._starts, part._counts
        part._held_out_rows = len(rows)
        return part

    def close(self, bias: Tensor) -> None:
        """See ``Task.close``."""
        absent = torch.arange(bias.shape[1], device=bias.device) >= self._own[:, None].to(bias.device)
        bias.masked_fill_(absent, NEVER)


def task_of(config: TaskConfig, learned: Learned, device: torch.device) -> Task:
    """The task of one automaton or of many."""
    return (Task if isinstance(learned, Semiautomaton) else ManyTask)(config, learned, device)  # type: ignore[arg-type]


def learned_reasons(config: TaskConfig, learned: Learned) -> list[str]:
    """Every reason why the task cannot be built for what is learned."""
    if isinstance(learned, Semiautomaton):
        return task_reasons(config, learned)
    return many_reasons(config, learned)


def many_reasons(config: TaskConfig, automata: Sequence[Semiautomaton]) -> list[str]:
    """Every reason why the task cannot be built for these automata; each is given once."""
    if not automata:
        return ["there must be at least one automaton; got none"]
    if config.scratchpad:
        return ["many automata in one run are read without a scratchpad: leave scratchpad out"]
    wrong = [
        f"{automaton.name or 'an automaton'}: {reason}"
        for automaton in automata
        for reason in task_reasons(config, automaton)
    ]
    return wrong[:3]


def _letters_of(
    config: TaskConfig, automata: Sequence[Semiautomaton]
) -> tuple[Distribution, list[list[bool]]]:
    """The distribution of all, and for each state of each automaton which letters may come.

    ``auto`` is uniform for some and feasible for others: then all follow the state, some of them with every
    letter to choose from, which draws the words that ``uniform`` draws.
    """
    each = [parse_distribution(config.distribution, automaton) for automaton in automata]
    feasible = Distribution("feasible")
    chosen = feasible if feasible in each else each[0]
    choices = []
    for one, automaton in zip(each, automata, strict=True):
        if one.follows_state:
            choices += feasible_letters(automaton).tolist()
        else:
            choices += [[True] * automaton.num_letters] * automaton.num_states
    return chosen, choices

"""The automaton of a GPT by its states: clusters of the stream instead of questions about words.

The stream at the end of every short word, less the mean of words of its length, is cut into clusters, finer
and finer (the word farthest from all centres is the next centre); words with different answers never share
one. Letters lead from cluster to cluster as most words do. So words with the same answer can be told apart
before any later answer differs.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch

from krohn.automata.quotients import minimize, reachable_states
from krohn.automata.semiautomaton import Semiautomaton
from krohn.errors import InvalidInput
from krohn.lab.interpret.stages import Stages
from krohn.proving.word_search import all_words

Numbers = npt.NDArray[np.int64]
AT_ONCE = 2048


def machine_by_states(
    stages: Stages,
    levels: list[Numbers],
    letters: int,
    start: int,
    most: int,
    agrees: Callable[[Semiautomaton], int],
) -> Semiautomaton:
    """Of the machines that clusters after each block give, one that agrees longest, the smallest of these.

    ``levels`` has the answers to all words of each length, ``start`` that to the empty word; ``agrees`` tells
    up to which length a machine, which shows answers, gives the same.
    """
    answers, length = np.concatenate(levels), len(levels)
    best: Semiautomaton | None = None
    reached = -1
    for streams in streams_of(stages, letters, length):
        for number in cluster(streams, answers, most):
            machine = machine_of(number, answers, letters, length, start)
            now = agrees(machine)
            if now >= reached:
                machine = renumber(minimize(machine))
                if best is None or now > reached or machine.num_states < best.num_states:
                    best, reached = machine, now
    if best is None:
        least = len(np.unique(answers))
        raise InvalidInput(f"--max-states must be at least {least}, one for each answer; got {most}")
    return best


def renumber(machine: Semiautomaton) -> Semiautomaton:
    """The states that words reach, in the order of their first words."""
    order, shown = reachable_states(machine), machine.observe
    place = np.zeros(machine.num_states, dtype=np.int32)
    place[order] = np.arange(len(order))
    return Semiautomaton(
        place[machine.table[order]], observe=None if shown is None else tuple(shown[state] for state in order)
    )


def streams_of(stages: Stages, letters: int, length: int) -> list[npt.NDArray[np.float64]]:
    """After each block the stream at the end of all words of 1, 2, … letters [word, d], centred by length."""
    blocks: list[list[torch.Tensor]] = [[] for _ in stages.blocks]
    for depth in range(1, length + 1):
        words = all_words(letters, depth)
        parts = [stages.run(words[at : at + AT_ONCE]).streams[1:] for at in range(0, len(words), AT_ONCE)]
        for block, held in enumerate(zip(*parts, strict=True)):
            ends = torch.cat([one[:, -1] for one in held]).double()
            blocks[block].append(ends - ends.mean(0))
    return [torch.cat(held).numpy() for held in blocks]


def cluster(streams: npt.NDArray[np.float64], answers: Numbers, most: int) -> list[Numbers]:
    """Numbers of clusters of every word, for ever more clusters, from one for each answer on."""
    first = [int(np.flatnonzero(answers == answer)[0]) for answer in np.unique(answers)]
    number, gap = np.zeros(len(answers), dtype=np.int64), np.full(len(answers), np.inf)
    out = []
    for count in range(most):
        centre = first[count] if count < len(first) else int(gap.argmax())
        if gap[centre] == 0:
            break
        away = np.where(answers == answers[centre], ((streams - streams[centre]) ** 2).sum(1), np.inf)
        number, gap = np.where(away < gap, count, number), np.minimum(away, gap)
        if count + 1 >= len(first):
            out.append(number)
    return out


def machine_of(number: Numbers, answers: Numbers, letters: int, length: int, start: int) -> Semiautomaton:
    """Clusters as states, with moves by majority; the empty word is a state of its own, number 0."""
    count = int(number.max()) + 1
    sizes = [letters**depth for depth in range(1, length + 1)]
    levels = np.split(number, np.cumsum(sizes)[:-1])
    votes = np.zeros((count, letters, count), dtype=np.int64)
    for before, after in pairwise(levels):
        np.add.at(votes, (np.repeat(before, letters), np.tile(np.arange(letters), len(before)), after), 1)
    shown = [int(answers[np.flatnonzero(number == state)[0]]) for state in range(count)]
    return Semiautomaton(np.concatenate([levels[0][None], votes.argmax(2)]) + 1, observe=(start, *shown))

"""Inputs of a claim that a network may get wrong: random ones, and those at the ends of a class."""

from typing import Any

import numpy as np

from krohn.check.graph.columns import Case, Column
from krohn.check.ground import Array, Flags, Integers

Inputs = tuple[Integers, Integers]
"""Tokens [word, position] and right tokens [word, column]."""


def sampled(case: Case, count: int, dice: np.random.Generator) -> Inputs:
    """Random inputs: half with edges, half with kinds of edges (before, right, after) drawn evenly."""
    alive = _alive(case)
    states = np.zeros(count, dtype=np.int64)
    rows = []
    rare = np.arange(count) % 2 == 0
    for number, column in enumerate(case.columns):
        ok = alive[number + 1][column.after]
        _, kind = np.unique(
            np.column_stack([column.before, column.right, column.after]), axis=0, return_inverse=True
        )
        weight = np.where(
            ok, 1.0 / np.maximum(1, np.bincount(kind.reshape(-1), weights=ok)[kind.reshape(-1)]), 0.0
        )
        edge = np.zeros(count, dtype=np.int64)
        for state in np.unique(states).tolist():
            for some, share in ((rare, weight), (~rare, ok.astype(float))):
                who = np.flatnonzero((states == state) & some)
                odds = np.where(column.before == state, share, 0.0)
                edge[who] = dice.choice(len(odds), size=len(who), p=odds / odds.sum())
        rows.append(edge)
        states = column.after[edge]
    return _read(case, np.column_stack(rows))


def _alive(case: Case) -> list[Flags]:
    alive = [case.ends]
    for column in reversed(case.columns):
        ahead = np.zeros(case.states, dtype=bool)
        ahead[column.before[alive[0][column.after]]] = True
        alive.insert(0, ahead)
    return alive


def _read(case: Case, edges: Integers) -> Inputs:
    words = np.zeros((len(edges), case.length), dtype=np.int64)
    for place, token in case.fixed.items():
        words[:, place] = token
    right = []
    for column, edge in zip(case.columns, edges.T, strict=True):
        for place, tokens in column.tokens.items():
            words[:, place] = tokens[edge]
        right.append(column.right[edge])
    return words, np.column_stack(right)


def at_the_end(case: Case, weight: Array, at: int, edges: Flags, place: int, token: int) -> Inputs:
    """An input with the largest Σ weight[position, token], of those with one of these edges at a column."""

    def of(number: int, column: Column) -> Array:
        out = np.zeros(len(column.before))
        for position, tokens in column.tokens.items():
            out = out + weight[position][tokens]
            if position == place:
                out = np.where(tokens == token, out, -np.inf)
        return np.where(edges, out, -np.inf) if number == at else out

    best = np.full(case.states, -np.inf)
    best[0] = 0.0
    came = []
    for number, column in enumerate(case.columns):
        value = best[column.before] + of(number, column)
        order = np.argsort(value, kind="stable")
        arrived = np.full(case.states, -1)
        arrived[column.after[order]] = order  # the last, so the best
        came.append(arrived)
        best = np.where(arrived >= 0, value[arrived], -np.inf)
    state = int(np.where(case.ends, best, -np.inf).argmax())
    path = []
    for column, arrived in zip(reversed(case.columns), reversed(came), strict=True):
        edge = int(arrived[state])
        path.append(edge)
        state = int(column.before[edge])
    return _read(case, np.array([path[::-1]]))


def letters_of(case: Case, word: list[int], layout: dict[str, Any], upto: int) -> tuple[int, ...]:
    """The letters of an input, by their tokens; ``upto``: the last column."""
    number = {tuple(tokens): one for one, tokens in enumerate(layout["letters"])}
    then = list(layout["then"])
    found = []
    for column in case.columns[: upto + 1]:
        places = [place for place in column.tokens if place < _written_from(case, layout)]
        found.append(number[tuple(word[place] for place in places)] if places else then.pop(0))
    return tuple(found)


def _written_from(case: Case, layout: dict[str, Any]) -> int:
    """The first position of answers that the network reads again."""
    if layout["answers"] != "next" or not layout["reads"]:
        return case.length
    return len(layout["prompt"]) + len(layout["fixed"]) + sum(map(len, layout["reads"]))

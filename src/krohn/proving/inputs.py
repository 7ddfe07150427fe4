"""Inputs that a network may get wrong: random ones, those at the ends of a class, and their neighbours."""

from typing import Any

import numpy as np

from krohn.check.graph.columns import Case
from krohn.check.ground import Array, Flags, Integers

Inputs = tuple[Integers, Integers]
"""Tokens [word, position] and right tokens [word, column]."""


def sampled(case: Case, count: int, dice: np.random.Generator) -> Inputs:
    """Random inputs."""
    return read_edges(case, sampled_paths(case, count, dice))


def sampled_paths(case: Case, count: int, dice: np.random.Generator) -> Integers:
    """Of random inputs: half with edges, half with kinds of edges (before, right, after) drawn evenly."""
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
    return np.column_stack(rows)


def _alive(case: Case) -> list[Flags]:
    alive = [case.ends]
    for column in reversed(case.columns):
        ahead = np.zeros(case.states, dtype=bool)
        ahead[column.before[alive[0][column.after]]] = True
        alive.insert(0, ahead)
    return alive


def read_edges(case: Case, edges: Integers) -> Inputs:
    """The inputs of paths [word, column]."""
    words = np.zeros((len(edges), case.length), dtype=np.int64)
    for place, token in case.fixed.items():
        words[:, place] = token
    right = []
    for column, edge in zip(case.columns, edges.T, strict=True):
        for place, tokens in column.tokens.items():
            words[:, place] = tokens[edge]
        right.append(column.right[edge])
    return words, np.column_stack(right)


def letters_on(case: Case, edges: Integers) -> Integers:
    """The letters of paths [word, column]."""
    return np.column_stack([column.letter[edge] for column, edge in zip(case.columns, edges.T, strict=True)])


def paths_of(case: Case, letters: Integers) -> Integers:
    """Paths of those rows of letters [word, column] that are inputs."""
    states, ok = np.zeros(len(letters), dtype=np.int64), np.ones(len(letters), dtype=bool)
    rows, alive = [], _alive(case)
    for number, column in enumerate(case.columns):
        table = np.full((case.states, int(max(column.letter.max(), letters.max())) + 1), -1)
        table[column.before, column.letter] = np.where(
            alive[number + 1][column.after], np.arange(len(column.before)), -1
        )
        edge = table[states, letters[:, number]]
        ok &= edge >= 0
        rows.append(np.maximum(edge, 0))
        states = column.after[rows[-1]]
    found: Integers = np.column_stack(rows)[ok]
    return found


def neighbours(case: Case, letters: Integers) -> Integers:
    """Paths of all inputs with one other letter than these [column]."""
    some = [np.unique(column.letter) for column in case.columns]
    rows = np.repeat(letters[None], sum(map(len, some)), axis=0)
    rows[np.arange(len(rows)), np.repeat(np.arange(len(some)), [*map(len, some)])] = np.concatenate(some)
    return paths_of(case, rows[(rows != letters).any(axis=1)])


def at_the_end(case: Case, weight: Array, at: int, edges: Flags, place: int, token: Integers) -> Integers:
    """Paths [n, column] of inputs with the largest Σ weight[n, position, token].

    Of those that take one of the edges [n, edge] at a column and have the token [n] at a place (-1: any).
    """
    n = len(weight)
    best = np.full((n, case.states), -np.inf)
    best[:, 0] = 0.0
    came = []
    for number, column in enumerate(case.columns):
        value = best[:, column.before]
        for position, tokens in column.tokens.items():
            value = value + weight[:, position][:, tokens]
            if position == place:
                value = np.where(tokens[None] == token[:, None], value, -np.inf)
        value = np.where(edges, value, -np.inf) if number == at else value
        best, arrived = np.full((n, case.states), -np.inf), np.zeros((n, case.states), dtype=np.int64)
        for state in np.unique(column.after).tolist():
            into = np.flatnonzero(column.after == state)
            arrived[:, state] = into[value[:, into].argmax(axis=1)]
            best[:, state] = value[:, into].max(axis=1)
        came.append(arrived)
    state = np.where(case.ends[None], best, -np.inf).argmax(axis=1)
    path = []
    for column, arrived in zip(reversed(case.columns), reversed(came), strict=True):
        path.append(arrived[np.arange(n), state])
        state = column.before[path[-1]]
    return np.column_stack(path[::-1])


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

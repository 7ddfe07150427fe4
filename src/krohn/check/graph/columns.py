"""The inputs of a claim as paths of an automaton that reads columns: several positions at once, as adders do.

A letter may stand for several tokens, at positions far from each other. Then a word is no path along the
sequence, but one along its columns, and sums over its positions have exact extremes there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from krohn.check.claim import Claim
from krohn.check.files.folders import whole_numbers
from krohn.check.ground import OWN, Array, Flags, Integers
from krohn.errors import need

LAYOUT = ("prompt", "letters", "states", "reads", "then", "fixed", "answers", "input")
EACH, LAST, NEXT = "each", "last", "next"
"""Which positions answer: that of each letter's last token; the last; or the next tokens of a decoder that
reads its own right answers, by induction over these."""
MOST = 1 << 20
"""Positions, and edges of a column."""
MOST_LETTERS = 256
"""Letters of an input."""
MOST_STEPS = 1 << 26
"""States times edges of the automaton of right outputs, before it is made small."""


@dataclass(frozen=True, eq=False)
class Column:
    """Edges of one step: states before and after, letter, right token, and the token at some positions."""

    before: Integers
    after: Integers
    letter: Integers
    right: Integers
    tokens: Mapping[int, Integers]


@dataclass(frozen=True, eq=False)
class Case:
    """Words of one length, and the questions: at which position the right token of which column must lead."""

    length: int
    columns: tuple[Column, ...]
    fixed: Mapping[int, int]
    asked: tuple[tuple[int, int], ...]
    states: int
    ends: Flags

    @property
    def count(self) -> int:
        """How many inputs there are."""
        ways = [0] * self.states
        ways[0] = 1
        for column in self.columns:
            edges = np.stack([column.before, column.after, *column.tokens.values()], axis=1)
            more = [0] * self.states
            for before, after in np.unique(edges, axis=0)[:, :2].tolist():
                more[after] += ways[before]
            ways = more
        return sum(number for number, end in zip(ways, self.ends.tolist(), strict=True) if end)


def cases_of(claim: Claim) -> list[Case]:
    """What must be shown, one case for each length of input."""
    layout = checked_layout(claim)
    before, letter, after, right, ends, states = mealy(claim, layout)
    letters, outputs = layout["letters"], np.array(layout["states"])
    fixed = dict(layout["fixed"])
    prompt = dict(enumerate(layout["prompt"]))

    def column(places: list[int], some: list[int] | None = None) -> Column:
        keep = np.ones(len(before), dtype=bool) if some is None else np.isin(letter, some)
        tokens = {
            place: np.array([letters[one][i] for one in letter[keep].tolist()], dtype=np.int64)
            for i, place in enumerate(places)
        }
        return Column(before[keep], after[keep], letter[keep], outputs[right[keep]], tokens)

    if layout["reads"] is None:
        first, made = len(prompt), []
        each = [column([first + place]) for place in range(claim.up_to or 0)]
        for length in range(1, len(each) + 1):
            columns = tuple(each[:length])
            asked = [(first + place, place) for place in range(length)]
            asked = asked[-1:] if layout["answers"] == LAST else asked
            made.append(Case(first + length, columns, prompt, tuple(asked), states, ends))
        return [case for case in made if case.count]
    reads = layout["reads"]
    steps = [column(places) for places in reads]
    steps += [column([], [one]) for one in layout["then"]]
    places = [*prompt, *fixed, *(place for one in reads for place in one)]
    whole = len(places) == len(set(places)) and set(places) == set(range(len(places)))
    need(whole, "tokens: prompt, fixed and reads must name each position once, from 0 on")
    end = len(places)
    if layout["answers"] == LAST:
        return [Case(end, tuple(steps), {**prompt, **fixed}, ((end - 1, len(steps) - 1),), states, ends)]
    if layout["answers"] == EACH:
        every = tuple((max(one), number) for number, one in enumerate(reads))
        return [Case(end, tuple(steps), {**prompt, **fixed}, every, states, ends)]
    out = []
    for step in range(len(steps)):
        written = [
            replace(c, tokens={**c.tokens, end + k: c.right}) if k < step else c for k, c in enumerate(steps)
        ]
        out.append(
            Case(end + step, tuple(written), {**prompt, **fixed}, ((end + step - 1, step),), states, ends)
        )
    return out


def checked_layout(claim: Claim) -> dict[str, Any]:
    """What tokens of the configuration say, if it fits the automaton."""
    layout = claim.configuration.get("tokens")
    need(isinstance(layout, dict) and set(layout) == set(LAYOUT), f"tokens must have {', '.join(LAYOUT)}")
    made: dict[str, Any] = layout  # type: ignore[assignment]
    letters, outputs = claim.automaton.table.shape[1], int(claim.automaton.shows.max()) + 1
    longest = claim.up_to or 0
    need(longest <= MOST_LETTERS, f"words must have at most {MOST_LETTERS} letters; got {longest:,}")
    need(outputs <= len(made["states"]), "tokens: every output must have a token of its own")
    for part, size in (("prompt", None), ("states", None), ("then", None)):
        need(whole_numbers(made[part], MOST, size), f"tokens: {part} must be a list of numbers")
    need(max(made["then"], default=0) < letters, "tokens: then must name letters")
    need(whole_numbers(made["letters"], MOST, letters, None), "tokens: letters must be lists of numbers")
    need(whole_numbers(made["fixed"], MOST, None, 2), "tokens: fixed must be pairs of a position and a token")
    need(len(set(made["states"])) == len(made["states"]), "tokens: outputs must have different tokens")
    need(len(set(map(tuple, made["letters"]))) == letters, "tokens: letters must have different tokens")
    reads = made["reads"]
    width = len(made["letters"][0])
    need(
        all(len(one) == width for one in made["letters"]),
        "tokens: letters must have the same number of tokens",
    )
    if reads is None:
        fits = width == 1 and not made["then"] and not made["fixed"]
        need(fits and made["answers"] in (EACH, LAST), "tokens: letters of several tokens need reads")
    else:
        need(whole_numbers(reads, 1 << 12, None, width) and reads, "tokens: reads must list positions")
        need(made["answers"] in (EACH, LAST, NEXT), "tokens: answers must be each, last or next")
        need(claim.up_to == len(reads), "the claim must be about words of as many letters as reads has")
        need(made["answers"] != EACH or not made["then"], "tokens: letters without tokens answer nowhere")
    allowed = made["input"]
    if allowed is not None:
        fits = isinstance(allowed, dict) and set(allowed) == {"start", "next", "accepts"}
        need(fits, "tokens: input must have start, next and accepts")
        count = len(allowed["accepts"]) if isinstance(allowed["accepts"], list) else 0
        fits = whole_numbers(allowed["next"], count, count, letters) and whole_numbers(
            allowed["start"], count
        )
        need(fits and whole_numbers(allowed["accepts"], 2, count), "tokens: input must be an automaton")
    return made


# Rule: states that nothing tells apart are one.
# Hypotheses: a partition of the pairs (state, state of the input) in which two of one class have, for each
# letter, the same right output and followers of one class, and accept alike. Conclusion: paths of classes
# have the same tokens and right outputs as paths of states. Why: by induction along the word.
def mealy(
    claim: Claim, layout: Mapping[str, Any]
) -> tuple[Integers, Integers, Integers, Integers, Flags, int]:
    """Edges of the smallest such machine: before, letter, after, output; which states end; how many."""
    table, start = claim.automaton.table, int(claim.automaton.start)
    shows, allowed = claim.automaton.shows, layout["input"]
    letters = table.shape[1]
    follow = np.zeros((1, letters), dtype=np.int64) if allowed is None else np.array(allowed["next"])
    accepts = np.ones(1, dtype=np.int64) if allowed is None else np.array(allowed["accepts"])
    pairs, order, first = {(start, 0 if allowed is None else allowed["start"]): 0}, [], []
    todo = [*pairs]
    for state, inner in todo:  # grows
        row = []
        for letter in range(letters):
            pair = int(table[state, letter]), int(follow[inner, letter])
            if pair not in pairs:
                pairs[pair] = len(pairs)
                todo.append(pair)
            row.append(pairs[pair])
        order.append(row)
        first.append(inner)
        need(len(todo) ** 2 * letters <= MOST_STEPS, "the automaton has too many states")
    after = np.array(order)
    right = shows[np.array([[todo[at][0] for at in row] for row in order])]
    ends = accepts[np.array(first)]
    _, label = np.unique(np.column_stack([ends, right]), axis=0, return_inverse=True)
    while True:
        _, finer = np.unique(
            np.column_stack([label, label[after].reshape(after.shape)]), axis=0, return_inverse=True
        )
        if finer.max() == label.max():
            break
        label = finer
    label = label.reshape(-1)
    # The class of the start is number 0.
    number = {int(label[0]): 0}
    for one in label.tolist():
        number.setdefault(one, len(number))
    name = np.array([number[one] for one in label.tolist()], dtype=np.int64)
    kept = np.array([int(np.flatnonzero(name == one)[0]) for one in range(len(number))], dtype=np.int64)
    before = np.repeat(np.arange(len(kept)), letters)
    each = np.tile(np.arange(letters), len(kept))
    accepting: Flags = ends[kept] == 1
    return before, each, name[after[kept]].reshape(-1), right[kept].reshape(-1), accepting, len(kept)


def words_of(case: Case, most: int) -> tuple[Integers, Integers]:
    """Every input [word, position], and the right token of each column [word, column]."""
    need(case.count <= most, f"there are more than {most:,} inputs to run one by one")
    words = np.zeros((1, case.length), dtype=np.int64)
    for place, token in case.fixed.items():
        words[:, place] = token
    states, right = np.zeros(1, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    alive = [case.ends]
    for column in reversed(case.columns):
        ahead = np.zeros(case.states, dtype=bool)
        ahead[column.before[alive[0][column.after]]] = True
        alive.insert(0, ahead)
    for number, column in enumerate(case.columns):
        w, e = np.nonzero((states[:, None] == column.before[None]) & alive[number + 1][column.after][None])
        words, right = words[w], np.column_stack([right[w], column.right[e]])
        for place, tokens in column.tokens.items():
            words[:, place] = tokens[e]
        states = column.after[e]
    return words, right


# Rule: the extremes of a sum over positions.
# Conclusion: for each edge of a column, at least the largest Σ weight[position, token] over all inputs whose
# path takes it. Why: a path is a beginning, the edge and an end, and what they add is independent; the last
# term covers what float64 rounds.
def extremes(case: Case, weight: Array, at: int, place: int = -1, token: Integers | None = None) -> Array:
    """[n, edge] for weights [n, position, token]; only inputs with ``token`` [n] at ``place``."""
    n = len(weight)

    def of(column: Column) -> Array:
        out = np.zeros((n, len(column.before)))
        for position, tokens in column.tokens.items():
            out = out + weight[:, position][:, tokens]
            if token is not None and position == place:
                out = np.where(tokens[None] == token[:, None], out, -np.inf)
        return out

    def step(value: Array, column: Column, *, back: bool) -> Array:
        source, target = (column.after, column.before) if back else (column.before, column.after)
        order = np.argsort(target, kind="stable")
        arrived = (value[:, source] + of(column))[:, order]
        ordered = target[order]
        first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        out = np.full((n, case.states), -np.inf)
        out[:, ordered[first]] = np.maximum.reduceat(arrived, first, axis=1)
        return out

    begun = np.full((n, case.states), -np.inf)
    begun[:, 0] = 0.0
    for position, own in case.fixed.items():
        begun[:, 0] += weight[:, position, own]
    for column in case.columns[:at]:
        begun = step(begun, column, back=False)
    ahead = np.where(case.ends[None], 0.0, -np.inf) * np.ones((n, 1))
    for column in reversed(case.columns[at + 1 :]):
        ahead = step(ahead, column, back=True)
    here = case.columns[at]
    # The largest term of each position bounds every partial sum.
    sizes = np.abs(weight).max(axis=2).sum(axis=1)
    slack = OWN.error(sizes, 2.0 * weight.shape[1] + 4, 0.0)
    out: Array = begun[:, here.before] + of(here) + ahead[:, here.after] + slack[:, None]
    return out

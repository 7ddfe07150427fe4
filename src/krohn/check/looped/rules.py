"""Words of every length for a looped block with codes: what each code stands for, closed under the block.

Rule. A *window* is a factor of two letters or more that a loop has merged (with the assumption ``windows``
also of one letter, merged with what stands before the first). W is a set of pairs (code, map of the states),
P one of pairs (code, state).

Hypotheses: W has, for any two letters, their code with the map of the two; and with any two pairs the code of
their codes with the product of their maps. P has, for each letter, its code with nothing before it and the
state after it; for each pair (c, f) of W also (c, f(start)); and with (c, q) and any (d, f) of W the code of
c and d with f(q). Each of these codes leads all others for certain. For every (c, q) in P the output of q
leads in the read-out of c.

Conclusion: after every letter of every word the output is right.

Why: by induction over the loops. After loop l the stream at a letter with at least 2^(l+1) letters up to it
is a code that stands in W beside the map of the last 2^(l+1); at every other letter it is a code that stands
in P beside the state after it. For either 2^l letters or fewer stand up to the letter: if it is the first and
l is 0, nothing is before it; else its stream has been of the second kind, or a window that is the whole
prefix, and stays. Or it merges its own window of 2^l letters, which is in W if these are two at least, with
the stream 2^l letters before, which is in W or in P. After ⌈log₂ T⌉ loops every letter is of the second kind
or its window is the whole prefix. Letter by letter, all windows are in W, and so are their products.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from krohn.check.claim import ANY, Claim
from krohn.check.files.folders import Net
from krohn.check.files.reader import Automaton
from krohn.check.ground import Flags, Integers, Refused, Verdict, Work, require
from krohn.check.looped.block import CodedBlock, Found, Tables

KIND = "looped"
LOOPED_WORK = 2e11
"""Entries of arrays in a proof."""
DTYPE = "float32"
MOST = 8192
"""Pairs of a code and a map."""
WINDOWS = "windows"


@dataclass(frozen=True, eq=False)
class Meaning:
    """What codes stand for.

    Attributes:
        codes: of the pairs of W.
        maps: of the pairs of W, the image of each state.
        prefixes: for each code and state whether the pair is in P.
        margin: the least lead of a right output.
    """

    codes: Integers
    maps: Integers
    prefixes: Flags
    margin: float


def block_of(net: Net, claim: Claim) -> CodedBlock:
    """The network as the rules read it; an unknown field of its configuration is refused."""
    letters, outputs = claim.automaton.table.shape[1], int(claim.automaton.shows.max()) + 1
    model = net.configuration["model"]
    require(isinstance(model, dict) and model.get("kind") == KIND, f"codes are for {KIND} networks")
    for name in ("scratchpad", "bos"):
        require(
            net.configuration[name] is False, f"a run is proved if it reads letters alone, without {name}"
        )
    return CodedBlock.of(net.tensors, model, letters, outputs)


def assumed(claim: Claim) -> tuple[str, ...]:
    """The assumptions that a claim must name."""
    read = ("loops", WINDOWS) if WINDOWS in claim.assumptions else ("loops",)
    return ("rounding", "sum", "sigmoid", "tanh", "gelu", "root", "layer-norm", *read)


def prove(net: Net, claim: Claim, witness: object, work: float | None) -> Verdict:
    """The rule; there is no witness: the tables are read off the weights."""
    require(witness is None, "codes need no witness")
    require(claim.up_to is None, "codes are about words of every length")
    require(claim.order == ANY, "codes hold for any order of sums; the claim must say so")
    require(claim.dtype == DTYPE, f"codes are proved in {DTYPE}")
    budget = Work(work or LOOPED_WORK)
    tables = block_of(net, claim).tables(budget)
    found = meaning(tables, claim.automaton, windows=WINDOWS in claim.assumptions, budget=budget)
    return Verdict(True, found.margin, "")


def meaning(tables: Tables, automaton: Automaton, *, windows: bool, budget: Work) -> Meaning:
    """W and P, the least that the hypotheses allow; raises ``Refused`` where one of them fails."""
    table, letters = automaton.table, automaton.table.shape[1]
    require(len(tables.first[0]) == letters, "the network must read the automaton's letters")
    maps = table.T
    pairs = np.array([maps[b][maps[a]] for a in range(letters) for b in range(letters)])
    start = [(_sure(tables.pairs, slice(None), "two letters").ravel(), pairs)]
    first = _sure(tables.first, slice(None), "a letter with nothing before it")
    if windows:
        start.append((first, maps))
    codes, elements = _closed(tables, start, budget)
    prefixes = np.zeros((len(tables.products[0]), len(table)), dtype=np.bool_)
    prefixes[first, table[automaton.start]] = True
    prefixes[codes, elements[:, automaton.start]] = True
    _prefixes(tables, codes, elements, prefixes, budget)
    return Meaning(codes, elements, prefixes, _right(tables, prefixes, automaton.shows))


def _closed(
    tables: Tables, start: list[tuple[Integers, Integers]], budget: Work
) -> tuple[Integers, Integers]:
    """The pairs of W: codes [n] and maps [n, states]."""
    known = np.zeros((0, 1 + start[0][1].shape[1]), dtype=np.int64)
    fresh = np.unique(np.concatenate([np.column_stack(one) for one in start]), axis=0)
    seen = {row.tobytes() for row in fresh}
    while len(fresh):
        whole = np.concatenate([known, fresh])
        require(len(whole) <= MOST, f"more than {MOST:,} pairs of a code and a map are reached")
        found = []
        for earlier, later in ((fresh, whole), (known, fresh)):
            budget.spend(8.0 * len(earlier) * later.size, "products of windows")
            for row in earlier:
                codes = _sure(tables.products, (row[0], later[:, 0]), "two codes", row[0], later[:, 0])
                made = np.column_stack([codes, later[:, 1:][:, row[1:]]])
                found += [one for one in np.unique(made, axis=0) if one.tobytes() not in seen]
                seen.update(one.tobytes() for one in found[-len(made) :])
        known, fresh = whole, np.array(found, dtype=np.int64).reshape(-1, whole.shape[1])
    return known[:, 0], known[:, 1:]


def _prefixes(tables: Tables, codes: Integers, maps: Integers, prefixes: Flags, budget: Work) -> None:
    """Adds to P what follows from it."""
    done = np.zeros_like(prefixes)
    while (fresh := prefixes & ~done).any():
        done |= fresh
        budget.spend(4.0 * float(fresh.sum()) * len(codes), "prefixes")
        for code in np.flatnonzero(fresh.any(axis=1)):
            states = np.flatnonzero(fresh[code])
            after = _sure(tables.products, (code, codes), "two codes", code, codes)
            prefixes[after[:, None], maps[:, states]] = True


def _right(tables: Tables, prefixes: Flags, shows: Integers) -> float:
    """The least lead of the right output, over P."""
    codes, states = np.nonzero(prefixes)
    outputs, leads = tables.read[0][codes], tables.read[1][codes]
    wrong = np.flatnonzero((outputs != shows[states]) | ~(leads > 0))
    if len(wrong):
        first = wrong[0]
        sure = "for certain" if leads[first] > 0 else "by no certain lead"
        raise Refused(
            f"code {codes[first]} stands for state {states[first]} after some word, and is read as output "
            f"{outputs[first]}, {sure}"
        )
    return float(leads.min())


def _sure(found: Found, place: Any, what: str, *named: Integers | np.integer[Any]) -> Integers:
    """Codes at a place of a table, each of which must lead for certain."""
    codes, leads = (np.atleast_1d(part[place]) for part in found)
    low = np.flatnonzero(~(leads > 0).ravel())
    if len(low):
        numbers = [str(np.broadcast_to(one, leads.shape).ravel()[low[0]]) for one in named]
        which = " and ".join([what, *numbers]) if not numbers else f"{what} {' and '.join(numbers)}"
        raise Refused(
            f"the code of {which} leads the next by {leads.ravel()[low[0]]:.3g} only, errors deducted"
        )
    return codes

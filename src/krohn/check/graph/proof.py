"""Proofs about a graph on all inputs of a claim: each by itself, or classes of them behind the heads."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from krohn.check.claim import ANY, Claim
from krohn.check.files.folders import Net
from krohn.check.graph.columns import Case, cases_of, words_of
from krohn.check.graph.evaluate import Plan, in_parts
from krohn.check.graph.graph import HALVES, Graph, graphs_of
from krohn.check.graph.head import (
    Classes,
    Frame,
    Sums,
    Tables,
    classes_of,
    cut_of,
    frame_of,
    lead_of,
    leads,
    tables_of,
)
from krohn.check.ground import Array, Flags, Integers, Refused, Verdict, Work, inside, require

WORK = 2e12
"""Multiplications of a proof: about ten minutes of one core."""
MOST_WORDS = 1 << 20
LEAF, BETWEEN = ".", "/"
AXES = "0123456789abcdefghijklmnopqrstuvwxyz"
MOST_BOXES = 1 << 22


def assumed(net: Net) -> tuple[str, ...]:
    """What is assumed of the library functions that the graph has."""
    ops = {node.op for graph in graphs_of(net).values() for node in graph.nodes}
    of = {
        "exp": {"softmax", "exp", "silu"},
        "softmax": {"softmax"},
        "root": {"sqrt", "rsqrt", "norm"},
        "layer-norm": {"norm"},
        "sine": {"sin", "cos"},
        "tanh": {"tanh", "gelu_tanh"},
        "sigmoid": {"sigmoid", "silu"},
        "gelu": {"gelu", "gelu_tanh", "erf"},
    }
    return ("rounding", "sum", *(name for name, by in of.items() if by & ops), "tokens", "graph")


def type_of(graphs: Iterable[Graph]) -> str:
    """The type that numbers are stored in."""
    found = sorted({node.op for graph in graphs for node in graph.nodes} & {*HALVES})
    require(len(found) < 2, "a graph stores numbers in one half type, not in two")
    return found[0] if found else "float32"


def prove(net: Net, claim: Claim, witness: Any, work: float | None) -> Verdict:
    """Whether on every input every answer that is asked for leads."""
    require(claim.order == ANY, "these rules are for any order of sums")
    graphs, cases, budget = graphs_of(net), cases_of(claim), Work(work or WORK)
    own = type_of(graphs.values())
    require(claim.dtype == own, f"the graph computes in {own}; not in {claim.dtype}")
    require(isinstance(witness, list) and len(witness) == len(cases), "witness: a proof for each length")
    margin = np.inf
    require(cases, "there is no input")
    for case, proof in zip(cases, witness, strict=True):
        require(case.length in graphs, f"there is no graph for words of {case.length} tokens")
        with inside(f"inputs of {case.length} tokens", 0):
            margin = min(margin, margin_of(graphs[case.length], case, proof, budget))
    return Verdict(True, margin, "")


def margin_of(graph: Graph, case: Case, proof: Any, budget: Work) -> float:
    """The least lead of the right tokens of a case, by its part of the witness; raises ``Refused``."""
    tokens = [one for c in case.columns for one in c.right.tolist()]
    require(max(tokens) < graph.answer.shape[1], "a right token is not in the vocabulary")
    if isinstance(proof, dict):
        require(set(proof) == {"fresh"}, "witness: words one by one have fresh alone")
        fresh = proof["fresh"]
        require(isinstance(fresh, list) and all(type(one) is int for one in fresh), "witness: fresh")
        return min(
            (float(lead.min()) for lead in word_leads(graph, case, frozenset(fresh), budget)), default=np.inf
        )
    require(isinstance(proof, list) and len(proof) == len(case.asked), "witness: a proof for each answer")
    return min(_answer(graph, case, asked, one, budget) for asked, one in zip(case.asked, proof, strict=True))


# Rule: words one by one.
# Conclusion: the least lead over all answers of each word. Why: the evaluator's forms hold for any run.
def word_leads(graph: Graph, case: Case, fresh: frozenset[int], budget: Work) -> Iterator[Array]:
    """For all inputs in order; refuses at the first that does not lead."""
    words, right = words_of(case, MOST_WORDS)
    places = [place for place, _ in case.asked]
    plan = Plan(graph, graph.answer[places].reshape(-1))
    opened = sum(step.sizes[0] * step.sizes[1] for step in plan.steps if step.node.first in fresh)
    budget.foresee(plan.cost() * (2 + opened) * len(words), "words")
    for part in in_parts(plan, words, opened):
        some = words[part]
        budget.spend(plan.cost() * (2 + opened) * len(some), "words")
        out = plan.run(some, fresh=fresh)
        least = np.full(len(some), np.inf)
        for number, (_, column) in enumerate(case.asked):
            span = slice(number * graph.answer.shape[1], (number + 1) * graph.answer.shape[1])
            at = type(out)(out.c[:, span], out.r[:, span], out.g[:, :, span])
            if len(at.c) < len(some):  # constants
                at = type(out)(
                    *(np.repeat(p, len(some), axis=a) for p, a in ((at.c, 0), (at.r, 0), (at.g, 1)))
                )
            least = np.minimum(least, lead_of(at, right[part][:, column])[0])
        if not (least > 0).all():
            word = some[int(least.argmin())].tolist()
            raise Refused(f"the right logit does not lead by more than rounding on the tokens {word}")
        yield least


@dataclass(frozen=True, eq=False)
class Ends:
    """Boxes of classes [class, axis]: the share of each head in each end, and the ends of ratios of heads."""

    low: Array
    high: Array
    split: Array
    ratio: Array

    def some(self, keep: Integers | Flags) -> "Ends":
        """Those of some classes."""
        return Ends(self.low[keep], self.high[keep], self.split[keep], self.ratio[keep])


@dataclass(frozen=True, eq=False)
class Part:
    """Classes with their boxes along some axes, and how these are bisected."""

    classes: Classes
    frame: Frame
    ends: Ends
    levels: Sequence[str]


def _answer(graph: Graph, case: Case, asked: tuple[int, int], proof: Any, budget: Work) -> float:
    position, column = asked
    cut = cut_of(graph, position)
    tables = tables_of(cut, case)
    edges = len(case.columns[column].before)
    covered: Flags = np.zeros((len(tables.pivots), edges), dtype=bool)
    margin = np.inf
    require(isinstance(proof, list), "witness: a list of parts")
    for entry in proof:
        part = _part(entry, case, tables, column)
        passes = cut.axes * 2.0 ** (len(cut.heads) - 1)
        budget.spend(float(len(part.classes)) * edges * graph.length * passes, "ends of boxes")
        enclosed(Sums(case, tables.turned(part.frame.rows), column, part.classes), part.ends)
        margin = min(margin, _leaves(part, tables, budget))
        np.logical_or.at(covered, part.classes.pivot, part.classes.edges)
    pivot, edge = np.nonzero(~covered)
    if len(pivot):
        left = Classes(pivot, edge[:, None] == np.arange(edges), case.columns[column].right[edge])
        possible = Sums(case, tables, column, left).possible
        require(not possible.any(), "witness: the classes do not cover all inputs")
    return margin


FIELDS = frozenset(("group", "classes", "axes", "low", "high", "split", "ratio", "levels"))


def _part(entry: Any, case: Case, tables: Tables, column: int) -> Part:
    whole = isinstance(entry, dict) and set(entry) == FIELDS
    require(whole, f"witness: a part has {', '.join(sorted(FIELDS))}")
    edges = len(case.columns[column].before)
    group = np.array(entry["group"])
    fits = group.shape == (edges,) and group.dtype.kind == "i" and (group >= 0).all() and group.max() < edges
    require(fits, "witness: group must have a number for each edge")
    every = classes_of(case, tables, column, group)
    some = np.array(entry["classes"], dtype=np.int64)
    require(some.ndim == 1 and ((some >= 0) & (some < len(every))).all(), "witness: classes must be numbers")
    axes, heads, count = tables.cut.axes, len(tables.cut.heads), len(some)
    shapes = {
        "axes": (axes, axes),
        "low": (count, axes),
        "high": (count, axes),
        "split": (count, axes, 2, heads),
        "ratio": (count, heads - 1, 2),
    }
    made = {name: np.array(entry[name], dtype=np.float64) for name in shapes}
    for name, shape in shapes.items():
        fits = made[name].size == prod(shape) and bool(np.isfinite(made[name]).all())
        require(fits, f"witness: {name} must be finite numbers, {list(shape)} of them")
        made[name] = made[name].reshape(shape)
    require((made["low"] <= made["high"]).all(), "witness: low and high must be the ends of each class")
    require((made["ratio"] > 0).all(), "witness: a ratio must be above 0")
    require(isinstance(entry["levels"], str), "witness: levels must be a text")
    ends = Ends(made["low"], made["high"], made["split"], made["ratio"])
    frame = frame_of(tables, made["axes"])
    return Part(every.some(some), frame, ends, entry["levels"].split(BETWEEN))


def enclosed(sums: Sums, ends: Ends) -> None:
    """Whether what crosses the cut lies in these boxes, on all inputs of each class."""
    for head in range(1, len(sums.tables.cut.heads)):
        for end, sign in ((0, -1.0), (1, 1.0)):
            worst = sums.beyond(head, ends.ratio[:, head - 1, end], sign)
            require((worst <= 0).all(), "witness: an end of a ratio does not hold")
    for axis in range(sums.tables.cut.axes):
        for end, bound, sign in ((0, -ends.low[:, axis], -1.0), (1, ends.high[:, axis], 1.0)):
            worst = sums.above(axis, bound, sign, ends.split[:, axis, end], ends.ratio)
            require((worst <= 0).all(), "witness: an end of a box does not hold")


def _leaves(part: Part, tables: Tables, budget: Work) -> float:
    cut = tables.cut
    owner, low, high = np.arange(len(part.classes)), part.ends.low, part.ends.high
    margin, spent = np.inf, 0
    for level in part.levels:
        require(
            isinstance(level, str) and len(level) == len(owner), "witness: a sign for each box of a level"
        )
        signs = np.array(list(level)) if level else np.zeros(0, dtype="U1")
        leaf = signs == LEAF
        spent += len(level)
        require(spent <= MOST_BOXES, "witness: too many boxes")
        budget.spend(cut.behind.cost() * (2 + cut.axes) * float(leaf.sum()), "boxes")
        pivot = tables.pivots[part.classes.pivot[owner[leaf]]]
        right = part.classes.right[owner[leaf]]
        found, _ = leads(cut, part.frame, pivot, right, (low[leaf], high[leaf]))
        require((found > 0).all(), "the right logit does not lead by more than rounding on a box")
        margin = min(margin, float(found.min(initial=np.inf)))
        axis = np.array([AXES.find(one) for one in signs[~leaf].tolist()], dtype=np.int64)
        require(((axis >= 0) & (axis < cut.axes)).all(), "witness: boxes are bisected along an axis")
        owner, low, high = halves(owner[~leaf], low[~leaf], high[~leaf], axis)
    require(not len(owner), "witness: boxes are left over")
    return margin


def halves(owner: Integers, low: Array, high: Array, axis: Integers) -> tuple[Integers, Array, Array]:
    """Each box in two."""
    at = axis[:, None]
    middle = (np.take_along_axis(low, at, 1) + np.take_along_axis(high, at, 1)) / 2
    lower, upper = high.copy(), low.copy()
    np.put_along_axis(lower, at, middle, 1)
    np.put_along_axis(upper, at, middle, 1)
    return np.concatenate([owner, owner]), np.concatenate([low, upper]), np.concatenate([lower, high])

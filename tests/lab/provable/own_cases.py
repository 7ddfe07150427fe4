"""Small claims about words, as the tests of graphs use them."""

from dataclasses import replace

import numpy as np

import krohn
from krohn.automata.semiautomaton import Semiautomaton
from krohn.check.claim import GRAPH
from krohn.check.files.folders import Net
from krohn.check.graph.columns import Case, cases_of, words_of
from krohn.check.ground import Integers
from krohn.proving.claims import claim_about
from krohn.proving.layout import layout_for

SEEN = krohn.Semiautomaton(np.array([[0, 1], [1, 1]]), 0, ("no", "yes"), ("a", "b"))


def case_of(length: int, automaton: Semiautomaton = SEEN) -> Case:
    """Words of one length, of which the last letter answers."""
    layout = layout_for(automaton, {"reads": [[at] for at in range(length)], "answers": "last"}, None)
    claim = claim_about(Net(GRAPH, {"tokens": layout}, {}), automaton, length, "float32", None)
    (case,) = cases_of(replace(claim, network=""))
    return case


def one_by_one(case: Case) -> tuple[Integers, Integers]:
    """All its words with the right tokens of each column."""
    return words_of(case, 1 << 16)

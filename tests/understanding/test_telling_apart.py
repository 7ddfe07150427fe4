"""One function, four known methods, disguised: the variables of the right one follow, the others do not."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from disguise import disguised

import krohn
from krohn.network.program import interpret_registers
from krohn.understanding.findings import Amount, Finding
from krohn.understanding.report import status
from krohn.understanding.study import Study
from krohn.understanding.subject import subject_of_compiled, subject_of_decoder

WINDOWS = ("map of the last 2 letters", "map of the last 4 letters")
LEVELS = ("holonomy level 2", "holonomy level 3")
SECTIONS = ("derived section 1 (C2)", "derived section 2 (C3)")
RIGHT = {
    ("Grid4", "scan"): WINDOWS,
    ("Grid4", "grid"): ("count of L",),
    ("Grid4", "cascade"): ("count of L",),
    ("Grid4", "paper"): LEVELS,
    ("D6", "scan"): WINDOWS,
    ("D6", "paper"): SECTIONS,
}
# The paper's cascade keeps the letter as its first level and copies the one before: half of a window.
RELATED = {("Grid4", "paper", "map of the last 2 letters")}
OWN = {
    spec: {name for (other, _), names in RIGHT.items() if other == spec for name in names}
    for spec in ("Grid4", "D6")
}
MOST = {"Grid4": 0.8, "D6": 0.45}
"""The highest causal share of a variable of another algorithm; on Grid4 chance alone reaches 60%."""


@cache
def studied(spec: str, method: str) -> dict[str, list[Finding]]:
    objective = "blocks" if method == "cascade" else "depth"
    network = krohn.compile(spec, length=8, method=method, objective=objective)
    subject = subject_of_decoder(disguised(network, seed=3), network.automaton, "disguised")
    study = Study(subject, seed=0, amount=Amount.of(0.5), length=8)
    assert study.accuracy.value == 1.0
    return {v.name: study.findings(v) for v in study.variables if v.name in OWN[spec] | {"letter 1 back"}}


def best(found: list[Finding]) -> Finding:
    """The layer with the highest causal share; after the last block only the read-out follows."""
    return max(found[:-1], key=lambda row: row.causal.value if row.causal else 0.0)


@pytest.mark.parametrize(("spec", "method"), RIGHT)
def test_the_right_variables_follow_and_the_others_do_not(spec: str, method: str) -> None:
    for name in OWN[spec]:
        found = best(studied(spec, method)[name])
        assert found.causal is not None
        assert found.control is not None
        if name in RIGHT[spec, method]:
            assert found.causal.value >= 0.99, name
            assert status(found) == "held", name
            assert found.control <= 0.4, name
        else:
            assert found.chance is not None
            assert found.causal.value <= MOST[spec], name
            assert (spec, method, name) in RELATED or found.causal.value - found.chance <= 0.15, name
            assert status(found) != "held", name


def test_decoys_are_read_by_a_probe_and_not_called_held() -> None:
    rows = studied("Grid4", "scan")["letter 1 back"]
    assert max(row.probe.value for row in rows) >= 0.9
    assert all(status(row) != "held" for row in rows)


def test_later_answers_follow_the_letter_before_the_first_block_and_nothing_after_the_last() -> None:
    network = krohn.compile("Grid4", length=8, method="scan")
    rows = Study(subject_of_compiled(network), seed=0, amount=Amount.of(0.3), length=8).whole()
    assert rows[0]["later_letter"].value == 1.0
    assert rows[0]["later_state"].value == 0.0
    assert rows[-1]["later_letter"].value == rows[-1]["later_state"].value == 0.0


def test_cascade_and_grid_are_one_algorithm_on_a_line() -> None:
    """Before the last block each register of one is a function of one of the other, on all short words."""
    words = np.array(list(product(range(2), repeat=7)))
    theorem, ours = (
        interpret_registers(krohn.compile("Grid4", length=8, method=method).program, words)
        for method in ("grid", "cascade")
    )
    alike = {"sum.0": "unclamped place", "key.0": "class"}
    for one, other in alike.items():
        pairs = {
            (int(a), int(b)) for a, b in zip(theorem[one][:, -7:].flat, ours[other][:, -7:].flat, strict=True)
        }
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}), one

"""One function, four known methods, disguised: the variables of the right one follow, the others do not."""

from functools import cache

import pytest

import krohn
from krohn.understanding.disguise import disguised
from krohn.understanding.report import status
from krohn.understanding.study import Amount, Finding, Study
from krohn.understanding.subject import subject_of_decoder

RIGHT = {
    "scan": ("map of the last 2 letters", "map of the last 4 letters"),
    "grid": ("count of L",),
    "cascade": ("count of L",),
    "paper": ("holonomy level 2", "holonomy level 3"),
}
# The paper's cascade keeps the letter as its first level and copies the one before: half of a window.
RELATED = {("paper", "map of the last 2 letters")}
OWN = {variable for variables in RIGHT.values() for variable in variables}


@cache
def studied(method: str) -> dict[str, list[Finding]]:
    network = krohn.compile(
        "Grid4", length=8, method=method, objective="blocks" if method == "cascade" else "depth"
    )
    subject = subject_of_decoder(disguised(network, seed=3), network.automaton, "disguised")
    study = Study(subject, seed=0, amount=Amount.of(0.5), length=8)
    assert study.accuracy.value == 1.0
    return {v.name: study.findings(v) for v in study.variables if v.name in OWN | {"letter 1 back"}}


def best(found: list[Finding]) -> Finding:
    """The layer with the highest causal share; after the last block only the read-out follows."""
    return max(found[:-1], key=lambda row: row.causal.value if row.causal else 0.0)


@pytest.mark.parametrize("method", RIGHT)
def test_the_right_variables_follow_and_the_others_do_not(method: str) -> None:
    for name in OWN:
        found = best(studied(method)[name])
        assert found.causal is not None
        assert found.control is not None
        if name in RIGHT[method]:
            assert found.causal.value >= 0.99, name
            assert status(found) == "held", name
            assert found.control <= 0.4, name
        else:
            assert found.chance is not None
            assert found.causal.value <= 0.8, name
            assert (method, name) in RELATED or found.causal.value - found.chance <= 0.15, name
            assert status(found) != "held", name


def test_decoys_are_read_by_a_probe_and_not_called_held() -> None:
    rows = studied("scan")["letter 1 back"]
    assert max(row.probe.value for row in rows) >= 0.9
    assert all(status(row) != "held" for row in rows)

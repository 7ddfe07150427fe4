"""Every number that a network computes lies in the box that the checker claims for it, on generated networks.

A long campaign of the same test is in ``research/containment.py``.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from check.containment import violations
from check.generated import generated
from check.mistakes import SEEN, Mistake
from check.runs import WAYS
from every import every

FEW = {"scan": range(0, 20, 3), "layered": range(0, 16, 3), "export": (0, 1, 4, 5, 8, 9)}
"""Even and odd numbers: they are run in other ways."""
REST = {
    kind: sorted({*range(count)} - {*FEW[kind]})
    for kind, count in (("scan", 20), ("layered", 16), ("export", 12))
}


def left(seed: int, kind: str, ways: int = 4) -> tuple[int, list[tuple[str, str, float]]]:
    """How many claims are made about the network of this number, and the tensors that leave their boxes."""
    made = generated(seed, kind)
    if made is None:
        return 0, []
    _, dtype, length, (network, automaton, witness) = made
    words = np.random.default_rng(seed).integers(len(network.embedding), size=(4, length))
    few = WAYS[:ways] if seed % 2 else WAYS[-ways:]
    return violations(network, automaton, dtype, length, witness, words, few)[1:]


@pytest.mark.parametrize("networks", [FEW, REST], ids=["few", "rest"])
@every("kind", FEW)
def test_no_tensor_of_a_generated_network_leaves_its_box(
    kind: str, networks: dict[str, Sequence[int]]
) -> None:
    claims = 0
    for seed in networks[kind]:
        made, found = left(seed, kind)
        assert not found, (seed, found)
        claims += made
    assert claims > 40, f"only {claims} claims were compared"


@pytest.mark.parametrize("mistake", SEEN)
def test_each_mistake_of_an_earlier_version_is_seen(
    mistake: Mistake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = SEEN[mistake]
    assert not left(seed, "scan")[1]
    mistake(monkeypatch)
    assert left(seed, "scan")[1]

"""``krohn.suite``: the networks whose algorithm is known, from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import final

from krohn.base.notebook import Rows
from krohn.errors import InvalidInput
from krohn.lab.suite.building import Built, build
from krohn.lab.suite.catalogue import Entry, entries
from krohn.lab.suite.graph import Circuit
from krohn.lab.suite.scoring import CircuitScore, SubspaceScore, score_circuit, score_subspace


@final
class Suite:
    """What ``krohn suite`` does: ``suite.list()``, ``suite.build(out)``, ``suite.score(folder, …)``."""

    def list(self) -> Rows[Entry]:
        """All networks, in the order of the catalogue."""
        return Rows(entries(), Entry.to_json)

    def build(self, out: str | Path, only: Sequence[str] = ()) -> Rows[Built]:
        """Writes networks into folders of ``out``; finished ones are kept."""
        return Rows(build(out, only), Built.to_json)

    def score(
        self,
        folder: str | Path,
        *,
        circuit: str | Path | Circuit | None = None,
        subspace: str | Path | None = None,
    ) -> CircuitScore | Rows[SubspaceScore]:
        """Scores a circuit (MIB's file, a directory of them, an object), or subspaces, against the truth."""
        if (circuit is None) == (subspace is None):
            raise InvalidInput("give a circuit or a subspace, one of the two")
        if circuit is not None:
            return score_circuit(folder, circuit)
        assert subspace is not None
        return Rows(score_subspace(folder, subspace), SubspaceScore.to_json)


suite = Suite()

"""``krohn.suite``: the networks whose algorithm is known, from Python."""

from pathlib import Path
from typing import final

from krohn.base.notebook import Rows
from krohn.errors import InvalidInput
from krohn.lab.suite.building import build
from krohn.lab.suite.catalogue import list_networks
from krohn.lab.suite.graph import Circuit
from krohn.lab.suite.locks import LockScore, build_locks, score_locks
from krohn.lab.suite.scoring import CircuitScore, SubspaceScore, score_circuit, score_subspace


@final
class Suite:
    """What ``krohn suite`` does: ``list``, ``build``, ``locks``, ``score``."""

    list = staticmethod(list_networks)
    build = staticmethod(build)
    locks = staticmethod(build_locks)

    def score(
        self,
        folder: str | Path,
        *,
        circuit: str | Path | Circuit | None = None,
        subspace: str | Path | None = None,
        answers: str | Path | None = None,
        key: str | Path | None = None,
    ) -> CircuitScore | Rows[SubspaceScore] | LockScore:
        """Scores a circuit (MIB's file, a directory of them, an object), subspaces, or answers to locks.

        ``key`` is that of the locks: by default the one that was written beside their folder.
        """
        if sum(given is not None for given in (circuit, subspace, answers)) != 1:
            raise InvalidInput("give a circuit, a subspace or answers, one of the three")
        if answers is not None:
            return score_locks(folder, answers, key)
        if circuit is not None:
            return score_circuit(folder, circuit)
        assert subspace is not None
        return score_subspace(folder, subspace)


suite = Suite()

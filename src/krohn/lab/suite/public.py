"""``krohn.suite``: the networks whose algorithm is known, from Python."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, final

from krohn.base.notebook import Rows
from krohn.errors import InvalidInput
from krohn.lab.suite.building import Built, build
from krohn.lab.suite.catalogue import list_networks
from krohn.lab.suite.graph import Circuit
from krohn.lab.suite.locks import BOUND, QUERIES, LockScore, LockTask, build_locks, key_folder, score_locks
from krohn.lab.suite.scoring import CircuitScore, SubspaceScore, score_circuit, score_subspace

Progress = Callable[[str, int, int], None]


@final
class Suite:
    """What ``krohn suite`` does: ``list``, ``build``, ``locks``, ``score``."""

    def list(self) -> Rows[dict[str, Any]]:
        """The networks of all tiers, as ``krohn suite list`` has them."""
        return list_networks()

    def build(
        self, out: str | Path, only: Sequence[str] = (), progress: Progress = lambda name, number, count: None
    ) -> Rows[Built]:
        """Writes networks into folders of ``out``; finished ones are kept."""
        return Rows(build(out, only, progress), Built.to_json, _built_cells)

    def locks(
        self,
        out: str | Path,
        count: int,
        seed: int,
        progress: Progress = lambda name, number, count: None,
        *,
        jobs: int = 1,
    ) -> "Locks":
        """Writes locks to a new folder, and their key beside it; ``jobs`` processes at a time."""
        locks = Locks(build_locks(out, count, seed, progress, jobs=jobs), LockTask.to_json)
        locks.folder, locks.key = Path(out), key_folder(Path(out))
        return locks

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
        return Rows(score_subspace(folder, subspace), SubspaceScore.to_json, _subspace_cells)


class Locks(Rows[LockTask]):
    """The tasks of locks, where they lie, and where their key does."""

    folder: Path
    key: Path

    def text(self) -> str:
        """Two lines."""
        return (
            f"{len(self)} locks in {self.folder}, the key in {self.key}\n"
            f"from outside {QUERIES:,} queries find at most {BOUND:.2%} of the planted words"
        )


def _built_cells(built: Built) -> dict[str, object]:
    columns = {"blocks": "layers", "heads": "heads", "width": "dim", "edges": "edges", "in graph": "in_graph"}
    sizes = {name: built.facts.get(key, "·") for name, key in columns.items()}
    proved = "proved" if built.facts.get("proof", "").startswith("proved") else "tested"
    return {"name": built.name, **sizes, "variables": len(built.facts["variables"]), "proof": proved}


def _subspace_cells(score: SubspaceScore) -> dict[str, object]:
    return {
        "variable": score.variable,
        "place": score.place,
        "dimension": score.dimension,
        "interchange accuracy": f"{score.interchange:.1%}",
        "pairs": score.pairs,
    }


suite = Suite()

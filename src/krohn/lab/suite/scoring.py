"""Scores of hypotheses: circuits by their edges and their faithfulness, subspaces by the effects of swaps.

AUROC measures whether the true edges rank above the others. MIB computes it from ten circuits of 0.1% to 100%
of the edges, grown from the logits. Here the ranking itself is used, ties counting half, and an edge that is
left out ranks last: it is not claimed.

Faithfulness is MIB's: all edges outside a circuit are patched from another word, and the logit of the right
state less that of the other word's state is compared with the whole network (1) and with no edge at all (0).
CPR is the area under the curve over the share of edges, CMD the area between the curve and 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from krohn.automata.files import load_automaton
from krohn.base.files import read_json, short
from krohn.base.notebook import Rows, frame, table
from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.suite.building import CIRCUIT, PAIRS, SCORING_SEED, SUITE, TOKENS
from krohn.lab.suite.causal import TEST, Counterfactual
from krohn.lab.suite.graph import Circuit, Flags, Graph, Scores, read_circuit
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.lab.suite.truth import PruningTrial, word_pairs
from krohn.network.gpt2.reading import read_export
from krohn.network.gpt2.stock import decoder_of_stock, stock_of
from krohn.network.transformer import Matrix

if TYPE_CHECKING:
    from krohn.base.notebook import DataFrame


SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""The nine sizes of MIB's circuits, as shares of all edges."""
WORDS = 96


@dataclass(frozen=True)
class Curve:
    """One point per share of edges."""

    share: list[float]
    true_positive: list[float]
    false_positive: list[float]
    faithfulness: list[float]


@dataclass(frozen=True)
class CircuitScore:
    """How a circuit, or a ranking of edges, compares with the true one.

    ``claimed`` counts the edges marked ``in_graph``; precision and recall are about those, and 0 without any.
    """

    auroc: float
    claimed: int
    precision: float
    recall: float
    cpr: float
    cmd: float
    curve: Curve

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def text(self) -> str:
        """A few lines, and the curve."""
        overlap = (
            f"of the circuit's edges {self.precision:.0%} are true, "
            f"of the true ones {self.recall:.0%} are in it"
            if self.claimed
            else "no edge is marked in_graph, so this is a ranking without a circuit"
        )
        curve = self.curve
        columns = curve.share, curve.true_positive, curve.false_positive, curve.faithfulness
        rows = [(f"{a:.1%}", f"{b:.2f}", f"{c:.2f}", f"{d:.2f}") for a, b, c, d in zip(*columns, strict=True)]
        lines = [
            f"AUROC {self.auroc:.3f}; {overlap}",
            f"faithfulness: CPR {self.cpr:.3f} (1 is best), CMD {self.cmd:.3f} (0 is best)",
            table(("share of edges", "true found", "false found", "faithfulness"), rows),
        ]
        return "\n".join(lines)

    def to_frame(self) -> "DataFrame":
        """MIB's curve, one row for each share of the edges."""
        columns = asdict(self.curve)
        return frame(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))


@dataclass(frozen=True)
class SubspaceScore:
    """How often the network answers as the causal model does when the subspace is swapped."""

    variable: str
    place: str
    dimension: int
    interchange: float
    pairs: int

    def cells(self) -> dict[str, object]:
        """What a table for people has."""
        return asdict(self) | {"interchange": f"{self.interchange:.1%}"}


class Known:
    """A folder of the suite, loaded."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        facts = read_json(self.folder / SUITE) if (self.folder / SUITE).exists() else None
        if not isinstance(facts, dict) or type(facts.get("seed")) is not int:
            raise InvalidFile(
                f"{self.folder} must be a network of the suite; it has no {SUITE} (krohn suite build)"
            )
        self.facts: dict[str, Any] = facts
        if (self.folder / TOKENS).exists():
            self.automaton = load_automaton(self.folder / "automaton.json")
            decoder = decoder_of_stock(stock_of(self.folder, self.automaton, self.folder / TOKENS))
        else:
            export = read_export(self.folder)
            self.automaton, decoder = export.automaton, export.decoder
        self.model = EdgeModel(decoder)

    @property
    def truth(self) -> Circuit:
        """The true circuit."""
        return read_circuit(self.folder / CIRCUIT, self.model.graph)

    @property
    def graph(self) -> Graph:
        """Its nodes and edges."""
        return self.model.graph

    def trial(self, count: int = WORDS) -> PruningTrial:
        """Pairs of words for scoring, other than those used to find the true circuit."""
        seed = self.facts["seed"] + SCORING_SEED
        return PruningTrial(self.model, *word_pairs(self.automaton, self.model.decoder.length, count, seed))

    def counterfactuals(self, split: str) -> list[Counterfactual]:
        """The counterfactuals of a split, from the file beside the network."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            result = [_counterfactual(row) for row in pq.read_table(self.folder / PAIRS).to_pylist()]
        except (OSError, pa.ArrowException, TypeError, KeyError) as error:
            raise InvalidFile(f"{self.folder / PAIRS} must hold counterfactuals; {error}") from error
        return [one for one in result if one.split == split]


def _counterfactual(row: dict[str, Any]) -> Counterfactual:
    base, source, answers = (tuple(row[name]) for name in ("base", "source", "answers"))
    return Counterfactual(row["variable"], base, source, row["letter"], answers, row["telling"], row["split"])


def score_circuit(folder: str | Path, circuit: str | Path | Circuit) -> CircuitScore:
    """Compares a circuit with the true one of a network of the suite.

    A circuit is a file, a directory with one file for each size (MIB's nine), or an object.
    """
    known = Known(folder)
    if isinstance(circuit, Circuit):
        return score_ranking(known, circuit)
    path = Path(circuit)
    if path.is_dir():
        return score_by_size(known, _circuits(path, known.graph))
    return score_ranking(known, read_circuit(path, known.graph))


def _circuits(directory: Path, graph: Graph) -> list[Circuit]:
    files = sorted(directory.glob("*.json"))
    if not files:
        raise InvalidFile(f"{directory} must hold circuits, one .json file for each size; it holds none")
    circuits = [read_circuit(path, graph) for path in files]
    for path, one in zip(files, circuits, strict=True):
        if not one.kept.any():
            raise InvalidFile(
                f"{path} must mark edges as in_graph to be one circuit of several; it marks none"
            )
    return circuits


def score_ranking(known: Known, given: Circuit) -> CircuitScore:
    """Ranking and faithfulness; a file with only ``in_graph`` is a ranking with two values."""
    graph, ranking = known.graph, given.ranking
    return _score(known, ranking, given.kept, lambda count: top(graph, ranking, count))


def score_by_size(known: Known, given: Sequence[Circuit]) -> CircuitScore:
    """Circuits of several sizes, of which each share of the edges gets the largest that fits.

    An edge ranks by the number of circuits that have it; precision and recall are those of the largest.
    """
    kept = sorted((one.kept & known.graph.possible for one in given), key=lambda one: int(one.sum()))
    nothing = np.zeros_like(known.graph.possible)

    def largest(count: int) -> Flags:
        return next((one for one in reversed(kept) if one.sum() <= count), nothing)

    return _score(known, np.sum(kept, axis=0).astype(np.float64), kept[-1], largest)


def _score(known: Known, ranking: Scores, kept: Flags, choose: Callable[[int], Flags]) -> CircuitScore:
    truth, places = known.truth.kept, known.graph.possible
    precision, recall = overlap(truth, kept)
    curve = _curve(known, choose)
    areas = curve_areas([*curve.share, 1.0], [*curve.faithfulness, 1.0])
    claimed = int((kept & places).sum())
    return CircuitScore(auroc(ranking[places], truth[places]), claimed, precision, recall, *areas, curve)


def auroc(scores: Scores, positive: Flags) -> float:
    """The probability that a true edge scores above a false one, ties counting half."""
    count, rest = int(positive.sum()), int((~positive).sum())
    if not count or not rest:
        raise InvalidInput("AUROC needs edges inside and outside the true circuit")
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):
        same = scores == value
        ranks[same] = ranks[same].mean()
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * rest))


def overlap(truth: Flags, chosen: Flags) -> tuple[float, float]:
    """Precision and recall of the chosen edges."""
    both = int((truth & chosen).sum())
    return both / max(1, int(chosen.sum())), both / int(truth.sum())


def top(graph: Graph, ranking: Scores, count: int) -> Flags:
    """The highest-ranking edges; tie-breaker: the order of the file."""
    return graph.flags_of(sorted(graph.edges, key=lambda name: -ranking[graph.edges[name]])[:count])


def _curve(known: Known, choose: Callable[[int], Flags]) -> Curve:
    """The curve of a method; ``choose(n)`` gives its circuit of at most n edges."""
    graph, truth, trial = known.graph, known.truth.kept, known.trial()
    whole = _lead(trial, np.ones_like(truth))
    nothing = _lead(trial, np.zeros_like(truth))
    right, wrong, faithful = [], [], []
    for share in SHARES:
        kept = choose(int(share * len(graph.edges)))
        right.append(float((kept & truth).sum() / truth.sum()))
        wrong.append(float((kept & ~truth).sum() / (graph.possible & ~truth).sum()))
        lead = _lead(trial, graph.prune(kept))
        faithful.append((lead - nothing) / (whole - nothing) if whole != nothing else 1.0)
    return Curve(list(SHARES), right, wrong, faithful)


def _lead(trial: PruningTrial, kept: Flags) -> float:
    """Mean logit difference between the right state and the other word's state, where the two differ."""
    logits = trial.run(kept).logits
    right, other = trial.answers, trial.other.answers
    leads = _chosen(logits, right) - _chosen(logits, other)
    return float(leads[right != other].mean())


def _chosen(logits: Tensor, states: Tensor) -> Tensor:
    return torch.take_along_dim(logits, states[..., None], dim=-1)[..., 0]


def curve_areas(shares: Sequence[float], faithful: Sequence[float]) -> tuple[float, float]:
    """By the trapezoidal rule, as in MIB: under the curve, and between the curve and 1."""
    widths = np.diff(shares)
    values = np.array(faithful)
    away = np.abs(1 - values)
    under = float((widths * (values[1:] + values[:-1]) / 2).sum())
    return under, float((widths * (away[1:] + away[:-1]) / 2).sum())


def score_subspace(folder: str | Path, subspace: str | Path) -> Rows[SubspaceScore]:
    """Interchange accuracy of the subspaces in a JSON file, on the pairs of the test set.

    The file is one object, or a list of them: ``{"variable": NAME, "place": HOOK, "basis": [[…], …]}``.
    """
    known, path = Known(folder), Path(subspace)
    payload = read_json(path)
    given = payload if isinstance(payload, list) else [payload]
    if not given:
        raise InvalidFile(f"{short(path)} must hold a subspace or a list of them; the list is empty")
    pairs = known.counterfactuals(TEST)
    scores = [_subspace(known, path, one, pairs) for one in given]
    return Rows(scores, asdict, SubspaceScore.cells)


def _subspace(known: Known, path: Path, given: object, pairs: list[Counterfactual]) -> SubspaceScore:
    names = list(dict.fromkeys(one.variable for one in pairs))
    if not isinstance(given, dict) or given.get("variable") not in names:
        name = given.get("variable") if isinstance(given, dict) else given
        raise InvalidFile(f"{path} must name a variable, one of {', '.join(names)}; got {str(name)[:60]!r}")
    place = given.get("place")
    if place not in known.graph.places:
        raise InvalidFile(
            f"{path} must name a place such as blocks.0.hook_resid_post; got {str(place)[:60]!r}"
        )
    basis, reads = independent(path, given.get("basis"), known.graph.dim), given.get("reads")
    chosen = [one for one in pairs if one.variable == given["variable"]]
    if reads is None:
        basis = readers = np.linalg.qr(basis.T)[0].T
    else:
        readers = independent(path, reads, known.graph.dim)
        if readers.shape != basis.shape:
            raise InvalidFile(f"{path} must have as many rows in reads as in basis")
    rows, read = (torch.from_numpy(np.ascontiguousarray(each)) for each in (basis, readers))
    accuracy = interchange_accuracy(known.model, str(place), rows, chosen, read)
    return SubspaceScore(str(given["variable"]), str(place), len(basis), accuracy, len(chosen))


def independent(path: Path, rows: object, dim: int) -> Matrix:
    """Rows of numbers, linearly independent."""
    try:
        matrix = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.ndim != 2 or matrix.shape[1] != dim or not 0 < len(matrix) <= dim:
        raise InvalidFile(f"{path} must have a basis of 1 to {dim} rows of {dim} numbers each")
    if not np.isfinite(matrix).all() or np.linalg.matrix_rank(matrix) < len(matrix):
        raise InvalidFile(f"{path}: the rows of the basis must be finite and linearly independent")
    return matrix

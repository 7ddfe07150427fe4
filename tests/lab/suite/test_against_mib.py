"""Our scorer against MIB's own: research/mib_numbers.py (commit d491ecbf) wrote data/mib-numbers.json."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krohn.lab.suite.graph import Circuit, Graph, read_circuit
from krohn.lab.suite.scoring import SHARES, auroc, curve_areas, overlap, top

NUMBERS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "mib-numbers.json").read_text())
HYPOTHESES = NUMBERS["hypotheses"]


def circuit(content: dict[str, Any], tmp_path: Path) -> tuple[Graph, Circuit]:
    config = content["cfg"]
    graph = Graph(config["n_layers"], config["n_heads"], config["d_model"])
    (tmp_path / "circuit.json").write_text(json.dumps(content))
    return graph, read_circuit(tmp_path / "circuit.json", graph)


def names(graph: Graph, edges: Any) -> set[str]:
    return {name for name, place in graph.edges.items() if edges[place]}


@pytest.mark.parametrize("name", ["all", "some"])
def test_the_best_edges_are_those_of_mib(name: str, tmp_path: Path) -> None:
    graph, given = circuit(HYPOTHESES[name]["circuit"], tmp_path)
    for share in SHARES:
        count = int(share * len(graph.edges))
        if count > len(HYPOTHESES[name]["circuit"]["edges"]):
            continue  # among edges without a score the order is anybody's
        edges = top(graph, given.ranking, count)
        assert names(graph, edges) == set(HYPOTHESES[name]["chosen"][f"{share:g}"])
        assert names(graph, graph.prune(edges)) == set(HYPOTHESES[name]["chosen"][f"{share:g} pruned"])


@pytest.mark.parametrize("name", ["all", "some", "none"])
def test_precision_and_recall_are_mibs_for_files_too_that_leave_edges_out(name: str, tmp_path: Path) -> None:
    _, reference = circuit(NUMBERS["reference"], tmp_path)
    _, given = circuit(HYPOTHESES[name]["circuit"], tmp_path)
    compared = HYPOTHESES[name]["compared"]
    precision, recall = overlap(reference.kept, given.kept)
    assert (precision, recall) == pytest.approx((compared["precision"], compared["recall"]))


def test_areas_are_mibs() -> None:
    area = NUMBERS["area"]
    under, away = curve_areas([*SHARES, 1.0], area["faithfulness"])
    assert under == pytest.approx(area["under"], rel=1e-9)
    assert away == pytest.approx(area["from_one"], rel=1e-9)


def test_the_ranking_has_one_auroc_and_ten_circuits_have_another(tmp_path: Path) -> None:
    """MIB grows its circuits from the logits and joins ten of them by lines: not the ranking's AUROC."""
    graph, reference = circuit(NUMBERS["reference"], tmp_path)
    _, given = circuit(HYPOTHESES["all"]["circuit"], tmp_path)
    own = auroc(given.ranking[graph.possible], reference.kept[graph.possible])
    curve = HYPOTHESES["all"]["greedy"]
    wrong, right = np.array(curve["FPR"]), np.array(curve["TPR"])
    theirs = float((np.diff(wrong) * (right[1:] + right[:-1]) / 2).sum())
    assert own == pytest.approx(0.361, abs=1e-3)
    assert theirs == pytest.approx(0.391, abs=1e-3)
    suite = NUMBERS["of_the_suite"]  # the true circuit against itself, which has 1 here
    assert suite == pytest.approx({"c2-scan-rotated": 0.996, "c4-scan-plain": 0.911}, abs=1e-3)

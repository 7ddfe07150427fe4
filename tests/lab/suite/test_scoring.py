"""The scorer: true circuits, random ones, empty ones, and files that do not fit."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

import krohn
from krohn.cli.app import run
from krohn.errors import InvalidFile
from krohn.lab.suite.graph import Circuit, Graph, circuit_of
from krohn.lab.suite.scoring import SHARES, Known, auroc, score_ranking, top

METHODS = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "circuit_methods.py"))
attribution, exact_patching = METHODS["attribution"], METHODS["exact_patching"]


def test_the_true_circuit_scores_one(folder: Path) -> None:
    score = krohn.suite.score(folder, circuit=folder / "circuit.json")
    assert (score.auroc, score.precision, score.recall) == (1.0, 1.0, 1.0)
    half = score.curve.share.index(0.5)
    assert score.curve.faithfulness[half] == pytest.approx(1.0, abs=1e-3)


def test_random_rankings_score_a_half_on_average(folder: Path) -> None:
    known, rng = Known(folder), np.random.default_rng(4)
    truth, places = known.truth.kept, known.graph.possible
    scores = [auroc(rng.random(places.sum()), truth[places]) for _ in range(100)]
    assert np.mean(scores) == pytest.approx(0.5, abs=0.05)


def test_auroc_counts_pairs() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        scores, positive = rng.integers(4, size=30) / 2, rng.random(30) < 0.4
        pairs = [(a > b) + (a == b) / 2 for a in scores[positive] for b in scores[~positive]]
        assert auroc(scores, positive) == pytest.approx(np.mean(pairs))


def test_an_empty_circuit_is_not_an_error(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text('{"edges": {}}')
    score = krohn.suite.score(folder, circuit=tmp_path / "empty.json")
    assert (score.auroc, score.recall) == (0.5, 0.0)


def test_a_file_of_scores_alone_is_a_ranking(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told that 0% of its edges are true, though it names none as the circuit."""
    whole = json.loads((folder / "circuit.json").read_text())
    scores = {name: {"score": float(entry["in_graph"])} for name, entry in whole["edges"].items()}
    (tmp_path / "scores.json").write_text(json.dumps({"edges": scores}))
    score = krohn.suite.score(folder, circuit=tmp_path / "scores.json")
    assert (score.auroc, score.claimed) == (1.0, 0)
    for path, says in (
        (tmp_path / "scores.json", "a ranking without a circuit"),
        (folder / "circuit.json", "100% are true"),
    ):
        assert run(["suite", "score", str(folder), "--circuit", str(path)]) == 0
        assert says in capsys.readouterr().out.splitlines()[0]


def test_a_curve_counts_edges_of_the_true_circuit_and_the_others(folder: Path) -> None:
    """By sets of names: the share of true edges among the top ones, and of the edges that are not true."""
    known, scores = Known(folder), np.random.default_rng(3)
    graph, truth = known.graph, json.loads((folder / "circuit.json").read_text())["edges"]
    circuit = Circuit(graph, scores.random(graph.possible.shape), np.zeros_like(graph.possible))
    true = {name for name in graph.edges if truth.get(name, {}).get("in_graph")}
    false = set(graph.edges) - true
    assert true
    assert false
    order = sorted(graph.edges, key=lambda name: -circuit.ranking[graph.edges[name]])
    curve = krohn.suite.score(folder, circuit=circuit).curve
    assert curve.share == list(SHARES)
    for place, share in enumerate(SHARES):
        chosen = set(order[: int(share * len(order))])
        assert curve.true_positive[place] == pytest.approx(len(chosen & true) / len(true))
        assert curve.false_positive[place] == pytest.approx(len(chosen & false) / len(false))


def test_circuits_of_several_sizes_have_the_curve_of_the_ranking_that_they_come_from(
    folder: Path, tmp_path: Path
) -> None:
    known = Known(folder)
    graph = known.graph
    ranking = Circuit(
        graph, np.random.default_rng(8).random(graph.possible.shape), np.zeros_like(graph.possible)
    )
    sizes = [size for size in (int(share * len(graph.edges)) for share in SHARES) if size]
    for size in sizes:
        edges = top(graph, ranking.ranking, size)
        (tmp_path / f"{size}.json").write_text(json.dumps(circuit_of(graph, edges).to_json()))
    several, one = krohn.suite.score(folder, circuit=tmp_path), krohn.suite.score(folder, circuit=ranking)
    assert several.curve == one.curve
    assert several.cpr == one.cpr
    assert several.claimed == max(sizes)
    assert several.auroc == auroc(
        np.array(
            [
                sum(top(graph, ranking.ranking, size)[place] for size in sizes)
                for place in graph.edges.values()
            ],
            dtype=float,
        ),
        np.array([known.truth.kept[place] for place in graph.edges.values()]),
    )


def test_a_directory_without_circuits_gets_one_line(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"one \.json file for each size"):
        krohn.suite.score(folder, circuit=tmp_path)
    (tmp_path / "a.json").write_text('{"edges": {}}')
    with pytest.raises(InvalidFile, match="it marks none"):
        krohn.suite.score(folder, circuit=tmp_path)


def test_scores_become_data_frames(folder: Path) -> None:
    score = krohn.suite.score(folder, circuit=folder / "circuit.json")
    result = score.to_frame()
    assert list(result.columns) == ["share", "true_positive", "false_positive", "faithfulness"]
    assert result["share"].tolist() == score.curve.share
    assert result["faithfulness"].tolist() == score.curve.faithfulness


def test_an_edge_that_is_left_out_is_not_claimed(folder: Path, tmp_path: Path) -> None:
    """A file with one true edge finds one."""
    whole = json.loads((folder / "circuit.json").read_text())
    name = next(edge for edge, entry in whole["edges"].items() if entry["in_graph"])
    (tmp_path / "one.json").write_text(json.dumps({"edges": {name: {"score": 2.0, "in_graph": True}}}))
    score = krohn.suite.score(folder, circuit=tmp_path / "one.json")
    known = Known(folder)
    true, false = int(known.truth.kept.sum()), int((known.graph.possible & ~known.truth.kept).sum())
    assert score.recall == pytest.approx(1 / true)
    assert score.auroc == pytest.approx((1 + (true - 1) / 2) / true)
    assert false > 0


@pytest.mark.parametrize(
    ("text", "needle"),
    [
        ("[]", "'edges'"),
        ('{"edges": {"m9->logits": {"score": 1}}}', "unknown edge"),
        ('{"edges": {"input->m0": {}}}', "neither"),
        ('{"edges": {"input->m0": {"score": "high"}}}', "number"),
        ('{"cfg": {"n_layers": 99}, "edges": {}}', "n_layers"),
        ('{"edges": {"input->m0": {"score": NaN}}}', "NaN"),
    ],
)
def test_files_that_do_not_fit_get_one_line(
    suite_folder: Path, tmp_path: Path, text: str, needle: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text(text)
    assert (
        run(
            [
                "suite",
                "score",
                str(suite_folder / "c2-cascade-plain"),
                "--circuit",
                str(tmp_path / "odd.json"),
            ]
        )
        == 2
    )
    error = capsys.readouterr().err
    assert needle in error
    assert error.count("\n") == 1


def test_the_true_subspaces_follow_every_swap_and_others_do_not(suite_folder: Path, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    folder = suite_folder / "c2-cascade-rotated"
    true, rng = [], np.random.default_rng(0)
    for title, basis in load_file(folder / "subspaces.safetensors").items():
        variable, _, place = title.partition(" @ ")
        true.append({"variable": variable, "place": place, "basis": basis.tolist()})
    false = [{**one, "basis": rng.standard_normal(np.shape(one["basis"])).tolist()} for one in true]
    # Directions need not be orthonormal if other rows read them: longer ones, and ones read elsewhere.
    read = [
        {
            **one,
            "basis": (4 * np.array(one["basis"])).tolist(),
            "reads": (np.array(one["basis"]) / 4).tolist(),
        }
        for one in true
    ]
    other = [{**one, "reads": there["basis"]} for one, there in zip(true, false, strict=True)]
    for name, given in (("true", true), ("false", false), ("read", read), ("other", other)):
        (tmp_path / f"{name}.json").write_text(json.dumps(given))
    assert all(s.interchange == 1.0 for s in krohn.suite.score(folder, subspace=tmp_path / "true.json"))
    assert all(s.interchange == 1.0 for s in krohn.suite.score(folder, subspace=tmp_path / "read.json"))
    assert all(s.interchange < 0.6 for s in krohn.suite.score(folder, subspace=tmp_path / "false.json"))
    assert any(s.interchange < 1.0 for s in krohn.suite.score(folder, subspace=tmp_path / "other.json"))
    (tmp_path / "empty.json").write_text("[]")
    with pytest.raises(InvalidFile, match="the list is empty"):
        krohn.suite.score(folder, subspace=tmp_path / "empty.json")


def test_edges_by_name_are_those_of_the_field() -> None:
    graph = Graph(2, 1, 8)
    assert list(graph.edges)[:4] == ["input->a0.h0<q>", "input->a0.h0<k>", "input->a0.h0<v>", "input->m0"]
    assert "a0.h0->m0" in graph.edges
    assert "m1->a1.h0<q>" not in graph.edges
    assert len(graph.edges) == 3 + 2 + 3 * 3 + 4 + 5


def test_edges_off_every_path_are_dropped() -> None:
    graph = Graph(1, 2, 8)
    edges = graph.flags_of(["input->a0.h0<v>", "a0.h0->logits", "input->a0.h1<v>", "m0->logits"])
    names = circuit_of(graph, graph.prune(edges)).names
    assert names == ["input->a0.h0<v>", "a0.h0->logits"]


def test_attribution_is_the_derivative_of_patching(suite_folder: Path) -> None:
    """For the logits' own edges patching is linear but for the last LayerNorm: both methods must agree."""
    known = Known(suite_folder / "c2-cascade-plain")
    trial = known.trial(24)
    by_gradient, by_patching = attribution(trial), exact_patching(trial)
    last = known.graph.readers.index("logits")
    assert np.allclose(by_gradient.scores[last], by_patching.scores[last], rtol=1e-3, atol=1e-2)


def test_exact_patching_finds_the_edges_that_matter_alone(suite_folder: Path) -> None:
    known = Known(suite_folder / "flipflop-cascade-rotated")
    score = score_ranking(known, exact_patching(known.trial(32)))
    assert score.auroc > 0.9


def test_a_circuit_survives_its_file(suite_folder: Path, tmp_path: Path) -> None:
    from krohn.lab.suite.graph import read_circuit

    graph = Graph(1, 1, 4)
    scores = np.where(graph.possible, 0.5, 0.0)
    scores[0, 0] = np.nan
    circuit = Circuit(graph, scores, graph.possible.copy())
    (tmp_path / "c.json").write_text(json.dumps(circuit.to_json()))
    again = read_circuit(tmp_path / "c.json", graph)
    assert np.array_equal(again.ranking[graph.possible], circuit.ranking[graph.possible])

"""Reference scores from MIB's own scorer, for the test that compares ours with them.

    python research/mib_numbers.py MIB EAP OUT.json [NETWORK …]

MIB and EAP are checkouts of hannamw/MIB-circuit-track and hannamw/EAP-IG. Their graph and their scorer are
run as they are, on a small graph with made-up importances; no network is run: where MIB would ask one, it
gets made-up faithfulness. TransformerLens is only named in their annotations and need not be installed.
NETWORKs are folders of ``krohn suite build``, whose true circuit MIB's scorer compares with itself.
"""

import json
import random
import subprocess
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import torch

from krohn.lab.suite.graph import Graph

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
LAYERS, HEADS, DIM = 2, 3, 12


def load(mib: Path, eap: Path, faithful: list[float]) -> tuple[Any, Any]:
    """Their modules, with stubs for TransformerLens, plotting and running a network."""
    lens, evaluate, drawing = (
        types.ModuleType(name) for name in ("transformer_lens", "eap.evaluate", "eap.visualization")
    )
    for name in ("HookedTransformer", "HookedTransformerConfig"):
        setattr(lens, name, type(name, (), {}))
    scores = iter([0.0, *faithful])  # the first query is the empty graph
    vars(evaluate).update(
        evaluate_baseline=lambda *args: torch.tensor([1.0]),
        evaluate_graph=lambda *args, **options: torch.tensor([next(scores)], dtype=torch.float64),
    )
    vars(drawing).update(get_color=None, generate_random_color=None)
    sys.modules |= {"transformer_lens": lens, "eap.evaluate": evaluate, "eap.visualization": drawing}
    sys.path[:0] = [str(mib), str(eap / "src")]
    from eap import graph
    from MIB_circuit_track import evaluation

    return graph.Graph, evaluation


def circuit(rng: random.Random, named: float) -> dict[str, Any]:
    """A circuit file with distinct made-up scores for a share of the edges."""
    graph = Graph(LAYERS, HEADS, DIM)
    edges = [name for name in graph.edges if rng.random() < named]
    scores = rng.sample(range(1, 10_000), len(edges))
    config = {"n_layers": LAYERS, "n_heads": HEADS, "parallel_attn_mlp": False, "d_model": DIM}
    return {
        "cfg": config,
        "nodes": {},
        "edges": {
            name: {"score": score / 1000 * rng.choice((1, -1)), "in_graph": rng.random() < 0.3}
            for name, score in zip(edges, scores, strict=True)
        },
    }


def commit(folder: Path) -> str:
    return subprocess.run(
        ["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()


def main(mib: Path, eap: Path, out: Path, *networks: Path) -> None:
    rng = random.Random(7)
    faithful = [round(rng.uniform(-0.2, 1.3), 4) for _ in SHARES]
    reader, evaluation = load(mib, eap, faithful)
    reference, hypotheses = circuit(rng, 1.0), {"all": circuit(rng, 1.0), "some": circuit(rng, 0.4)}
    hypotheses["none"] = {**hypotheses["all"], "edges": {}}

    def read(content: dict[str, Any]) -> Any:
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(content, file)
            file.flush()
            return reader.from_json(file.name)

    def auroc(path: Path) -> float:
        """AUROC of a circuit against itself by the trapezoidal rule, as in print_results.py."""
        curve = evaluation.evaluate_area_under_roc(reader.from_json(path), reader.from_json(path))
        wrong, right = curve["FPR"], curve["TPR"]
        return sum((wrong[n + 1] - wrong[n]) * (right[n + 1] + right[n]) / 2 for n in range(len(wrong) - 1))

    result: dict[str, Any] = {}
    for name, content in hypotheses.items():
        compared = evaluation.compare_graphs(read(reference), read(content))
        curve = evaluation.evaluate_area_under_roc(read(reference), read(content))
        chosen = {}
        for share in SHARES[:-1]:
            for prune in (False, True):
                graph = read(content)
                graph.apply_topn(int(share * len(graph.edges)), True, prune=prune)
                own = [edge.name for edge in graph.edges.values() if edge.in_graph]
                chosen[f"{share:g}{' pruned' if prune else ''}"] = own
        result[name] = {"circuit": content, "compared": compared, "greedy": curve, "chosen": chosen}
    _, under, away, _, curve = evaluation.evaluate_area_under_curve(
        None, read(hypotheses["all"]), None, None, quiet=True
    )
    payload = {
        "of": {"MIB-circuit-track": commit(mib), "EAP-IG": commit(eap)},
        "reference": reference,
        "hypotheses": result,
        "of_the_suite": {folder.name: auroc(folder / "circuit.json") for folder in networks},
        "area": {"faithfulness": curve, "under": under, "from_one": away},
    }
    out.write_text(json.dumps(payload) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

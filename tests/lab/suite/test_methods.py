"""Stock methods in cases done by hand, and the table of all of them in a small size."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from krohn.lab.suite.causal import TEST, TRAIN
from krohn.lab.suite.patching import EdgeModel
from krohn.lab.suite.scoring import Known
from krohn.lab.suite.swaps import interchange_accuracy
from krohn.network.gpt2.reading import read_export

METHODS = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "circuit_methods.py"))
STEPS, aligned, attribution, descend, lead, most_variance = (
    METHODS[name] for name in ("STEPS", "aligned", "attribution", "descend", "lead", "most_variance")
)


def test_integrated_gradients_are_means_of_differences_on_the_way(suite_folder: Path) -> None:
    """Each gradient again as a difference quotient: the reader sees a little more of the edge's change."""
    known = Known(suite_folder / "flipflop-cascade-rotated")
    trial, graph, small = known.trial(8), known.graph, 1e-6
    result = attribution(trial, STEPS).scores
    own, other = (known.model.embed(words) for words in (trial.words, trial.others))
    for name in ("input->a0.h0<v>", "input->a0.h0<q>", "a0.h0->m0", "m0->logits"):
        reader, writer = graph.edges[name]
        change = trial.other.written[writer] - trial.clean.written[writer]
        more = {reader: small * change}

        def seen(part: float, sign: int, more: dict[int, Tensor] = more) -> float:
            tap = lambda at, x: x + sign * more.get(at, 0.0)  # noqa: E731
            return float(lead(trial, known.model.run(own + (other - own) * part, tap=tap)))

        parts = [step / STEPS for step in range(1, STEPS + 1)]
        quotients = [(seen(part, 1) - seen(part, -1)) / (2 * small) for part in parts]
        assert result[reader, writer] == pytest.approx(np.mean(quotients), rel=1e-3, abs=1e-3)


def test_descent_turns_a_line_to_where_the_loss_is_least() -> None:
    """−(u·b)² is least for b = ±u."""
    rng = np.random.default_rng(2)
    wanted = torch.from_numpy(rng.standard_normal(6))
    wanted = wanted / wanted.norm()
    start = torch.from_numpy(rng.standard_normal((6, 1)))
    result = descend(start, lambda basis: -((wanted @ basis) ** 2).sum(), steps=300, rate=0.05)
    assert abs(float(wanted @ result[:, 0])) > 0.999


def test_das_finds_the_parity_of_a_counter(suite_folder: Path) -> None:
    """After the last block of C2's cascade one direction holds the parity, and its swap gives the answers."""
    known = Known(suite_folder / "c2-cascade-plain")
    train, test = known.counterfactuals(TRAIN), known.counterfactuals(TEST)
    variable = next(one for one in known.facts["variables"] if "count" in one["name"])
    own, asked = ([one for one in side if one.variable == variable["name"]] for side in (train, test))
    basis = aligned(known.model, variable["place"], 1, own)
    assert basis.shape == (1, known.graph.dim)
    assert float(basis.norm()) == pytest.approx(1.0)
    assert interchange_accuracy(known.model, variable["place"], basis, asked) == 1.0
    widest = most_variance(known.model, variable["place"], 2, own)
    assert torch.allclose(widest @ widest.T, torch.eye(2, dtype=widest.dtype), atol=1e-9)


def test_the_table_of_methods_in_a_small_size(
    suite_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "tools"))
    import suite_methods

    folder = suite_folder / "c2-cascade-plain"
    parts = suite_methods.parts_of(folder)
    assert parts[0] == ("circuit", "exact patching")
    assert {name for kind, name in parts if kind == "circuit"} == set(suite_methods.CIRCUIT_METHODS)
    rows = [row for part in parts[:4] for row in suite_methods.measure(folder, part)]
    rows += suite_methods.measure(folder, parts[-1])
    assert {row["method"]: row["auroc"] for row in rows if "auroc" in row}["exact patching"] == 1.0
    assert {row["method"]: row["interchange"] for row in rows if "interchange" in row}["true"] == 1.0
    page, records = tmp_path / "page.md", tmp_path / "rows.jsonl"
    names = ("count", "circuits", "variables", "networks", "missing")
    page.write_text("\n".join(f"<!-- suite-{name} -->\n<!-- end -->" for name in names))
    records.write_text("".join(json.dumps(row) + "\n" for row in suite_methods.in_order(rows[::-1])))
    suite_methods.write(records, [page])
    text = page.read_text()
    assert "| c2-cascade-plain | 23 | 7 |" in text
    assert "Not measured (80 of 81)" in text
    suite_methods.run(suite_folder, records, {"c2-cascade-plain"}, 1)  # there already: not measured again
    assert len(records.read_text().splitlines()) == len(rows)


def test_gradients_flow_after_a_pass_without_them(folder: Path) -> None:
    """What a block keeps from a first pass in inference mode serves a later one with gradients."""
    decoder = read_export(folder).decoder
    words = np.zeros((2, decoder.length), dtype=np.int64)
    model = EdgeModel(decoder)
    with torch.inference_mode():
        model.run(words)
    first = model.embed(words).requires_grad_()
    model.run(first).logits.sum().backward()
    assert first.grad is not None
    assert first.grad.any()

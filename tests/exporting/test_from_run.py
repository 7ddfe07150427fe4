"""A trained replicate as a stock GPT-2: the same logits, its bias carried by the last LayerNorm."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
import transformers
from onnx.reference import ReferenceEvaluator

from krohn.errors import InvalidFile, Unsupported
from krohn.exporting.network_files import export_run
from krohn.lab.training import run_decoder as from_run
from krohn.lab.training.config import EvaluationConfig, OptimizerConfig, RunConfig, TaskConfig, model_config
from krohn.lab.training.directory import read_weights
from krohn.lab.training.loop import train
from krohn.lab.training.run_decoder import decoder_of_run, head_without_bias
from krohn.network.gpt2.decoder import write_files
from krohn.network.gpt2.reference import logits
from krohn.network.gpt2.vocabulary import vocabulary_of

SMALL = {"layers": 2, "dim": 16, "heads": 2, "mlp": 24}


def run(folder: Path, *, model: dict[str, object] | None = None, kind: str = "gpt", **task: object) -> Path:
    config = RunConfig(
        task=TaskConfig(**{"spec": "D6", "length": 6, **task}),
        model=model_config(kind, **({**SMALL, **(model or {})} if kind == "gpt" else {"hidden": 8})),
        optimizer=OptimizerConfig(lr=(3e-3,), batch=8, warmup=1),
        evaluation=EvaluationConfig(every=10, sequences=16),
        replicates=3,
        steps=20,
    )
    train(config, directory=folder)
    return folder


@pytest.mark.parametrize(
    ("model", "task"),
    [
        ({}, {}),
        ({"positions": "learned", "context": 9}, {}),
        ({"positions": "none"}, {"spec": "Q8"}),
        ({"positions": "linear"}, {"spec": "Grid9@boundary", "target": "observation"}),
    ],
    ids=["sinusoidal", "learned", "none", "observation"],
)
def test_the_stock_model_has_the_logits_of_the_replicate(
    model: dict[str, object], task: dict[str, object], tmp_path: Path
) -> None:
    folder = run(tmp_path / "run", model=model, **task)
    decoder = decoder_of_run(folder, replicate=1)
    assert decoder.replicate == 1
    assert decoder.difference < 2e-6 * max(1.0, decoder.scale)
    write_files(tmp_path / "hf", export_run(folder, "hf", replicate=1).files)
    stock = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "hf").eval()
    words = np.random.default_rng(0).integers(decoder.automaton.num_letters, size=(5, 6))
    with torch.no_grad():
        out = stock(torch.tensor(decoder.decoder.token_ids(words))).logits.numpy()
    names = decoder.decoder.vocabulary
    own = _own_logits(folder, words, len(names.states))
    np.testing.assert_allclose(out[..., list(names.states)], own, atol=5e-6 * max(1.0, np.abs(own).max()))
    others = sorted(set(range(len(names.tokens))) - set(names.states))
    assert (out[..., others] < -9e3).all()


def test_the_other_formats_have_the_logits_of_the_replicate_too(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    words = np.random.default_rng(1).integers(2, size=(5, 6))
    own = _own_logits(folder, words, 6)
    graph = export_run(folder, "onnx", replicate=1).files["model.onnx"]
    reader = ReferenceEvaluator(onnx.load_from_string(graph))
    np.testing.assert_allclose(
        reader.run(None, {"letters": words})[0], own, atol=5e-6 * max(1.0, np.abs(own).max())
    )


def _own_logits(folder: Path, words: np.ndarray, classes: int) -> np.ndarray:
    from krohn.automata.zoo import parse_spec
    from krohn.lab.training.directory import read_config

    config = read_config(folder)
    weights = {name: value[None] for name, value in read_weights(folder, 1).items()}
    letters = parse_spec(config.task.spec).num_letters
    with torch.no_grad():
        outputs = config.model.build(letters, classes).logits(weights, torch.tensor(words)[None])
    return outputs[0].numpy()


def test_a_decoder_that_is_another_network_shows_in_the_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run(tmp_path / "run", model={"positions": "learned", "context": 9})
    assert decoder_of_run(folder).decoder.context == 6  # as trained, though positions reach further
    assert decoder_of_run(folder, length=9).decoder.context == 9
    monkeypatch.setattr(from_run, "logits", lambda *given: logits(*given) + 0.5)
    assert abs(decoder_of_run(folder).difference - 0.5) < 1e-5


def test_the_best_replicate_is_taken_unless_one_is_named(tmp_path: Path) -> None:
    import json

    folder = run(tmp_path / "run")
    scores = [r["accuracy"] for r in json.loads((folder / "result.json").read_text())["replicates"]]
    assert decoder_of_run(folder).replicate == int(np.argmax(scores))
    with pytest.raises(InvalidFile, match=r"replicate must lie in \[0, 3\); got 3"):
        decoder_of_run(folder, replicate=3)


def test_fixed_positions_reach_beyond_the_trained_length(tmp_path: Path) -> None:
    assert decoder_of_run(run(tmp_path / "run"), length=40).decoder.length == 40


def test_what_stock_gpt2_is_not_is_refused_with_every_reason(tmp_path: Path) -> None:
    folder = run(tmp_path / "pad", model={"recency": True, "positions": "none"}, scratchpad=True)
    with pytest.raises(Unsupported, match=r"no recency bias.*scratchpad.*got length 0"):
        decoder_of_run(folder, length=0)
    learned = run(tmp_path / "learned", model={"positions": "learned", "context": 9})
    with pytest.raises(Unsupported, match="learned positions reach 9 letters; got 10"):
        decoder_of_run(learned, length=10)
    with pytest.raises(Unsupported, match="got lstm"):
        decoder_of_run(run(tmp_path / "lstm", kind="lstm"))


def test_a_head_without_bias_is_exact_for_every_stream() -> None:
    dice = np.random.default_rng(0)
    names = vocabulary_of(["a", "b"], ["p", "q", "r"], 0)
    gain, shift = dice.normal(size=9) + 2, dice.normal(size=9)
    rows, bias = dice.normal(size=(3, 9)), dice.normal(size=3).astype(np.float32)
    head, moved = head_without_bias(rows, bias, gain, shift, names)
    x = dice.normal(size=(50, 9)) * 10
    z = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    result = (z * gain + moved) @ head.T
    np.testing.assert_allclose(result[:, list(names.states)], (z * gain + shift) @ rows.T + bias, atol=1e-10)
    np.testing.assert_allclose(result[:, :3], -1e4, rtol=1e-10)
    with pytest.raises(Unsupported, match="no gain of the last LayerNorm may be zero"):
        head_without_bias(rows, bias, gain * 0, shift, names)

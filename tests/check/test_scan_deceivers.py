"""Scans built to deceive, each certified by an earlier version and wrong in torch; beside each, its control.

The checker of these versions retold the MLP of a scan in its own words, and each network has a part that it
left out: a layer of one matrix, how many windows are composed, a channel that only LayerNorm reads, a store.
"""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

import krohn
from check.torch_judge import outputs
from krohn.check.arithmetic.format import FORMATS
from krohn.check.certificate import read_certificate
from krohn.check.ground import point
from krohn.check.rules import check_certificate, read_net
from krohn.check.transformer.checker import check
from krohn.check.transformer.mlp import entering
from krohn.cli.app import run
from krohn.network.compiled import CompiledNetwork
from krohn.network.transformer import Layer, Mlp, Transformer
from krohn.proving.claims import Question
from krohn.proving.compiled import verify_compiled
from krohn.proving.witness.search import checkable
from krohn.proving.word_search import all_words

Witness = dict[str, Any]
Matrix = npt.NDArray[np.float64]


@cache
def honest(name: str, length: int, method: str, dtype: str) -> tuple[CompiledNetwork, Witness]:
    network = krohn.compile(name, length=length, method=method, dtype=dtype)
    proof = verify_compiled(network, Question(dtype, second_opinion=False), described=True)
    assert proof.certified
    assert proof.witness["kind"] == "scan"
    return network, proof.witness


def certified(network: Transformer, like: CompiledNetwork, witness: Witness, dtype: str) -> bool:
    held, table = checkable(network, like.automaton)
    return check(held, table, dtype, like.length, witness).certified


def wrong_share(network: Transformer, like: CompiledNetwork, dtype: str) -> float:
    """The share of random words that torch gets wrong."""
    words = np.random.default_rng(0).integers(like.automaton.num_letters, size=(200, like.length))
    wanted = np.asarray(krohn.simulate(like.automaton, words))
    return float((outputs(network, words, dtype) != wanted).any(axis=1).mean())


# ------------------------------------------------------------------ 1: a layer whose MLP is one matrix


def one_matrix(
    like: CompiledNetwork, witness: Witness, weight: Matrix, keep: Matrix | float = 1.0
) -> tuple[Transformer, Witness]:
    """One more layer without heads, x ← keep x + W x; the witness says that maps stay where they are."""
    network, d = like.transformer, like.transformer.embedding.shape[1]
    mlp = Mlp((weight,), (np.zeros(d),), ())
    last = Layer((), mlp, np.ones(d), np.ones(d) * keep)
    longer = {**witness, "channels": [*witness["channels"], witness["channels"][-1]]}
    if "cuts" in witness:
        longer["cuts"] = [*witness["cuts"], []]
    return replace(network, layers=(*network.layers, last)), longer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_layer_of_one_matrix_is_run(dtype: str) -> None:
    like, witness = honest("FlipFlop", 40, "scan", dtype)
    d, maps = like.transformer.embedding.shape[1], witness["channels"][-1]
    erased = np.zeros((d, d))  # x ← x − x: every map sends every point to 0
    erased[maps, maps] = -1.0
    network, longer = one_matrix(like, witness, erased)
    assert wrong_share(network, like, dtype) > 0.4
    assert not certified(network, like, longer, dtype)
    control, longer = one_matrix(like, witness, -erased, keep=1 + erased.diagonal())  # x ← 0 + x
    assert wrong_share(control, like, dtype) == 0
    assert certified(control, like, longer, dtype)


# ------------------------------------------------------------------ 2: a window that is not composed


def passed_on(
    layer: Layer, cuts: list[dict[str, Any]], number: int, window: int, source: int, line: tuple[float, float]
) -> Layer:
    """In round ``number`` the units of a window hold slope · x + offset, x being one window before it."""
    weights, biases = ([part.copy() for part in parts] for parts in (layer.mlp.weights, layer.mlp.biases))
    first, ends = cuts[number - 1]["stage"], cuts[number]["units"][window]
    hidden = np.flatnonzero((weights[first + 1][:, ends] != 0).any(axis=1))
    weights[first][:, hidden], biases[first][hidden], weights[first + 1][hidden] = 0, 0, 0
    biases[first + 1][ends] = 0
    for unit, start, end in zip(hidden, cuts[number - 1]["units"][source], ends, strict=False):
        weights[first][start, unit], biases[first][unit] = line
        weights[first + 1][unit, end] = 1.0
    return replace(layer, mlp=replace(layer.mlp, weights=tuple(weights), biases=tuple(biases)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_pair_of_windows_is_not_mistaken_for_a_single_one(dtype: str) -> None:
    """The last window of a round is alone and passed on. In the next round a pair passes on its left window:
    the same units with the same numbers, but its own letters are lost. Own windows hold 0.5 and 1, left ones
    1 and 2, and the last one in the end 0.5 and 2.5.
    """
    like, witness = honest("C2", 18, "wide", dtype)
    (layer,), (cuts,) = like.transformer.layers, witness["cuts"]
    assert [len(cut["units"]) for cut in cuts] == [9, 5, 3, 2]
    halved = (0.5, 0.0)
    alone = passed_on(passed_on(layer, cuts, 1, 4, 8, (1.0, 0.0)), cuts, 2, 2, 4, halved)
    alone = passed_on(alone, cuts, 3, 1, 2, (4.0, -1.5))
    control = replace(like.transformer, layers=(alone,))
    assert wrong_share(control, like, dtype) == 0
    assert certified(control, like, witness, dtype)
    network = replace(like.transformer, layers=(passed_on(alone, cuts, 3, 0, 1, halved),))
    assert wrong_share(network, like, dtype) > 0.9
    assert not certified(network, like, witness, dtype)


# ------------------------------------------------------------------ 3: a channel that LayerNorm alone reads


def test_the_last_layer_norm_reads_channels_that_no_logit_reads(tmp_path: Path) -> None:
    """An export whose last MLP writes the image of the second point a million times too large: nothing reads
    it but the last LayerNorm, which then sees nothing else.
    """
    krohn.export(krohn.compile("FlipFlop", length=6, method="scan"), "hf", tmp_path / "net")
    witness = json.loads((tmp_path / "net" / "certificate.json").read_text())["witness"]
    held = {name: part.copy() for name, part in load_file(tmp_path / "net" / "model.safetensors").items()}
    (channel,) = (c for c in witness["channels"][-1] if not held["lm_head.weight"][:, c].any())
    last = f"transformer.h.{len(witness['channels']) - 2}.mlp"
    composing = (held[f"{last}.c_fc.weight"] != 0).sum(
        axis=0
    ) > 2  # units that read both windows, not one channel
    composing |= held[f"{last}.c_fc.bias"] != 0
    for factor, wrong in ((1.0, False), (2.0**20, True)):
        held[f"{last}.c_proj.weight"][composing, channel] *= factor
        save_file(held, tmp_path / "net" / "model.safetensors", {"format": "pt"})
        assert wrong_in_transformers(tmp_path / "net", "FlipFlop", 6) == wrong
        assert run(["verify", str(tmp_path / "net")]) == wrong
        own = read_certificate(tmp_path / "net" / "certificate.json")
        net = read_net(tmp_path / "net")
        claimed = replace(own, claim=replace(own.claim, network=net.digest))
        assert check_certificate(net, claimed).certified == (not wrong)


def wrong_in_transformers(folder: Path, name: str, length: int) -> bool:
    facts, automaton = json.loads((folder / "export.json").read_text())["tokens"], krohn.zoo(name)
    words = all_words(automaton.num_letters, length)
    prompt = np.tile(np.array(facts["prompt"], dtype=np.int64), (len(words), 1))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.no_grad():
        read = np.concatenate([prompt, np.array(facts["letters"])[words]], axis=1)
        shown = model(torch.from_numpy(read)).logits.argmax(-1).numpy()[:, prompt.shape[1] :]
    return bool((shown != np.array(facts["states"])[krohn.simulate(automaton, words)]).any())


# ------------------------------------------------------------------ 4: three stores, two of them counted


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_each_store_of_a_stream_is_counted(dtype: str) -> None:
    """Product, bias and stream are added in three stores; each sum is a tie, and all are rounded upwards."""
    kind, fmt = getattr(torch, dtype), FORMATS[dtype]
    half = fmt.outer.unit  # half the distance of numbers above 1
    product = torch.tensor([1 + 2 * half, half]) @ torch.ones(2)
    bias = stream = torch.tensor(3 * half, dtype=kind)
    stored = (product.to(kind) + bias) + stream
    exact = 1 + 9 * half
    assert float(stored) - exact == 3 * half
    size, ones, more = np.array([[1 + 2 * half, half]]), np.ones((2, 1)), np.array([3 * half])
    first = fmt.off_linear(size, ones, more)
    assert float(stored) - exact <= first + fmt.off_sum(size @ ones + more + first, more[None])
    form = entering(point(size)).linear(fmt, ones, more)
    box = form.plus(fmt, entering(point(more[None]))).box
    assert box.lo <= float(stored) <= box.hi

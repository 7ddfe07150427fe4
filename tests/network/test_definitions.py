"""Passes, pictures, files and operations of networks against their definitions, one number at a time."""

import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from every import every
from krohn.errors import InvalidFile, InvalidInput
from krohn.network.compiled import load, save
from krohn.network.explanation import around_circle, without_noise
from krohn.network.forward import caster, logits, run
from krohn.network.operations import (
    AttentionOperation,
    Clamp,
    EndWrite,
    Facts,
    LatestMatch,
    LatestWrite,
    Linear,
    LookBack,
    Modulo,
    PlaceSum,
    PositionMap,
    PrefixSum,
    Select,
    Table,
    formula,
    latest,
)
from krohn.network.program_file import from_json, plain
from krohn.network.transformer import Transformer
from krohn.network.transformer_file import transformer_from
from krohn.network.word_picture import HeadView, word_picture
from network.hand_written_network import parity_network
from network.naive_transformer import naive_logits, random_transformer

WORDS = np.random.default_rng(1).integers(3, size=(6, 5))


@every("padding", [0, 2])
@every("seed", [0, 1])
def test_the_pass_is_that_of_the_paper(seed: int, padding: int) -> None:
    network = random_transformer(seed, padding=padding)
    naive = np.array([naive_logits(network, word) for word in WORDS.tolist()])
    assert np.allclose(logits(network, WORDS), naive, atol=1e-12)
    assert (run(network, WORDS) == naive.argmax(-1)).all()
    short = logits(network, WORDS[:, :3])
    assert np.allclose(short, naive[:, :3], atol=1e-12)  # what comes later changes nothing before


def test_an_observer_sees_every_moment_under_its_name() -> None:
    network = random_transformer(0)
    seen: dict[str, np.ndarray] = {}
    logits(network, WORDS, observe=lambda name, value: seen.update({name: value}))
    heads = [len(layer.heads) for layer in network.layers]
    names = {f"layer.{i}.head.{h}.weights" for i, count in enumerate(heads) for h in range(count)}
    names |= {f"layer.{i}.{part}" for i in range(len(heads)) for part in ("mixed", "stream")}
    assert set(seen) == names | {"embedding"}
    for name in names:
        if name.endswith("weights"):
            assert seen[name].shape == (6, 6, 6)
            assert np.allclose(seen[name].sum(-1), 1)
            assert not np.triu(seen[name], 1).any()
    last = seen["layer.1.stream"][:, 1:] @ network.readout + network.readout_bias
    assert np.allclose(last, logits(network, WORDS))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_rounding_is_that_of_torch(name: str) -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(size=300), rng.normal(size=50) * 1e-6, [0.0, -0.0, 65504.0, np.inf]])
    wanted = torch.tensor(values).to(torch.float32).to(getattr(torch, name)).to(torch.float64).numpy()
    double = torch.tensor(values).to(getattr(torch, name)).to(torch.float64).numpy()
    actual = caster(name)(values).astype(np.float64)
    assert np.array_equal(actual, double) or np.array_equal(actual, wanted)
    with pytest.raises(InvalidInput, match="dtype must be one of float64"):
        caster("float8")


def test_the_latest_marked_position_that_is_seen() -> None:
    marked = np.random.default_rng(3).integers(2, size=(20, 7)).astype(bool)
    result = latest(marked)
    for word, t in np.ndindex(marked.shape):
        places = [i for i in range(t + 1) if marked[word, i]]
        assert result[word, t] == (places[-1] if places else 0)


FACTS = Facts({"s": "wide", "n": "integer"}, {"a": 0, "one": 1, "f": 1, "g": 0}, frozenset({"flag"}))


@pytest.mark.parametrize(
    ("operation", "faults"),
    [
        (PrefixSum(("a",), ("s",)), []),
        (PrefixSum(("a",), ("n",)), ["sum n is not wide"]),
        (PrefixSum(("one",), ("s",)), ["summed one is not 0 at BOS"]),
        (PlaceSum("flag", ("a",), ("s",)), []),
        (PlaceSum("n", ("a",), ("s",)), ["flag n is not one of places with values 0 and 1"]),
        (LatestWrite("f", ("a",), ("n",)), []),
        (LatestWrite("g", ("a",), ("n",)), ["flag g is not 1 at BOS"]),
    ],
)
def test_what_keeps_an_operation_from_its_meaning(operation: Any, faults: list[str]) -> None:
    assert list(operation.faults(FACTS)) == faults


OPERATIONS = [
    PrefixSum(("a",), ("s",)),
    PlaceSum("f", ("a", "b"), ("s", "t")),
    LatestWrite("f", ("a",), ("s",)),
    LookBack(3, ("a",), ("s",)),
    LatestMatch("q", "k", 4, 2, ("a",), ("s",)),
    EndWrite(("f", "g"), "earliest", ("a",), ("s",)),
    Table(("a", "b"), ("x",), (((0, -1), (2,)), ((1, 3), (-4,)))),
    Modulo((("a", 2), ("b", -1)), 5, 3, "x", (9, -2, 4)),
    Modulo((("a", 1),), 0, 2, "x"),
    Linear((("a", 1), ("b", -2)), -3, "x"),
    Clamp((("a", 1),), 0, -1, 4, "x"),
    Select(("f0", "f1"), ("a",), ("x",)),
]


@every("operation", OPERATIONS)
def test_an_operation_survives_json_and_says_what_it_touches(operation: Any) -> None:
    kind = AttentionOperation if isinstance(operation, AttentionOperation) else PositionMap
    payload = json.loads(json.dumps(plain(operation)))
    assert from_json(payload, kind, "it") == operation
    assert set(payload) == {"operation", *(item.name for item in fields(operation))}
    for key in set(payload) - {"operation"}:
        with pytest.raises(InvalidFile, match="must have the keys"):
            from_json({name: value for name, value in payload.items() if name != key}, kind, "it")
        with pytest.raises((InvalidFile, InvalidInput)):
            from_json({**payload, key: {"x": 1}}, kind, "it")
    text = operation.describe()
    assert "\n" not in text
    assert len(set(operation.writes)) == len(operation.writes)
    assert not set(operation.reads) & set(operation.writes)


@pytest.mark.parametrize("operation", OPERATIONS[:6], ids=lambda one: type(one).__name__)
def test_heads_that_look_alike_share_a_pattern(operation: Any) -> None:
    other = replace(operation, sources=("z",) * len(operation.sources))
    assert other.pattern == operation.pattern
    assert len({one.pattern for one in OPERATIONS[:6]}) == 6  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="as many registers as it writes"):
        replace(operation, targets=())


@pytest.mark.parametrize(
    ("terms", "offset", "text"),
    [
        ((("a", 1), ("b", -1)), 2, "a − 1·b + 2"),
        ((("a", 3),), -2, "3·a − 2"),
        ((), 0, "0"),
        ((("a", 1),), 0, "a"),
    ],
)
def test_sums_as_people_write_them(terms: tuple[tuple[str, int], ...], offset: int, text: str) -> None:
    assert formula(terms, offset) == text


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        (3, int, 3), (3, float, 3.0), ([1, 2], tuple[int, ...], (1, 2)),
        (["a", 1], tuple[str, int], ("a", 1)),
        (None, int | None, None), ("x", Literal["x", "y"], "x"), ([], tuple[int, ...], ()),
    ],
)  # fmt: skip
def test_values_from_files_have_the_types_that_are_stated(value: object, kind: Any, wanted: object) -> None:
    actual = from_json(value, kind, "it")
    assert actual == wanted
    assert type(actual) is type(wanted)


@every(
    ("value", "kind"),
    [
        (True, int), (2**53 + 1, int), (1.0, int), ("1", int), (True, float), ("1", float),
        (1, str), ("a\nb", str),
        ("z", Literal["x", "y"]), (["x"], Literal["x"]), (1, tuple[int, ...]),
        ([1], tuple[int, int]), ({}, int | None),
    ],
)  # fmt: skip
def test_values_of_other_types_are_refused(value: object, kind: Any) -> None:
    with pytest.raises(InvalidFile, match="must be"):
        from_json(value, kind, "it")


def test_points_on_a_circle_are_read_as_their_numbers() -> None:
    for count in (2, 3, 5, 12):
        turns = 2 * np.pi * np.arange(count) / count
        for noise in (0.0, 1e-9, -1e-9):
            result = around_circle(np.cos(turns + noise), np.sin(turns + noise), count)
            assert [without_noise(float(value)) for value in result] == list(range(count))
    assert without_noise(0.5) == 0.5
    assert without_noise(-2.0000001) == -2


def small_picture(count: int) -> ElementTree.Element:
    weights = np.tril(np.ones((count, count))) / np.arange(1, count + 1)[:, None]
    head = HeadView(0, 0, "looks <everywhere> & more", weights)
    rows = [(0, "bit", [i % 2 for i in range(count)]), (1, "half", [0.5] * count)]
    return ElementTree.fromstring(word_picture([f"l{i}" for i in range(count)], ["q"] * count, rows, [head]))


def test_a_picture_has_a_column_for_each_position_and_a_dot_for_each_weight() -> None:
    root = small_picture(5)
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text and text.startswith("l") and text[1:].isdigit()] == [
        f"l{i}" for i in range(5)
    ]
    assert texts.count("0.50") == 5
    assert "looks <everywhere> & more" in texts
    dots = [node for node in root.iter("{http://www.w3.org/2000/svg}rect") if node.get("fill-opacity")]
    assert len(dots) == 5 * 6 // 2
    assert all(float(node.get("fill-opacity", "0")) == 1.0 for node in dots)  # all weights of a row are alike
    long = [node.text for node in small_picture(70).iter("{http://www.w3.org/2000/svg}text")]
    assert "l63" in long
    assert "l64" not in long


def test_the_same_network_is_the_same_files_and_comes_back_bit_for_bit(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        save(parity_network(), tmp_path / folder)
    for name in ("model.safetensors", "krohn.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert load(tmp_path / "a").run(WORDS % 2).tolist() == parity_network().run(WORDS % 2).tolist()
    network = random_transformer(2)
    shape = [[len(layer.heads), len(layer.mlp.weights)] for layer in network.layers]
    again: Transformer = transformer_from(network.tensors(), shape)
    assert np.array_equal(logits(again, WORDS), logits(network, WORDS))
    for wrong in ([[2, 3]], [[2, 3], [1, 2], [0, 1]], [[1, 3], [2, 2]], [[-1, 3], [1, 2]], "x"):
        with pytest.raises(InvalidFile):
            transformer_from(network.tensors(), wrong)


def test_sums_of_dyadic_numbers_are_exact_in_the_pass() -> None:
    """Attention over equal scores is an average: with powers of two it is that of exact fractions."""
    network = parity_network().transformer
    seen: dict[str, np.ndarray] = {}
    logits(network, np.array([[1, 0, 1]]), observe=lambda name, value: seen.update({name: value[0]}))
    weights = seen["layer.0.head.0.weights"]
    for t in range(4):
        share = [Fraction(8 - t, 8) if i == 0 else Fraction(1, 8) for i in range(t + 1)]
        assert sum(share) == 1
        assert np.allclose(weights[t, : t + 1], [float(part) for part in share])

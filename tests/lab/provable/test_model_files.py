"""Networks in ``.onnx`` and ``.pt2`` files: read as they run, proved, mistakes found, damage refused."""

import random
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from research.file_damage import bytes_damage, json_damage
from torch import nn
from torch.export import Dim

import krohn
from krohn.errors import InvalidInput, KrohnError
from krohn.lab.provable.modules import module_of
from krohn.lab.provable.onnx_files import OnnxNode
from krohn.lab.provable.onnx_operators import OPERATORS
from krohn.lab.provable.tracing import read_graph
from lab.provable.own_modules import Seen

SEEN = krohn.Semiautomaton(np.array([[0, 1], [1, 1]]), 0, ("no", "yes"), ("a", "b"))
TOKENS = torch.zeros(2, 5, dtype=torch.int64)


def as_onnx(module: nn.Module, path: Path, **more: Any) -> Path:
    axes = {"tokens": {0: "words", 1: "places"}, "logits": {0: "words", 1: "places"}}
    names: dict[str, Any] = {"input_names": ["tokens"], "output_names": ["logits"], "dynamic_axes": axes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (TOKENS,), path, dynamo=False, **{**names, **more})
    return path


def as_program(module: nn.Module, path: Path) -> Path:
    shapes = ({0: Dim("words"), 1: Dim("places")},)
    torch.export.save(torch.export.export(module, (TOKENS,), dynamic_shapes=shapes), path)
    return path


class Small(nn.Module):
    """A stock encoder of one block."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table, self.places = nn.Embedding(3, 8), nn.Embedding(8, 8)
        self.block = nn.TransformerEncoderLayer(
            8, 2, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.out = nn.Linear(8, 3)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        length = tokens.shape[1]
        hidden = torch.full((length, length), float("-inf")).triu(1)
        x = self.table(tokens) + self.places(torch.arange(length))
        out: torch.Tensor = self.out(self.block(x, src_mask=hidden))
        return out


@pytest.mark.parametrize("ending", [".onnx", ".pt2"])
def test_a_file_is_proved_and_its_mistake_is_found(ending: str, tmp_path: Path) -> None:
    write = as_onnx if ending == ".onnx" else as_program
    right = krohn.verify(write(Seen(), tmp_path / f"right{ending}"), automaton=SEEN, length=6)
    assert right.certified
    assert right.to_json()["inputs"] == "126"
    wrong = krohn.verify(write(Seen(0.2), tmp_path / f"wrong{ending}"), automaton=SEEN, length=6)
    assert not wrong.certified
    assert wrong.counterexample is not None


@pytest.mark.parametrize(("ending", "opset"), [(".onnx", 14), (".onnx", 17), (".onnx", 20), (".pt2", 0)])
def test_a_file_is_read_as_the_module(ending: str, opset: int, tmp_path: Path) -> None:
    module, path = Small().eval(), tmp_path / f"net{ending}"
    as_onnx(module, path, opset_version=opset) if ending == ".onnx" else as_program(module, path)
    read = module_of(path)
    words = torch.randint(0, 3, (4, 5), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.allclose(read(words), module(words), atol=1e-6)
    assert {node.op for node in read_graph(read, 5).nodes} <= {
        node.op for node in read_graph(module, 5).nodes
    } | {"mul", "div", "erf", "sqrt", "sub", "square", "mean", "add"}


def test_our_own_export_is_proved(tmp_path: Path) -> None:
    net = krohn.compile("C2", length=4)
    krohn.export(net, "onnx", tmp_path / "net", dtype="float32")
    verdict = krohn.verify(tmp_path / "net" / "model.onnx", automaton="C2", length=4)
    assert verdict.certified
    assert verdict.to_json()["inputs"] == "30"


def test_a_file_for_one_size_is_read_for_that_alone(tmp_path: Path) -> None:
    path = as_onnx(Seen(), tmp_path / "fixed.onnx", dynamic_axes={})
    with pytest.raises(InvalidInput, match="2 words at once"):
        krohn.verify(path, automaton=SEEN, length=5)


def test_a_program_for_short_words_is_read_for_those(tmp_path: Path) -> None:
    path, shapes = tmp_path / "short.pt2", ({0: Dim("words"), 1: Dim("places", max=6)},)
    torch.export.save(torch.export.export(Seen(), (TOKENS,), dynamic_shapes=shapes), path)
    with pytest.raises(InvalidInput, match="at most 6 tokens"):
        krohn.verify(path, automaton=SEEN, length=7)
    assert krohn.verify(path, automaton=SEEN, length=6).certified


def test_an_operator_without_a_rule_is_named(tmp_path: Path) -> None:
    class Sorted(Seen):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = super().forward(tokens).sort(-1).values
            return out

    for path in (as_onnx(Sorted(), tmp_path / "a.onnx"), as_program(Sorted(), tmp_path / "a.pt2")):
        with pytest.raises(InvalidInput, match=r"TopK|sort"):
            krohn.verify(path, automaton=SEEN, length=4)


X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
Y = X[:, :1] + 0.5
W = X.reshape(4, 6)
PLACES = np.array([2, 0, -1])
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    **{
        name: (name, [X], {})
        for name in ("Neg", "Abs", "Exp", "Erf", "Tanh", "Sigmoid", "Relu", "Sin", "Cos")
    },
    **{
        name: (name, [X, Y], {})
        for name in ("Add", "Sub", "Mul", "Div", "Sum", "Min", "Max", "Less", "Greater")
    },
    **{name: (name, [X, X], {}) for name in ("Equal", "LessOrEqual", "GreaterOrEqual")},
    "Sqrt": ("Sqrt", [np.abs(X)], {}),
    "Reciprocal": ("Reciprocal", [X], {}),
    "whole Div": ("Div", [np.array([-7, 7, 8]), np.array([2, -2, 3])], {}),
    "Mod": ("Mod", [np.array([-7, 7, 8]), np.array([3, -3, 3])], {}),
    "fmod": ("Mod", [np.array([-7, 7, 8]), np.array([3, -3, 3])], {"fmod": 1}),
    "Pow": ("Pow", [X, np.array(2.0, np.float32)], {}),
    "Clip": ("Clip", [X, np.array(-0.5, np.float32), np.array(0.5, np.float32)], {}),
    "Clip above": ("Clip", [X, None, np.array(0.5, np.float32)], {}),
    "MatMul": ("MatMul", [X, X[0].T.copy()], {}),
    "Gemm": ("Gemm", [W, W, W[:, :4]], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    "Gemm plain": ("Gemm", [W.T.copy(), W], {}),
    "ReduceSum": ("ReduceSum", [X, np.array([1])], {"keepdims": 0}),
    "ReduceSum all": ("ReduceSum", [X], {}),
    "ReduceSum none": ("ReduceSum", [X], {"noop_with_empty_axes": 1}),
    "ReduceMean": ("ReduceMean", [X, np.array([-1, 0])], {}),
    "ReduceSumSquare": ("ReduceSumSquare", [X, np.array([2])], {}),
    "LayerNormalization": ("LayerNormalization", [X, X[0, 0], X[0, 1]], {"epsilon": 1e-3}),
    "LayerNormalization of two": ("LayerNormalization", [X, X[0]], {"axis": 1}),
    "Softmax": ("Softmax", [X], {"axis": 1}),
    "Gelu": ("Gelu", [X], {}),
    "Gelu tanh": ("Gelu", [X], {"approximate": "tanh"}),
    "Gather": ("Gather", [X, PLACES], {"axis": 2}),
    "Gather rows": ("Gather", [X[0], np.array([[0, 1], [1, -1]])], {}),
    "Gather one": ("Gather", [X, np.array(-1)], {"axis": 1}),
    "Concat": ("Concat", [X, Y], {"axis": 1}),
    "Unsqueeze": ("Unsqueeze", [X, np.array([0, -1])], {}),
    "Squeeze": ("Squeeze", [Y, np.array([1])], {}),
    "Squeeze all": ("Squeeze", [Y], {}),
    "Reshape": ("Reshape", [X, np.array([0, -1, 2])], {}),
    "Flatten": ("Flatten", [X], {"axis": -1}),
    "Transpose": ("Transpose", [X], {"perm": [1, 2, 0]}),
    "Transpose plain": ("Transpose", [X], {}),
    "Slice": ("Slice", [X, np.array([1]), np.array([2**63 - 1]), np.array([-1]), np.array([2])], {}),
    "Slice back": ("Slice", [X, np.array([-1]), np.array([-(2**63)]), np.array([2]), np.array([-1])], {}),
    "Slice empty": ("Slice", [X, np.array([2]), np.array([1]), np.array([1])], {}),
    "Split": ("Split", [X, np.array([1, 3])], {"axis": 2}),
    "Split evenly": ("Split", [X], {"axis": 2, "num_outputs": 2}),
    "Expand": ("Expand", [Y, np.array([3, 1])], {}),
    "Tile": ("Tile", [X, np.array([1, 2, 1])], {}),
    "ConstantOfShape": ("ConstantOfShape", [np.array([2, 3])], {"value": np.array([7])}),
    "ConstantOfShape plain": ("ConstantOfShape", [np.array([2, 3])], {}),
    "Range": ("Range", [np.array(1), np.array(8), np.array(3)], {}),
    "Trilu": ("Trilu", [X, np.array(1)], {}),
    "Trilu lower": ("Trilu", [X], {"upper": 0}),
    "Pad": ("Pad", [X, np.array([0, 1, 0, 1, 0, 2])], {}),
    "Where": ("Where", [X > 0, X, Y], {}),
    "And": ("And", [X > 0, X < 1], {}),
    "Or": ("Or", [X > 1, X < 0], {}),
    "Not": ("Not", [X > 1], {}),
    "CumSum": ("CumSum", [X, np.array(1)], {}),
    "Cast": ("Cast", [X], {"to": 7}),
    "Shape": ("Shape", [X], {"start": 1, "end": 3}),
    "Size": ("Size", [X], {}),
    "Identity": ("Identity", [X], {}),
    "Constant": ("Constant", [], {"value": X}),
    "Constant numbers": ("Constant", [], {"value_ints": [3, 4]}),
}


@pytest.mark.parametrize("name", CASES)
def test_operators_are_those_of_onnx(name: str) -> None:
    op, given, attributes = CASES[name]
    outputs = ["a", "b"] if op == "Split" else ["a"]
    names = [f"in{place}" if one is not None else "" for place, one in enumerate(given)]
    stated = {
        k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in attributes.items()
    }
    node = helper.make_node(op, names, outputs, **stated)
    inputs = [
        helper.make_tensor_value_info(one, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for one, value in zip(names, given, strict=True)
        if one
    ]
    out = [helper.make_tensor_value_info(one, TensorProto.FLOAT, None) for one in outputs]
    model = helper.make_model(
        helper.make_graph([node], "one", inputs, out), opset_imports=[helper.make_opsetid("", 20)]
    )
    wanted = ReferenceEvaluator(model).run(None, {n: v for n, v in zip(names, given, strict=True) if n})
    own = OnnxNode(op, tuple(names), tuple(outputs), attributes)
    found = OPERATORS[op](own, [None if one is None else torch.from_numpy(np.array(one)) for one in given])
    for one, want in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert one.shape == np.shape(want)
        assert np.allclose(one.numpy(), want, atol=1e-6)


def test_every_operator_is_compared() -> None:
    judged_elsewhere = {"Dropout", "RMSNormalization", "Swish"}  # in later sets, or the identity
    assert {op for op, _, _ in CASES.values()} | judged_elsewhere == set(OPERATORS)


def huge(path: Path) -> Path:
    """Tells in 200 bytes to make 8 TB."""
    nodes = [
        helper.make_node(
            "ConstantOfShape", ["size"], ["big"], value=numpy_helper.from_array(np.zeros(1, "f4"))
        ),
        helper.make_node("Gather", ["big", "tokens"], ["logits"]),
    ]
    size = numpy_helper.from_array(np.array([1 << 20, 1 << 20]), "size")
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, [None, None])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph(nodes, "big", [tokens], [out], [size])), path)
    return path


def test_a_small_file_cannot_ask_for_much_memory(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="too large"):
        krohn.verify(huge(tmp_path / "huge.onnx"), automaton=SEEN, length=2)


def refused_in_one_line(path: Path) -> bool:
    said = ""
    try:
        read_graph(module_of(path), 5)
    except KrohnError as error:
        said = str(error)
    assert "\n" not in said
    return bool(said)


@pytest.mark.parametrize("ending", [".onnx", ".pt2"])
def test_damaged_files_are_refused_or_read(ending: str, tmp_path: Path) -> None:
    """One clear error, or a network; nothing else."""
    whole = (as_onnx if ending == ".onnx" else as_program)(
        Small().eval(), tmp_path / f"net{ending}"
    ).read_bytes()
    path, dice, refused = tmp_path / f"damaged{ending}", random.Random(0), 0
    for _ in range(120):
        path.write_bytes(bytes_damage(dice, whole))
        refused += refused_in_one_line(path)
    assert refused > 20


def test_a_damaged_program_is_refused_or_read(tmp_path: Path) -> None:
    source = as_program(Small().eval(), tmp_path / "net.pt2")
    dice, refused = random.Random(0), 0
    with zipfile.ZipFile(source) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    graphs = [name for name in files if name.endswith(".json")]
    for _ in range(120):
        name = dice.choice(graphs)
        damaged = json_damage(dice, files[name].decode())
        with zipfile.ZipFile(tmp_path / "damaged.pt2", "w") as archive:
            for one, data in files.items():
                archive.writestr(one, damaged if one == name else data)
        refused += refused_in_one_line(tmp_path / "damaged.pt2")
    assert refused > 40

"""The decoder as an ONNX graph: words of letters in, logits of states and states out, for any batch."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from krohn.base.extras import to_install
from krohn.base.files import json_bytes
from krohn.errors import MissingDependency
from krohn.network.gpt2.decoder import LAYER_NORM_EPSILON, Decoder, Files

OPSET = 20

LOADING = """```python
import json
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession("{directory}/model.onnx")
names = json.load(open("{directory}/names.json"))
word = np.array([[names["letters"].index(letter) for letter in {word}.split()]])
logits, states = session.run(None, {{"letters": word}})
print([names["states"][state] for state in states[0]])  # the state after every letter
```

Numbers of letters run from 0; any other number, and a word that is too long, is an error of the reader.
"""


def onnx_files(decoder: Decoder, about: Mapping[str, str]) -> Files:
    """``model.onnx`` and the names of its letters and states."""
    tokens = decoder.vocabulary.tokens
    names = {
        "letters": [tokens[token] for token in decoder.vocabulary.letters],
        "states": [tokens[token] for token in decoder.vocabulary.states],
        "length": decoder.length,
    }
    return {"names.json": json_bytes(names), "model.onnx": _model(decoder, about)}


def require_onnx() -> None:
    """Fails early if the package is missing."""
    if find_spec("onnx") is None:
        raise MissingDependency(f"ONNX files need onnx: {to_install('hf', 'onnx')}")


def _model(decoder: Decoder, about: Mapping[str, str]) -> bytes:
    require_onnx()
    import onnx
    from onnx import TensorProto, helper

    graph = _Graph(helper, onnx.numpy_helper)
    graph.decoder(decoder)
    shape = ["batch", "length"]
    inputs = [helper.make_tensor_value_info("letters", TensorProto.INT64, shape)]
    logits = helper.make_tensor_value_info(
        "logits", TensorProto.FLOAT, [*shape, len(decoder.vocabulary.states)]
    )
    states = helper.make_tensor_value_info("states", TensorProto.INT64, shape)
    result = helper.make_graph(graph.nodes, "decoder", inputs, [logits, states], graph.constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(result, opset_imports=opset, producer_name="krohn", ir_version=9)
    helper.set_model_props(model, dict(about))
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString()
    return data


class _Graph:
    """Collects nodes and constants; every method returns the name of its result."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: npt.ArrayLike, name: str = "") -> str:
        """A tensor of the file."""
        name = name or f"constant.{len(self.constants)}"
        self.constants.append(self.numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def node(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Adds one operation and returns the name of its output."""
        result = result or f"value.{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def whole(self, *values: int) -> str:
        """A constant list of integers."""
        return self.constant(np.array(values, dtype=np.int64))

    def decoder(self, decoder: Decoder) -> None:
        """The whole forward pass."""
        t, names, width = decoder.tensors, decoder.vocabulary, decoder.width
        size = self.node("Shape", "letters")
        batch = self.node("Slice", size, self.whole(0), self.whole(1))
        letters = self.node("Gather", self.whole(*names.letters), self.refusing(len(names.letters)))
        prompt_shape = self.node("Concat", batch, self.whole(len(names.prompt)), axis=0)
        prompt = self.node("Expand", self.whole(*names.prompt), prompt_shape)
        ids = self.node("Concat", prompt, letters, axis=1) if names.prompt else letters
        count = self.node("Slice", self.node("Shape", ids), self.whole(1), self.whole(2))
        embedded = self.node("Gather", self.constant(t["transformer.wte.weight"], "wte"), ids)
        stream = self.node("Add", embedded, self.positions(t["transformer.wpe.weight"], count))
        mask = self.mask(count)
        for index in range(decoder.layers):
            block = f"transformer.h.{index}"
            if decoder.attends(index):
                read = self.norm(decoder, f"{block}.ln_1", stream)
                stream = self.node("Add", stream, self.attention(decoder, block, read, mask, width))
            hidden = self.linear(decoder, f"{block}.mlp.c_fc", self.norm(decoder, f"{block}.ln_2", stream))
            if decoder.activation == "relu":
                hidden = self.node("Relu", hidden)
            else:
                hidden = self.node("Gelu", hidden, approximate="tanh")
            stream = self.node("Add", stream, self.linear(decoder, f"{block}.mlp.c_proj", hidden))
        read = self.node("Slice", stream, self.whole(len(names.prompt)), count, self.whole(1))
        read = self.norm(decoder, "transformer.ln_f", read)
        head = self.constant(t["lm_head.weight"][list(names.states)].T, "head")
        logits = self.node("MatMul", read, head, result="logits")
        self.node("ArgMax", logits, result="states", axis=-1, keepdims=0)

    def refusing(self, letters: int) -> str:
        """The input with negative numbers made out of range: Gather would count them from the end."""
        negative = self.node("Less", "letters", self.constant(np.array(0, dtype=np.int64)))
        return self.node("Where", negative, self.constant(np.array(letters, dtype=np.int64)), "letters")

    def positions(self, table: npt.NDArray[np.float32], count: str) -> str:
        """The first rows of the table; too many are an error, where Slice would silently give fewer."""
        zero, one = (self.constant(np.array(number, dtype=np.int64)) for number in (0, 1))
        rows = self.node("Range", zero, self.node("Squeeze", count), one)
        return self.node("Gather", self.constant(table, "wpe"), rows)

    def mask(self, count: str) -> str:
        """−∞ above the diagonal, 0 elsewhere."""
        square = self.node("Concat", count, count, axis=0)
        low = self.numpy_helper.from_array(np.array([-np.inf], dtype=np.float32))
        never = self.node("ConstantOfShape", square, value=low)
        return self.node("Trilu", never, self.constant(np.array(1, dtype=np.int64)), upper=1)

    def attention(self, decoder: Decoder, block: str, read: str, mask: str, width: int) -> str:
        """All heads of a block at once."""
        together = self.linear(decoder, f"{block}.attn.c_attn", read)
        apart = self.node("Reshape", together, self.whole(0, 0, 3, decoder.heads, width))
        turned = self.node("Transpose", apart, perm=[2, 0, 3, 1, 4])
        places = (self.constant(np.array(part, dtype=np.int64)) for part in range(3))
        query, key, value = (self.node("Gather", turned, place, axis=0) for place in places)
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 3, 2]))
        scaled = self.node("Div", scores, self.constant(np.sqrt(np.float32(width))))
        weights = self.node("Softmax", self.node("Add", scaled, mask), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", weights, value), perm=[0, 2, 1, 3])
        joined = self.node("Reshape", mixed, self.whole(0, 0, decoder.heads * width))
        return self.linear(decoder, f"{block}.attn.c_proj", joined)

    def linear(self, decoder: Decoder, name: str, read: str) -> str:
        """``x W + b`` with GPT-2's matrices."""
        weight, bias = (
            self.constant(decoder.tensors[f"{name}.{part}"], f"{name}.{part}") for part in ("weight", "bias")
        )
        return self.node("Add", self.node("MatMul", read, weight), bias)

    def norm(self, decoder: Decoder, name: str, read: str) -> str:
        """LayerNorm, if the decoder has any."""
        if not decoder.normalized:
            return read
        weight, bias = (
            self.constant(decoder.tensors[f"{name}.{part}"], f"{name}.{part}") for part in ("weight", "bias")
        )
        return self.node("LayerNormalization", read, weight, bias, axis=-1, epsilon=LAYER_NORM_EPSILON)

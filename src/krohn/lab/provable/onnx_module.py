"""A network in an ``.onnx`` file as a module: its nodes in order, as far as the logits need them."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from krohn.check.files.folders import short
from krohn.errors import InvalidFile, InvalidInput
from krohn.lab.provable.model_files import BROKEN, FileModule, line_of
from krohn.lab.provable.onnx_files import OnnxModel, OnnxNode, read_onnx
from krohn.lab.provable.onnx_operators import OPERATORS

LOGITS, MASK = "logits", "attention_mask"


class OnnxModule(FileModule):
    """The logits of an ONNX model; an input ``attention_mask`` is 1 everywhere."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        model = read_onnx(path)
        self.output = LOGITS if LOGITS in model.outputs else (*model.outputs, "")[0]
        self.nodes = needed(model, self.output)
        self.input, self.sizes = tokens_of(path, model)
        self.mask = MASK in model.inputs
        self.names: dict[str, str] = {}
        for number, (name, values) in enumerate(model.constants.items()):
            self.names[name] = f"constant_{number}"
            self.keep(self.names[name], torch.from_numpy(values.copy()))
        self.outside = run_by_runtime(path, self)

    def passed(self, tokens: Tensor) -> Any:
        """The output named logits, or the first one."""
        held: dict[str, Any] = {name: self.kept(own) for name, own in self.names.items()}
        held[self.input] = tokens
        if self.mask:
            held[MASK] = torch.ones(tokens.shape, dtype=torch.int64)
        for node in self.nodes:
            given = [held[name] if name else None for name in node.inputs]
            try:
                made = OPERATORS[node.op](node, given)
            except BROKEN as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(f"{node.op} cannot be read: {line_of(error)}") from None
            made = made if isinstance(made, tuple) else (made,)
            held.update(zip(node.outputs, made, strict=False))
        return held[self.output]


def needed(model: OnnxModel, output: str) -> tuple[OnnxNode, ...]:
    """The nodes that an output depends on; each must be known, and what it reads must be there before."""
    wanted, kept = {output}, []
    for node in reversed(model.nodes):
        if wanted & set(node.outputs):
            if node.op not in OPERATORS:
                raise InvalidFile(f"the operator {node.op[:40]} of ONNX is not known")
            wanted |= {name for name in node.inputs if name}
            kept.append(node)
    there = {*model.constants, *model.inputs}
    for node in kept[::-1]:
        missing = [name for name in node.inputs if name and name not in there]
        if missing:
            raise InvalidFile(f"{node.op} reads {missing[0][:40]!r} before it is made")
        there |= set(node.outputs)
    if output not in there:
        raise InvalidFile("an ONNX file must make its output")
    return tuple(kept[::-1])


def tokens_of(path: Path, model: OnnxModel) -> tuple[str, tuple[int | None, int | None]]:
    """The name and sizes of the one input that is tokens."""
    found = [name for name in model.inputs if name != MASK]
    if len(found) != 1:
        names = ", ".join(name[:40] for name in found[:6]) or "none"
        raise InvalidFile(f"{short(path)} must have one input, the tokens; it has {names}")
    kind, sizes = model.inputs[found[0]]
    if kind not in (6, 7) or len(sizes) != 2:
        raise InvalidFile(f"{short(path)} must read whole numbers [words, tokens]")
    if kind == 6:
        raise InvalidFile(f"{short(path)} must read tokens of type int64; it reads int32")
    return found[0], (sizes[0], sizes[1])


def run_by_runtime(path: Path, module: OnnxModule) -> tuple[str, Any] | None:
    """The file itself, run by onnxruntime where that is installed."""
    if find_spec("onnxruntime") is None:
        return None

    def run(words: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        import onnxruntime  # type: ignore[import-untyped, unused-ignore]

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        given = {module.input: words} | ({MASK: np.ones_like(words)} if module.mask else {})
        try:
            if "session" not in held:
                place = ["CPUExecutionProvider"]
                held["session"] = onnxruntime.InferenceSession(path, options, providers=place)
            out: npt.NDArray[np.float32] = held["session"].run([module.output], given)[0]
        except Exception as error:  # of a library that raises its own
            said = " ".join(str(error).split())[:160]
            raise InvalidInput(f"onnxruntime cannot run {short(path)} on such tokens: {said}") from error
        return out

    held: dict[str, Any] = {}
    return "onnxruntime", run

"""A network in a ``.pt2`` file of ``torch.export.save`` as a module: JSON and raw numbers, nothing unpickled.

The archive is a zip of a graph in JSON (operators of torch by name) and weights as raw bytes. Its sample
inputs are a pickle, and are not read.
"""

import operator
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from krohn.check.files.folders import MAX_BYTES, open_bounded, parse_json, short
from krohn.errors import InvalidFile, InvalidInput, need
from krohn.lab.provable.model_files import BROKEN, FileModule, line_of
from krohn.lab.provable.tracing import BINARY, COMPARED, MOVES, SHAPED, UNARY

TYPES = {
    1: torch.uint8,
    2: torch.int8,
    3: torch.int16,
    4: torch.int32,
    5: torch.int64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    12: torch.bool,
    13: torch.bfloat16,
}
"""Element types by their numbers in the archive."""
MADE = ("arange", "full", "zeros", "ones", "scalar_tensor", "cumsum")
COMPUTED = """linear matmul mm bmm addmm baddbmm layer_norm native_layer_norm rms_norm softmax _softmax
embedding gelu erf pow rsub sum mean where masked_fill clamp clamp_min clamp_max index gather to dropout
einsum any all unflatten flatten type_as outer remainder hardtanh scaled_dot_product_attention"""
CHECKS = ("_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range_for_size", "sym_constrain_range")
"""What an exporter adds about shapes and types, which are known here."""
KNOWN = frozenset((*MOVES, *BINARY, *COMPARED, *UNARY, *SHAPED, *MADE, *COMPUTED.split()))
SYMBOL = re.compile(r"Symbol\('(\w+)'[^()]*\)$")
SYMBOLIC = {name: getattr(operator, name) for name in ("add", "sub", "mul", "floordiv", "mod", "neg", "eq")}
SYMBOLIC |= {name: getattr(operator, name) for name in ("le", "lt", "ge", "gt", "getitem", "truediv")}


class ProgramModule(FileModule):
    """The first output of a program of torch.export."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        files = stored_files(path)
        program = parse_json(files["models/model.json"])
        try:
            graph = program["graph_module"]["graph"]
            signature = program["graph_module"]["signature"]
            self.nodes = [made_callable(node) for node in graph["nodes"]]
            self.answer = answer_of(signature)
            self.names, self.input = self.hold(signature["input_specs"], files)
            sizes = graph["tensor_values"][self.input]["sizes"]
            need(len(sizes) == 2, "the input must be tokens [words, tokens]")
            self.sizes = (sizes[0].get("as_int"), sizes[1].get("as_int"))
            named = [SYMBOL.match(one.get("as_expr", {}).get("expr_str", "")) for one in sizes]
            limits = [program["range_constraints"].get(one[1], {}) if one else {} for one in named]
            self.limits = [limit.get("max_val") for limit in limits]
        except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
            if isinstance(error, InvalidInput):
                raise
            raise InvalidFile(f"{short(path)} must be a program of torch.export: {line_of(error)}") from None

    def hold(self, inputs: list[Any], files: dict[str, bytes]) -> tuple[dict[str, str], str]:
        """Parameters, buffers and constants by the graph's names; the name of the tokens."""
        about = {}
        for folder, name in (("weights", "model_weights_config"), ("constants", "model_constants_config")):
            text = files.get(f"data/{folder}/{name}.json")
            for key, value in (parse_json(text)["config"] if text else {}).items():
                about[key] = (folder, value)
        names, tokens = {}, []
        for number, entry in enumerate(inputs):
            (sort, spec), *_ = entry.items()
            if sort == "user_input":
                tokens.append(spec["arg"]["as_tensor"]["name"])
                continue
            kind = {
                "parameter": "parameter_name",
                "buffer": "buffer_name",
                "tensor_constant": "tensor_constant_name",
            }
            need(sort in kind, f"an input of the program is {sort[:40]}: tokens and weights alone are read")
            folder, meta = about[spec[kind[sort]]]
            tensor = stored_tensor(meta, files[f"data/{folder}/{meta['path_name']}"])
            names[spec["arg"]["name"]] = f"held_{number}"
            self.keep(f"held_{number}", tensor)
        need(len(tokens) == 1, f"the program must have one input, the tokens; it has {len(tokens)}")
        return names, tokens[0]

    def passed(self, tokens: Tensor) -> Any:
        """Runs the nodes in order."""
        for size, limit in zip(tokens.shape, self.limits, strict=True):
            need(limit is None or size <= limit, f"the program is for at most {limit} tokens; got {size}")
        held: dict[str, Any] = {name: self.kept(own) for name, own in self.names.items()}
        held[self.input] = tokens
        for name, call, given, outputs in self.nodes:
            try:
                args = [value_of(arg, held) for arg, kind in given if kind is None]
                named = {kind: value_of(arg, held) for arg, kind in given if kind is not None}
                made = call(*args, **named)
                outs = made if isinstance(made, (tuple, list)) and len(outputs) > 1 else (made,)
                outs = outs[0] if isinstance(outs[0], (tuple, list)) else outs
                held.update(zip(outputs, outs, strict=False))
            except BROKEN as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(f"{name} cannot be read: {line_of(error)}") from None
        need(self.answer in held, "the program must make its output")
        return held[self.answer]


def stored_files(path: Path) -> dict[str, bytes]:
    """Files of the archive that are read, by their names without the first folder."""
    found, total = {}, 0
    try:
        with open_bounded(path) as stream, zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                name = info.filename.partition("/")[2]
                if not name.startswith(
                    ("models/model.json", "data/weights/", "data/constants/", "byteorder")
                ):
                    continue
                total += info.file_size
                need(info.compress_type == zipfile.ZIP_STORED, f"{short(path)} must not be compressed")
                need(
                    total <= 2 * MAX_BYTES,
                    f"{short(path)} must have at most {2 * MAX_BYTES:,} bytes of weights",
                )
                need(name not in found, f"{short(path)} must have each file once")
                found[name] = archive.read(info)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidFile(
            f"{short(path)} must be an archive of torch.export.save: {str(error)[:80]}"
        ) from None
    need(
        "models/model.json" in found,
        f"{short(path)} must be an archive of torch.export.save; it has no model.json",
    )
    need(
        found.get("byteorder", b"little") == b"little",
        f"{short(path)} must hold numbers in little-endian order",
    )
    return found


def stored_tensor(about: Any, data: bytes) -> Tensor:
    """Raw numbers, with their shape and strides."""
    need(about.get("use_pickle") is False, "weights that are pickled are not read")
    meta = about["tensor_meta"]
    kind = meta["dtype"]
    need(kind in TYPES, f"a tensor must be of whole numbers, booleans or floats; got type {str(kind)[:20]}")
    sizes, strides = ([one["as_int"] for one in meta[name]] for name in ("sizes", "strides"))
    offset = meta["storage_offset"]["as_int"]
    whole = [*sizes, *strides, offset]
    need(all(type(one) is int and 0 <= one < 1 << 32 for one in whole), "a tensor must have sizes from 0 on")
    last = offset + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    dtype = TYPES[kind]
    count = len(data) // dtype.itemsize
    need(
        0 in sizes or (last < count and int(np.prod(sizes, dtype=float)) <= count),
        "a tensor must be inside its file",
    )
    flat = (
        torch.frombuffer(bytearray(data), dtype=dtype, count=count) if count else torch.zeros(0, dtype=dtype)
    )
    return torch.as_strided(flat, sizes, strides, offset).clone()


def answer_of(signature: Any) -> str:
    """The name of the logits; a program that writes into its weights is refused."""
    outputs = signature["output_specs"]
    found = []
    for entry in outputs:
        (sort, spec), *_ = entry.items()
        need(sort == "user_output", f"the program writes into its weights ({sort[:40]})")
        found += [spec["arg"]["as_tensor"]["name"]] if "as_tensor" in spec["arg"] else []
    need(found, "the program must answer with a tensor")
    return str(found[0])


Named = tuple[str, Callable[..., Any], list[tuple[Any, str | None]], list[str]]


def made_callable(node: Any) -> Named:
    """An operator of the list, its arguments (by place or by name), and the names of what it makes."""
    target = node["target"]
    need(isinstance(target, str), "a node must name its operator")
    given = [(one["arg"], one["name"] if one.get("kind") == 2 else None) for one in node["inputs"]]
    outputs = [name for one in node["outputs"] for name in names_of(one)]
    space, _, name = target.rpartition("torch.ops.aten.")
    if target.startswith("_operator.") and target[10:] in SYMBOLIC:
        return target[10:], SYMBOLIC[target[10:]], given, outputs
    plain, _, overload = name.partition(".")
    if not space and target != name:
        if plain in CHECKS:
            return plain, lambda *args, **named: None, [], outputs
        if plain == "sym_size":
            return plain, lambda x, dim: x.shape[dim], given, outputs
        if plain in KNOWN:
            packet = getattr(torch.ops.aten, plain)
            need(overload in packet.overloads(), f"{plain} has no form {overload[:40]!r}")
            return plain, getattr(packet, overload), given, outputs
    raise InvalidFile(f"the operator {target[:60]} of torch.export is not known")


def names_of(output: Any) -> list[str]:
    """What an output is called."""
    (sort, value), *_ = output.items()
    if sort == "as_tensors":
        return [one["name"] for one in value]
    return [value["name"] if sort == "as_tensor" else value["as_name"]] if sort != "as_none" else [""]


def value_of(arg: Any, held: dict[str, Any]) -> Any:
    """An argument as the schema of torch.export writes it."""
    (sort, value), *_ = arg.items()
    if sort == "as_tensor":
        return held[value["name"]]
    if sort in ("as_tensors", "as_optional_tensors"):
        return [value_of(one, held) if sort == "as_optional_tensors" else held[one["name"]] for one in value]
    if sort in ("as_sym_int", "as_sym_bool", "as_sym_float"):
        return held[value["as_name"]] if "as_name" in value else next(iter(value.values()))
    if sort in ("as_sym_ints", "as_sym_bools"):
        return [held[one["as_name"]] if "as_name" in one else next(iter(one.values())) for one in value]
    if sort == "as_scalar_type":
        return TYPES[value]
    if sort == "as_device":
        return torch.device("cpu")
    if sort in ("as_none", "as_layout", "as_memory_format"):
        return None
    if sort == "as_float":
        return float(value)
    if sort == "as_floats":
        return [float(one) for one in value]
    if sort in ("as_int", "as_ints", "as_bool", "as_bools", "as_string"):
        return value
    raise InvalidInput(f"an argument of the kind {sort[:40]} is not known")

"""The operators of ONNX in those of torch: what a file says, as the tracer reads it.

Sizes, places and axes are tensors of constants in ONNX and numbers in torch; what depends on a token's value
there is refused.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from krohn.errors import InvalidInput
from krohn.lab.provable.model_files import known
from krohn.lab.provable.onnx_files import OnnxNode

Given = Sequence[Any]
DTYPES = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16}
DTYPES |= {11: torch.float64, 16: torch.bfloat16, 2: torch.uint8, 3: torch.int8, 5: torch.int16}


def ints(value: Any, what: str) -> list[int]:
    """Whole numbers that a tensor of constants holds."""
    found = known(value, what)
    if found.is_floating_point():
        raise InvalidInput(f"{what} must be whole numbers")
    if found.numel() > 1 << 16:
        raise InvalidInput(f"{what} must be few numbers")
    return [int(one) for one in found.reshape(-1).tolist()]


def axes_of(node: OnnxNode, given: Given, at: int = 1) -> list[int] | None:
    """Axes as an input or, before, as an attribute."""
    if len(given) > at and given[at] is not None:
        return ints(given[at], "the axes")
    return node.attributes.get("axes")


def gather(node: OnnxNode, given: Given) -> Tensor:
    """Entries along an axis; rows of a table if the places are tokens."""
    data, places = given[0], given[1]
    axis = node.attributes.get("axis", 0) % max(1, data.dim())
    if axis == 0:
        return data[places]  # type: ignore[no-any-return]
    shape = places.shape
    flat = known(places, "a place")
    flat = torch.where(flat < 0, flat + data.shape[axis], flat).reshape(-1)
    out: Tensor = data.index_select(axis, flat).reshape(*data.shape[:axis], *shape, *data.shape[axis + 1 :])
    return out


def sliced(node: OnnxNode, given: Given) -> Tensor:
    """Entries from starts to ends, by steps."""
    data = given[0]
    starts, ends = ints(given[1], "a start"), ints(given[2], "an end")
    axes = ints(given[3], "an axis") if len(given) > 3 and given[3] is not None else [*range(len(starts))]
    steps = ints(given[4], "a step") if len(given) > 4 and given[4] is not None else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            places = torch.tensor(
                [*range(data.shape[axis])[slice(start, None if end < -(1 << 62) else end, step)]]
            )
            data = data.index_select(axis, places)
            continue
        part = range(data.shape[axis])[slice(start, end, step)]
        data = data[
            (slice(None),) * (axis % data.dim()) + (slice(part.start, max(part.start, part.stop), step),)
        ]
    return data  # type: ignore[no-any-return]


def reshape(node: OnnxNode, given: Given) -> Tensor:
    """0 keeps a size, −1 is what is left."""
    data, sizes = given[0], ints(given[1], "a size")
    if not node.attributes.get("allowzero", 0):
        sizes = [data.shape[place] if size == 0 else size for place, size in enumerate(sizes)]
    return data.reshape(sizes)  # type: ignore[no-any-return]


def expand(_: OnnxNode, given: Given) -> Tensor:
    """Broadcast both ways."""
    data = given[0]
    shape = torch.broadcast_shapes(data.shape, ints(given[1], "a size"))  # type: ignore[no-untyped-call]
    return data.expand(shape)  # type: ignore[no-any-return]


def squeeze(node: OnnxNode, given: Given) -> Tensor:
    """Without axes of size 1."""
    axes = axes_of(node, given)
    data = given[0]
    if axes is None:
        axes = [axis for axis, size in enumerate(data.shape) if size == 1]
    for axis in sorted((one % data.dim() for one in axes), reverse=True):
        if data.shape[axis] != 1:
            raise InvalidInput("Squeeze must have axes of size 1")
        data = data.squeeze(axis)
    return data  # type: ignore[no-any-return]


def unsqueeze(node: OnnxNode, given: Given) -> Tensor:
    """With axes of size 1."""
    data, axes = given[0], axes_of(node, given) or []
    for axis in sorted(one % (data.dim() + len(axes)) for one in axes):
        data = data.unsqueeze(axis)
    return data  # type: ignore[no-any-return]


def split(node: OnnxNode, given: Given) -> tuple[Tensor, ...]:
    """Parts along an axis."""
    data, axis = given[0], node.attributes.get("axis", 0)
    if len(given) > 1 and given[1] is not None:
        return torch.split(data, ints(given[1], "a size"), axis)
    count = node.attributes.get("num_outputs", len(node.outputs))
    each = -(-data.shape[axis] // max(1, count))
    return torch.split(data, each, axis)


def gemm(node: OnnxNode, given: Given) -> Tensor:
    """α A B + β C."""
    about = node.attributes
    x = given[0].t() if about.get("transA") else given[0]
    y = given[1].t() if about.get("transB") else given[1]
    out = x @ y
    if about.get("alpha", 1.0) != 1.0:
        out = out * about["alpha"]
    if len(given) < 3 or given[2] is None:
        return out  # type: ignore[no-any-return]
    shift = given[2] if about.get("beta", 1.0) == 1.0 else given[2] * about["beta"]
    return out + shift  # type: ignore[no-any-return]


def divided(_: OnnxNode, given: Given) -> Tensor:
    """Whole numbers are divided towards 0."""
    whole = not (given[0].is_floating_point() or given[1].is_floating_point())
    return torch.div(*given, rounding_mode="trunc") if whole else torch.div(*given)


def power(_: OnnxNode, given: Given) -> Tensor:
    """By a number that is a constant."""
    exponent = known(given[1], "an exponent")
    if exponent.numel() != 1:
        raise InvalidInput("Pow must have one exponent")
    number = float(exponent)
    return torch.pow(given[0], number) if given[0].is_floating_point() else given[0] ** int(number)


def reduced(what: Callable[..., Tensor]) -> Callable[[OnnxNode, Given], Tensor]:
    """Over axes; over all of them if none are named."""

    def reduce(node: OnnxNode, given: Given) -> Tensor:
        axes = axes_of(node, given)
        if not axes:
            if node.attributes.get("noop_with_empty_axes"):
                return given[0]  # type: ignore[no-any-return]
            axes = [*range(given[0].dim())]
        return what(given[0], axes, keepdim=bool(node.attributes.get("keepdims", 1)))

    return reduce


def sum_of_squares(x: Tensor, axes: list[int], *, keepdim: bool) -> Tensor:
    """ReduceSumSquare."""
    return (x * x).sum(axes, keepdim=keepdim)


def layer_norm(node: OnnxNode, given: Given) -> Tensor:
    """Over the axes from the one named on."""
    data = given[0]
    shape = data.shape[node.attributes.get("axis", -1) % data.dim() :]
    shift = given[2] if len(given) > 2 else None
    return functional.layer_norm(data, shape, given[1], shift, node.attributes.get("epsilon", 1e-5))


def rms_norm(node: OnnxNode, given: Given) -> Tensor:
    """The same without a mean."""
    data = given[0]
    axes = [*range(node.attributes.get("axis", -1) % data.dim(), data.dim())]
    spread = (data * data).mean(axes, keepdim=True) + node.attributes.get("epsilon", 1e-5)
    return data * torch.rsqrt(spread) * given[1]  # type: ignore[no-any-return]


def softmax(node: OnnxNode, given: Given) -> Tensor:
    """Along one axis."""
    return torch.softmax(given[0], node.attributes.get("axis", -1))


def trilu(node: OnnxNode, given: Given) -> Tensor:
    """The upper or lower triangle."""
    by = ints(given[1], "a diagonal")[0] if len(given) > 1 and given[1] is not None else 0
    return torch.triu(given[0], by) if node.attributes.get("upper", 1) else torch.tril(given[0], by)


def clip(_: OnnxNode, given: Given) -> Tensor:
    """Between two numbers."""
    low, high = (
        None if len(given) <= at or given[at] is None else known(given[at], "a bound").item() for at in (1, 2)
    )
    return given[0] if low is None and high is None else torch.clamp(given[0], low, high)


def gelu(node: OnnxNode, given: Given) -> Tensor:
    """By erf or tanh."""
    return functional.gelu(given[0], approximate=node.attributes.get("approximate", "none"))


def cast(node: OnnxNode, given: Given) -> Tensor:
    """To a type that torch has."""
    to = node.attributes.get("to")
    if to not in DTYPES:
        raise InvalidInput(f"Cast to type {to} of ONNX is not known")
    return given[0].to(DTYPES[to])  # type: ignore[no-any-return]


def constant(node: OnnxNode, _: Given) -> Tensor:
    """Of one of its attributes."""
    about = node.attributes
    if "value" in about:
        return torch.from_numpy(about["value"].copy())
    for name, dtype in (("value_float", torch.float32), ("value_floats", torch.float32)):
        if name in about:
            return torch.tensor(about[name], dtype=dtype)
    for name in ("value_int", "value_ints"):
        if name in about:
            return torch.tensor(about[name], dtype=torch.int64)
    raise InvalidInput("Constant must have numbers")


def constant_of_shape(node: OnnxNode, given: Given) -> Tensor:
    """One number everywhere, by default 0.0."""
    value = node.attributes.get("value")
    filled = torch.zeros(1) if value is None else torch.from_numpy(value.copy())
    return torch.full(ints(given[0], "a size"), filled.reshape(-1)[0].item(), dtype=filled.dtype)


def spanned(_: OnnxNode, given: Given) -> Tensor:
    """Numbers from a start to a limit."""
    start, limit, step = (known(one, "an end of Range").item() for one in given)
    return torch.arange(start, limit, step, dtype=given[0].dtype)


def padded(node: OnnxNode, given: Given) -> Tensor:
    """Constants around a tensor."""
    if node.attributes.get("mode", "constant") != "constant" or (len(given) > 3 and given[3] is not None):
        raise InvalidInput("Pad is known with a constant on all axes alone")
    pads = ints(given[1], "a size")
    count = given[0].dim()
    value = known(given[2], "the padding").item() if len(given) > 2 and given[2] is not None else 0.0
    order = [one for axis in reversed(range(count)) for one in (pads[axis], pads[axis + count])]
    return functional.pad(given[0], order, value=value)


def tiled(_: OnnxNode, given: Given) -> Tensor:
    """Repeated along each axis."""
    return given[0].repeat(ints(given[1], "a number of repeats"))  # type: ignore[no-any-return]


def shape_of(node: OnnxNode, given: Given) -> Tensor:
    """Sizes."""
    about = node.attributes
    return torch.tensor([*given[0].shape][slice(about.get("start", 0), about.get("end"))], dtype=torch.int64)


def flatten(node: OnnxNode, given: Given) -> Tensor:
    """Two axes."""
    axis = node.attributes.get("axis", 1)
    axis = axis + given[0].dim() if axis < 0 else axis
    rows = 1
    for size in given[0].shape[:axis]:
        rows *= size
    return given[0].reshape(rows, -1)  # type: ignore[no-any-return]


def folded(what: Callable[[Tensor, Tensor], Tensor]) -> Callable[[OnnxNode, Given], Tensor]:
    """An operator on two, on any number of inputs."""

    def fold(_: OnnxNode, given: Given) -> Tensor:
        out: Tensor = given[0]
        for one in given[1:]:
            out = what(out, one)
        return out

    return fold


def plain(what: Callable[..., Tensor]) -> Callable[[OnnxNode, Given], Tensor]:
    """The same in torch, without attributes."""
    return lambda _, given: what(*given)


def remainder(node: OnnxNode, given: Given) -> Tensor:
    """With the sign of the divisor, or of the dividend."""
    return torch.fmod(*given) if node.attributes.get("fmod") else torch.remainder(*given)


def summed_up(node: OnnxNode, given: Given) -> Tensor:
    """Sums from the beginning."""
    if node.attributes.get("exclusive") or node.attributes.get("reverse"):
        raise InvalidInput("CumSum is known from the beginning on alone")
    return torch.cumsum(given[0], ints(given[1], "an axis")[0])


OPERATORS: dict[str, Callable[[OnnxNode, Given], Any]] = {
    "Constant": constant,
    "Identity": plain(lambda x: x),
    "Dropout": plain(lambda x, *rest: x),
    "Cast": cast,
    "Shape": shape_of,
    "Size": plain(lambda x: torch.tensor(x.numel())),
    "Gather": gather,
    "Concat": lambda node, given: torch.cat(list(given), node.attributes.get("axis", 0)),
    "Unsqueeze": unsqueeze,
    "Squeeze": squeeze,
    "Reshape": reshape,
    "Flatten": flatten,
    "Transpose": lambda node, given: given[0].permute(
        node.attributes.get("perm", [*reversed(range(given[0].dim()))])
    ),
    "Slice": sliced,
    "Split": split,
    "Expand": expand,
    "Tile": tiled,
    "ConstantOfShape": constant_of_shape,
    "Range": spanned,
    "Trilu": trilu,
    "Pad": padded,
    "Where": plain(torch.where),
    "CumSum": summed_up,
    "Add": plain(torch.add),
    "Sub": plain(torch.sub),
    "Mul": plain(torch.mul),
    "Div": divided,
    "Mod": remainder,
    "Pow": power,
    "Sum": folded(torch.add),
    "Min": folded(torch.minimum),
    "Max": folded(torch.maximum),
    "Clip": clip,
    "MatMul": plain(torch.matmul),
    "Gemm": gemm,
    "ReduceSum": reduced(torch.sum),
    "ReduceMean": reduced(torch.mean),
    "ReduceSumSquare": reduced(sum_of_squares),
    "LayerNormalization": layer_norm,
    "RMSNormalization": rms_norm,
    "Softmax": softmax,
    "Gelu": gelu,
    "Swish": plain(functional.silu),
    "Equal": plain(torch.eq),
    "Less": plain(torch.lt),
    "LessOrEqual": plain(torch.le),
    "Greater": plain(torch.gt),
    "GreaterOrEqual": plain(torch.ge),
    "Not": plain(torch.logical_not),
    "And": plain(torch.logical_and),
    "Or": plain(torch.logical_or),
    "Neg": plain(torch.neg),
    "Abs": plain(torch.abs),
    "Sqrt": plain(torch.sqrt),
    "Reciprocal": plain(torch.reciprocal),
    "Exp": plain(torch.exp),
    "Erf": plain(torch.erf),
    "Tanh": plain(torch.tanh),
    "Sigmoid": plain(torch.sigmoid),
    "Relu": plain(torch.relu),
    "Sin": plain(torch.sin),
    "Cos": plain(torch.cos),
}
"""By ONNX's names; what is not here is refused by its name."""

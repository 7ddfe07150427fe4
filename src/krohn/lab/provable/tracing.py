"""A module's forward pass as a graph of operators on scalars, read while the object itself runs.

Constants are real, so control flow on them is followed as it runs. What depends on tokens is a tensor of
numbers of scalars without values: views, writes into views and all that only moves entries run on these
numbers themselves; an operator that computes makes new ones; whatever asks for a value is refused by name. So
hooks, overrides, subclasses, training mode and float types are seen, and no architecture is known.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

from krohn.check.graph.evaluate import Plan, positions_of
from krohn.check.graph.graph import Graph, Node, size_made
from krohn.errors import InvalidInput

NUMBERS, TOKENS, MADE = 1 << 40, 1 << 41, 1 << 42
"""Where each sort of scalar begins to be counted while a graph is read; constants begin at 0."""
RANDOM = ("dropout", "rand", "bernoulli", "normal_", "multinomial", "uniform_", "exponential_")
MOVES = frozenset(
    [
        "select",
        "slice",
        "view",
        "_unsafe_view",
        "expand",
        "t",
        "transpose",
        "permute",
        "unsqueeze",
        "squeeze",
        "cat",
        "stack",
        "clone",
        "detach",
        "alias",
        "copy",
        "unbind",
        "split",
        "split_with_sizes",
        "chunk",
        "repeat",
        "lift_fresh",
        "lift_fresh_copy",
        "_reshape_alias",
        "contiguous",
        "flip",
        "roll",
        "reshape",
        "narrow",
        "movedim",
        "diagonal",
        "tril",
        "triu",
        "unfold",
        "as_strided",
        "constant_pad_nd",
        "repeat_interleave",
        "swapaxes",
        "expand_as",
        "view_as",
        "slice_scatter",
        "select_scatter",
        "index_select",
        "take_along_dim",
        "_to_copy",
    ]
)
"""Operators that move entries and compute nothing."""
BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "maximum": "max", "minimum": "min"}
COMPARED = dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge")) | {"logical_and": "and", "logical_or": "or"}
COMPARED |= {"bitwise_and": "and", "bitwise_or": "or"}
UNARY = {
    name: name
    for name in ("neg", "abs", "exp", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "silu", "erf")
}
UNARY |= {
    "relu": "relu",
    "sin": "sin",
    "cos": "cos",
    "logical_not": "not",
    "bitwise_not": "not",
    "square": "square",
}
HALF = {torch.bfloat16: "bfloat16", torch.float16: "float16"}
EXACT = (
    *("embedding", "index", "gather", "where", "masked_fill", "maximum", "minimum", "neg", "abs", "relu"),
    *("clamp", "any", "all", "max", "min", "amax", "amin"),
)
"""Operators that make no other numbers than they are given."""
FOLDED = {"any": "or", "all": "and", "max": "max", "amax": "max", "min": "min", "amin": "min"}
READS = frozenset(("_local_scalar_dense", "item", "is_nonzero", "equal", "nonzero", "_unique2"))
"""Operators that ask for a value."""
DECIDES = ("_local_scalar_dense", "item", "is_nonzero")
SHAPED = frozenset(
    ["zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty"]
)


class Refused(InvalidInput):
    """The module cannot be read: which operator, and why."""


class Scalars(Tensor):
    """Depends on tokens: it has a shape and a type, and numbers of scalars where values would be."""

    ids: Tensor

    @staticmethod
    def __new__(cls, ids: Tensor, dtype: torch.dtype) -> "Scalars":
        """With shape and strides of the numbers."""
        shape, strides = ids.shape, ids.stride()
        made: Scalars = torch.Tensor._make_wrapper_subclass(
            cls,
            shape,
            strides=strides,
            storage_offset=ids.storage_offset(),
            dtype=dtype,
            device=torch.device("cpu"),
        )
        made.ids = ids
        return made

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise Refused(
            f"the module computes {named(func)} outside of its own run: it must keep nothing of a run"
        )


def named(func: Any) -> str:
    """The operator's name without overload and namespace."""
    return str(func._schema.name.split("::")[1])


class Reader(TorchDispatchMode):
    """One run, as nodes."""

    def __init__(self, module: Any, length: int, batch: int = 1, alphabet: Sequence[int] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count, self.alphabet = batch * length, alphabet
        self.constants: list[np.ndarray[Any, Any]] = []
        self.numbers: list[float] = []
        self.nodes: list[Node] = []
        self.made = self.held = 0
        self.known: dict[tuple[int, int], Tensor] = {}
        self.number: dict[float, int] = {}
        self.kept: list[Tensor] = []  # as long as ids of objects are looked up
        own = [*module.parameters(), *module.buffers()] if isinstance(module, nn.Module) else []
        self.own = {tensor.untyped_storage().data_ptr() for tensor in own}
        self.tokens = Scalars(TOKENS + torch.arange(batch * length).reshape(batch, length), torch.int64)

    def new(self, count: int) -> Tensor:
        """Numbers for what a node makes."""
        first, self.made = self.made, self.made + count
        return MADE + torch.arange(first, first + count)

    def of(self, value: Any) -> Tensor:
        """The numbers of the scalars of a tensor, or of a number of Python."""
        if isinstance(value, Scalars):
            return value.ids
        if isinstance(value, Tensor):
            return self.constant(value)
        number = float(value)
        if number not in self.number:
            self.number[number] = len(self.numbers)
            self.numbers.append(number)
        return torch.tensor(NUMBERS + self.number[number])

    def constant(self, tensor: Tensor) -> Tensor:
        """Written down as it is now: it may be written to later."""
        key = id(tensor), tensor._version
        if key not in self.known:
            known_type(tensor.dtype)
            values = tensor.detach().cpu().to(torch.float64).numpy()
            if tensor.is_floating_point() or tensor.numel() == 0 or np.abs(values).max() < 2**24:
                flat = values.astype(np.float32).reshape(-1)
            else:
                raise Refused("the module computes with whole numbers above 16,777,216")
            self.known[key] = (self.held + torch.arange(flat.size)).reshape(tensor.shape)
            self.kept.append(tensor)
            self.constants.append(flat)
            self.held += flat.size
        return self.known[key]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        flat = tree_flatten((args, kwargs))[0]
        name = named(func)
        if any(word in name for word in RANDOM):
            raise Refused(f"{name} is random: call .eval() on the module first")
        open_ = [value for value in flat if isinstance(value, Scalars)]
        if name == "_to_copy" or name in SHAPED:
            kwargs = {key: value for key, value in kwargs.items() if key not in ("device", "pin_memory")}
        if not open_:
            if func._schema.is_mutable and isinstance(args[0], Tensor):
                self.refuse_write(name, args[0])
            return func(*args, **kwargs)
        with torch._C._DisableTorchDispatch():
            return self.read(func, name, args, kwargs)

    def refuse_write(self, name: str, into: Tensor) -> None:
        """What would change the next run."""
        if into.untyped_storage().data_ptr() in self.own:
            raise Refused(f"{name} writes into a parameter or a buffer: the next run would be another")

    def read(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """An operator on scalars."""
        if func._schema.is_mutable or name.endswith("_"):
            return self.write(func, name, args, kwargs)
        if name in READS:
            if name in DECIDES and args[0].dtype == torch.bool and args[0].numel() == 1:
                return self.decided(args[0])
            raise Refused(f"the module reads the value of a token or of what depends on one ({name})")
        if name in MOVES:
            return self.move(func, name, args, kwargs)
        outs = func(*tree_map(meta, args), **tree_map(meta, kwargs))
        made = self.compute(name, args, kwargs, outs)
        first = outs[0] if isinstance(outs, (tuple, list)) else outs
        if name not in EXACT and isinstance(made, Tensor) and isinstance(first, Tensor):
            made = self.stored(made, first.dtype)
        if isinstance(outs, (tuple, list)):  # what comes with the first result may be anything
            return tuple(self.first_of(out, None if number else made) for number, out in enumerate(outs))
        return self.first_of(outs, made)

    def first_of(self, out: Any, made: Tensor | None) -> Any:
        """Scalars with shape, strides and type of a result."""
        if not isinstance(out, Tensor):
            return out
        known_type(out.dtype)
        ids = self.of(float("nan")).expand(out.shape) if made is None else made.reshape(out.shape)
        return Scalars(torch.empty_strided(out.shape, out.stride(), dtype=torch.int64).copy_(ids), out.dtype)

    def write(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Into a tensor: entries get other numbers, through every view of it."""
        target = args[0]
        if not isinstance(target, Scalars):
            self.refuse_write(name, target)
            raise Refused(
                f"{name} writes what depends on tokens into a tensor that does not: make that tensor by "
                "new_zeros of one that does"
            )
        plain = name.removesuffix("_")
        if plain in ("fill", "zero"):
            target.ids.fill_(int(self.of(args[1] if len(args) > 1 else 0.0)))
        elif plain == "copy":
            target.ids.copy_(self.of(args[1]))
        elif plain in ("index_put", "_index_put_impl"):
            self.fixed(args[1], name)
            target.ids.index_put_(
                args[1],
                self.of(args[2]).expand_as(
                    target.ids[tuple(slice(None) if i is None else i for i in args[1])]
                ),
            )
        else:
            meant = getattr(torch.ops.aten, plain, None)
            if meant is None:
                raise Refused(f"the operator {name} is not known")
            out = meant(*tree_map(meta, args), **tree_map(meta, kwargs))
            made = self.first_of(out, self.compute(plain, args, kwargs, out))
            target.ids.copy_(made.ids.expand_as(target.ids))
        return target

    def fixed(self, value: Any, name: str) -> None:
        """Places must be constants."""
        if any(isinstance(part, Scalars) for part in tree_flatten(value)[0]):
            raise Refused(f"{name} takes places that depend on tokens")

    def move(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Runs the operator on the numbers of the scalars."""
        first = next(value for value in tree_flatten(args)[0] if isinstance(value, Scalars))
        dtype = first.dtype
        if name == "_to_copy":
            dtype = kwargs.get("dtype") or dtype
            return Scalars(self.cast(first, dtype), dtype)
        if name in ("tril", "triu"):
            keep = func(torch.ones(first.shape, dtype=torch.bool), *args[1:], **kwargs)
            return Scalars(torch.where(keep, first.ids, self.of(0.0)), dtype)
        if name == "constant_pad_nd":
            args = (args[0], args[1], int(self.of(args[2] if len(args) > 2 else 0.0)))
        if name == "index_select":
            self.fixed(args[2], name)
            return Scalars(first.ids.index_select(args[1], args[2]), dtype)
        moved = tree_map(lambda value: self.of(value) if isinstance(value, Tensor) else value, args)
        out = func(*moved, **kwargs)
        return tree_map(lambda ids: Scalars(ids, dtype) if isinstance(ids, Tensor) else ids, out)

    def cast(self, value: Scalars, dtype: torch.dtype) -> Tensor:
        """The same numbers in another type, where that is exact or one rounding."""
        if dtype == value.dtype or not (value.is_floating_point() or dtype.is_floating_point):
            if dtype == torch.bool and value.dtype != torch.bool:
                return self.each("ne", value.ids, self.of(0.0))
            return value.ids.clone()
        if not dtype.is_floating_point:
            raise Refused(
                f"the module makes {str(dtype).removeprefix('torch.')} of numbers that depend on tokens"
            )
        known_type(dtype)
        ids = value.ids.clone() if value.is_floating_point() else self.each("float", value.ids)
        return self.stored(ids, dtype)

    def stored(self, ids: Tensor, dtype: torch.dtype) -> Tensor:
        """Rounded to a half type, in which torch stores what it computes in float32."""
        return self.each(HALF[dtype], ids) if dtype in HALF else ids

    def node(self, op: str, sizes: Sequence[int], args: Sequence[Tensor], **more: Any) -> Tensor:
        """Adds one; the numbers of what it makes."""
        sizes = tuple(map(int, sizes))
        out = self.new(size_made(op, sizes))
        lists = tuple(arg.reshape(-1).numpy().copy() for arg in args)
        self.nodes.append(Node(op, sizes, lists, int(out[0]) - MADE if len(out) else 0, **more))
        return out

    def each(self, op: str, *args: Tensor) -> Tensor:
        """Entry by entry, of one shape."""
        shape = torch.broadcast_shapes(*[arg.shape for arg in args])  # type: ignore[no-untyped-call]
        wide = [arg.expand(shape) for arg in args]
        return self.node(op, [wide[0].numel()], wide).reshape(shape)

    def rows(self, op: str, x: Tensor, dims: Sequence[int], keep: bool = True, **more: Any) -> Tensor:
        """Row by row over these axes."""
        dims = [dim % max(1, x.dim()) for dim in dims]
        rest = [dim for dim in range(x.dim()) if dim not in dims]
        turned = x.permute([*rest, *dims])
        shape = turned.shape
        width = int(np.prod([x.shape[dim] for dim in dims]))
        out = self.node(op, [x.numel() // max(1, width), width], [turned], **more)
        if op in ("sum", "mean"):
            out = out.reshape([x.shape[dim] for dim in rest])
            for dim in sorted(dims) if keep else ():
                out = out.unsqueeze(dim)
            return out
        back = np.argsort([*rest, *dims]).tolist()
        return out.reshape(shape).permute(back)

    def product(self, x: Tensor, y: Tensor, **more: Any) -> Tensor:
        """[…, n, k] @ […, k, m]; rows of all batches in one where the second is one matrix."""
        n, k, m = x.shape[-2], x.shape[-1], y.shape[-1]
        if y.dim() == 2:
            rows = x.reshape(-1, k)
            return self.node("matmul", [1, len(rows), k, m], [rows, y], **more).reshape(*x.shape[:-1], m)
        batch = torch.broadcast_shapes(x.shape[:-2], y.shape[:-2])  # type: ignore[no-untyped-call]
        x, y = x.expand(*batch, n, k), y.expand(*batch, k, m)
        count = int(np.prod(batch))
        return self.node("matmul", [count, n, k, m], [x, y], **more).reshape(*batch, n, m)

    def compute(self, name: str, args: Any, kwargs: Any, outs: Any) -> Any:
        """The node, or nodes, of an operator."""
        whole = not any(
            value.is_floating_point() for value in tree_flatten(args)[0] if isinstance(value, Tensor)
        )
        whole = whole and not any(isinstance(value, float) for value in args)
        if name in ("rsub",):
            args, name = (args[1], args[0]), "sub"
        if name in BINARY or name in COMPARED:
            if kwargs.get("rounding_mode") or not (len(args) > 1):
                raise Refused(f"{name} with rounding is not known")
            x, y = self.of(args[0]), self.of(args[1])
            if kwargs.get("alpha", 1) != 1:
                y = self.each("whole_mul" if whole else "mul", y, self.of(kwargs["alpha"]))
            op = COMPARED.get(name, name) if name in COMPARED else BINARY[name]
            if whole and name in ("add", "sub", "mul"):
                op = f"whole_{name}"
            return self.each(op or name, x, y)
        if name in UNARY:
            return self.each(UNARY[name], self.of(args[0]))
        if name == "gelu":
            return self.each("gelu_tanh" if kwargs.get("approximate") == "tanh" else "gelu", self.of(args[0]))
        if name == "pow":
            return self.power(args)
        if name in ("clamp", "clamp_min", "clamp_max", "hardtanh"):
            return self.clamp(name, args, kwargs)
        if name == "where":
            return self.chosen(args)
        if name == "masked_fill":
            return self.chosen((args[1], args[2], args[0]))
        if name in ("mm", "bmm", "matmul", "mv", "dot"):
            if name not in ("mm", "bmm", "matmul"):
                raise Refused(f"the operator {name} is not known")
            return self.product(self.of(args[0]), self.of(args[1]))
        if name in ("addmm", "baddbmm"):
            if kwargs.get("alpha", 1) != 1 or kwargs.get("beta", 1) != 1:
                raise Refused(f"{name} with alpha or beta is not known")
            out = self.stored(self.product(self.of(args[1]), self.of(args[2])), args[1].dtype)
            return self.each("add", out, self.of(args[0]).expand(out.shape))
        if name == "linear":
            out = self.stored(self.product(self.of(args[0]), self.of(args[1]).t()), args[0].dtype)
            return out if len(args) < 3 or args[2] is None else self.each("add", out, self.of(args[2]))
        if name in ("sum", "mean"):
            x = self.of(args[0])
            dims = args[1] if len(args) > 1 and args[1] is not None else range(x.dim())
            dims = [dims] if isinstance(dims, int) else list(dims) or range(x.dim())
            if whole and name == "sum":
                raise Refused("sums of whole numbers that depend on tokens are not known")
            out = self.rows(name, x, dims, bool(args[2]) if len(args) > 2 else bool(kwargs.get("keepdim")))
            return self.stored(out, args[0].dtype)  # once more for a mean: torch stores the sum
        if name in FOLDED:
            return self.folded(name, args, kwargs, outs)
        if name in ("_softmax", "softmax"):
            return self.rows("softmax", self.of(args[0]), [args[1]])
        if name in ("native_layer_norm", "layer_norm"):
            return self.layer_norm(*args)
        if name.startswith("_scaled_dot_product") or name == "scaled_dot_product_attention":
            return self.attention(name, args, kwargs)
        if name == "embedding":
            return self.lookup(args[1], args[0])
        if name == "index":
            return self.indexed(args)
        if name == "gather":
            self.fixed(args[2], name)
            return self.of(args[0]).gather(args[1], args[2])
        if name in SHAPED:
            return self.filled(name, args, outs)
        raise Refused(f"the operator {name} is not known")

    def folded(self, name: str, args: Any, kwargs: Any, outs: Any) -> Tensor:
        """Any, all, the largest or the smallest, entry by entry; places of these may be anything."""
        x = self.of(args[0])
        if name in ("any", "all") and args[0].dtype != torch.bool:
            x = self.each("ne", x, self.of(0.0))
        dims = args[1] if len(args) > 1 else kwargs.get("dim")
        dims = [*range(x.dim())] if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
        shape = (outs[0] if isinstance(outs, (tuple, list)) else outs).shape
        dims = [dim % max(1, x.dim()) for dim in dims]
        rest = [dim for dim in range(x.dim()) if dim not in dims]
        rows = x.permute([*rest, *dims]).reshape(*[x.shape[dim] for dim in rest], -1)
        out = rows[..., 0]
        for at in range(1, rows.shape[-1]):
            out = self.each(FOLDED[name], out, rows[..., at])
        return out.reshape(shape)

    def power(self, args: Any) -> Tensor:
        """The powers that have rules."""
        x, power = self.of(args[0]), args[1]
        if isinstance(power, Tensor) or isinstance(args[0], (int, float)):
            raise Refused("pow is known for the powers 2, 3, 1/2, -1/2, -1")
        if power == 3:
            return self.each("mul", self.each("square", x), x)
        op = {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(power)
        if op is None:
            raise Refused(f"pow is known for the powers 2, 3, 1/2, -1/2, -1; got {power}")
        return self.each(op, x)

    def clamp(self, name: str, args: Any, kwargs: Any) -> Tensor:
        """By the larger, then the smaller."""
        x = self.of(args[0])
        low = args[1] if len(args) > 1 and name != "clamp_max" else kwargs.get("min")
        high = args[1] if name == "clamp_max" else args[2] if len(args) > 2 else kwargs.get("max")
        for op, end in (("max", low), ("min", high)):
            if end is not None:
                x = self.each(op, x, self.of(end))
        return x

    def chosen(self, args: Any) -> Tensor:
        """Entries of two tensors: by a mask that is a constant they are only moved."""
        if len(args) < 3:
            raise Refused("where takes places that depend on tokens")
        x, y = self.of(args[1]), self.of(args[2])
        if not isinstance(args[0], Scalars):
            return torch.where(args[0], x, y)
        return self.each("where", self.of(args[0]), x, y)

    def layer_norm(
        self, x: Any, shape: Any, gain: Any = None, shift: Any = None, eps: float = 1e-5, *_: Any
    ) -> Tensor:
        """One node for each row."""
        ids, width = self.of(x), int(np.prod(shape))
        scale = self.of(1.0).expand(width) if gain is None else self.of(gain)
        offset = self.of(0.0).expand(width) if shift is None else self.of(shift)
        rows = ids.reshape(-1, width)
        return self.node("norm", [len(rows), width], [rows, scale, offset], epsilon=float(eps)).reshape(
            ids.shape
        )

    def attention(self, name: str, args: Any, kwargs: Any) -> Any:
        """As any kernel computes it: a scaled product, a mask, softmax, a product."""
        fused = name != "scaled_dot_product_attention"
        rest = list(args[3:])
        mask = kwargs.get("attn_mask", None if fused else rest[0] if rest else None)
        if fused:
            dropout, causal = [*rest, 0.0, False][:2]
        else:
            dropout, causal = [*rest, None, 0.0, False][1:3]
        dropout, causal = kwargs.get("dropout_p", dropout), kwargs.get("is_causal", causal)
        if dropout:
            raise Refused("attention has dropout: call .eval() on the module first")
        if kwargs.get("enable_gqa"):
            raise Refused("attention with enable_gqa is not known")
        # Kernels store scaled queries and keys, scores and weights, or do not.
        dtype = args[0].dtype
        q, k, v = (self.stored(self.of(arg), dtype) for arg in args[:3])
        scale = kwargs.get("scale") or 1 / np.sqrt(q.shape[-1])
        score = self.stored(self.product(q, k.transpose(-1, -2), rounds=8, scale=float(scale)), dtype)
        hidden = self.of(float("-inf"))
        if causal:
            seen = torch.ones(score.shape[-2:], dtype=torch.bool).tril()
            score = torch.where(seen, score, hidden)
        if mask is not None and not isinstance(mask, Scalars) and mask.dtype == torch.bool:
            score = torch.where(mask, score, hidden)
        elif mask is not None and mask.dtype == torch.bool:
            raise Refused("a mask that depends on tokens is not known")
        elif mask is not None:
            score = self.stored(self.each("add", score, self.of(mask).expand(score.shape)), dtype)
        weights = self.stored(self.rows("softmax", score, [-1], rounds=8), dtype)
        return self.product(weights, v, rounds=4)

    def lookup(self, tokens: Any, table: Any) -> Tensor:
        """Rows of a table that is a constant."""
        if isinstance(table, Scalars):
            raise Refused("a table that depends on tokens is not known")
        at, rows = self.of(tokens), self.of(table)
        width = rows[0].numel()
        out = self.node("lookup", [at.numel(), len(rows), width], [at, rows])
        return out.reshape(*at.shape, *rows.shape[1:])

    def indexed(self, args: Any) -> Tensor:
        """Entries at places that are constants, or rows of a table by tokens."""
        table, places = args[0], list(args[1])
        if not any(isinstance(place, Scalars) for place in places):
            where = tuple(slice(None) if place is None else place for place in places)
            return self.of(table)[where]
        if len(places) != 1:
            raise Refused("index takes several places that depend on tokens")
        return self.lookup(places[0], table)

    def filled(self, name: str, args: Any, outs: Any) -> Tensor:
        """New tensors like those that depend on tokens."""
        value = 1.0 if "ones" in name else 0.0
        value = args[1 if name == "full_like" else 2] if "full" in name else value
        return self.of(value).expand(outs.shape).clone()

    def decided(self, asked: Scalars) -> bool:
        """What is so for all tokens of the claim, as a check that letters are in a table."""
        low, high = ends_of(self.graph(asked.ids.reshape(1, 1), self.count), self.alphabet)
        if low != high:
            raise Refused(
                "the module reads the value of a token or of what depends on one, and not the same for "
                "all tokens of the claim"
            )
        return low != 0

    def graph(self, answer: Tensor, length: int) -> Graph:
        """All of it, scalars counted through."""
        constants = np.concatenate([np.zeros(0, np.float32), *self.constants])
        numbers = np.array(self.numbers, dtype=np.float64)
        starts = (0, len(constants), len(constants) + len(numbers), len(constants) + len(numbers) + length)

        def counted(ids: Any) -> Any:
            out = np.asarray(ids, dtype=np.int64)
            sort = (out >= NUMBERS).astype(int) + (out >= TOKENS) + (out >= MADE)
            base = np.array([0, NUMBERS, TOKENS, MADE])[sort]
            return out - base + np.array(starts)[sort]

        nodes = tuple(
            Node(
                n.op, n.sizes, tuple(map(counted, n.args)), n.first + starts[3], n.epsilon, n.rounds, n.scale
            )
            for n in self.nodes
        )
        return Graph(length, constants, numbers, nodes, counted(answer.numpy()))


def meta(value: Any) -> Any:
    """A tensor of the same shape, strides and type without values."""
    if isinstance(value, Scalars):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    return value.to("meta") if isinstance(value, Tensor) else value


def known_type(dtype: torch.dtype) -> None:
    """Refuses float types without rules."""
    if dtype.is_floating_point and dtype != torch.float32 and dtype not in HALF:
        raise Refused(asks(dtype))


def asks(dtype: torch.dtype) -> str:
    """What is said of another float type."""
    name = str(dtype).removeprefix("torch.")
    return (
        f"the module computes in {name}; graphs are read in float32 and half types: --dtype float32 asks of "
        "the same weights in float32"
    )


def logits_of(out: Any) -> Any:
    """The tensor of what a module returns."""
    out = getattr(out, "logits", out)
    return out[0] if isinstance(out, (tuple, list)) and out else out


@contextmanager
def in_parts() -> Iterator[None]:
    """Torch's encoder layers as their parts, not as one operator that computes the same."""
    was = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(was)


def ends_of(graph: Graph, alphabet: Sequence[int]) -> tuple[float, float]:
    """The least and the largest value of the answer, a condition, over all words of these tokens.

    What depends on one token is computed for each; conditions on several are combined from their ends.
    """
    made = {node.first + k: (node, k) for node in graph.nodes for k in range(node.made)}
    reach = positions_of(graph).sum(axis=1)
    words = np.repeat(np.array(alphabet, dtype=np.int64)[:, None], graph.length, axis=1)

    def ends(scalar: int) -> tuple[float, float]:
        if reach[scalar] <= 1:
            found = Plan(graph, np.array([scalar])).run(words)
            return float((found.c - found.rad).min()), float((found.c + found.rad).max())
        node, place = made[scalar]
        if node.op not in COMBINED:
            return -np.inf, np.inf
        return COMBINED[node.op](*(ends(int(arg[place])) for arg in node.args))

    if not len(alphabet):
        return -np.inf, np.inf
    return ends(int(graph.answer[0, 0]))


Ends = tuple[float, float]


def _order(least: Callable[[Ends, Ends], bool], most: Callable[[Ends, Ends], bool]) -> Callable[..., Ends]:
    return lambda x, y: (float(least(x, y)), float(most(x, y)))


COMBINED: dict[str, Callable[..., Ends]] = {
    **dict.fromkeys(("or", "max"), lambda x, y: (max(x[0], y[0]), max(x[1], y[1]))),
    **dict.fromkeys(("and", "min"), lambda x, y: (min(x[0], y[0]), min(x[1], y[1]))),
    "not": lambda x: (1 - x[1], 1 - x[0]),
    "lt": _order(lambda x, y: x[1] < y[0], lambda x, y: x[0] < y[1]),
    "le": _order(lambda x, y: x[1] <= y[0], lambda x, y: x[0] <= y[1]),
    "gt": _order(lambda x, y: x[0] > y[1], lambda x, y: x[1] > y[0]),
    "ge": _order(lambda x, y: x[0] >= y[1], lambda x, y: x[1] >= y[0]),
}
"""Ends of a condition from those of its parts."""


def read_graph(run: Callable[..., Any], length: int, batch: int = 1, alphabet: Sequence[int] = ()) -> Graph:
    """The graph of one run on a word of ``length`` tokens, one word at a time.

    With an ``alphabet`` a condition that is the same for all words of its tokens may be read.
    """
    if torch.is_autocast_enabled("cpu"):
        raise Refused("autocast is on: leave its context")
    reader = Reader(run, length, batch, alphabet)
    try:
        with torch.no_grad(), in_parts(), reader:
            out = logits_of(run(reader.tokens))
    except Refused:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:160]
        cause = error.__cause__ or error.__context__
        while cause is not None and not isinstance(cause, Refused):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            raise cause from None
        if "meta" in said or "data pointer" in said or "numpy()" in said or ".tolist()" in said:
            said = f"it reads the value of a token or of what depends on one ({said[:80]})"
        raise Refused(f"the module cannot be read: {type(error).__name__}: {said}") from error
    if not isinstance(out, Scalars):
        raise Refused("the answer does not depend on the tokens")
    if out.dim() != 3 or out.shape[0] != batch or out.shape[1] != length or not out.is_floating_point():
        shape = list(out.shape)
        raise Refused(
            f"logits must be [words, {length}, tokens] in floats for tokens [words, {length}]; got {shape}"
        )
    return reader.graph(out.ids.reshape(batch * length, -1), length * batch)
